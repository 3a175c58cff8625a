//! What can go wrong with a disk.
//!
//! A disk without any of these is honest but forgetful: what was synced survives a
//! [crash](super::Fault::Crash), and all else is lost. That alone is the most common of all disk
//! faults: the write that was acknowledged from the page cache.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::describe::Microseconds;

/// One thing that goes wrong with the disk of one host. Times are in simulated microseconds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DiskFault {
    /// The machine loses power in the middle of a write, and later boots again.
    ///
    /// A crash in which the first bytes of the last write survive although it was not synced,
    /// but never all of them; all other unsynced writes are lost. If the last write was synced,
    /// or changed a file that is not there after the crash, this is a crash like any other.
    ///
    /// In the world: a write of several sectors is not atomic, so logs end in half a record
    /// after a power failure; a store that does not look for that reads garbage, or refuses
    /// to start.
    Tear {
        /// Who crashes.
        host: String,
        /// How many bytes of the write survive, if it has more.
        kept_bytes: u64,
        /// How long it is down.
        restart_after_us: u64,
    },
    /// Writes and syncs fail with an input/output error (`EIO`); reads work.
    ///
    /// Nothing of a failed write is in the file. What was written before and could not be
    /// synced stays readable, and is lost in a crash.
    ///
    /// In the world: a dying device, or a volume that lost its path. `PostgreSQL` used to retry a
    /// failed `fsync` and believe its second, empty success (2018); the only safe answer is
    /// to stop and to start again from what is really there.
    Fail {
        /// Whose disk.
        host: String,
        /// For how long.
        for_us: u64,
    },
    /// Each write and each sync blocks the process that asks for it.
    ///
    /// The process stops as in a freeze, one call after the other: its heartbeats stop with
    /// it, while its kernel acknowledges what arrives.
    ///
    /// In the world: a noisy neighbour, a full write cache, a RAID rebuild. A lease holder
    /// that hangs in `fsync` is the pause from which stale writes come; etcd loses its
    /// leaders to it.
    Slow {
        /// Whose disk.
        host: String,
        /// How long each call takes longer.
        by_us: u64,
        /// For how long.
        for_us: u64,
    },
    /// The disk has only so much room left; what does not fit fails (`ENOSPC`).
    ///
    /// A write that fits in part is written in part, as `write` may, so a record is cut
    /// short without any crash. What is in a file already can be overwritten and synced.
    ///
    /// In the world: logs that nobody rotates. The disk is full until somebody makes room.
    Fill {
        /// Whose disk.
        host: String,
        /// How many bytes still fit.
        free_bytes: u64,
        /// For how long.
        for_us: u64,
    },
    /// The machine is lost and its disk is replaced by an older backup of it.
    ///
    /// A crash after which the disk is as it was when the newest backup was taken that is at
    /// least this old; it is empty if there is none. The world takes them on a schedule,
    /// [`backup_every_us`](crate::world::WorldConfig::backup_every_us), of what is synced by
    /// then. Whoever runs a restore knows about it, and tells the process: see
    /// [`restores`](crate::world::restores).
    ///
    /// In the world: a corrupted volume, an operator's mistake, a cluster rebuilt from its
    /// snapshot. An authority that counts on from an old snapshot issues again the epochs
    /// that it had issued since (etcd-io/etcd#16028). A ledger or a destination that is
    /// restored has forgotten effects and claims that others have been told of: no design
    /// can make good for that, and generated plans restore only an authority that has its
    /// store for itself. Any other host can be restored by hand.
    Restore {
        /// Who crashes.
        host: String,
        /// How old the backup is, at least.
        age_us: u64,
        /// How long the restore takes.
        restart_after_us: u64,
    },
}

impl DiskFault {
    /// Whose disk it is.
    pub fn host(&self) -> &str {
        match self {
            Self::Tear { host, .. }
            | Self::Fail { host, .. }
            | Self::Slow { host, .. }
            | Self::Fill { host, .. }
            | Self::Restore { host, .. } => host,
        }
    }

    pub(crate) fn host_mut(&mut self) -> &mut String {
        match self {
            Self::Tear { host, .. }
            | Self::Fail { host, .. }
            | Self::Slow { host, .. }
            | Self::Fill { host, .. }
            | Self::Restore { host, .. } => host,
        }
    }

    /// How long it lasts.
    pub fn lasts_us(&self) -> u64 {
        match *self {
            Self::Tear { restart_after_us: for_us, .. }
            | Self::Fail { for_us, .. }
            | Self::Slow { for_us, .. }
            | Self::Fill { for_us, .. }
            | Self::Restore { restart_after_us: for_us, .. } => for_us,
        }
    }
}

impl fmt::Display for DiskFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tear { host, kept_bytes, restart_after_us } => write!(
                f,
                "crash {host} within a write of which {kept_bytes} bytes survive, \
                 restart after {restart_after_us}",
                restart_after_us = Microseconds(*restart_after_us)
            ),
            Self::Fail { host, for_us } => {
                write!(
                    f,
                    "writes and syncs of {host} fail for {for_us}",
                    for_us = Microseconds(*for_us)
                )
            }
            Self::Slow { host, by_us, for_us } => {
                write!(
                    f,
                    "each write and sync of {host} takes {by_us} longer for {for_us}",
                    by_us = Microseconds(*by_us),
                    for_us = Microseconds(*for_us)
                )
            }
            Self::Fill { host, free_bytes, for_us } => {
                write!(
                    f,
                    "{free_bytes} bytes are left on the disk of {host} for {for_us}",
                    for_us = Microseconds(*for_us)
                )
            }
            Self::Restore { host, age_us, restart_after_us } => write!(
                f,
                "restore {host} from a backup that is {age_us} old, \
                 restart after {restart_after_us}",
                age_us = Microseconds(*age_us),
                restart_after_us = Microseconds(*restart_after_us)
            ),
        }
    }
}
