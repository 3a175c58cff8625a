//! What can go wrong and when, as data: the vocabulary of plans.
//!
//! A fault says what happens, a [`Trigger`] says when. Both are plain serde data without any
//! behaviour, so a plan can be generated, shrunk, saved and replayed; the world gives them
//! their meaning.

mod disk;
mod trigger;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use disk::DiskFault;
pub use trigger::Trigger;

/// One thing that goes wrong. Hosts are named; times are in simulated microseconds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// The process is stopped as by SIGSTOP and later continued.
    ///
    /// While stopped no code of it runs and nothing that it writes leaves. Its kernel lives
    /// on: it acknowledges segments and completes handshakes. On thaw all overdue timers
    /// fire at once.
    Freeze {
        /// Who stops.
        host: String,
        /// For how long.
        for_us: u64,
    },
    /// The machine loses power and later boots again.
    ///
    /// Its peers see silence, not a reset, until it is up again and answers. Memory and
    /// unsynced writes are gone; what it had sent before is still on its way.
    Crash {
        /// Who crashes.
        host: String,
        /// How long it is down.
        restart_after_us: u64,
    },
    /// Nothing passes between two groups of hosts, in either direction.
    ///
    /// A TCP segment that would cross is held until the end, as if its retransmissions were
    /// lost until then; a datagram that would cross is lost.
    Partition {
        /// One side.
        a: Vec<String>,
        /// The other side.
        b: Vec<String>,
        /// For how long.
        for_us: u64,
    },
    /// Nothing passes from one host to another; the other direction is not affected.
    PartitionOneWay {
        /// Who is not heard.
        from: String,
        /// Who does not hear.
        to: String,
        /// For how long.
        for_us: u64,
    },
    /// The next data that a client sends on a connection that it opened vanishes, and both
    /// ends find the connection reset: the server never saw the request, the client does not
    /// know.
    LoseRequest {
        /// The client: who opened the connection.
        from: String,
        /// The server.
        to: String,
    },
    /// The next data that a server sends back vanishes, and both ends find the connection
    /// reset: the server did the work, the client does not know.
    LoseResponse {
        /// The client: who opened the connection.
        from: String,
        /// The server, whose answer is lost.
        to: String,
    },
    /// Everything from one host to another takes longer.
    Delay {
        /// Who sends.
        from: String,
        /// Who receives later.
        to: String,
        /// How much later.
        extra_us: u64,
        /// For how long.
        for_us: u64,
    },
    /// Something is wrong with a disk.
    Disk(DiskFault),
}

/// A fault and the moment at which it strikes, once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlannedFault {
    /// When.
    pub trigger: Trigger,
    /// What.
    pub fault: Fault,
}

impl Fault {
    /// Every host that this fault names.
    pub fn hosts(&self) -> Vec<&str> {
        match self {
            Self::Freeze { host, .. } | Self::Crash { host, .. } => vec![host],
            Self::Partition { a, b, .. } => a.iter().chain(b).map(String::as_str).collect(),
            Self::PartitionOneWay { from, to, .. }
            | Self::LoseRequest { from, to }
            | Self::LoseResponse { from, to }
            | Self::Delay { from, to, .. } => vec![from, to],
            Self::Disk(fault) => vec![fault.host()],
        }
    }

    /// How long it lasts; `None` for what happens once and is over, or waits for its packet.
    pub fn lasts_us(&self) -> Option<u64> {
        match *self {
            Self::Disk(ref fault) => Some(fault.lasts_us()),
            Self::Freeze { for_us, .. }
            | Self::Crash { restart_after_us: for_us, .. }
            | Self::Partition { for_us, .. }
            | Self::PartitionOneWay { for_us, .. }
            | Self::Delay { for_us, .. } => Some(for_us),
            Self::LoseRequest { .. } | Self::LoseResponse { .. } => None,
        }
    }
}

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
        }
    }
}
