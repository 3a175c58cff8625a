//! What must hold, as folds over events.
//!
//! Every invariant sees every event in the order in which the facts became true, keeps
//! what it needs, and says in one sentence what broke. Invariants know nothing of roles
//! or of the world: a production system that logs the same events can be checked by them.
//!
//! ```
//! use holdover_model::event::Event;
//! use holdover_model::invariant::{InvariantId, Monitor};
//! use holdover_model::lease::{Epoch, Lease, Timestamp};
//!
//! let lease = Lease {
//!     resource: "staging/routing-rule".into(),
//!     worker: "worker-A".into(),
//!     epoch: Epoch(41),
//!     expires_at: Timestamp { unix_ns: 0 },
//! };
//! let mut monitor = Monitor::new(Default::default());
//! let granted = Event::LeaseGranted { lease, granted_at: Timestamp { unix_ns: 0 } };
//! monitor.observe(&granted).unwrap();
//! let violation = monitor.observe(&granted).unwrap_err();
//! assert_eq!(violation.invariant, InvariantId::EpochMonotonic);
//! ```

mod approval;
mod effect;
mod identity;
mod ownership;
mod recovery;
mod settling;
mod state;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::design::guarantee::Guarantee;
use crate::event::Event;
use crate::identity::OperationId;
use crate::intent::IntentHash;
use crate::resource::ResourceId;

macro_rules! invariants {
    ($($(#[$meta:meta])* $name:ident = $label:literal: $holds_when:literal,)*) => {
        /// The name of an invariant.
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum InvariantId {
            $(#[doc = $holds_when] $name,)*
        }

        impl InvariantId {
            /// Every invariant.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name in designs, plans and reports.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// When it holds, in one sentence.
            pub fn holds_when(self) -> &'static str {
                match self { $(Self::$name => $holds_when,)* }
            }
        }
    };
}

invariants! {
    NoStaleEffect = "no-stale-effect":
        "No effect commits under an epoch after the point from which the design claims to fence it.",
    NoForgedEpoch = "no-forged-epoch":
        "No effect commits under an epoch that the authority never issued to that worker for that resource, if the design claims to reject invented epochs.",
    EpochMonotonic = "epoch-monotonic":
        "The epochs of a resource strictly increase.",
    SingleHolder = "single-holder":
        "At most one unexpired lease per resource, by the authority's time.",
    OneIntentPerOperation = "one-intent-per-operation":
        "No operation id ever names two intents: in the ledger, at dispatch, in receipts.",
    OneOperationPerIntent = "one-operation-per-intent":
        "No intent is given two operation ids, if the design claims that identities are stable.",
    AtMostOneEffect = "at-most-one-effect":
        "No operation, and no intent, has two effects.",
    ReceiptBindsIntent = "receipt-binds-intent":
        "Every receipt used to complete an operation names that operation, that intent and a version that exists.",
    ClaimBeforeDispatch = "claim-before-dispatch":
        "Nothing is dispatched that is not durably claimed.",
    CollisionBlocks = "collision-blocks":
        "After an identity collision the ledger lets nothing that it touches be dispatched or committed.",
    UnknownStaysUnknown = "unknown-stays-unknown":
        "Unknown leaves only by a reconcile, nothing completes without a receipt, and what counts as failed has no effect, if the design claims definite outcomes.",
    NoLostUpdate = "no-lost-update":
        "The state that an effect was to replace is the state that it replaced.",
    RejectionLeavesNoTrace = "rejection-leaves-no-trace":
        "A rejected write changes nothing.",
    DurableEvidence = "durable-evidence":
        "An effect and its receipt survive restart: a destination that had an effect does not deny it.",
    ApprovalBound = "approval-bound":
        "Every consent that is used was granted for exactly that intent, and is used for one operation.",
    NoPayloadInEvidence = "no-payload-in-evidence":
        "No payload appears in an event.",
    EveryOperationSettles = "every-operation-settles":
        "Once faults stop, every operation reaches committed, failed, never sent or blocked, and every request is answered.",
}

impl fmt::Display for InvariantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a violation is about: enough to pick the events that matter from a long run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Subject {
    /// The resource.
    pub resource: Option<ResourceId>,
    /// The operations.
    pub operations: Vec<OperationId>,
    /// The intents.
    pub intents: Vec<IntentHash>,
}

impl Subject {
    /// Whether an event is about the same thing.
    pub fn concerns(&self, event: &Event) -> bool {
        event.resource().is_some_and(|resource| Some(resource) == self.resource.as_ref())
            || event.operation_id().is_some_and(|id| self.operations.contains(id))
            || event.intent_hash().is_some_and(|hash| self.intents.contains(&hash))
    }
}

/// One invariant, broken.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Violation {
    /// Which invariant.
    pub invariant: InvariantId,
    /// What happened, in one sentence.
    pub explanation: String,
    /// What it is about.
    pub subject: Subject,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.explanation)
    }
}

impl std::error::Error for Violation {}

/// All invariants over one run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Monitor {
    ownership: ownership::Ownership,
    identity: identity::Identity,
    effect: effect::Effects,
    state: state::States,
    recovery: recovery::Recovery,
    approval: approval::Approvals,
    settling: settling::Settling,
}

impl Monitor {
    /// Invariants that have seen nothing yet; `guarantee` is what the design claims.
    pub fn new(guarantee: Guarantee) -> Self {
        Self {
            ownership: ownership::Ownership::new(guarantee),
            identity: identity::Identity::new(guarantee),
            effect: effect::Effects::default(),
            state: state::States::default(),
            recovery: recovery::Recovery::new(guarantee),
            approval: approval::Approvals::new(guarantee),
            settling: settling::Settling::default(),
        }
    }

    /// Takes the next event.
    ///
    /// # Errors
    ///
    /// When an invariant is broken by it.
    pub fn observe(&mut self, event: &Event) -> Result<(), Box<Violation>> {
        self.settling.observe(event);
        self.ownership.observe(event)?;
        self.identity.observe(event)?;
        self.effect.observe(event)?;
        self.state.observe(event)?;
        self.recovery.observe(event)?;
        self.approval.observe(event)
    }

    /// Looks at what is left once faults have stopped and everything has had its time.
    ///
    /// # Errors
    ///
    /// When an operation has not settled.
    pub fn finish(&self) -> Result<(), Box<Violation>> {
        self.settling.finish()
    }

    /// Whether every request that was made is answered and every operation settled.
    pub fn is_settled(&self) -> bool {
        self.settling.is_settled()
    }

    /// How many requests have been answered.
    pub fn answered(&self) -> usize {
        self.settling.answered()
    }
}

fn violation(
    invariant: InvariantId,
    subject: Subject,
    explanation: String,
) -> Result<(), Box<Violation>> {
    Err(Box::new(Violation { invariant, explanation, subject }))
}
