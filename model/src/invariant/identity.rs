//! Which intent an operation id names: one-intent-per-operation, one-operation-per-intent,
//! receipt-binds-intent, claim-before-dispatch, collision-blocks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::design::guarantee::Guarantee;
use crate::event::{Event, OperationStatus};
use crate::identity::OperationId;
use crate::intent::IntentHash;
use crate::invariant::{InvariantId, Subject, Violation, violation};
use crate::receipt::Receipt;
use crate::resource::{ResourceId, ResourceVersion};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    guarantee: Guarantee,
    /// The first intent that each operation id was seen to name.
    names: BTreeMap<OperationId, IntentHash>,
    claimed: BTreeMap<OperationId, IntentHash>,
    collided: BTreeSet<OperationId>,
    /// Every state that an effect made, and by which operation.
    versions: BTreeMap<(ResourceId, ResourceVersion), OperationId>,
}

impl Identity {
    pub(super) fn new(guarantee: Guarantee) -> Self {
        Self {
            guarantee,
            names: BTreeMap::new(),
            claimed: BTreeMap::new(),
            collided: BTreeSet::new(),
            versions: BTreeMap::new(),
        }
    }

    pub(super) fn observe(&mut self, event: &Event) -> Result<(), Box<Violation>> {
        match event {
            Event::OperationClaimed { operation_id, intent_hash, .. } => {
                self.name(operation_id, *intent_hash, "claimed")?;
                self.claim(operation_id, *intent_hash)
            }
            Event::Dispatched { envelope, resource, .. } => {
                let operation_id = &envelope.operation_id;
                if !self.claimed.contains_key(operation_id) {
                    let subject = Subject {
                        resource: Some(resource.clone()),
                        operations: vec![operation_id.clone()],
                        intents: vec![envelope.intent_hash],
                    };
                    let explanation =
                        format!("{operation_id} was dispatched, but no ledger had claimed it");
                    return violation(InvariantId::ClaimBeforeDispatch, subject, explanation);
                }
                self.name(operation_id, envelope.intent_hash, "dispatched")
            }
            Event::IdentityCollision { receipt } => {
                self.collided.insert(receipt.conflicting_operation_id.clone());
                Ok(())
            }
            Event::StatusChanged {
                operation_id,
                to: to @ (OperationStatus::Dispatched | OperationStatus::Committed),
                ..
            } if self.collided.contains(operation_id) => {
                let subject =
                    Subject { operations: vec![operation_id.clone()], ..Subject::default() };
                let explanation =
                    format!("{operation_id} names two intents and is {} all the same", to.as_str());
                violation(InvariantId::CollisionBlocks, subject, explanation)
            }
            Event::EffectCommitted { receipt, .. } => {
                let state = (receipt.resource.clone(), receipt.version_after);
                self.versions.insert(state, receipt.operation_id.clone());
                self.name(&receipt.operation_id, receipt.intent_hash, "committed")
            }
            Event::OperationCompleted {
                operation_id,
                intent_hash,
                resource,
                receipt: Some(receipt),
                ..
            } => self.completed(operation_id, *intent_hash, resource, receipt),
            _ => Ok(()),
        }
    }

    fn name(
        &mut self,
        operation_id: &OperationId,
        intent_hash: IntentHash,
        how: &str,
    ) -> Result<(), Box<Violation>> {
        let first = *self.names.entry(operation_id.clone()).or_insert(intent_hash);
        if first == intent_hash {
            return Ok(());
        }
        let subject = Subject {
            resource: None,
            operations: vec![operation_id.clone()],
            intents: vec![first, intent_hash],
        };
        let explanation = format!(
            "{operation_id} named the intent {first:?} and was then {how} for {intent_hash:?}"
        );
        violation(InvariantId::OneIntentPerOperation, subject, explanation)
    }

    fn claim(
        &mut self,
        operation_id: &OperationId,
        intent_hash: IntentHash,
    ) -> Result<(), Box<Violation>> {
        let other = self
            .claimed
            .iter()
            .find(|(id, claimed)| **claimed == intent_hash && *id != operation_id)
            .map(|(id, _)| id.clone());
        self.claimed.insert(operation_id.clone(), intent_hash);
        match other {
            Some(other) if self.guarantee.stable_identity => {
                let explanation = format!(
                    "the intent {intent_hash:?} is {other} and was then claimed as {operation_id}"
                );
                let subject = Subject {
                    operations: vec![other, operation_id.clone()],
                    intents: vec![intent_hash],
                    ..Subject::default()
                };
                violation(InvariantId::OneOperationPerIntent, subject, explanation)
            }
            _ => Ok(()),
        }
    }

    fn completed(
        &mut self,
        operation_id: &OperationId,
        intent_hash: IntentHash,
        resource: &ResourceId,
        receipt: &Receipt,
    ) -> Result<(), Box<Violation>> {
        let state = (receipt.resource.clone(), receipt.version_after);
        let flaw = if receipt.operation_id != *operation_id {
            format!("belongs to {}", receipt.operation_id)
        } else if receipt.intent_hash != intent_hash {
            format!("proves the intent {:?}", receipt.intent_hash)
        } else if receipt.resource != *resource {
            format!("is about {}", receipt.resource)
        } else if self.versions.get(&state) != Some(operation_id) {
            format!("names {} at {}, a state that it never made", receipt.resource, state.1)
        } else {
            return Ok(());
        };
        let subject = Subject {
            resource: Some(resource.clone()),
            operations: vec![operation_id.clone(), receipt.operation_id.clone()],
            intents: vec![intent_hash, receipt.intent_hash],
        };
        let explanation = format!(
            "{operation_id} was completed for the intent {intent_hash:?} on {resource} with a receipt that {flaw}"
        );
        violation(InvariantId::ReceiptBindsIntent, subject, explanation)
    }
}
