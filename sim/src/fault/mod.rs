//! What can go wrong and when, as data: the vocabulary of plans.
//!
//! A fault says what happens, a [`Trigger`] says when. Both are plain serde data without any
//! behaviour, so a plan can be generated, shrunk, saved and replayed; the world gives them
//! their meaning.

pub mod catalogue;
mod describe;
mod disk;
mod kind;
pub(crate) mod simpler;
mod trigger;

use serde::{Deserialize, Serialize};

pub(crate) use describe::Microseconds;
pub use disk::DiskFault;
pub use kind::FaultKind;
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

    // Processes.
    /// The next task of a host that reaches a named point stops there for a time, while all
    /// other tasks of the process live on: a heartbeat that goes on masks a stuck worker.
    Stall {
        /// On which host.
        host: String,
        /// At which point.
        point: String,
        /// For how long, from when the task gets there.
        for_us: u64,
    },
    /// The machine crashes several times in a row, as one does that cannot bear what it
    /// finds when it boots. See `crash`.
    CrashLoop {
        /// Who crashes.
        host: String,
        /// How often.
        times: u32,
        /// How long it is down each time.
        down_us: u64,
        /// How long it is up in between.
        up_us: u64,
    },

    // Clocks.
    /// The wall clock of a host is set forward or back. Its timers do not notice.
    ///
    /// It stays so: nothing sets a clock right again, not even healing.
    ClockStep {
        /// Whose.
        host: String,
        /// By how much; negative sets it back.
        by_us: i64,
    },
    /// The clocks of a host run fast or slow for a time, the monotonic one and the wall clock
    /// alike. What they have gained or lost by the end, they keep.
    ClockDrift {
        /// Whose.
        host: String,
        /// By how many millionths they are fast; negative if they are slow. They never stop:
        /// the slowest is a tenth of the true rate.
        ppm: i32,
        /// For how long, in true time.
        for_us: u64,
    },

    // The network.
    /// The network falls into several parts: nothing passes between hosts of different
    /// groups. Hosts in no group are heard by all. See `partition`.
    PartitionGroups {
        /// The parts.
        groups: Vec<Vec<String>>,
        /// For how long.
        for_us: u64,
    },
    /// The next packet with data from one host to another arrives much later. What follows
    /// on the same connection waits for it; all else overtakes it.
    Late {
        /// Who sends.
        from: String,
        /// Who receives late.
        to: String,
        /// How much later.
        extra_us: u64,
    },
    /// All established connections between two hosts are reset: both ends find them broken.
    Reset {
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// Packets from one host to another pass one after the other, each in the time that its
    /// size takes. Where several are on, the slowest counts.
    SlowLink {
        /// Who sends.
        from: String,
        /// Who receives slowly.
        to: String,
        /// How much passes in a second, headers included.
        bytes_per_s: u64,
        /// For how long.
        for_us: u64,
    },
    /// Some datagrams from one host to another vanish.
    LoseDatagrams {
        /// Who sends.
        from: String,
        /// Who does not receive them.
        to: String,
        /// How many in a hundred.
        percent: u64,
        /// For how long.
        for_us: u64,
    },
    /// Some datagrams from one host to another arrive twice.
    DuplicateDatagrams {
        /// Who sends.
        from: String,
        /// Who receives them twice.
        to: String,
        /// How many in a hundred.
        percent: u64,
        /// For how long.
        for_us: u64,
    },
    /// Some datagrams from one host to another take longer, and are overtaken by others.
    ReorderDatagrams {
        /// Who sends.
        from: String,
        /// Who receives them out of order.
        to: String,
        /// How many in a hundred.
        percent: u64,
        /// How much longer they take, at most.
        extra_us: u64,
        /// For how long.
        for_us: u64,
    },

    // Messages, where the code under test says what they are. See `crate::message`.
    /// The next messages of a kind from one host to another vanish, and neither end is told:
    /// the connection lives on.
    LoseMessage {
        /// Who sends.
        from: String,
        /// Who does not receive it.
        to: String,
        /// Which kind of message.
        kind: String,
        /// How many of them.
        times: u32,
    },
    /// The next message of a kind from one host to another is delivered, and some time later
    /// delivered again.
    Redeliver {
        /// Who sends.
        from: String,
        /// Who receives it twice.
        to: String,
        /// Which kind of message.
        kind: String,
        /// How much later it comes again.
        after_us: u64,
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
            Self::Freeze { host, .. }
            | Self::Crash { host, .. }
            | Self::Stall { host, .. }
            | Self::CrashLoop { host, .. }
            | Self::ClockStep { host, .. }
            | Self::ClockDrift { host, .. } => vec![host],
            Self::Partition { a, b, .. } => a.iter().chain(b).map(String::as_str).collect(),
            Self::PartitionGroups { groups, .. } => {
                groups.iter().flatten().map(String::as_str).collect()
            }
            Self::Reset { a, b } => vec![a, b],
            Self::PartitionOneWay { from, to, .. }
            | Self::LoseRequest { from, to }
            | Self::LoseResponse { from, to }
            | Self::Delay { from, to, .. }
            | Self::Late { from, to, .. }
            | Self::SlowLink { from, to, .. }
            | Self::LoseDatagrams { from, to, .. }
            | Self::DuplicateDatagrams { from, to, .. }
            | Self::ReorderDatagrams { from, to, .. }
            | Self::LoseMessage { from, to, .. }
            | Self::Redeliver { from, to, .. } => vec![from, to],
            Self::Disk(fault) => vec![fault.host()],
        }
    }

    /// The same, to be changed.
    pub(crate) fn hosts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Freeze { host, .. }
            | Self::Crash { host, .. }
            | Self::Stall { host, .. }
            | Self::CrashLoop { host, .. }
            | Self::ClockStep { host, .. }
            | Self::ClockDrift { host, .. } => vec![host],
            Self::Partition { a, b, .. } => a.iter_mut().chain(b).collect(),
            Self::PartitionGroups { groups, .. } => groups.iter_mut().flatten().collect(),
            Self::Reset { a, b } => vec![a, b],
            Self::PartitionOneWay { from, to, .. }
            | Self::LoseRequest { from, to }
            | Self::LoseResponse { from, to }
            | Self::Delay { from, to, .. }
            | Self::Late { from, to, .. }
            | Self::SlowLink { from, to, .. }
            | Self::LoseDatagrams { from, to, .. }
            | Self::DuplicateDatagrams { from, to, .. }
            | Self::ReorderDatagrams { from, to, .. }
            | Self::LoseMessage { from, to, .. }
            | Self::Redeliver { from, to, .. } => vec![from, to],
            Self::Disk(fault) => vec![fault.host_mut()],
        }
    }
}
