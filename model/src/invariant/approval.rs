//! What a consent was given for, and for what it is used: approval-bound.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::design::guarantee::Guarantee;
use crate::event::Event;
use crate::identity::{ApprovalId, OperationId};
use crate::intent::IntentHash;
use crate::invariant::{InvariantId, Subject, Violation, violation};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Approvals {
    guarantee: Guarantee,
    granted: BTreeSet<(ApprovalId, IntentHash)>,
    /// The first operation, and its intent, for which each consent was used.
    used: BTreeMap<ApprovalId, (OperationId, IntentHash)>,
}

impl Approvals {
    pub(super) fn new(guarantee: Guarantee) -> Self {
        Self { guarantee, granted: BTreeSet::new(), used: BTreeMap::new() }
    }

    pub(super) fn observe(&mut self, event: &Event) -> Result<(), Box<Violation>> {
        match event {
            Event::ApprovalGranted { approval_id, intent_hash } => {
                self.granted.insert((approval_id.clone(), *intent_hash));
                Ok(())
            }
            Event::ApprovalUsed { approval_id, operation_id, intent_hash } => {
                let use_now = (operation_id.clone(), *intent_hash);
                let first = self.used.entry(approval_id.clone()).or_insert(use_now.clone());
                // Where an intent may get a second id, one consent covers both.
                let is_first =
                    *first == use_now || first.1 == *intent_hash && !self.guarantee.stable_identity;
                let first = first.0.clone();
                let explanation = if !self.granted.contains(&(approval_id.clone(), *intent_hash)) {
                    format!("{approval_id} was not granted for what {operation_id} does")
                } else if !is_first {
                    format!("{approval_id} was used for {first} and again for {operation_id}")
                } else {
                    return Ok(());
                };
                let subject = Subject {
                    operations: vec![first, operation_id.clone()],
                    intents: vec![*intent_hash],
                    ..Subject::default()
                };
                violation(InvariantId::ApprovalBound, subject, explanation)
            }
            _ => Ok(()),
        }
    }
}
