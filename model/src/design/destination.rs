//! What the destination compares, and how it keeps evidence.

use crate::design::vocabulary::section;

section! {
    /// What the destination compares, and how it keeps evidence.
    DestinationSettings = "destination" {
        /// How it recognises a mutation that it has had before.
        dedupe = "dedupe": Dedupe {
            /// By operation id: it answers from the stored receipt.
            OperationId = "operation-id",
            /// Not at all.
            None = "none",
        }
        /// How it knows the state that a mutation is to replace.
        version = "version": VersionCheck {
            /// By incarnation and version.
            IncarnationAndVersion = "incarnation-and-version",
            /// By version: a resource that was made anew counts from the start again.
            VersionOnly = "version-only",
            /// Not at all.
            None = "none",
        }
        /// When the receipt is durable.
        receipt = "receipt": ReceiptKept {
            /// Together with its effect.
            WithEffect = "with-effect",
            /// Some time after the answer has left: a crash in between loses it.
            AfterEffect = "after-effect",
        }
        /// What becomes of the conditions that come with a mutation.
        conditions = "conditions": Conditions {
            /// They are checked.
            Honoured = "honoured",
            /// They are accepted without complaint, and ignored.
            AcceptedAndIgnored = "accepted-and-ignored",
        }
        /// What a rejected mutation leaves behind.
        rejected_write = "rejected-write": RejectedWrite {
            /// Nothing but the record of the rejection, without the payload.
            LeavesNoTrace = "leaves-no-trace",
            /// Its value: the check comes after the write.
            LeavesItsValue = "leaves-its-value",
            /// Its payload, in the record of the rejection.
            LeavesItsPayloadInTheLog = "leaves-its-payload-in-the-log",
        }
    }
}
