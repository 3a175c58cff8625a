//! Canonical bytes and the hash over them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::digest::digest_type;
use super::{Intent, IntentError};

/// Separates these hashes from every other use of SHA-256, and this edition of the
/// record from the next.
const DOMAIN: &[u8] = b"holdover/intent/v1\0";

/// The largest number up to which all numbers are exact in canonical JSON, whose numbers
/// are IEEE 754 doubles: 2^53-1.
pub(super) const LARGEST_EXACT: u64 = (1 << 53) - 1;

digest_type! {
    /// SHA-256 over the canonical bytes of an intent: what makes two requests the same.
    IntentHash
}

/// An intent together with its canonical bytes and their hash; it cannot be changed.
///
/// Two sealed intents are equal when their canonical bytes are. On the wire only the
/// record travels: whoever receives it computes bytes and hash for itself.
///
/// A retry is the same intent, however its record was written:
///
/// ```
/// use holdover_model::intent::Intent;
///
/// let first = Intent::from_json(
///     r#"{
///         "run_id": "cc-9021", "step_id": "rotate-webhook", "principal": "claude-code-release",
///         "target": {
///             "system": "payments", "environment": "production", "resource": "webhook/account-418"
///         },
///         "method": "update_destination",
///         "payload_hash": "sha256:71bf000000000000000000000000000000000000000000000000000000000000",
///         "expected_version": {"incarnation": 1, "version": 27},
///         "approval_id": "approval-552", "policy_version": "policy-2026-09-06.4"
///     }"#,
/// )?
/// .seal()?;
/// let canonical = std::str::from_utf8(first.canonical_bytes())?;
/// assert!(canonical.starts_with(r#"{"approval_id":"approval-552","expected_version":{"#));
///
/// let retry = Intent::from_json(canonical)?.seal()?;
/// assert_eq!(retry, first);
/// assert_eq!(retry.hash(), first.hash());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Deserialize)]
#[serde(try_from = "Intent")]
pub struct SealedIntent {
    record: Arc<Intent>,
    bytes: Arc<[u8]>,
    hash: IntentHash,
}

impl SealedIntent {
    /// The record.
    pub fn record(&self) -> &Intent {
        &self.record
    }

    /// The canonical bytes, without the domain prefix.
    pub fn canonical_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The hash of prefix and canonical bytes.
    pub fn hash(&self) -> IntentHash {
        self.hash
    }
}

impl Intent {
    /// Computes the canonical bytes and their hash.
    ///
    /// # Errors
    ///
    /// When the record would share its hash or its resource with another: numbers beyond
    /// 2^53-1, slashes in the system or the environment.
    pub fn seal(self) -> Result<SealedIntent, IntentError> {
        if let Some(state) = self.expected_version {
            exact("expected_version.incarnation", state.incarnation.0)?;
            exact("expected_version.version", state.version.0)?;
        }
        slashless("target.system", &self.target.system)?;
        slashless("target.environment", &self.target.environment)?;
        let bytes = serde_json_canonicalizer::to_vec(&self)?;
        let hash =
            IntentHash(Sha256::new().chain_update(DOMAIN).chain_update(&bytes).finalize().into());
        Ok(SealedIntent { record: Arc::new(self), bytes: bytes.into(), hash })
    }
}

fn exact(field: &'static str, value: u64) -> Result<(), IntentError> {
    if value > LARGEST_EXACT { Err(IntentError::Inexact { field, value }) } else { Ok(()) }
}

/// [`Target::resource_id`](super::Target::resource_id) joins the parts with slashes.
fn slashless(field: &'static str, value: &str) -> Result<(), IntentError> {
    if value.contains('/') {
        return Err(IntentError::Slash { field, value: value.to_owned() });
    }
    Ok(())
}

/// On the wire a sealed intent is its record.
impl Serialize for SealedIntent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.record.serialize(serializer)
    }
}

impl TryFrom<Intent> for SealedIntent {
    type Error = IntentError;

    fn try_from(record: Intent) -> Result<Self, IntentError> {
        record.seal()
    }
}

impl From<SealedIntent> for Intent {
    fn from(sealed: SealedIntent) -> Self {
        Arc::unwrap_or_clone(sealed.record)
    }
}

impl PartialEq for SealedIntent {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.bytes == other.bytes
    }
}

impl Eq for SealedIntent {}

impl PartialOrd for SealedIntent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SealedIntent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

impl std::hash::Hash for SealedIntent {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl fmt::Debug for SealedIntent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {:?}", self.record.run_id, self.record.step_id, self.hash)
    }
}
