//! That everything comes to an end: every-operation-settles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Event, OperationStatus, Outcome};
use crate::identity::OperationId;
use crate::intent::IntentHash;
use crate::invariant::{InvariantId, Subject, Violation, violation};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Settling {
    requests: BTreeMap<IntentHash, Option<Outcome>>,
    operations: BTreeMap<OperationId, (IntentHash, OperationStatus)>,
    /// How many requests and operations are still open, so that asking costs nothing.
    open: usize,
}

impl Settling {
    pub(super) fn observe(&mut self, event: &Event) {
        match event {
            Event::IntentRequested { intent_hash, .. } => {
                if self.requests.insert(*intent_hash, None).is_none() {
                    self.open += 1;
                }
            }
            Event::IntentAnswered { intent_hash, outcome } => {
                if self.requests.insert(*intent_hash, Some(*outcome)) == Some(None) {
                    self.open -= 1;
                }
            }
            Event::OperationClaimed { operation_id, intent_hash, .. } => {
                let entry = (*intent_hash, OperationStatus::Prepared);
                let previous = self.operations.insert(operation_id.clone(), entry);
                // An id can come back after its entry was settled and forgotten.
                if previous.is_none_or(|(_, status)| status.is_settled()) {
                    self.open += 1;
                }
            }
            Event::StatusChanged { operation_id, to, .. } => {
                if let Some((_, status)) = self.operations.get_mut(operation_id) {
                    self.open = self.open + usize::from(!to.is_settled())
                        - usize::from(!status.is_settled());
                    *status = *to;
                }
            }
            _ => {}
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.open == 0
    }

    pub(super) fn answered(&self) -> usize {
        self.requests.values().filter(|outcome| outcome.is_some()).count()
    }

    pub(super) fn finish(&self) -> Result<(), Box<Violation>> {
        for (operation_id, (intent_hash, status)) in &self.operations {
            if !status.is_settled() {
                let subject = Subject {
                    operations: vec![operation_id.clone()],
                    intents: vec![*intent_hash],
                    ..Subject::default()
                };
                let explanation = format!("{operation_id} is still {}", status.as_str());
                return violation(InvariantId::EveryOperationSettles, subject, explanation);
            }
        }
        for (intent_hash, outcome) in &self.requests {
            if outcome.is_none() {
                let subject = Subject { intents: vec![*intent_hash], ..Subject::default() };
                let explanation =
                    format!("the request for the intent {intent_hash:?} was never answered");
                return violation(InvariantId::EveryOperationSettles, subject, explanation);
            }
        }
        Ok(())
    }
}
