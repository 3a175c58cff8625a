//! What a design claims. Only claims are checked.

use serde::{Deserialize, Serialize};

/// What a design claims.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[expect(clippy::struct_excessive_bools, reason = "each is claimed by itself")]
pub struct Guarantee {
    /// From which moment on the old holder cannot change the resource any more.
    pub fenced_from: FencedFrom,
    /// Whether an expired lease admits no effect, even if nobody succeeds to it.
    pub expiry: bool,
    /// Whether a revoked or released lease admits no effect, even if nobody succeeds to it.
    pub revocation: bool,
    /// Whether a successor takes over without a person.
    pub automatic_takeover: bool,
    /// Whether an intent keeps one operation id, whoever retries it.
    pub stable_identity: bool,
    /// Whether outcomes are definite: unknown leaves only by a reconcile, nothing completes
    /// without a receipt, and what counts as failed has no effect.
    pub definite_outcomes: bool,
}

impl Default for Guarantee {
    fn default() -> Self {
        Self {
            fenced_from: FencedFrom::default(),
            expiry: true,
            revocation: true,
            automatic_takeover: true,
            stable_identity: true,
            definite_outcomes: true,
        }
    }
}

/// From which moment on the old holder cannot change the resource any more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FencedFrom {
    /// The moment the authority records the new lease.
    Grant,
    /// The moment the successor is told that it is ready.
    #[default]
    Ready,
    /// The moment the successor's first effect commits.
    FirstWrite,
}
