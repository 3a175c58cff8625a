//! What a world and its hosts are like, and why a run of it ends.

use serde::{Deserialize, Serialize};

use super::LinkProfile;

/// What a world is like.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorldConfig {
    /// How long packets travel.
    pub link: LinkProfile,
    /// How often hosts with plain timers are run, and so by how much such a timer may be
    /// late, beyond the millisecond to which tokio rounds it up.
    pub timer_resolution_us: u64,
    /// How often a disk that a plan restores is backed up.
    pub backup_every_us: u64,
    /// How many steps a run may take: happenings and runs of hosts.
    pub steps_max: u64,
    /// How often the tasks of one host may be run at one instant. More than that is a host
    /// that does not let time pass.
    pub polls_at_instant_max: u64,
    /// How much memory events and packets on their way may take, in bytes.
    ///
    /// What the code on the hosts allocates itself is not in it: that cannot be told apart
    /// from the memory of other runs in this process.
    pub memory_max_bytes: u64,
}

impl Default for WorldConfig {
    fn default() -> Self {
        Self {
            link: LinkProfile { latency_us_min: 1_000, latency_us_max: 20_000 },
            timer_resolution_us: 1_000,
            backup_every_us: 1_000,
            steps_max: 10_000_000,
            polls_at_instant_max: 200_000,
            memory_max_bytes: 1 << 30,
        }
    }
}

/// What a host is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostOptions {
    /// Its code, or a library that it uses, calls tokio's timers directly.
    ///
    /// The engine cannot see such timers and runs the host every
    /// [`timer_resolution_us`](WorldConfig::timer_resolution_us). Without them, idle time
    /// costs nothing; code then uses [`time`](crate::time) instead. Tokio's timers still
    /// fire there, but only when the host is run for another reason.
    pub plain_timers: bool,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self { plain_timers: true }
    }
}

/// Why a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a run may have ended because a host panicked"]
pub enum RunEnd {
    /// An observer has seen enough.
    Stopped,
    /// The time is up.
    Deadline,
    /// Nothing is left that could happen.
    Idle,
    /// The budget of steps is used up.
    OutOfSteps {
        /// The host whose tasks were run most often.
        host: String,
    },
    /// The budget of memory is used up.
    OutOfMemory {
        /// The host whose events and packets take most of it.
        host: String,
    },
    /// Tasks on a host are run again and again without any time passing: they wake
    /// themselves or each other, or wait for times that have come already.
    Stuck {
        /// On which host.
        host: String,
    },
    /// A task on a host panicked.
    Panicked {
        /// On which host.
        host: String,
        /// The message, with its place in the source.
        message: String,
    },
}
