//! The ledger: which operation id names which intent, and what became of it.
//!
//! Every operation is written down before anything is dispatched. Ids are unique, and so
//! are intents where the ledger allocates: concurrent retries of one intent converge on
//! the id that it already has, and one id never names two intents. A consent is checked
//! where an operation leaves.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::design::approval::{BoundTo, Usage};
use crate::design::fence::Completion;
use crate::design::identity::{Claim, Claimed, OnMismatch, Retention};
use crate::design::recovery::{OnTimeout, StoredOutcome};
use crate::event::{Event, OperationStatus};
use crate::identity::{ApprovalId, AttemptId, OperationId, WorkerId};
use crate::intent::{IntentHash, SealedIntent};
use crate::receipt::{CollisionDecision, CollisionReceipt, Receipt};
use crate::role::{Actor, Consent, Context, Delay, EntryView, Message, Output, Role, Signal};

/// What the ledger keeps of one operation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The intent, with its canonical bytes: they are compared along with the hash.
    pub intent: SealedIntent,
    /// The consent that came with it.
    pub consent: Consent,
    /// The number of the request with which it came, where a consent is bound to that.
    pub request_number: Option<u32>,
    /// Where the operation is in its life.
    pub status: OperationStatus,
    /// The latest try; `AttemptId(0)` before the first.
    pub attempt_id: AttemptId,
    /// The evidence, once committed.
    pub receipt: Option<Receipt>,
    /// The evidence of every collision, in the order in which they were noticed.
    pub collisions: Vec<CollisionReceipt>,
    /// Whether it has been given up: an agent was told that it failed, so it must stay so.
    pub is_closed: bool,
}

/// What the ledger keeps.
#[allow(clippy::large_enum_variant, reason = "most records are entries")]
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Record {
    /// One operation's entry; `None` once it is forgotten.
    Entry(OperationId, Option<Entry>),
    /// A consent has been used for an operation.
    Used(ApprovalId, OperationId),
}

/// A claim, as it arrives.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Proposal {
    intent: SealedIntent,
    operation_id: Option<OperationId>,
    consent: Consent,
    request_number: Option<u32>,
}

/// The ledger's state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    entries: BTreeMap<OperationId, Entry>,
    used: BTreeSet<(ApprovalId, OperationId)>,
    /// Claims whose look-up has found nothing and whose insertion comes later.
    inserting: BTreeMap<(IntentHash, WorkerId), Proposal>,
}

type Out = Output<Record>;

impl Ledger {
    /// A ledger without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// The entry of an operation.
    pub fn entry(&self, operation_id: &OperationId) -> Option<&Entry> {
        self.entries.get(operation_id)
    }

    /// Whether a claim by this worker has been looked up in vain and is to be inserted.
    pub fn is_inserting(&self, intent_hash: IntentHash, worker: &WorkerId) -> bool {
        self.inserting.contains_key(&(intent_hash, worker.clone()))
    }

    /// Every operation with its entry, in the order of their ids.
    pub fn entries(&self) -> impl Iterator<Item = (&OperationId, &Entry)> {
        self.entries.iter()
    }

    fn keep(&mut self, record: Record, out: &mut Out) {
        out.records.push(record.clone());
        self.load(record);
    }

    fn show(&self, to: Actor, intent_hash: IntentHash, operation_id: &OperationId, out: &mut Out) {
        let Some(entry) = self.entries.get(operation_id) else {
            return out.send(to, Message::NotFound { intent_hash });
        };
        let entry = EntryView {
            operation_id: operation_id.clone(),
            intent_hash: entry.intent.hash(),
            status: entry.status,
            attempt_id: entry.attempt_id,
            receipt: entry.receipt.clone(),
            is_closed: entry.is_closed,
        };
        out.send(to, Message::Entry { intent_hash, entry });
    }

    /// Moves an operation to a status and keeps that.
    fn transition(
        &mut self,
        operation_id: &OperationId,
        to: OperationStatus,
        change: impl FnOnce(&mut Entry),
        out: &mut Out,
    ) {
        let Some(mut entry) = self.entries.get(operation_id).cloned() else { return };
        let from = entry.status;
        entry.status = to;
        change(&mut entry);
        if from != to {
            out.events.push(Event::StatusChanged { operation_id: operation_id.clone(), from, to });
        }
        self.keep(Record::Entry(operation_id.clone(), Some(entry)), out);
    }

    /// The operation that this intent already is, as far as identities go.
    fn find(&self, context: Context<'_>, intent: &SealedIntent) -> Option<&OperationId> {
        let binds = context.design.identity().binds();
        let is_same = |entry: &Entry| {
            if binds.is_everything() {
                entry.intent == *intent
            } else {
                binds.is_same(entry.intent.record(), intent.record())
            }
        };
        self.entries.iter().find(|(_, entry)| is_same(entry)).map(|(id, _)| id)
    }

    fn claim(&mut self, context: Context<'_>, worker: WorkerId, claim: Proposal, out: &mut Out) {
        let intent_hash = claim.intent.hash();
        let known = match &claim.operation_id {
            Some(proposed) => self.entries.contains_key(proposed).then(|| proposed.clone()),
            None => self.find(context, &claim.intent).cloned(),
        };
        let from = Actor::Worker(worker.clone());
        match (known, context.design.identity().claim()) {
            (Some(operation_id), _) => {
                self.compare(context, &operation_id, &claim, out);
                self.show(from, intent_hash, &operation_id, out);
            }
            (None, Claim::UniqueInsert) => {
                let operation_id = self.insert(context, claim, out);
                self.show(from, intent_hash, &operation_id, out);
            }
            (None, Claim::LookupThenInsert) => {
                out.arm(Delay::Insertion, Signal::Insert(intent_hash, worker.clone()));
                self.inserting.insert((intent_hash, worker), claim);
            }
        }
    }

    fn insert(&mut self, context: Context<'_>, claim: Proposal, out: &mut Out) -> OperationId {
        let Proposal { intent, operation_id, consent, request_number } = claim;
        let operation_id = operation_id.unwrap_or_else(|| self.fresh_id(context.entropy));
        out.events.push(Event::OperationClaimed {
            operation_id: operation_id.clone(),
            intent_hash: intent.hash(),
            resource: intent.record().target.resource_id(),
        });
        let entry = Entry {
            intent,
            consent,
            request_number,
            status: OperationStatus::Prepared,
            attempt_id: AttemptId::default(),
            receipt: None,
            collisions: Vec::new(),
            is_closed: false,
        };
        self.keep(Record::Entry(operation_id.clone(), Some(entry)), out);
        operation_id
    }

    /// An id that no entry has. Randomness makes a clash unlikely, this look makes it
    /// impossible.
    fn fresh_id(&self, entropy: u64) -> OperationId {
        let mut number = entropy;
        loop {
            let id = OperationId::new(format!("op_{number:016x}"));
            if !self.entries.contains_key(&id) {
                return id;
            }
            number = number.wrapping_add(1);
        }
    }

    /// A known id has come with a claim: is it the same intent?
    fn compare(
        &mut self,
        context: Context<'_>,
        operation_id: &OperationId,
        claim: &Proposal,
        out: &mut Out,
    ) {
        let identity = context.design.identity();
        let first = &self.entries[operation_id].intent;
        let is_same = if identity.binds().is_everything() {
            *first == claim.intent
        } else {
            identity.binds().is_same(first.record(), claim.intent.record())
        };
        if is_same {
            return;
        }
        match identity.on_mismatch() {
            OnMismatch::ReturnStored => {}
            OnMismatch::NewestWins => {
                let Proposal { intent, consent, request_number, .. } = claim.clone();
                let entry =
                    Entry { intent, consent, request_number, ..self.entries[operation_id].clone() };
                self.keep(Record::Entry(operation_id.clone(), Some(entry)), out);
            }
            OnMismatch::Block => self.collide(operation_id, &claim.intent, true, out),
            OnMismatch::RecordOnly => self.collide(operation_id, &claim.intent, false, out),
        }
    }

    /// One id, two intents: nothing under this id can be trusted any more.
    fn collide(
        &mut self,
        operation_id: &OperationId,
        second: &SealedIntent,
        blocks: bool,
        out: &mut Out,
    ) {
        let entry = &self.entries[operation_id];
        let first = &entry.intent;
        let receipt = CollisionReceipt {
            conflicting_operation_id: operation_id.clone(),
            first_intent_hash: first.hash(),
            second_intent_hash: second.hash(),
            first_target: first.record().target.resource_id(),
            second_target: second.record().target.resource_id(),
            dispatch_blocked: blocks,
            decision: CollisionDecision::HumanReviewRequired,
        };
        if entry.collisions.contains(&receipt) {
            return;
        }
        let status = if blocks { OperationStatus::Blocked } else { entry.status };
        out.events.push(Event::IdentityCollision { receipt: receipt.clone() });
        self.transition(operation_id, status, |entry| entry.collisions.push(receipt), out);
    }

    /// Whether an operation may leave under the consent that came with it.
    fn is_approved(&self, context: Context<'_>, operation_id: &OperationId, entry: &Entry) -> bool {
        let settings = context.design.approval();
        let consent = &entry.consent;
        let is_bound = match settings.bound_to() {
            BoundTo::IntentHash => consent.intent_hash == entry.intent.hash(),
            BoundTo::RequestId => Some(consent.request_number) == entry.request_number,
            BoundTo::Nothing => true,
        };
        let is_unused =
            !self.used.iter().any(|(used, by)| *used == consent.approval_id && by != operation_id);
        is_bound && (is_unused || settings.usage() == Usage::Repeated)
    }

    fn dispatch(
        &mut self,
        context: Context<'_>,
        from: Actor,
        (operation_id, intent_hash): (&OperationId, IntentHash),
        after: AttemptId,
        out: &mut Out,
    ) {
        let Some(entry) = self.entries.get(operation_id) else {
            return out.send(from, Message::NotFound { intent_hash });
        };
        let is_same =
            entry.intent.hash() == intent_hash || !context.design.identity().compares_hashes();
        let may_leave = match entry.status {
            OperationStatus::Prepared | OperationStatus::FailedBeforeEffect => true,
            OperationStatus::Dispatched | OperationStatus::Unknown => {
                context.design.recovery().on_timeout() == OnTimeout::RetryBlindly
            }
            OperationStatus::Committed | OperationStatus::NeverSent | OperationStatus::Blocked => {
                false
            }
        };
        if !is_same || !may_leave || entry.is_closed || entry.attempt_id != after {
            return self.show(from, intent_hash, operation_id, out);
        }
        if !self.is_approved(context, operation_id, entry) {
            self.transition(operation_id, OperationStatus::Blocked, |_| (), out);
            return self.show(from, intent_hash, operation_id, out);
        }
        let approval_id = entry.consent.approval_id.clone();
        if !self.used.contains(&(approval_id.clone(), operation_id.clone())) {
            out.events.push(Event::ApprovalUsed {
                approval_id: approval_id.clone(),
                operation_id: operation_id.clone(),
                intent_hash: entry.intent.hash(),
            });
            self.keep(Record::Used(approval_id, operation_id.clone()), out);
        }
        let attempt_id = after.next();
        let status = OperationStatus::Dispatched;
        self.transition(operation_id, status, |entry| entry.attempt_id = attempt_id, out);
        let operation_id = operation_id.clone();
        out.send(from, Message::MayDispatch { operation_id, intent_hash, attempt_id });
    }

    /// Whether the latest try's fate may move an operation from one status to another.
    fn may_settle(context: Context<'_>, from: OperationStatus, to: OperationStatus) -> bool {
        use OperationStatus::{
            Blocked, Committed, Dispatched, FailedBeforeEffect, NeverSent, Prepared, Unknown,
        };
        match from {
            // Where claims follow effects, an entry begins with its effect.
            Prepared if context.design.identity().claimed() == Claimed::AfterEffect => true,
            Prepared => to == Blocked,
            Dispatched => matches!(to, Committed | FailedBeforeEffect | Unknown | Blocked),
            Unknown => matches!(to, Committed | FailedBeforeEffect | Blocked),
            // A late answer to an earlier try is news, where tries are not told apart.
            FailedBeforeEffect => {
                context.design.fence().completion() == Completion::ByOperationIdOnly
                    && to == Committed
            }
            Committed | NeverSent | Blocked => false,
        }
    }

    fn settle(
        &mut self,
        context: Context<'_>,
        operation_id: &OperationId,
        (attempt_id, status): (AttemptId, OperationStatus),
        receipt: Option<Receipt>,
        out: &mut Out,
    ) {
        let Some(entry) = self.entries.get(operation_id) else { return };
        let is_evident = match &receipt {
            Some(receipt) => {
                receipt.binds(operation_id, entry.intent.hash())
                    || !context.design.identity().compares_hashes()
            }
            None => {
                status != OperationStatus::Committed || context.design.completes_without_receipt()
            }
        };
        // The fate of an earlier try says nothing about a later one.
        let is_latest = entry.attempt_id == attempt_id
            || context.design.fence().completion() == Completion::ByOperationIdOnly
            || context.design.identity().claimed() == Claimed::AfterEffect;
        if !is_evident || !is_latest || !Self::may_settle(context, entry.status, status) {
            return;
        }
        let is_forgotten = context.design.recovery().stored_outcome() == StoredOutcome::SuccessOnly
            && matches!(status, OperationStatus::Unknown | OperationStatus::FailedBeforeEffect);
        self.transition(operation_id, status, |entry| entry.receipt = receipt, out);
        if is_forgotten {
            self.keep(Record::Entry(operation_id.clone(), None), out);
        }
    }

    /// Nothing may leave under an operation any more.
    fn close(&mut self, operation_id: &OperationId, attempt_id: AttemptId, out: &mut Out) {
        let Some(entry) = self.entries.get(operation_id) else { return };
        if entry.attempt_id != attempt_id || entry.is_closed {
            return;
        }
        let status = match entry.status {
            OperationStatus::Prepared => OperationStatus::NeverSent,
            OperationStatus::FailedBeforeEffect => OperationStatus::FailedBeforeEffect,
            _ => return,
        };
        self.transition(operation_id, status, |entry| entry.is_closed = true, out);
    }

    fn forget(&mut self, context: Context<'_>, operation_id: &OperationId, out: &mut Out) {
        match context.design.identity().retention() {
            Retention::ShorterThenNew if self.entries.contains_key(operation_id) => {
                self.keep(Record::Entry(operation_id.clone(), None), out);
            }
            Retention::LongerThanRetries | Retention::ShorterThenNew => {}
            Retention::ShorterThenRefuse => {
                self.transition(operation_id, OperationStatus::Blocked, |_| (), out);
            }
        }
    }
}

impl Role for Ledger {
    type Record = Record;

    fn load(&mut self, record: Record) {
        match record {
            Record::Entry(operation_id, Some(entry)) => {
                self.entries.insert(operation_id, entry);
            }
            Record::Entry(operation_id, None) => {
                self.entries.remove(&operation_id);
            }
            Record::Used(approval_id, operation_id) => {
                self.used.insert((approval_id, operation_id));
            }
        }
    }

    fn resume(&mut self, _: Context<'_>, _: &mut Out) {}

    fn receive(&mut self, context: Context<'_>, from: Actor, message: Message, out: &mut Out) {
        match (from, message) {
            (
                Actor::Worker(worker),
                Message::Claim { intent, proposal, consent, request_number },
            ) => {
                let operation_id = proposal;
                let request_number = (context.design.approval().bound_to() == BoundTo::RequestId)
                    .then_some(request_number);
                let claim = Proposal { intent, operation_id, consent, request_number };
                self.claim(context, worker, claim, out);
            }
            (from, Message::LookUp { intent_hash }) => {
                let found =
                    self.entries.iter().find(|(_, entry)| entry.intent.hash() == intent_hash);
                match found.map(|(id, _)| id.clone()) {
                    Some(operation_id) => self.show(from, intent_hash, &operation_id, out),
                    None => out.send(from, Message::NotFound { intent_hash }),
                }
            }
            (from, Message::Dispatch { operation_id, intent_hash, after }) => {
                self.dispatch(context, from, (&operation_id, intent_hash), after, out);
            }
            (from, Message::Settle { operation_id, intent_hash, attempt_id, status, receipt }) => {
                self.settle(context, &operation_id, (attempt_id, status), receipt, out);
                self.show(from, intent_hash, &operation_id, out);
            }
            (from, Message::Close { operation_id, intent_hash, attempt_id }) => {
                self.close(&operation_id, attempt_id, out);
                self.show(from, intent_hash, &operation_id, out);
            }
            _ => {}
        }
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, out: &mut Out) {
        match signal {
            Signal::Insert(intent_hash, worker) => {
                if let Some(claim) = self.inserting.remove(&(intent_hash, worker.clone())) {
                    let operation_id = self.insert(context, claim, out);
                    self.show(Actor::Worker(worker), intent_hash, &operation_id, out);
                }
            }
            Signal::Forget(operation_id) => self.forget(context, &operation_id, out),
            _ => {}
        }
    }
}
