//! The identity that travels with an operation on every hop.

use serde::{Deserialize, Serialize};

use crate::identity::{ApprovalId, AttemptId, CallId, OperationId, RunId};
use crate::intent::IntentHash;

/// What every hop from the agent to the destination carries beside the payload.
///
/// The operation id is stable across retries, the attempt id changes with every one: so a
/// trace shows several attempts, and the destination sees one business operation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// The identity that the ledger gave to the intent.
    pub operation_id: OperationId,
    /// The intent that this operation is.
    pub intent_hash: IntentHash,
    /// Which try this is.
    pub attempt_id: AttemptId,
    /// The run that asked.
    pub run_id: RunId,
    /// The tool call that asked.
    pub call_id: CallId,
    /// The consent that covers the effect.
    pub approval_id: ApprovalId,
}
