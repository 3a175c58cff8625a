//! Evidence of one effect, and evidence of a collision.

use serde::{Deserialize, Serialize};

use crate::identity::{AttemptId, OperationId};
use crate::intent::{IntentHash, PayloadHash};
use crate::lease::Holder;
use crate::resource::{ResourceId, ResourceVersion};

/// The evidence of one committed effect, written together with it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Receipt {
    /// The operation whose effect this is.
    pub operation_id: OperationId,
    /// The intent whose effect this is.
    pub intent_hash: IntentHash,
    /// The try that had the effect.
    pub attempt_id: AttemptId,
    /// What was changed.
    pub resource: ResourceId,
    /// Who changed it, under which epoch.
    pub holder: Holder,
    /// The state that was replaced.
    pub version_before: ResourceVersion,
    /// The state that replaced it.
    pub version_after: ResourceVersion,
    /// What was written, by hash.
    pub payload_hash: PayloadHash,
}

impl Receipt {
    /// Whether this receipt is evidence for that operation *and* that intent.
    ///
    /// Asking for the operation id alone is how a billing receipt came to prove that a
    /// webhook was rotated.
    pub fn binds(&self, operation_id: &OperationId, intent_hash: IntentHash) -> bool {
        self.operation_id == *operation_id && self.intent_hash == intent_hash
    }
}

/// The evidence that one operation id was claimed for two intents.
///
/// Neither is dispatched until a person decides: the id can no longer be trusted in
/// status look-ups, retries or receipts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CollisionReceipt {
    /// The id that names two intents.
    pub conflicting_operation_id: OperationId,
    /// The intent that held the id.
    pub first_intent_hash: IntentHash,
    /// The intent that came with the same id.
    pub second_intent_hash: IntentHash,
    /// What the first would change.
    pub first_target: ResourceId,
    /// What the second would change.
    pub second_target: ResourceId,
    /// Whether both write paths are blocked.
    pub dispatch_blocked: bool,
    /// What has to happen next.
    pub decision: CollisionDecision,
}

/// What has to happen after a collision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollisionDecision {
    /// A person looks at both effects and decides.
    HumanReviewRequired,
}
