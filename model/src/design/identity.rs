//! How an intent gets its operation id.

use crate::design::asked::Asked;
use crate::design::binds::Binds;
use crate::design::vocabulary::section;
use crate::identity::OperationId;
use crate::intent::SealedIntent;
use crate::lease::Timestamp;

section! {
    /// How an intent gets its operation id, and what the id is good for.
    IdentitySettings = "identity" also {
        /// Which fields of an intent its identity covers: `"every-field"`, or a list of fields.
        binds = "binds": Binds,
    } {
        /// Who allocates operation ids.
        allocated_by = "allocated-by": AllocatedBy {
            /// One durable service, unique on operation id and on intent.
            Ledger = "ledger",
            /// The caller, from its run id and the clock.
            RunAndMillisecond = "run-and-millisecond",
            /// The worker, from a counter in its memory.
            ProcessCounter = "process-counter",
            /// The worker, from so little of the intent's hash that two intents share it.
            TruncatedHash = "truncated-hash",
            /// The worker, a new one for every try.
            PerAttempt = "per-attempt",
            /// The caller, from the number of its request.
            RequestId = "request-id",
        }
        /// How the ledger keeps an intent from being claimed twice.
        claim = "claim": Claim {
            /// Look-up and insertion are one step.
            UniqueInsert = "unique-insert",
            /// It looks, finds nothing, and inserts later.
            LookupThenInsert = "lookup-then-insert",
        }
        /// When an operation is written down.
        claimed = "claimed": Claimed {
            /// Before anything is dispatched.
            BeforeDispatch = "before-dispatch",
            /// When its effect is there: a look-up before that finds nothing.
            AfterEffect = "after-effect",
        }
        /// What happens when a known operation id comes with another intent.
        on_mismatch = "on-mismatch": OnMismatch {
            /// Both operations stop until a person decides.
            Block = "block",
            /// The newer intent takes the id over.
            NewestWins = "newest-wins",
            /// What is stored under the id is returned as if it were the answer.
            ReturnStored = "return-stored",
            /// The collision is recorded, and the work goes on.
            RecordOnly = "record-only",
        }
        /// How long an operation is remembered.
        retention = "retention": Retention {
            /// Longer than anybody retries.
            LongerThanRetries = "longer-than-retries",
            /// Not as long; a later retry counts as new.
            ShorterThenNew = "shorter-then-new",
            /// Not as long; a later retry is refused.
            ShorterThenRefuse = "shorter-then-refuse",
        }
        /// How far the operation id travels.
        carried = "carried": Carried {
            /// To the destination.
            ToDestination = "to-destination",
            /// Not beyond the proxy in front of it: the destination cannot recognise a retry.
            DroppedAtProxy = "dropped-at-proxy",
        }
        /// How a worker finds the job that an answer of the destination is for.
        answers_matched_by = "answers-matched-by": AnswersMatchedBy {
            /// By operation and intent.
            Operation = "operation",
            /// By the number of the request: of the calls that share it, one gets all answers.
            RequestNumber = "request-number",
        }
    }
}

/// What a caller has at hand when it makes up an operation id by itself.
#[derive(Clone, Copy, Debug)]
pub struct Ingredients<'a> {
    /// The intent.
    pub intent: &'a SealedIntent,
    /// When the agent began with it.
    pub asked_at: Timestamp,
    /// The number of the agent's request.
    pub request_number: u32,
    /// How many ids this worker has made up since it started.
    pub minted: u32,
    /// A random number.
    pub entropy: u64,
}

impl AllocatedBy {
    /// The operation id that the caller brings along; `None` where the ledger allocates.
    pub fn proposal(self, from: Ingredients<'_>) -> Option<OperationId> {
        let Ingredients { intent, asked_at, request_number, minted, entropy } = from;
        let id = match self {
            Self::Ledger => return None,
            Self::RunAndMillisecond => {
                format!("op_{}_{}", intent.record().run_id, asked_at.unix_ms())
            }
            Self::ProcessCounter => format!("op_{}", minted + 1),
            // So few bits that a handful of operations shows what 32 bits show at scale.
            Self::TruncatedHash => format!("op_{}", intent.hash().as_bytes()[0] & 1),
            Self::PerAttempt => format!("op_{entropy:016x}"),
            Self::RequestId => format!("op_request-{request_number}"),
        };
        Some(OperationId::new(id))
    }
}

impl Asked<'_, IdentitySettings> {
    /// Whether hashes of intents are compared on the way: they can only be where an identity
    /// covers the whole intent.
    pub fn compares_hashes(self) -> bool {
        self.on_mismatch() == OnMismatch::Block && self.binds().is_everything()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::{Intent, PayloadHash, Target};

    #[test]
    fn two_steps_of_a_run_share_an_id_within_a_millisecond() {
        let intent = Intent {
            run_id: "cc-9021".into(),
            step_id: "rotate-webhook".into(),
            principal: "claude-code-release".into(),
            target: Target {
                system: "payments".into(),
                environment: "production".into(),
                resource: "webhook/account-418".into(),
            },
            method: "update_destination".into(),
            payload_hash: PayloadHash::of(b""),
            expected_version: None,
            approval_id: "approval-552".into(),
            policy_version: "policy-2026-09-06.4".into(),
        };
        let intent = &intent.seal().unwrap();
        let id = |unix_ns| {
            let asked_at = Timestamp { unix_ns };
            let from = Ingredients { intent, asked_at, request_number: 1, minted: 0, entropy: 0 };
            AllocatedBy::RunAndMillisecond.proposal(from).unwrap()
        };
        assert_eq!(id(1_000_000), id(1_999_999));
        assert_ne!(id(1_000_000), id(2_000_000));
    }
}
