//! What a consent covers.

use crate::design::vocabulary::section;

section! {
    /// What a consent covers.
    ApprovalSettings = "approval" {
        /// To what a consent is bound.
        bound_to = "bound-to": BoundTo {
            /// To the hash of exactly one intent.
            IntentHash = "intent-hash",
            /// To the number of the request: another request with that number passes, too.
            RequestId = "request-id",
            /// To nothing: whoever shows it may do anything.
            Nothing = "nothing",
        }
        /// How often it can be used.
        usage = "use": Usage {
            /// For one operation.
            Single = "single",
            /// For as many as there are.
            Repeated = "repeated",
        }
    }
}
