//! What the roles say to each other.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::envelope::Envelope;
use crate::event::{OperationStatus, Outcome, Rejection};
use crate::identity::{AgentId, ApprovalId, AttemptId, CallId, OperationId, WorkerId};
use crate::intent::{IntentHash, Payload, PayloadHash, SealedIntent};
use crate::lease::{Epoch, Holder, Lease, Timestamp};
use crate::receipt::Receipt;
use crate::resource::{ResourceId, ResourceVersion};

/// Who sends or receives a message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Actor {
    /// An agent.
    Agent(AgentId),
    /// A worker.
    Worker(WorkerId),
    /// The supervisor.
    Supervisor,
    /// The authority.
    Authority,
    /// The ledger.
    Ledger,
    /// The destination.
    Destination,
}

impl Actor {
    /// The actor's name, which is also its host's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Agent(agent) => agent.as_str(),
            Self::Worker(worker) => worker.as_str(),
            Self::Supervisor => "supervisor",
            Self::Authority => "authority",
            Self::Ledger => "ledger",
            Self::Destination => "destination",
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A consent as an agent shows it: which one, and what it was given for.
///
/// Whoever gives consents signs them, so this says what was really consented to, whatever
/// it is shown for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Consent {
    /// The consent.
    pub approval_id: ApprovalId,
    /// The intent it was given for.
    pub intent_hash: IntentHash,
    /// The number of the request it was given for.
    pub request_number: u32,
}

/// How a worker answers an agent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The effect is there. A design that needs no evidence to say so has none here.
    Committed(Option<Receipt>),
    /// There was no effect and there will be none.
    Failed,
    /// A person has to decide.
    Blocked,
}

impl Answer {
    /// The answer without its evidence.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Committed(_) => Outcome::Committed,
            Self::Failed => Outcome::Failed,
            Self::Blocked => Outcome::Blocked,
        }
    }
}

/// What the ledger shows of one operation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct EntryView {
    /// The operation.
    pub operation_id: OperationId,
    /// The intent that the ledger has stored for it.
    pub intent_hash: IntentHash,
    /// Where it is in its life.
    pub status: OperationStatus,
    /// The latest try; `AttemptId(0)` before the first.
    pub attempt_id: AttemptId,
    /// The evidence, once committed.
    pub receipt: Option<Receipt>,
    /// Whether it has been given up: nothing leaves under it any more.
    pub is_closed: bool,
}

macro_rules! messages {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? } = $label:literal,)*) => {
        /// What one role says to another.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum Message {
            $($(#[$meta])* $name { $($(#[$field_meta])* $field: $type),* },)*
        }

        impl Message {
            /// What kind of message this is, as plans and timelines name it.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$name { .. } => $label,)* }
            }

            /// The named point that a host passes immediately before it sends such a message.
            pub fn point_before(&self) -> &'static str {
                match self { $(Self::$name { .. } => concat!("before-", $label),)* }
            }

            /// Every kind of message.
            pub const KINDS: &'static [&'static str] = &[$($label),*];
        }
    };
}

messages! {
    /// Agent or worker to destination: which state is the resource in?
    Read {
        /// The resource.
        resource: ResourceId,
        /// For which of its jobs a worker asks. An agent asks before it has an intent.
        intent_hash: Option<IntentHash>,
    } = "read",
    /// Destination: in this one.
    State {
        /// The resource.
        resource: ResourceId,
        /// Its state.
        version: ResourceVersion,
        /// What was written last, by hash.
        value: Option<PayloadHash>,
        /// For which job it was asked.
        intent_hash: Option<IntentHash>,
    } = "state",

    /// Agent to worker: have this effect.
    Perform {
        /// This request; a repeated one has another.
        call_id: CallId,
        /// The number of this request, unique among those that this agent waits for.
        request_number: u32,
        /// When the agent first wanted the effect, by its own clock.
        asked_at: Timestamp,
        /// The consent that the agent shows.
        consent: Consent,
        /// The effect.
        intent: SealedIntent,
        /// What to write.
        payload: Payload,
    } = "perform",
    /// Worker to agent: this is how it ended.
    Answered {
        /// The effect that was wanted.
        intent_hash: IntentHash,
        /// How it ended.
        answer: Answer,
    } = "answered",

    /// Worker to authority: I want to act on this resource.
    Acquire {
        /// The resource.
        resource: ResourceId,
        /// What time it is, by the worker's clock.
        at: Timestamp,
        /// Whether the worker was denied before, and holds that it has waited long enough.
        insists: bool,
    } = "acquire",
    /// Authority to worker: you may, from now on.
    Ready {
        /// The lease.
        lease: Lease,
    } = "ready",
    /// Authority to worker: somebody else may.
    Denied {
        /// The resource.
        resource: ResourceId,
    } = "denied",
    /// Worker to authority: I am getting on; let me keep it.
    Renew {
        /// The resource.
        resource: ResourceId,
        /// The epoch that is held.
        epoch: Epoch,
        /// What time it is, by the worker's clock.
        at: Timestamp,
    } = "renew",
    /// Worker to authority: I do not need it any more.
    Release {
        /// The resource.
        resource: ResourceId,
        /// The epoch that was held.
        epoch: Epoch,
    } = "release",
    /// Worker or destination to authority: is this still the holder?
    Confirm {
        /// The resource.
        resource: ResourceId,
        /// The holder in question.
        holder: Holder,
    } = "confirm",
    /// Authority: it is, or it is not.
    Confirmed {
        /// The resource.
        resource: ResourceId,
        /// The holder in question.
        holder: Holder,
        /// Whether it is the current one.
        is_current: bool,
    } = "confirmed",

    /// Supervisor to authority: what does this worker hold?
    Inspect {
        /// The suspected worker.
        worker: WorkerId,
    } = "inspect",
    /// Authority to supervisor: this.
    Holding {
        /// The worker.
        worker: WorkerId,
        /// Its leases.
        leases: Vec<Lease>,
    } = "holding",
    /// Supervisor to authority: if this epoch is still the current one, pass the resource on.
    TakeOver {
        /// The resource.
        resource: ResourceId,
        /// The epoch that the request is about.
        epoch: Epoch,
        /// Who is to have it.
        successor: WorkerId,
    } = "take-over",

    /// Authority to destination: admit this holder only; with `None`, nobody.
    Admit {
        /// The resource.
        resource: ResourceId,
        /// The epoch that is admitted or sealed.
        epoch: Epoch,
        /// The holder.
        holder: Option<Holder>,
    } = "admit",
    /// Destination to authority: done, durably.
    Admitted {
        /// The resource.
        resource: ResourceId,
        /// The fence's epoch.
        epoch: Epoch,
        /// Whether it admits nobody.
        sealed: bool,
    } = "admitted",

    /// Worker to ledger: which operation is this intent?
    Claim {
        /// The intent.
        intent: SealedIntent,
        /// The id that the caller brings along, where the ledger does not allocate.
        proposal: Option<OperationId>,
        /// The consent that came with the request.
        consent: Consent,
        /// The number of the request.
        request_number: u32,
    } = "claim",
    /// Worker to ledger: is this intent known? Asked where a claim follows its effect.
    LookUp {
        /// The intent.
        intent_hash: IntentHash,
    } = "look-up",
    /// Ledger to worker: it is not.
    NotFound {
        /// The intent.
        intent_hash: IntentHash,
    } = "not-found",
    /// Worker to ledger: the next try is about to leave.
    Dispatch {
        /// The operation.
        operation_id: OperationId,
        /// The intent, which has to be the operation's.
        intent_hash: IntentHash,
        /// The latest try that the worker knows of.
        after: AttemptId,
    } = "dispatch",
    /// Ledger to worker: it is recorded; this is its attempt id.
    MayDispatch {
        /// The operation.
        operation_id: OperationId,
        /// The intent.
        intent_hash: IntentHash,
        /// The new try.
        attempt_id: AttemptId,
    } = "may-dispatch",
    /// Worker to ledger: this is what became of a try.
    Settle {
        /// The operation.
        operation_id: OperationId,
        /// The intent that the worker works on.
        intent_hash: IntentHash,
        /// The try; nothing changes if there is a later one.
        attempt_id: AttemptId,
        /// The status that follows from it.
        status: OperationStatus,
        /// The evidence of an effect.
        receipt: Option<Receipt>,
    } = "settle",
    /// Worker to ledger: this operation is given up; nothing may leave under it any more.
    Close {
        /// The operation.
        operation_id: OperationId,
        /// The intent that the worker works on.
        intent_hash: IntentHash,
        /// The latest try that the worker knows of; nothing changes if there is a later one.
        attempt_id: AttemptId,
    } = "close",
    /// Ledger to worker: this is what I have.
    Entry {
        /// The intent that the worker asked about.
        intent_hash: IntentHash,
        /// The operation.
        entry: EntryView,
    } = "entry",

    /// Worker to destination: have this effect.
    Apply {
        /// Which operation, which try.
        envelope: Envelope,
        /// What to change.
        resource: ResourceId,
        /// Under whose authority.
        holder: Holder,
        /// The state that is to be replaced; any, if `None`.
        expected: Option<ResourceVersion>,
        /// What to write.
        payload: Payload,
    } = "apply",
    /// Destination to worker: it is there, and here is the evidence.
    Applied {
        /// The intent that came with the mutation.
        intent_hash: IntentHash,
        /// The try that this answers.
        attempt_id: AttemptId,
        /// The evidence; perhaps of an earlier try.
        receipt: Receipt,
    } = "applied",
    /// Destination to worker: refused; this try can have no effect any more.
    Rejected {
        /// The operation.
        operation_id: OperationId,
        /// The intent that came with the mutation.
        intent_hash: IntentHash,
        /// The try.
        attempt_id: AttemptId,
        /// Why.
        reason: Rejection,
    } = "rejected",
    /// Worker to destination: what became of this operation? Close all its tries up to this
    /// one, so that the answer stays true.
    Reconcile {
        /// The operation.
        operation_id: OperationId,
        /// The intent that the worker works on.
        intent_hash: IntentHash,
        /// The latest try that may have left.
        attempt_id: AttemptId,
    } = "reconcile",
    /// Destination to worker: this.
    Reconciled {
        /// The operation.
        operation_id: OperationId,
        /// The intent that the worker asked about.
        intent_hash: IntentHash,
        /// The latest try that is closed.
        attempt_id: AttemptId,
        /// The evidence, if there is an effect.
        receipt: Option<Receipt>,
    } = "reconciled",
}
