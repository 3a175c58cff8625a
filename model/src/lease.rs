//! Who may act, under which epoch, until when.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::identity::WorkerId;
use crate::resource::ResourceId;

/// A fencing token: strictly increasing per resource, new on *every* acquisition.
///
/// `Epoch(0)` is never issued; it is the epoch of a resource that nobody ever held.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The epoch of the next acquisition.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}", self.0)
    }
}

/// A moment on some host's wall clock, in nanoseconds since the Unix epoch.
///
/// Roles never read a clock. The driver that runs them says what time it is *there*,
/// so two roles may disagree.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp {
    /// Nanoseconds since the Unix epoch.
    pub unix_ns: u64,
}

impl Timestamp {
    /// Whole milliseconds since the Unix epoch.
    pub fn unix_ms(self) -> u64 {
        self.unix_ns / 1_000_000
    }

    /// This moment and then some, saturating at the end of time.
    #[must_use]
    pub fn after(self, duration: std::time::Duration) -> Self {
        let added_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self { unix_ns: self.unix_ns.saturating_add(added_ns) }
    }
}

/// A lease as the authority recorded it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Lease {
    /// What may be mutated.
    pub resource: ResourceId,
    /// Who may mutate it.
    pub worker: WorkerId,
    /// Under which fencing token.
    pub epoch: Epoch,
    /// Until when, by the authority's clock at the moment it committed the grant.
    pub expires_at: Timestamp,
}

/// What a worker shows with each write: its lease without the expiry, which is the
/// authority's business.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// Who claims to hold the resource.
    pub worker: WorkerId,
    /// Under which fencing token.
    pub epoch: Epoch,
}

impl Lease {
    /// The holder that this lease names.
    pub fn holder(&self) -> Holder {
        Holder { worker: self.worker.clone(), epoch: self.epoch }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.worker, self.epoch)
    }
}
