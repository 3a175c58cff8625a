//! How the authority hands out leases.

use crate::design::vocabulary::section;

section! {
    /// How the authority hands out leases.
    AuthoritySettings = "authority" {
        /// When a new epoch is issued.
        epoch = "epoch": EpochIssue {
            /// On every acquisition, also one by the same worker.
            PerAcquisition = "per-acquisition",
            /// Only when the owner changes: an earlier self of the same worker looks current.
            PerOwnerChange = "per-owner-change",
            /// Never: a lease carries no token, and writes can be told apart by worker only.
            None = "none",
        }
        /// When a change is durable.
        durability = "durability": Durability {
            /// Before anybody is told of it.
            BeforeReply = "before-reply",
            /// Some time after the reply has left: a crash in between forgets it.
            AfterReply = "after-reply",
            /// Never: a restart begins from nothing.
            Memory = "memory",
        }
        /// What happens after a restore from an older backup.
        restore = "restore": Restore {
            /// Epochs jump beyond everything that can have been issued, and all earlier leases
            /// are void.
            NewIncarnation = "new-incarnation",
            /// Work goes on from the backup: epochs that were issued since are issued again.
            AsIs = "as-is",
        }
        /// Whose time decides whether a lease is over.
        time = "time": Time {
            /// The authority's own, at the moment it commits.
            AuthorityAtCommit = "authority-at-commit",
            /// The time that the caller wrote into its request.
            CallerSupplied = "caller-supplied",
        }
        /// What a request for takeover is compared with.
        takeover = "takeover": Takeover {
            /// The epoch that the supervisor saw has to be the current one still.
            CompareAndSet = "compare-and-set",
            /// Nothing: whoever holds the resource by now loses it.
            StaleSnapshot = "stale-snapshot",
            /// The age of the grant only: a lease ends after its first term, renewed or not.
            AgeOnly = "age-only",
        }
        /// What a release is compared with.
        release = "release": Release {
            /// The epoch that it names has to be the current one, and its worker the holder.
            CompareEpoch = "compare-epoch",
            /// The worker has to be the holder; an earlier self will do.
            CompareOwner = "compare-owner",
            /// Nothing: whoever asks, the resource is free.
            ByKey = "by-key",
        }
    }
}
