//! What is mutated, and which state of it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The name of one mutable thing at a destination, as `system/environment/resource`.
///
/// ```
/// use holdover_model::resource::ResourceId;
///
/// let webhook = ResourceId::new("payments/production/webhook/account-418");
/// assert_eq!(webhook.to_string(), "payments/production/webhook/account-418");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceId(Arc<str>);

impl ResourceId {
    /// Takes the full name of the resource.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(Arc::from(name.as_ref()))
    }

    /// The full name of the resource.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ResourceId {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// Which life of a resource: a resource that was deleted and made again has a new one,
/// even if its bytes are the same.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Incarnation(pub u64);

/// How many effects this incarnation of a resource has seen.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Version(pub u64);

impl Version {
    /// The version that one more effect makes.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// One exact state of a resource.
///
/// A version alone is not enough to name a state: after a delete and a re-creation the
/// counter starts again, and an old expectation would match a thing it never saw
/// (`mem9-ai/drive9#904`).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct ResourceVersion {
    /// Which life of the resource.
    pub incarnation: Incarnation,
    /// Which state within that life.
    pub version: Version,
}

impl ResourceVersion {
    /// The state that one more effect makes.
    #[must_use]
    pub fn next(self) -> Self {
        Self { version: self.version.next(), ..self }
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.incarnation.0, self.version.0)
    }
}
