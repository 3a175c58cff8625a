//! Faults in words, for timelines and reports.

use std::fmt;

use Microseconds as Us;

use super::Fault;

/// A time in microseconds, as a person writes it.
pub(crate) struct Microseconds(pub(crate) u64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            us if us > 0 && us.is_multiple_of(1_000_000) => write!(f, "{} s", us / 1_000_000),
            us if us.is_multiple_of(1_000) => write!(f, "{} ms", us / 1_000),
            us if us > 1_000 => write!(f, "{}.{:03} ms", us / 1_000, us % 1_000),
            us => write!(f, "{us} us"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Freeze { host, for_us } => {
                write!(f, "freeze {host} for {}", Us(*for_us))
            }
            Self::Crash { host, restart_after_us } => {
                write!(f, "crash {host}, restart after {}", Us(*restart_after_us))
            }
            Self::Partition { a, b, for_us } => {
                write!(f, "partition {} | {} for {}", a.join(", "), b.join(", "), Us(*for_us))
            }
            Self::PartitionOneWay { from, to, for_us } => {
                write!(f, "partition {from} -> {to} for {}", Us(*for_us))
            }
            Self::LoseRequest { from, to } => write!(f, "lose a request {from} -> {to}"),
            Self::LoseResponse { from, to } => write!(f, "lose a response {to} -> {from}"),
            Self::Delay { from, to, extra_us, for_us } => {
                write!(f, "delay {from} -> {to} by {} for {}", Us(*extra_us), Us(*for_us))
            }

            Self::Disk(fault) => fault.fmt(f),

            Self::Stall { host, point, for_us } => {
                write!(f, "stall the next task of {host} at point {point} for {}", Us(*for_us))
            }
            Self::CrashLoop { host, times, down_us, up_us } => write!(
                f,
                "crash {host} {times} times, each time down for {} and up for {}",
                Us(*down_us),
                Us(*up_us)
            ),

            Self::ClockStep { host, by_us } => {
                write!(f, "set the wall clock of {host} by {by_us:+} us")
            }
            Self::ClockDrift { host, ppm, for_us } => {
                write!(f, "let the clocks of {host} drift by {ppm:+} ppm for {}", Us(*for_us))
            }

            Self::PartitionGroups { groups, for_us } => {
                let groups: Vec<_> = groups.iter().map(|group| group.join(", ")).collect();
                write!(f, "partition {} for {}", groups.join(" | "), Us(*for_us))
            }
            Self::Late { from, to, extra_us } => {
                write!(f, "delay the next data {from} -> {to} by {}", Us(*extra_us))
            }
            Self::Reset { a, b } => write!(f, "reset the connections {a} <-> {b}"),
            Self::SlowLink { from, to, bytes_per_s, for_us } => {
                write!(f, "slow {from} -> {to} down to {bytes_per_s} bytes/s for {}", Us(*for_us))
            }
            Self::LoseDatagrams { from, to, percent, for_us } => {
                write!(f, "lose {percent} % of the datagrams {from} -> {to} for {}", Us(*for_us))
            }
            Self::DuplicateDatagrams { from, to, percent, for_us } => {
                write!(
                    f,
                    "duplicate {percent} % of the datagrams {from} -> {to} for {}",
                    Us(*for_us)
                )
            }
            Self::ReorderDatagrams { from, to, percent, extra_us, for_us } => write!(
                f,
                "delay {percent} % of the datagrams {from} -> {to} by up to {} \
                 for {}",
                Us(*extra_us),
                Us(*for_us)
            ),

            Self::LoseMessage { from, to, kind, times } => {
                write!(f, "lose the next {times} of {kind} {from} -> {to}")
            }
            Self::Redeliver { from, to, kind, after_us } => {
                write!(f, "deliver the next {kind} {from} -> {to} again after {}", Us(*after_us))
            }
        }
    }
}
