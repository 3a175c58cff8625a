//! Rows of the release checklist that are not about a write that arrives.

use std::collections::{BTreeMap, BTreeSet};

use holdover_model::event::{Event, LeaseEnd, OperationStatus, Outcome};
use holdover_model::identity::OperationId;
use holdover_model::intent::IntentHash;
use holdover_model::lease::Holder;
use holdover_model::resource::ResourceId;

use super::judge::{Docket, Judge, Verdict};
use crate::fault::Fault;
use crate::situation::Try;
use crate::world::Sight;

/// A worker with valid authority is stopped before its mutation, and that has no effect meanwhile.
#[derive(Default)]
pub(super) struct Paused {
    ready: BTreeMap<ResourceId, Holder>,
    leaving: BTreeMap<String, (Try, ResourceId, Holder)>,
    cases: Docket<(String, Try)>,
}

impl Paused {
    /// The worker goes on, or is gone.
    fn is_over(&mut self, host: &str) {
        if let Some((key, ..)) = self.leaving.get(host) {
            self.cases.is_right(&(host.to_owned(), key.clone()));
        }
    }
}

impl Judge for Paused {
    fn sees(&mut self, sight: &Sight<'_>) {
        match sight {
            Sight::Event(record) => match &record.event {
                Event::TakeoverComplete { resource, holder } => {
                    self.ready.insert(resource.clone(), holder.clone());
                }
                Event::LeaseEnded { resource, holder, .. } => {
                    if self.ready.get(resource) == Some(holder) {
                        self.ready.remove(resource);
                    }
                }
                Event::Dispatched { envelope, resource, holder } => {
                    let key = (envelope.operation_id.clone(), envelope.attempt_id);
                    let leaving = (key, resource.clone(), holder.clone());
                    self.leaving.insert(record.host.to_string(), leaving);
                }
                Event::EffectCommitted { receipt, .. } => {
                    let worker = receipt.holder.worker.as_str().to_owned();
                    let key = (receipt.operation_id.clone(), receipt.attempt_id);
                    self.cases.is_wrong(&(worker, key), || {
                        format!(
                            "{} had its effect while its worker was stopped before it",
                            receipt.operation_id
                        )
                    });
                }
                _ => {}
            },
            Sight::Held { host, point: "before-apply", .. } => {
                if let Some((key, resource, holder)) = self.leaving.get(*host)
                    && self.ready.get(resource) == Some(holder)
                {
                    self.cases.open(((*host).to_owned(), key.clone()));
                }
            }
            Sight::Thawed { host, .. } | Sight::Down { host, .. } => self.is_over(host),
            Sight::Ended { fault: Fault::Stall { host, .. }, .. } => self.is_over(host),
            _ => {}
        }
    }

    fn verdict(&self) -> Verdict {
        self.cases.verdict()
    }
}

/// After an expiry, the fence has advanced before the successor is told that it is ready.
#[derive(Default)]
pub(super) struct FenceFirst {
    expired: BTreeMap<ResourceId, Holder>,
    fences: BTreeMap<ResourceId, Option<Holder>>,
    cases: Docket<ResourceId>,
}

impl Judge for FenceFirst {
    fn sees(&mut self, sight: &Sight<'_>) {
        let Sight::Event(record) = sight else { return };
        match &record.event {
            Event::LeaseEnded { resource, holder, cause: LeaseEnd::Expired, .. } => {
                self.expired.insert(resource.clone(), holder.clone());
            }
            Event::FenceAdvanced { resource, admits, .. } => {
                self.fences.insert(resource.clone(), admits.clone());
            }
            Event::TakeoverComplete { resource, holder } => {
                let Some(earlier) = self.expired.remove(resource) else { return };
                if earlier.worker == holder.worker {
                    return;
                }
                self.cases.open(resource.clone());
                if self.fences.get(resource) == Some(&Some(holder.clone())) {
                    self.cases.is_right(resource);
                } else {
                    self.cases.is_wrong(resource, || {
                        format!(
                            "{holder} was ready for {resource}, whose fence did not admit it yet"
                        )
                    });
                }
            }
            _ => {}
        }
    }

    fn verdict(&self) -> Verdict {
        self.cases.verdict()
    }
}

/// An effect whose answer was lost is found out about before anything is tried again.
#[derive(Default)]
pub(super) struct LostResponse {
    effects: BTreeMap<Try, IntentHash>,
    /// Operations of which the destination has said that there is an effect.
    determined: BTreeSet<OperationId>,
    /// Open cases by their intent.
    intents: BTreeMap<IntentHash, OperationId>,
    cases: Docket<OperationId>,
}

impl Judge for LostResponse {
    fn sees(&mut self, sight: &Sight<'_>) {
        let Sight::Event(record) = sight else { return };
        match &record.event {
            Event::EffectCommitted { receipt, .. } => {
                let key = (receipt.operation_id.clone(), receipt.attempt_id);
                self.effects.insert(key, receipt.intent_hash);
                // An effect of another operation for the same intent is a blind retry's.
                if let Some(first) = self.intents.get(&receipt.intent_hash) {
                    self.cases.is_wrong(first, || {
                        format!("the effect of {first} happened again as {}", receipt.operation_id)
                    });
                }
            }
            Event::OutcomeUnknown { operation_id, attempt_id } => {
                let key = (operation_id.clone(), *attempt_id);
                if let Some(intent_hash) = self.effects.get(&key)
                    && !self.determined.contains(operation_id)
                {
                    self.intents.insert(*intent_hash, operation_id.clone());
                    self.cases.open(operation_id.clone());
                }
            }
            Event::Reconciled { operation_id, committed: true, .. } => {
                self.determined.insert(operation_id.clone());
                self.cases.is_right(operation_id);
                self.intents.retain(|_, open| open != operation_id);
            }
            Event::Reconciled { operation_id, committed: false, .. } => {
                self.cases.is_wrong(operation_id, || {
                    format!("{operation_id} had its effect, and the destination denied it")
                });
            }
            Event::Dispatched { envelope, .. } => {
                if let Some(first) = self.intents.get(&envelope.intent_hash) {
                    self.cases.is_wrong(first, || {
                        format!("{first} was unknown, and was sent again before anybody asked")
                    });
                }
            }
            Event::IntentAnswered { intent_hash, outcome: Outcome::Failed } => {
                if let Some(operation_id) = self.intents.get(intent_hash) {
                    self.cases.is_wrong(operation_id, || {
                        format!(
                            "{operation_id} had its effect, and its agent was told that it failed"
                        )
                    });
                }
            }
            Event::OperationCompleted { operation_id, receipt: None, .. } => {
                self.cases.is_wrong(operation_id, || {
                    format!("{operation_id} was completed without a receipt")
                });
            }
            // A person decides.
            Event::StatusChanged { operation_id, to: OperationStatus::Blocked, .. } => {
                self.cases.drop(operation_id);
                self.intents.retain(|_, open| open != operation_id);
            }
            _ => {}
        }
    }

    fn verdict(&self) -> Verdict {
        self.cases.verdict()
    }
}
