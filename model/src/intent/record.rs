//! The record itself: every field changes authority or outcome.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::digest::digest_type;
use crate::identity::{ApprovalId, RunId, StepId};
use crate::resource::{ResourceId, ResourceVersion};

digest_type! {
    /// SHA-256 of the payload that an effect writes. Evidence names payloads by hash only.
    PayloadHash
}

impl PayloadHash {
    /// The hash of these bytes.
    pub fn of(payload: &[u8]) -> Self {
        Self(Sha256::digest(payload).into())
    }
}

/// The bytes that an effect writes.
///
/// They travel from agent to destination and are never shown: `Debug` prints their
/// length, events carry their hash.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Payload(Arc<[u8]>);

impl Payload {
    /// Takes the bytes to write.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        Self(Arc::from(bytes.as_ref()))
    }

    /// The bytes to write.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The name of these bytes in evidence.
    pub fn hash(&self) -> PayloadHash {
        PayloadHash::of(&self.0)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "payload of {} bytes", self.0.len())
    }
}

/// Where the effect is to happen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Target {
    /// The system that owns the resource (`payments`), without slashes.
    pub system: String,
    /// Which installation of it (`production`), without slashes.
    pub environment: String,
    /// The resource within it (`webhook/account-418`).
    pub resource: String,
}

impl Target {
    /// The resource's full name, as leases, fences and receipts use it.
    pub fn resource_id(&self) -> ResourceId {
        ResourceId::new(format!("{}/{}/{}", self.system, self.environment, self.resource))
    }
}

/// The immutable record of one intended effect.
///
/// Another payload, target, version, approval or policy is another intent:
///
/// ```
/// use holdover_model::intent::{Intent, PayloadHash, Target};
/// use holdover_model::resource::{Incarnation, ResourceVersion, Version};
///
/// let approved = ResourceVersion { incarnation: Incarnation(1), version: Version(27) };
/// let intent = Intent {
///     run_id: "cc-9021".into(),
///     step_id: "rotate-webhook".into(),
///     principal: "claude-code-release".into(),
///     target: Target {
///         system: "payments".into(),
///         environment: "production".into(),
///         resource: "webhook/account-418".into(),
///     },
///     method: "update_destination".into(),
///     payload_hash: PayloadHash::of(b"https://hooks.example/new"),
///     expected_version: Some(approved),
///     approval_id: "approval-552".into(),
///     policy_version: "policy-2026-09-06.4".into(),
/// };
/// let hash = intent.clone().seal()?.hash();
///
/// for changed in [
///     Intent { payload_hash: PayloadHash::of(b"https://hooks.example/other"), ..intent.clone() },
///     Intent {
///         target: Target { resource: "webhook/account-419".into(), ..intent.target.clone() },
///         ..intent.clone()
///     },
///     Intent { expected_version: Some(approved.next()), ..intent.clone() },
///     Intent { approval_id: "approval-553".into(), ..intent.clone() },
///     Intent { policy_version: "policy-2026-09-06.5".into(), ..intent.clone() },
/// ] {
///     assert_ne!(changed.seal()?.hash(), hash);
/// }
/// assert_eq!(intent.seal()?.hash(), hash);
/// # Ok::<(), holdover_model::intent::IntentError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Intent {
    /// The run that wants the effect.
    pub run_id: RunId,
    /// Which step of the run wants it.
    pub step_id: StepId,
    /// On whose behalf.
    pub principal: String,
    /// Where it is to happen.
    pub target: Target,
    /// What is to be done there (`update_destination`).
    pub method: String,
    /// What is to be written, by hash.
    pub payload_hash: PayloadHash,
    /// The state that was approved for replacement. `None` for an effect that depends on
    /// no earlier state, such as issuing an invoice; that is written as `null` and cannot
    /// be left out.
    pub expected_version: Option<ResourceVersion>,
    /// The consent that covers exactly this effect.
    pub approval_id: ApprovalId,
    /// Which edition of the policy allowed it (`policy-2026-09-06.4`).
    pub policy_version: String,
}
