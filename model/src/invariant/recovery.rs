//! What is concluded from silence: unknown-stays-unknown, durable-evidence.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::design::guarantee::Guarantee;
use crate::event::{Event, OperationStatus, Outcome};
use crate::identity::OperationId;
use crate::intent::IntentHash;
use crate::invariant::{InvariantId, Subject, Violation, violation};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Recovery {
    guarantee: Guarantee,
    /// Operations whose fate the destination has told since their latest try, while that
    /// is not recorded.
    reconciled: BTreeSet<OperationId>,
    /// Operations whose fate is recorded.
    settled: BTreeSet<OperationId>,
    /// Operations and intents that have had their effect.
    effects: BTreeMap<OperationId, IntentHash>,
    /// What counts as failed, for the ledger and for an agent.
    failed: BTreeSet<OperationId>,
    given_up: BTreeSet<IntentHash>,
}

impl Recovery {
    pub(super) fn new(guarantee: Guarantee) -> Self {
        Self {
            guarantee,
            reconciled: BTreeSet::new(),
            settled: BTreeSet::new(),
            effects: BTreeMap::new(),
            failed: BTreeSet::new(),
            given_up: BTreeSet::new(),
        }
    }

    pub(super) fn observe(&mut self, event: &Event) -> Result<(), Box<Violation>> {
        match self.judge(event) {
            Err(violation)
                if violation.invariant == InvariantId::UnknownStaysUnknown
                    && !self.guarantee.definite_outcomes =>
            {
                Ok(())
            }
            verdict => verdict,
        }
    }

    fn judge(&mut self, event: &Event) -> Result<(), Box<Violation>> {
        match event {
            Event::Reconciled { operation_id, committed, .. } => {
                if !self.settled.contains(operation_id) {
                    self.reconciled.insert(operation_id.clone());
                }
                if !committed && self.effects.contains_key(operation_id) {
                    let explanation =
                        format!("{operation_id} has had its effect, and the destination denies it");
                    return violation(InvariantId::DurableEvidence, of(operation_id), explanation);
                }
            }
            Event::StatusChanged { operation_id, from, to } => {
                return self.status(operation_id, *from, *to);
            }
            Event::EffectCommitted { receipt, .. } => {
                let (operation_id, intent_hash) = (&receipt.operation_id, receipt.intent_hash);
                self.effects.insert(operation_id.clone(), intent_hash);
                if self.failed.contains(operation_id) || self.given_up.contains(&intent_hash) {
                    let explanation =
                        format!("{operation_id} had its effect after it had counted as failed");
                    return violation(
                        InvariantId::UnknownStaysUnknown,
                        of(operation_id),
                        explanation,
                    );
                }
            }
            Event::OperationCompleted { operation_id, receipt: None, .. } => {
                let explanation = format!("{operation_id} was completed without a receipt");
                return violation(InvariantId::UnknownStaysUnknown, of(operation_id), explanation);
            }
            Event::IntentAnswered { intent_hash, outcome: Outcome::Failed } => {
                self.given_up.insert(*intent_hash);
                if let Some((operation_id, _)) =
                    self.effects.iter().find(|(_, effect)| *effect == intent_hash)
                {
                    let explanation = format!(
                        "{operation_id} has had its effect, and its agent was told that it failed"
                    );
                    return violation(
                        InvariantId::UnknownStaysUnknown,
                        of(operation_id),
                        explanation,
                    );
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn status(
        &mut self,
        operation_id: &OperationId,
        from: OperationStatus,
        to: OperationStatus,
    ) -> Result<(), Box<Violation>> {
        use OperationStatus::{Blocked, Dispatched, FailedBeforeEffect, NeverSent, Unknown};
        match to {
            Dispatched => {
                // What was told of earlier tries says nothing of this one.
                self.reconciled.remove(operation_id);
                self.failed.remove(operation_id);
            }
            FailedBeforeEffect | NeverSent => {
                self.failed.insert(operation_id.clone());
            }
            _ => {}
        }
        if to.is_settled() {
            self.settled.insert(operation_id.clone());
        } else {
            self.settled.remove(operation_id);
        }
        let was_reconciled = match to {
            Dispatched | Unknown => self.reconciled.contains(operation_id),
            _ => self.reconciled.remove(operation_id),
        };
        let explanation = if from == Unknown && to != Blocked && !was_reconciled {
            format!("{operation_id} was unknown and became {} without a reconcile", to.as_str())
        } else if matches!(to, FailedBeforeEffect | NeverSent)
            && self.effects.contains_key(operation_id)
        {
            format!("{operation_id} has had its effect and counts as {}", to.as_str())
        } else {
            return Ok(());
        };
        violation(InvariantId::UnknownStaysUnknown, of(operation_id), explanation)
    }
}

fn of(operation_id: &OperationId) -> Subject {
    Subject { operations: vec![operation_id.clone()], ..Subject::default() }
}
