//! What follows a timeout.

use serde::{Deserialize, Serialize};

/// What follows a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RecoverySettings {
    /// What a worker concludes when a dispatched mutation is not answered in time.
    pub on_timeout: OnTimeout,
}

/// What a worker concludes when a dispatched mutation is not answered in time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The outcome is unknown: the destination is asked before anything else is done.
    #[default]
    Reconcile,
    /// It failed, and may be tried again.
    AssumeFailed,
}
