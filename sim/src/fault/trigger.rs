//! When a fault strikes: at a time, at a point in the code, before a packet, at an event.
//!
//! The last three follow what the system under test does, so a fault hits the same moment
//! in every run however the latencies fall.

use std::fmt;

use holdover_model::event::EventKind;
use serde::{Deserialize, Serialize};

use super::describe::Microseconds;

/// The moment at which a planned fault strikes. Counts start at 1.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Trigger {
    /// At a time since the start of the run.
    At {
        /// The time.
        at_us: u64,
    },
    /// When a host reaches a named point for the n-th time.
    Point {
        /// Which host.
        host: String,
        /// Which point.
        name: String,
        /// The how-many-th time.
        nth: u64,
    },
    /// Just before the n-th packet with data leaves one host for another: the packet is
    /// subject to the fault.
    ///
    /// A packet with data is a TCP segment with a payload, or a datagram. Handshakes, bare
    /// acknowledgements and closes do not count. The code that wrote the data has run on to
    /// its next await, but nothing of that has left.
    BeforePacket {
        /// Who is about to send.
        from: String,
        /// To whom.
        to: String,
        /// The how-many-th packet.
        nth: u64,
    },
    /// At the n-th event of a kind: right after it is recorded.
    ///
    /// The task that emitted it runs on to its next await. Of what it still does, nothing
    /// leaves if its host freezes or crashes, and nothing reaches the disk if it crashes.
    /// Use a point to stop a task on the spot.
    Event {
        /// The kind.
        kind: EventKind,
        /// The how-many-th event.
        nth: u64,
        /// Only events of this host count; all if `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
}

impl Trigger {
    /// Every host that this trigger names.
    pub fn hosts(&self) -> Vec<&str> {
        match self {
            Self::At { .. } | Self::Event { host: None, .. } => vec![],
            Self::Point { host, .. } | Self::Event { host: Some(host), .. } => vec![host],
            Self::BeforePacket { from, to, .. } => vec![from, to],
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At { at_us } => write!(f, "at {at_us}", at_us = Microseconds(*at_us)),
            Self::Point { host, name, nth } => write!(f, "at point {name} of {host}, time {nth}"),
            Self::BeforePacket { from, to, nth } => {
                write!(f, "before data packet {nth} {from} -> {to}")
            }
            Self::Event { kind, nth, host: None } => write!(f, "at event {kind} {nth}"),
            Self::Event { kind, nth, host: Some(host) } => {
                write!(f, "at event {kind} {nth} of {host}")
            }
        }
    }
}
