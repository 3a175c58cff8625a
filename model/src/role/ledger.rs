//! The ledger: which operation id names which intent, and what became of it.
//!
//! Every operation is written down before anything is dispatched. Ids are unique, and so
//! are intents where the ledger allocates: concurrent retries of one intent converge on
//! the id that it already has, and one id never names two intents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Event, OperationStatus};
use crate::identity::{AttemptId, OperationId};
use crate::intent::{IntentHash, SealedIntent};
use crate::receipt::{CollisionDecision, CollisionReceipt, Receipt};
use crate::role::{Actor, Context, EntryView, Message, Output, Role, Signal};

/// What the ledger keeps of one operation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The intent, with its canonical bytes: they are compared along with the hash.
    pub intent: SealedIntent,
    /// Where the operation is in its life.
    pub status: OperationStatus,
    /// The latest try; `AttemptId(0)` before the first.
    pub attempt_id: AttemptId,
    /// The evidence, once committed.
    pub receipt: Option<Receipt>,
    /// The evidence of a collision, which blocks the operation.
    pub collision: Option<CollisionReceipt>,
}

/// What the ledger keeps: one operation's entry.
pub type Record = (OperationId, Entry);

/// The ledger's state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    entries: BTreeMap<OperationId, Entry>,
    /// The operations of each intent, in the order of their claims.
    operations: BTreeMap<IntentHash, Vec<OperationId>>,
}

impl Ledger {
    /// A ledger without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// The entry of an operation.
    pub fn entry(&self, operation_id: &OperationId) -> Option<&Entry> {
        self.entries.get(operation_id)
    }

    /// Every operation with its entry, in the order of their ids.
    pub fn entries(&self) -> impl Iterator<Item = (&OperationId, &Entry)> {
        self.entries.iter()
    }

    fn keep(&mut self, operation_id: OperationId, entry: Entry, output: &mut Output<Record>) {
        output.records.push((operation_id.clone(), entry.clone()));
        self.load((operation_id, entry));
    }

    fn show(
        &self,
        to: Actor,
        intent_hash: IntentHash,
        operation_id: &OperationId,
        output: &mut Output<Record>,
    ) {
        let Some(entry) = self.entries.get(operation_id) else { return };
        let entry = EntryView {
            operation_id: operation_id.clone(),
            intent_hash: entry.intent.hash(),
            status: entry.status,
            attempt_id: entry.attempt_id,
            receipt: entry.receipt.clone(),
        };
        output.send(to, Message::Entry { intent_hash, entry });
    }

    /// Moves an operation to a status and keeps that.
    fn transition(
        &mut self,
        operation_id: &OperationId,
        to: OperationStatus,
        change: impl FnOnce(&mut Entry),
        output: &mut Output<Record>,
    ) {
        let Some(mut entry) = self.entries.get(operation_id).cloned() else { return };
        let from = entry.status;
        entry.status = to;
        change(&mut entry);
        if from != to {
            output.events.push(Event::StatusChanged {
                operation_id: operation_id.clone(),
                from,
                to,
            });
        }
        self.keep(operation_id.clone(), entry, output);
    }

    fn claim(
        &mut self,
        context: Context<'_>,
        from: Actor,
        intent: SealedIntent,
        proposal: Option<OperationId>,
        output: &mut Output<Record>,
    ) {
        let intent_hash = intent.hash();
        let known = match &proposal {
            Some(proposed) => self.entries.contains_key(proposed).then(|| proposed.clone()),
            None => self.operations.get(&intent_hash).and_then(|ids| ids.first()).cloned(),
        };
        let Some(operation_id) = known else {
            let operation_id = proposal.unwrap_or_else(|| self.fresh_id(context.entropy));
            output.events.push(Event::OperationClaimed {
                operation_id: operation_id.clone(),
                intent_hash,
                resource: intent.record().target.resource_id(),
            });
            let entry = Entry {
                intent,
                status: OperationStatus::Prepared,
                attempt_id: AttemptId::default(),
                receipt: None,
                collision: None,
            };
            self.keep(operation_id.clone(), entry, output);
            return self.show(from, intent_hash, &operation_id, output);
        };
        if context.design.identity.on_mismatch.compares()
            && self.entries[&operation_id].intent != intent
        {
            self.collide(&operation_id, &intent, output);
        }
        self.show(from, intent_hash, &operation_id, output);
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

    /// One id, two intents: nothing under this id can be trusted any more.
    fn collide(
        &mut self,
        operation_id: &OperationId,
        second: &SealedIntent,
        output: &mut Output<Record>,
    ) {
        let first = &self.entries[operation_id].intent;
        let receipt = CollisionReceipt {
            conflicting_operation_id: operation_id.clone(),
            first_intent_hash: first.hash(),
            second_intent_hash: second.hash(),
            first_target: first.record().target.resource_id(),
            second_target: second.record().target.resource_id(),
            dispatch_blocked: true,
            decision: CollisionDecision::HumanReviewRequired,
        };
        if self.entries[operation_id].collision.as_ref() == Some(&receipt) {
            return;
        }
        output.events.push(Event::IdentityCollision { receipt: receipt.clone() });
        self.transition(
            operation_id,
            OperationStatus::Blocked,
            |entry| entry.collision = Some(receipt),
            output,
        );
    }

    fn dispatch(
        &mut self,
        context: Context<'_>,
        from: Actor,
        operation_id: &OperationId,
        intent_hash: IntentHash,
        after: AttemptId,
        output: &mut Output<Record>,
    ) {
        let Some(entry) = self.entries.get(operation_id) else { return };
        let is_same =
            entry.intent.hash() == intent_hash || !context.design.identity.on_mismatch.compares();
        let may_leave =
            matches!(entry.status, OperationStatus::Prepared | OperationStatus::FailedBeforeEffect);
        if !is_same || !may_leave || entry.attempt_id != after {
            return self.show(from, intent_hash, operation_id, output);
        }
        let attempt_id = after.next();
        self.transition(
            operation_id,
            OperationStatus::Dispatched,
            |entry| entry.attempt_id = attempt_id,
            output,
        );
        let operation_id = operation_id.clone();
        output.send(from, Message::MayDispatch { operation_id, intent_hash, attempt_id });
    }

    /// Whether the latest try's fate may move an operation from one status to another.
    fn may_settle(from: OperationStatus, to: OperationStatus) -> bool {
        use OperationStatus::{
            Blocked, Committed, Dispatched, FailedBeforeEffect, NeverSent, Prepared, Unknown,
        };
        match from {
            Prepared => matches!(to, NeverSent | Blocked),
            Dispatched => matches!(to, Committed | FailedBeforeEffect | Unknown | Blocked),
            Unknown => matches!(to, Committed | FailedBeforeEffect | Blocked),
            Committed | FailedBeforeEffect | NeverSent | Blocked => false,
        }
    }
}

impl Role for Ledger {
    type Record = Record;

    fn load(&mut self, (operation_id, entry): Record) {
        let operations = self.operations.entry(entry.intent.hash()).or_default();
        if !operations.contains(&operation_id) {
            operations.push(operation_id.clone());
        }
        self.entries.insert(operation_id, entry);
    }

    fn resume(&mut self, _: Context<'_>, _: &mut Output<Record>) {}

    fn receive(
        &mut self,
        context: Context<'_>,
        from: Actor,
        message: Message,
        output: &mut Output<Record>,
    ) {
        match message {
            Message::Claim { intent, proposal } => {
                self.claim(context, from, intent, proposal, output);
            }
            Message::Dispatch { operation_id, intent_hash, after } => {
                self.dispatch(context, from, &operation_id, intent_hash, after, output);
            }
            Message::Settle { operation_id, intent_hash, attempt_id, status, receipt } => {
                let Some(entry) = self.entries.get(&operation_id) else { return };
                let is_evident = match &receipt {
                    Some(receipt) => {
                        receipt.binds(&operation_id, entry.intent.hash())
                            || !context.design.identity.on_mismatch.compares()
                    }
                    None => status != OperationStatus::Committed,
                };
                // The fate of an earlier try says nothing about a later one.
                if is_evident
                    && entry.attempt_id == attempt_id
                    && Self::may_settle(entry.status, status)
                {
                    self.transition(&operation_id, status, |entry| entry.receipt = receipt, output);
                }
                self.show(from, intent_hash, &operation_id, output);
            }
            _ => {}
        }
    }

    fn signal(&mut self, _: Context<'_>, _: Signal, _: &mut Output<Record>) {}
}
