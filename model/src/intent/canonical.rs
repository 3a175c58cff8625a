//! Canonical bytes and the hash over them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::intent::Intent;

/// Separates these hashes from every other use of SHA-256, and this edition of the
/// record from the next.
const DOMAIN: &[u8] = b"holdover/intent/v1\0";

macro_rules! digest_type {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// The 32 bytes of the digest.
            pub fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "sha256:{}", hex::encode(self.0))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "sha256:{}...", hex::encode(&self.0[..4]))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.0.serialize(serializer)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if !deserializer.is_human_readable() {
                    return <[u8; 32]>::deserialize(deserializer).map(Self);
                }
                let text = String::deserialize(deserializer)?;
                let mut bytes = [0; 32];
                text.strip_prefix("sha256:")
                    .and_then(|digits| hex::decode_to_slice(digits, &mut bytes).ok())
                    .ok_or_else(|| {
                        serde::de::Error::custom(format!(
                            "{text:?} is not a hash: expected \"sha256:\" and 64 hexadecimal digits"
                        ))
                    })?;
                Ok(Self(bytes))
            }
        }
    };
}
pub(crate) use digest_type;

digest_type! {
    /// SHA-256 over the canonical bytes of an intent: what makes two requests the same.
    IntentHash
}

/// Why a record cannot be an intent.
#[derive(Debug, thiserror::Error)]
pub enum IntentError {
    /// The record has no canonical form.
    #[error("the intent has no canonical form: {0}")]
    Canonical(#[from] serde_json::Error),
}

/// An intent together with its canonical bytes and their hash; it cannot be changed.
///
/// Two sealed intents are equal when their canonical bytes are. On the wire only the
/// record travels: whoever receives it computes bytes and hash for itself.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Intent", into = "Intent")]
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
    /// When the record has no canonical form.
    pub fn seal(self) -> Result<SealedIntent, IntentError> {
        let bytes = serde_json_canonicalizer::to_vec(&self)?;
        let hash =
            IntentHash(Sha256::new().chain_update(DOMAIN).chain_update(&bytes).finalize().into());
        Ok(SealedIntent { record: Arc::new(self), bytes: bytes.into(), hash })
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
