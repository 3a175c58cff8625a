//! The evidence vocabulary: where roles, world and invariants meet.
//!
//! An event is what a production system would log at the moment a fact becomes durable.
//! A system of your own takes part by emitting the same events; nothing else ties it to
//! this software. No event carries a payload, only its hash.

mod describe;

use serde::{Deserialize, Serialize};

use crate::envelope::Envelope;
use crate::identity::{ApprovalId, AttemptId, OperationId, WorkerId};
use crate::intent::{IntentHash, Payload};
use crate::lease::{Epoch, Holder, Lease, Timestamp};
use crate::receipt::{CollisionReceipt, Receipt};
use crate::resource::{ResourceId, ResourceVersion};

macro_rules! events {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? } = $label:literal,)*) => {
        /// One fact, at the moment it became durable where it was decided.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Event {
            $($(#[$meta])* $name { $($(#[$field_meta])* $field: $type),* },)*
        }

        /// The kind of an event, without its fields: what counters and triggers name.
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum EventKind {
            $($(#[$meta])* $name,)*
        }

        impl EventKind {
            /// Every kind, in the order in which this vocabulary lists them.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$name),*];

            /// The name in logs, plans and reports.
            pub fn as_str(self) -> &'static str {
                match self { $(EventKind::$name => $label,)* }
            }
        }

        impl Event {
            /// The kind of this event.
            pub fn kind(&self) -> EventKind {
                match self { $(Event::$name { .. } => EventKind::$name,)* }
            }
        }
    };
}

events! {
    /// An agent wants an effect: from now on it is owed an answer.
    IntentRequested {
        /// The effect it wants.
        intent_hash: IntentHash,
        /// What would change.
        resource: ResourceId,
    } = "intent-requested",
    /// An agent has its answer.
    IntentAnswered {
        /// The effect it had asked for.
        intent_hash: IntentHash,
        /// How that ended.
        outcome: Outcome,
    } = "intent-answered",
    /// The authority recorded a new lease.
    LeaseGranted {
        /// The lease.
        lease: Lease,
        /// When, by the authority's own clock.
        granted_at: Timestamp,
    } = "lease-granted",
    /// The authority extended a lease.
    LeaseRenewed {
        /// The lease, with its new expiry.
        lease: Lease,
    } = "lease-renewed",
    /// A lease is over.
    LeaseEnded {
        /// What it covered.
        resource: ResourceId,
        /// Who held it, under which epoch.
        holder: Holder,
        /// Why it is over.
        cause: LeaseEnd,
        /// Whose lease the request was about that ended it, if there was one.
        asked_for: Option<Holder>,
        /// The end of the term, if the authority's own clock has shown it. A clock that is set
        /// back afterwards does not bring the lease back.
        lapsed_at: Option<Timestamp>,
    } = "lease-ended",
    /// The authority, restored from a backup, declared every earlier lease void, whether it
    /// knew of it or not.
    LeasesVoided {
        /// What they covered.
        resource: ResourceId,
        /// The epochs below this one are void.
        below: Epoch,
    } = "leases-voided",
    /// The destination durably changed whom it admits.
    FenceAdvanced {
        /// The fenced resource.
        resource: ResourceId,
        /// Whom it admits; nobody if `None`.
        admits: Option<Holder>,
        /// The highest epoch that it has been told of.
        epoch: Epoch,
    } = "fence-advanced",
    /// A successor is told that it is ready.
    TakeoverComplete {
        /// The resource that it may now mutate.
        resource: ResourceId,
        /// The successor.
        holder: Holder,
    } = "takeover-complete",
    /// An operation id was durably bound to an intent.
    OperationClaimed {
        /// The id.
        operation_id: OperationId,
        /// The intent.
        intent_hash: IntentHash,
        /// What it would change.
        resource: ResourceId,
    } = "operation-claimed",
    /// The ledger moved an operation to another status.
    StatusChanged {
        /// The operation.
        operation_id: OperationId,
        /// Where it was.
        from: OperationStatus,
        /// Where it is.
        to: OperationStatus,
    } = "status-changed",
    /// One operation id was claimed for two intents.
    IdentityCollision {
        /// The evidence.
        receipt: CollisionReceipt,
    } = "identity-collision",
    /// A worker is about to send a mutation to the destination.
    Dispatched {
        /// What travels with it.
        envelope: Envelope,
        /// What it would change.
        resource: ResourceId,
        /// The authority under which it is sent.
        holder: Holder,
    } = "dispatched",
    /// The destination changed the resource.
    EffectCommitted {
        /// The evidence, written together with the effect.
        receipt: Receipt,
        /// The state that the mutation was to replace, if it named one.
        expected: Option<ResourceVersion>,
    } = "effect-committed",
    /// Somebody else deleted a resource and made it anew.
    ResourceRecreated {
        /// The resource.
        resource: ResourceId,
        /// Its first state.
        version: ResourceVersion,
    } = "resource-recreated",
    /// The destination refused a mutation and left the resource as it was.
    EffectRejected {
        /// What came with it.
        envelope: Envelope,
        /// What it would have changed.
        resource: ResourceId,
        /// The authority under which it was sent.
        holder: Holder,
        /// Why it was refused.
        reason: Rejection,
        /// The state of the resource after that.
        version: ResourceVersion,
        /// The payload, which has no business here.
        payload: Option<Payload>,
    } = "effect-rejected",
    /// The destination answered a repeated mutation from its stored receipt.
    EffectReplayed {
        /// The stored evidence.
        receipt: Receipt,
        /// The repeated try.
        attempt_id: AttemptId,
    } = "effect-replayed",
    /// A worker does not know whether its mutation took effect.
    OutcomeUnknown {
        /// The operation.
        operation_id: OperationId,
        /// The try whose fate is unknown.
        attempt_id: AttemptId,
    } = "outcome-unknown",
    /// The destination said what became of an operation.
    Reconciled {
        /// The operation.
        operation_id: OperationId,
        /// The try up to which the question went; none of them can take effect any more.
        attempt_id: AttemptId,
        /// Whether there is an effect.
        committed: bool,
    } = "reconciled",
    /// A worker told an agent that its effect has happened, with this evidence.
    OperationCompleted {
        /// The operation.
        operation_id: OperationId,
        /// The intent that the agent had asked for.
        intent_hash: IntentHash,
        /// What the agent had asked to change.
        resource: ResourceId,
        /// Who says so.
        worker: WorkerId,
        /// The evidence.
        receipt: Option<Receipt>,
    } = "operation-completed",
    /// A person consented to an effect.
    ApprovalGranted {
        /// The consent.
        approval_id: ApprovalId,
        /// The effect.
        intent_hash: IntentHash,
    } = "approval-granted",
    /// The ledger let an operation leave under a consent.
    ApprovalUsed {
        /// The consent.
        approval_id: ApprovalId,
        /// The operation.
        operation_id: OperationId,
        /// The effect.
        intent_hash: IntentHash,
    } = "approval-used",
}

impl std::fmt::Display for EventKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Event {
    /// The resource that this is about, if it names one.
    pub fn resource(&self) -> Option<&ResourceId> {
        match self {
            Self::LeaseGranted { lease, .. } | Self::LeaseRenewed { lease } => {
                Some(&lease.resource)
            }
            Self::IntentRequested { resource, .. }
            | Self::LeaseEnded { resource, .. }
            | Self::FenceAdvanced { resource, .. }
            | Self::TakeoverComplete { resource, .. }
            | Self::LeasesVoided { resource, .. }
            | Self::ResourceRecreated { resource, .. }
            | Self::OperationClaimed { resource, .. }
            | Self::Dispatched { resource, .. }
            | Self::EffectRejected { resource, .. }
            | Self::OperationCompleted { resource, .. } => Some(resource),
            Self::EffectCommitted { receipt, .. } | Self::EffectReplayed { receipt, .. } => {
                Some(&receipt.resource)
            }
            Self::IntentAnswered { .. }
            | Self::StatusChanged { .. }
            | Self::IdentityCollision { .. }
            | Self::OutcomeUnknown { .. }
            | Self::Reconciled { .. }
            | Self::ApprovalGranted { .. }
            | Self::ApprovalUsed { .. } => None,
        }
    }

    /// The operation that this is about, if it names one.
    pub fn operation_id(&self) -> Option<&OperationId> {
        match self {
            Self::OperationClaimed { operation_id, .. }
            | Self::StatusChanged { operation_id, .. }
            | Self::OutcomeUnknown { operation_id, .. }
            | Self::Reconciled { operation_id, .. }
            | Self::ApprovalUsed { operation_id, .. }
            | Self::OperationCompleted { operation_id, .. } => Some(operation_id),
            Self::Dispatched { envelope, .. } | Self::EffectRejected { envelope, .. } => {
                Some(&envelope.operation_id)
            }
            Self::EffectCommitted { receipt, .. } | Self::EffectReplayed { receipt, .. } => {
                Some(&receipt.operation_id)
            }
            Self::IdentityCollision { receipt } => Some(&receipt.conflicting_operation_id),
            _ => None,
        }
    }

    /// The intent that this is about, if it names one.
    pub fn intent_hash(&self) -> Option<IntentHash> {
        match self {
            Self::IntentRequested { intent_hash, .. }
            | Self::IntentAnswered { intent_hash, .. }
            | Self::OperationClaimed { intent_hash, .. }
            | Self::ApprovalGranted { intent_hash, .. }
            | Self::ApprovalUsed { intent_hash, .. }
            | Self::OperationCompleted { intent_hash, .. } => Some(*intent_hash),
            Self::Dispatched { envelope, .. } | Self::EffectRejected { envelope, .. } => {
                Some(envelope.intent_hash)
            }
            Self::EffectCommitted { receipt, .. } | Self::EffectReplayed { receipt, .. } => {
                Some(receipt.intent_hash)
            }
            _ => None,
        }
    }
}

/// Why a lease is over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeaseEnd {
    /// Its time is up.
    Expired,
    /// The authority took it back.
    Revoked,
    /// The holder gave it back.
    Released,
    /// Ownership passed to a successor.
    TakenOver,
}

/// Where an operation is in its life.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationStatus {
    /// Claimed; nothing has left.
    Prepared,
    /// A try may have left.
    Dispatched,
    /// Its effect is there, with a receipt.
    Committed,
    /// Its tries so far had no effect and can have none any more.
    FailedBeforeEffect,
    /// A try left and nobody knows what became of it.
    Unknown,
    /// Closed without a try.
    NeverSent,
    /// Nothing may be dispatched or completed until a person decides.
    Blocked,
}

impl OperationStatus {
    /// The status in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Dispatched => "dispatched",
            Self::Committed => "committed",
            Self::FailedBeforeEffect => "failed before effect",
            Self::Unknown => "unknown",
            Self::NeverSent => "never sent",
            Self::Blocked => "blocked",
        }
    }

    /// Whether an operation can rest here for good.
    pub fn is_settled(self) -> bool {
        match self {
            Self::Committed | Self::FailedBeforeEffect | Self::NeverSent | Self::Blocked => true,
            Self::Prepared | Self::Dispatched | Self::Unknown => false,
        }
    }
}

/// How a request ended for the agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The effect is there, with a receipt.
    Committed,
    /// There was no effect and there will be none.
    Failed,
    /// A person has to decide.
    Blocked,
}

/// Why a destination refused a mutation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
    /// The epoch is older than the fence.
    StaleEpoch,
    /// The epoch is newer than the fence: nobody has issued it, as far as is known here.
    UnknownEpoch,
    /// The epoch is right and the worker is not its holder.
    OtherWorker,
    /// The fence admits nobody: the lease was expired or revoked.
    Sealed,
    /// The resource is not in the expected state.
    VersionConflict,
    /// The same operation id came with another intent.
    IdentityCollision,
    /// The attempt was closed by a reconcile or refused before.
    AttemptClosed,
    /// The fence does not work, and without it nothing is admitted.
    Misconfigured,
}
