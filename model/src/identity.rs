//! Who and which: the names that appear in evidence.
//!
//! Each kind of name is its own type, so that an operation id cannot be handed
//! over where a run id is meant. That confusion is the second bug this project
//! exists to find. Names are shared strings: cloning one copies a pointer.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! names {
    ($($(#[$meta:meta])* $name:ident)*) => {$(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the name as it is written in logs and requests.
            pub fn new(name: impl AsRef<str>) -> Self {
                Self(Arc::from(name.as_ref()))
            }

            /// The name as it is written in logs and requests.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                Self::new(name)
            }
        }
    )*};
}

names! {
    /// The adapter process that performs operations; it can be paused, crash, be replaced.
    WorkerId
    /// The program that asks for operations and waits for their answers.
    AgentId
    /// The identity the ledger gave to one intent; stable across attempts.
    OperationId
    /// One run of an agent, from which all its requests come (`cc-9021`).
    RunId
    /// One step of a run's plan (`rotate-webhook`).
    StepId
    /// One tool call; a repeated request for the same intent has a new one (`call-44`).
    CallId
    /// A person's or a policy's consent to one effect (`approval-552`).
    ApprovalId
}

/// One try at dispatching an operation: new each time, counted from 1 by the ledger.
///
/// The number orders the attempts of one operation, so that a destination that is
/// asked "what became of attempt 1?" can close it and everything before it.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct AttemptId(pub u32);

impl AttemptId {
    /// The attempt after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attempt-{:02}", self.0)
    }
}
