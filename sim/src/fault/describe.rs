//! Faults in words, for timelines and reports.

use std::fmt;

use super::Fault;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Freeze { host, for_us } => write!(f, "freeze {host} for {for_us} us"),
            Self::Crash { host, restart_after_us } => {
                write!(f, "crash {host}, restart after {restart_after_us} us")
            }
            Self::Partition { a, b, for_us } => {
                write!(f, "partition {} | {} for {for_us} us", a.join(", "), b.join(", "))
            }
            Self::PartitionOneWay { from, to, for_us } => {
                write!(f, "partition {from} -> {to} for {for_us} us")
            }
            Self::LoseRequest { from, to } => write!(f, "lose a request {from} -> {to}"),
            Self::LoseResponse { from, to } => write!(f, "lose a response {to} -> {from}"),
            Self::Delay { from, to, extra_us, for_us } => {
                write!(f, "delay {from} -> {to} by {extra_us} us for {for_us} us")
            }

            Self::Disk(fault) => fault.fmt(f),

            Self::Stall { host, point, for_us } => {
                write!(f, "stall the next task of {host} at point {point} for {for_us} us")
            }
            Self::CrashLoop { host, times, down_us, up_us } => write!(
                f,
                "crash {host} {times} times, each time down for {down_us} us and up for {up_us} us"
            ),

            Self::ClockStep { host, by_us } => {
                write!(f, "set the wall clock of {host} by {by_us:+} us")
            }
            Self::ClockDrift { host, ppm, for_us } => {
                write!(f, "let the clocks of {host} drift by {ppm:+} ppm for {for_us} us")
            }

            Self::PartitionGroups { groups, for_us } => {
                let groups: Vec<_> = groups.iter().map(|group| group.join(", ")).collect();
                write!(f, "partition {} for {for_us} us", groups.join(" | "))
            }
            Self::Late { from, to, extra_us } => {
                write!(f, "delay the next data {from} -> {to} by {extra_us} us")
            }
            Self::Reset { a, b } => write!(f, "reset the connections {a} <-> {b}"),
            Self::SlowLink { from, to, bytes_per_s, for_us } => {
                write!(f, "slow {from} -> {to} down to {bytes_per_s} bytes/s for {for_us} us")
            }
            Self::LoseDatagrams { from, to, percent, for_us } => {
                write!(f, "lose {percent} % of the datagrams {from} -> {to} for {for_us} us")
            }
            Self::DuplicateDatagrams { from, to, percent, for_us } => {
                write!(f, "duplicate {percent} % of the datagrams {from} -> {to} for {for_us} us")
            }
            Self::ReorderDatagrams { from, to, percent, extra_us, for_us } => write!(
                f,
                "delay {percent} % of the datagrams {from} -> {to} by up to {extra_us} us \
                 for {for_us} us"
            ),

            Self::LoseMessage { from, to, kind, times } => {
                write!(f, "lose the next {times} of {kind} {from} -> {to}")
            }
            Self::Redeliver { from, to, kind, after_us } => {
                write!(f, "deliver the next {kind} {from} -> {to} again after {after_us} us")
            }
        }
    }
}
