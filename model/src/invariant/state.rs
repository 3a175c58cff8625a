//! What a write does to a resource: no-lost-update, rejection-leaves-no-trace,
//! no-payload-in-evidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::invariant::{InvariantId, Subject, Violation, violation};
use crate::resource::{ResourceId, ResourceVersion};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct States {
    /// The state of each resource after what was last seen to happen to it.
    versions: BTreeMap<ResourceId, ResourceVersion>,
}

impl States {
    pub(super) fn observe(&mut self, event: &Event) -> Result<(), Box<Violation>> {
        match event {
            Event::ResourceRecreated { resource, version } => {
                self.versions.insert(resource.clone(), *version);
            }
            Event::EffectCommitted { receipt, expected } => {
                let subject = Subject {
                    resource: Some(receipt.resource.clone()),
                    operations: vec![receipt.operation_id.clone()],
                    intents: vec![receipt.intent_hash],
                };
                self.versions.insert(receipt.resource.clone(), receipt.version_after);
                if let Some(expected) = expected.filter(|state| *state != receipt.version_before) {
                    let explanation = format!(
                        "{} was to replace {} at {expected} and replaced {}",
                        receipt.operation_id, receipt.resource, receipt.version_before
                    );
                    return violation(InvariantId::NoLostUpdate, subject, explanation);
                }
            }
            Event::EffectRejected { envelope, resource, version, payload, .. } => {
                let subject = || Subject {
                    resource: Some(resource.clone()),
                    operations: vec![envelope.operation_id.clone()],
                    intents: vec![envelope.intent_hash],
                };
                if payload.is_some() {
                    let explanation = format!(
                        "the record of the rejected {} has its payload",
                        envelope.operation_id
                    );
                    return violation(InvariantId::NoPayloadInEvidence, subject(), explanation);
                }
                let before = *self.versions.entry(resource.clone()).or_insert(*version);
                if before != *version {
                    let explanation = format!(
                        "{} was rejected, but {resource} went from {before} to {version}",
                        envelope.operation_id
                    );
                    return violation(InvariantId::RejectionLeavesNoTrace, subject(), explanation);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
