//! What a consent was given for, and for what it is used: approval-bound.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::identity::{ApprovalId, OperationId};
use crate::intent::IntentHash;
use crate::invariant::{InvariantId, Subject, Violation, violation};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Approvals {
    granted: BTreeSet<(ApprovalId, IntentHash)>,
    used: BTreeMap<ApprovalId, OperationId>,
}

impl Approvals {
    pub(super) fn observe(&mut self, event: &Event) -> Result<(), Box<Violation>> {
        match event {
            Event::ApprovalGranted { approval_id, intent_hash } => {
                self.granted.insert((approval_id.clone(), *intent_hash));
                Ok(())
            }
            Event::ApprovalUsed { approval_id, operation_id, intent_hash } => {
                let first = self.used.entry(approval_id.clone()).or_insert(operation_id.clone());
                let explanation = if !self.granted.contains(&(approval_id.clone(), *intent_hash)) {
                    format!("{approval_id} was not granted for what {operation_id} does")
                } else if first != operation_id {
                    format!("{approval_id} was used for {first} and again for {operation_id}")
                } else {
                    return Ok(());
                };
                let subject = Subject {
                    operations: vec![first.clone(), operation_id.clone()],
                    intents: vec![*intent_hash],
                    ..Subject::default()
                };
                violation(InvariantId::ApprovalBound, subject, explanation)
            }
            _ => Ok(()),
        }
    }
}
