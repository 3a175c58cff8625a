//! What follows a timeout.

use crate::design::Design;
use crate::design::asked::Asked;
use crate::design::vocabulary::section;

section! {
    /// What follows a timeout.
    RecoverySettings = "recovery" {
        /// What a worker concludes when a dispatched mutation is not answered in time.
        on_timeout = "on-timeout": OnTimeout {
            /// The outcome is unknown: the destination is asked before anything else is done.
            Reconcile = "reconcile",
            /// Nothing: the next try is sent.
            RetryBlindly = "retry-blindly",
            /// It failed, and may be tried again.
            AssumeFailed = "assume-failed",
            /// It succeeded.
            AssumeSucceeded = "assume-succeeded",
        }
        /// How the destination is asked.
        reconcile_by = "reconcile-by": ReconcileBy {
            /// By operation id: it answers with the receipt, or closes the tries so far.
            OperationId = "operation-id",
            /// By what the resource looks like now.
            ResourceState = "resource-state",
        }
        /// What the ledger keeps of an operation that has not succeeded.
        stored_outcome = "stored-outcome": StoredOutcome {
            /// Its class: failed before effect may be tried again, unknown is reconciled.
            ByClass = "by-class",
            /// The failure: every later request gets it as its answer.
            EveryStatus = "every-status",
            /// Nothing: the operation is forgotten, and the next request begins anew.
            SuccessOnly = "success-only",
        }
        /// Where mutations are sent again.
        resend = "resend": Resend {
            /// In one place, which asks the ledger first.
            OnePlace = "one-place",
            /// Also below it: a transport sends what was not answered again by itself, under
            /// whatever lease the worker holds by then.
            SecondPath = "second-path",
        }
        /// What a version conflict means to a try that follows another one.
        conflict_after_unknown = "conflict-after-unknown": ConflictAfterUnknown {
            /// Perhaps the earlier try has had its effect: the destination is asked.
            Reconcile = "reconcile",
            /// The operation has failed.
            ReportConflict = "report-conflict",
        }
    }
}

impl Asked<'_, Design> {
    /// Whether an operation can count as committed without a receipt.
    pub fn completes_without_receipt(self) -> bool {
        self.recovery().on_timeout() == OnTimeout::AssumeSucceeded
            || self.recovery().reconcile_by() == ReconcileBy::ResourceState
    }
}
