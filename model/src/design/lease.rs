//! How a lease ends and how it is kept.

use crate::design::vocabulary::section;

section! {
    /// How a lease ends and how it is kept.
    LeaseSettings = "lease" {
        /// Who judges that a lease has expired.
        expiry_judged_by = "expiry-judged-by": ExpiryJudgedBy {
            /// The authority, after the destination has sealed it.
            Authority = "authority",
            /// Each side by its own clock: the authority frees the resource and trusts the
            /// worker to have stopped.
            WorkerClock = "worker-clock",
            /// The challenger, by how long it has waited itself.
            ChallengerSetting = "challenger-setting",
        }
        /// When a worker renews its lease.
        renewal = "renewal": Renewal {
            /// When its work has got on since the last time.
            ProgressCoupled = "progress-coupled",
            /// Always, from a thread of its own: a stuck worker keeps its lease.
            Background = "background",
            /// Never.
            None = "none",
        }
        /// What a worker does with its lease when it comes back after a crash.
        proof_after_reconnect = "proof-after-reconnect": ProofAfterReconnect {
            /// Forgets it and acquires a new one.
            Discarded = "discarded",
            /// Goes on with it as if nothing had happened.
            Kept = "kept",
        }
    }
}
