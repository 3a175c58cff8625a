//! A worker that crashes with an operation under way.

use std::collections::{BTreeMap, BTreeSet};

use holdover_model::event::{Event, EventKind, OperationStatus};
use holdover_model::identity::{AttemptId, OperationId};
use holdover_model::intent::IntentHash;
use holdover_model::role::{Actor, Message};

use super::tenure::arrived;
use super::{Detector, Situation};
use crate::world::{Sight, SightKind};

pub(super) fn situations() -> [Situation; 2] {
    let claimed = SightKind::Event(EventKind::OperationClaimed);
    let status = SightKind::Event(EventKind::StatusChanged);
    let dispatched = SightKind::Event(EventKind::Dispatched);
    [
        Situation::new(
            "crash-between-prepared-and-dispatched",
            "A worker crashes when its operation is claimed and nothing has left yet.",
            Prepared::default,
        )
        .from("The operation-identity article: \"a crash between prepared and dispatched leaves a recoverable journal entry\"")
        .watching(&[claimed, status, SightKind::Shown, SightKind::Down]),
        Situation::new(
            "crash-between-dispatched-and-reply",
            "A worker crashes when its mutation has left and it has not heard what became of it.",
            Dispatched::default,
        )
        .from("The operation-identity article: \"If the call may have left the gateway, record dispatched and reconcile\"; Nine-Minds/alga-psa#1590")
        .watching(&[dispatched, SightKind::Shown, SightKind::Down]),
    ]
}

#[derive(Default)]
struct Prepared {
    /// Which workers have claimed an intent.
    claimants: BTreeMap<IntentHash, BTreeSet<String>>,
    /// Operations of which nothing has left.
    prepared: BTreeMap<OperationId, IntentHash>,
}

impl Detector for Prepared {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Shown { what, .. } => {
                if let Some((Actor::Worker(worker), Message::Claim { intent, .. })) = arrived(what)
                {
                    let claimants = self.claimants.entry(intent.hash()).or_default();
                    claimants.insert(worker.as_str().to_owned());
                }
            }
            Sight::Event(record) => match &record.event {
                Event::OperationClaimed { operation_id, intent_hash, .. } => {
                    self.prepared.insert(operation_id.clone(), *intent_hash);
                }
                Event::StatusChanged { operation_id, from: OperationStatus::Prepared, .. } => {
                    self.prepared.remove(operation_id);
                }
                _ => {}
            },
            Sight::Down { host, .. } => {
                return self.prepared.values().any(|intent| {
                    self.claimants.get(intent).is_some_and(|claimants| claimants.contains(host))
                });
            }
            _ => {}
        }
        false
    }
}

#[derive(Default)]
struct Dispatched {
    /// Tries without an answer: by whom, for which intent.
    unanswered: BTreeMap<(String, IntentHash), AttemptId>,
}

impl Detector for Dispatched {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Event(record) => {
                if let Event::Dispatched { envelope, .. } = &record.event {
                    let key = (record.host.to_string(), envelope.intent_hash);
                    self.unanswered.insert(key, envelope.attempt_id);
                }
            }
            Sight::Shown { host, what, .. } => {
                if let Some((
                    _,
                    Message::Applied { intent_hash, attempt_id, .. }
                    | Message::Rejected { intent_hash, attempt_id, .. }
                    | Message::Reconciled { intent_hash, attempt_id, .. },
                )) = arrived(what)
                {
                    let key = (host.to_owned(), *intent_hash);
                    if self.unanswered.get(&key).is_some_and(|latest| latest <= attempt_id) {
                        self.unanswered.remove(&key);
                    }
                }
            }
            Sight::Down { host, .. } => {
                return self.unanswered.keys().any(|(worker, _)| worker == host);
            }
            _ => {}
        }
        false
    }
}
