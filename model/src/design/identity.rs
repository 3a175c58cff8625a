//! How an intent gets its operation id.

use serde::{Deserialize, Serialize};

use crate::identity::{OperationId, RunId};
use crate::lease::Timestamp;

/// Who allocates operation ids, and what happens when one names two intents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct IdentitySettings {
    /// Who allocates operation ids.
    pub allocated_by: AllocatedBy,
    /// What happens when a known operation id comes with another intent.
    pub on_mismatch: OnMismatch,
}

/// Who allocates operation ids.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllocatedBy {
    /// One durable service, unique on operation id and on intent hash.
    #[default]
    Ledger,
    /// The caller, from its run id and the clock.
    RunAndMillisecond,
    /// The worker, a new one for every attempt.
    PerAttempt,
}

/// What happens when a known operation id comes with another intent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnMismatch {
    /// Both operations stop until a person decides.
    #[default]
    Block,
    /// What is stored under the id is returned as if it were the answer.
    ReturnStored,
}

impl AllocatedBy {
    /// The operation id that the caller brings along; `None` where the ledger allocates.
    pub fn proposal(
        self,
        run_id: &RunId,
        asked_at: Timestamp,
        entropy: u64,
    ) -> Option<OperationId> {
        match self {
            Self::Ledger => None,
            Self::RunAndMillisecond => {
                Some(OperationId::new(format!("op_{run_id}_{}", asked_at.unix_ms())))
            }
            Self::PerAttempt => Some(OperationId::new(format!("op_{entropy:016x}"))),
        }
    }
}

impl OnMismatch {
    /// Whether intents are compared wherever an operation id is looked up.
    pub fn compares(self) -> bool {
        self == Self::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_of_a_run_share_an_id_within_a_millisecond() {
        let run = RunId::new("cc-9021");
        let id = |unix_ns| {
            AllocatedBy::RunAndMillisecond.proposal(&run, Timestamp { unix_ns }, 0).unwrap()
        };
        assert_eq!(id(1_000_000), id(1_999_999));
        assert_ne!(id(1_000_000), id(2_000_000));
    }
}
