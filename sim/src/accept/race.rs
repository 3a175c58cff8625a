//! Rows about claims: the four cases of the operation-identity article.

use std::collections::{BTreeMap, BTreeSet};

use holdover_model::event::{Event, OperationStatus};
use holdover_model::identity::OperationId;
use holdover_model::intent::{IntentHash, SealedIntent};
use holdover_model::role::{Actor, Message};

use super::judge::{Docket, Judge, Verdict};
use crate::stack::Change;
use crate::world::Sight;

/// How many different intents have to be claimed in one millisecond.
const MANY: usize = 4;

/// A claim that arrives at the ledger.
fn claim<'a>(
    sight: &Sight<'a>,
) -> Option<(u64, &'a str, &'a Actor, &'a SealedIntent, Option<&'a OperationId>)> {
    let Sight::Shown { at_ns, host, what } = *sight else { return None };
    let (from, message) = what.downcast_ref::<(Actor, Message)>()?;
    let Message::Claim { intent, proposal, .. } = message else { return None };
    Some((at_ns, host, from, intent, proposal.as_ref()))
}

/// Different intents that are launched together have different ids, all the way to the receipt.
#[derive(Default)]
pub(super) struct Different {
    millisecond: u64,
    together: BTreeSet<IntentHash>,
    /// What agents want. An intent that a forger made up is none of them.
    requested: BTreeSet<IntentHash>,
    claimed: BTreeSet<IntentHash>,
    names: BTreeMap<OperationId, IntentHash>,
    cases: BTreeSet<IntentHash>,
    wrong: Option<String>,
}

impl Different {
    fn name(&mut self, operation_id: &OperationId, intent_hash: IntentHash) {
        let first = *self.names.entry(operation_id.clone()).or_insert(intent_hash);
        self.compare(operation_id, first, intent_hash);
    }

    fn compare(&mut self, operation_id: &OperationId, first: IntentHash, second: IntentHash) {
        if first != second && self.requested.contains(&first) && self.requested.contains(&second) {
            self.wrong.get_or_insert_with(|| {
                format!("{operation_id} names two intents: {first:?} and {second:?}")
            });
        }
    }
}

impl Judge for Different {
    fn sees(&mut self, sight: &Sight<'_>) {
        if let Some((at_ns, _, _, intent, _)) = claim(sight) {
            if at_ns / 1_000_000 != self.millisecond {
                self.millisecond = at_ns / 1_000_000;
                self.together.clear();
            }
            if self.requested.contains(&intent.hash()) {
                self.together.insert(intent.hash());
            }
            if self.together.len() >= MANY {
                self.cases.extend(&self.together);
            }
        }
        let Sight::Event(record) = sight else { return };
        match &record.event {
            Event::IntentRequested { intent_hash, .. } => {
                self.requested.insert(*intent_hash);
            }
            Event::OperationClaimed { operation_id, intent_hash, .. } => {
                self.claimed.insert(*intent_hash);
                self.name(operation_id, *intent_hash);
            }
            Event::Dispatched { envelope, .. } => {
                self.name(&envelope.operation_id, envelope.intent_hash);
            }
            Event::OperationCompleted { operation_id, intent_hash, receipt, .. } => {
                self.name(operation_id, *intent_hash);
                if let Some(receipt) = receipt {
                    self.compare(&receipt.operation_id, receipt.intent_hash, *intent_hash);
                }
            }
            Event::IdentityCollision { receipt } => {
                let (first, second) = (receipt.first_intent_hash, receipt.second_intent_hash);
                self.compare(&receipt.conflicting_operation_id, first, second);
            }
            _ => {}
        }
    }

    fn verdict(&self) -> Verdict {
        match &self.wrong {
            _ if self.cases.is_empty() => Verdict::NotExercised,
            Some(what) => Verdict::Wrong(what.clone()),
            None if self.cases.is_subset(&self.claimed) => Verdict::Right,
            None => Verdict::Open,
        }
    }
}

/// Identical claims that come together converge on one id.
#[derive(Default)]
pub(super) struct Identical {
    claims: BTreeMap<IntentHash, usize>,
    operations: BTreeMap<IntentHash, OperationId>,
    /// Of which something has left.
    left: BTreeSet<IntentHash>,
    cases: Docket<IntentHash>,
}

impl Judge for Identical {
    fn sees(&mut self, sight: &Sight<'_>) {
        if let Some((_, _, _, intent, _)) = claim(sight)
            && !self.left.contains(&intent.hash())
        {
            let claims = self.claims.entry(intent.hash()).or_default();
            *claims += 1;
            if *claims > 1 {
                self.cases.open(intent.hash());
            }
        }
        let Sight::Event(record) = sight else { return };
        match &record.event {
            Event::OperationClaimed { operation_id, intent_hash, .. } => {
                let first = self.operations.entry(*intent_hash).or_insert(operation_id.clone());
                if first != operation_id {
                    // Also where the first has left by now.
                    self.cases.open(*intent_hash);
                    self.cases.is_wrong(intent_hash, || {
                        format!("{intent_hash:?} was given two ids: {first} and {operation_id}")
                    });
                }
            }
            Event::StatusChanged { operation_id, from: OperationStatus::Prepared, .. } => {
                let intents: Vec<_> = self
                    .operations
                    .iter()
                    .filter(|(_, id)| *id == operation_id)
                    .map(|(intent, _)| *intent)
                    .collect();
                for intent in intents {
                    self.left.insert(intent);
                    self.cases.is_right(&intent);
                }
            }
            _ => {}
        }
    }

    fn verdict(&self) -> Verdict {
        self.cases.verdict()
    }
}

/// An id that comes with a changed payload is blocked before anything leaves under it.
#[derive(Default)]
pub(super) struct ChangedPayload {
    ledger: Option<String>,
    intents: BTreeMap<IntentHash, SealedIntent>,
    operations: BTreeMap<OperationId, IntentHash>,
    collided: BTreeSet<OperationId>,
    changed: BTreeSet<IntentHash>,
    cases: Docket<OperationId>,
}

impl Judge for ChangedPayload {
    fn sees(&mut self, sight: &Sight<'_>) {
        if let Some((_, host, _, intent, proposal)) = claim(sight) {
            self.ledger = Some(host.to_owned());
            if let Some(id) = proposal
                && let Some(first) = self.operations.get(id).and_then(|h| self.intents.get(h))
                && Change::Payload.is_all_that_differs(first.record(), intent.record())
                && !self.collided.contains(id)
            {
                self.changed.insert(intent.hash());
                self.cases.open(id.clone());
            }
            self.intents.entry(intent.hash()).or_insert_with(|| intent.clone());
        }
        match sight {
            // What had arrived may be lost.
            Sight::Down { host, .. } if self.ledger.as_deref() == Some(*host) => {
                self.cases.drop_if(|_| true);
            }
            Sight::Event(record) => match &record.event {
                Event::OperationClaimed { operation_id, intent_hash, .. } => {
                    self.operations.insert(operation_id.clone(), *intent_hash);
                }
                Event::IdentityCollision { receipt } => {
                    let id = &receipt.conflicting_operation_id;
                    self.collided.insert(id.clone());
                    if receipt.dispatch_blocked {
                        self.cases.is_right(id);
                    } else {
                        self.cases.is_wrong(id, || {
                            format!("the collision of {id} was written down and blocked nothing")
                        });
                    }
                }
                Event::StatusChanged { operation_id, to: OperationStatus::Dispatched, .. } => {
                    self.cases.is_wrong(operation_id, || {
                        format!("{operation_id} names another payload, too, and left all the same")
                    });
                }
                Event::Dispatched { envelope, .. }
                    if self.changed.contains(&envelope.intent_hash) =>
                {
                    let id = &envelope.operation_id;
                    self.cases.open(id.clone());
                    self.cases.is_wrong(id, || format!("the changed payload left under {id}"));
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn verdict(&self) -> Verdict {
        self.cases.verdict()
    }
}

/// An operation whose worker crashes before anything has left goes on under its id.
#[derive(Default)]
pub(super) struct Recoverable {
    claimants: BTreeMap<IntentHash, BTreeSet<String>>,
    prepared: BTreeMap<OperationId, IntentHash>,
    cases: Docket<OperationId>,
}

impl Judge for Recoverable {
    fn sees(&mut self, sight: &Sight<'_>) {
        if let Some((_, _, Actor::Worker(worker), intent, _)) = claim(sight) {
            let claimants = self.claimants.entry(intent.hash()).or_default();
            claimants.insert(worker.as_str().to_owned());
        }
        match sight {
            Sight::Down { host, .. } => {
                for (operation_id, intent) in &self.prepared {
                    if self.claimants.get(intent).is_some_and(|all| all.contains(*host)) {
                        self.cases.open(operation_id.clone());
                    }
                }
            }
            Sight::Event(record) => match &record.event {
                Event::OperationClaimed { operation_id, intent_hash, .. } => {
                    let earlier = self.prepared.iter().find(|(_, intent)| *intent == intent_hash);
                    if let Some((earlier, _)) = earlier
                        && earlier != operation_id
                    {
                        self.cases.is_wrong(earlier, || {
                            format!("after a crash, {earlier} was left and claimed again as {operation_id}")
                        });
                    }
                    self.prepared.insert(operation_id.clone(), *intent_hash);
                }
                Event::StatusChanged { operation_id, from: OperationStatus::Prepared, .. } => {
                    self.prepared.remove(operation_id);
                    self.cases.is_right(operation_id);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn verdict(&self) -> Verdict {
        self.cases.verdict()
    }
}
