//! How often an effect happens: at-most-one-effect.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::identity::OperationId;
use crate::intent::IntentHash;
use crate::invariant::{InvariantId, Subject, Violation, violation};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Effects {
    by_operation: BTreeMap<OperationId, IntentHash>,
    by_intent: BTreeMap<IntentHash, OperationId>,
}

impl Effects {
    pub(super) fn observe(&mut self, event: &Event) -> Result<(), Box<Violation>> {
        let Event::EffectCommitted { receipt, .. } = event else { return Ok(()) };
        let operation_id = &receipt.operation_id;
        let previous = self.by_intent.insert(receipt.intent_hash, operation_id.clone());
        let is_repeated =
            self.by_operation.insert(operation_id.clone(), receipt.intent_hash).is_some();
        let explanation = match &previous {
            _ if is_repeated => {
                format!("{operation_id} has changed {} twice", receipt.resource)
            }
            Some(earlier) => format!(
                "the intent {:?} has changed {} twice: as {earlier} and as {operation_id}",
                receipt.intent_hash, receipt.resource
            ),
            None => return Ok(()),
        };
        let subject = Subject {
            resource: Some(receipt.resource.clone()),
            operations: previous.into_iter().chain([operation_id.clone()]).collect(),
            intents: vec![receipt.intent_hash],
        };
        violation(InvariantId::AtMostOneEffect, subject, explanation)
    }
}
