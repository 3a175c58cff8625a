//! A consent that is shown twice.

use std::collections::{BTreeMap, BTreeSet};

use holdover_model::event::{Event, EventKind};
use holdover_model::identity::ApprovalId;
use holdover_model::intent::IntentHash;
use holdover_model::role::Message;

use super::tenure::arrived;
use super::{Detector, Situation};
use crate::world::{Sight, SightKind};

pub(super) fn situations() -> [Situation; 1] {
    [Situation::new(
        "approval-replayed",
        "An operation is about to leave under a consent that was used for another one.",
        Replayed::default,
    )
    .from("The operation-identity article: \"A different ... approval, or policy decision must produce a different intent\"")
    .watching(&[SightKind::Event(EventKind::ApprovalUsed), SightKind::Shown])]
}

#[derive(Default)]
struct Replayed {
    used: BTreeMap<ApprovalId, IntentHash>,
    /// Intents that were claimed under a consent that another intent had used.
    replayed: BTreeSet<IntentHash>,
}

impl Detector for Replayed {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Event(record) => {
                if let Event::ApprovalUsed { approval_id, intent_hash, .. } = &record.event {
                    self.used.entry(approval_id.clone()).or_insert(*intent_hash);
                }
                false
            }
            Sight::Shown { what, .. } => match arrived(what) {
                Some((_, Message::Claim { intent, consent, .. })) => {
                    let used_for = self.used.get(&consent.approval_id);
                    if used_for.is_some_and(|other| *other != intent.hash()) {
                        self.replayed.insert(intent.hash());
                    }
                    false
                }
                Some((_, Message::Dispatch { intent_hash, .. })) => {
                    self.replayed.contains(intent_hash)
                }
                _ => false,
            },
            _ => false,
        }
    }
}
