//! What several detectors need to know: who holds what, which writes are on their way.

use std::collections::BTreeMap;

use holdover_model::event::{Event, EventKind};
use holdover_model::identity::{AttemptId, OperationId};
use holdover_model::lease::{Epoch, Holder};
use holdover_model::resource::ResourceId;
use holdover_model::role::{Actor, Message};

use crate::world::SightKind;

/// One try of one operation.
pub(crate) type Try = (OperationId, AttemptId);

/// Who has been told that it is ready.
#[derive(Default)]
pub(super) struct Tenures(BTreeMap<ResourceId, Tenure>);

/// The latest holder of a resource.
pub(super) struct Tenure {
    pub(super) holder: Holder,
    /// Whether its lease still counts.
    pub(super) is_current: bool,
    /// Whether a write of it has had its effect.
    pub(super) has_written: bool,
}

impl Tenures {
    pub(super) const KINDS: [SightKind; 4] = [
        SightKind::Event(EventKind::TakeoverComplete),
        SightKind::Event(EventKind::LeaseEnded),
        SightKind::Event(EventKind::LeasesVoided),
        SightKind::Event(EventKind::EffectCommitted),
    ];

    pub(super) fn of(&self, resource: &ResourceId) -> Option<&Tenure> {
        self.0.get(resource)
    }

    pub(super) fn is_any_current(&self) -> bool {
        self.0.values().any(|tenure| tenure.is_current)
    }

    fn is_over(&mut self, resource: &ResourceId, is_meant: impl Fn(Epoch) -> bool) {
        if let Some(tenure) = self.0.get_mut(resource)
            && is_meant(tenure.holder.epoch)
        {
            tenure.is_current = false;
        }
    }

    pub(super) fn sees(&mut self, event: &Event) {
        match event {
            Event::TakeoverComplete { resource, holder } => {
                let tenure =
                    Tenure { holder: holder.clone(), is_current: true, has_written: false };
                self.0.insert(resource.clone(), tenure);
            }
            Event::LeaseEnded { resource, holder, .. } => {
                self.is_over(resource, |epoch| epoch == holder.epoch);
            }
            Event::LeasesVoided { resource, below } => {
                self.is_over(resource, |epoch| epoch < *below);
            }
            Event::EffectCommitted { receipt, .. } => {
                if let Some(tenure) = self.0.get_mut(&receipt.resource)
                    && tenure.holder == receipt.holder
                {
                    tenure.has_written = true;
                }
            }
            _ => {}
        }
    }
}

/// The try that a destination has decided about, if this is such an event.
pub(crate) fn decided(event: &Event) -> Option<Try> {
    match event {
        Event::EffectCommitted { receipt, .. } => {
            Some((receipt.operation_id.clone(), receipt.attempt_id))
        }
        Event::EffectRejected { envelope, .. } => {
            Some((envelope.operation_id.clone(), envelope.attempt_id))
        }
        Event::EffectReplayed { receipt, attempt_id } => {
            Some((receipt.operation_id.clone(), *attempt_id))
        }
        _ => None,
    }
}

/// The events by which a destination decides.
pub(super) const DECISIONS: [SightKind; 3] = [
    SightKind::Event(EventKind::EffectCommitted),
    SightKind::Event(EventKind::EffectRejected),
    SightKind::Event(EventKind::EffectReplayed),
];

/// The message that has arrived, if that is what is shown.
pub(super) fn arrived(what: &dyn std::any::Any) -> Option<(&Actor, &Message)> {
    what.downcast_ref::<(Actor, Message)>().map(|(from, message)| (from, message))
}
