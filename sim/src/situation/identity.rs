//! Claims that come together, and an id that comes again.

use std::collections::{BTreeMap, BTreeSet};

use holdover_model::event::{Event, EventKind, OperationStatus};
use holdover_model::identity::OperationId;
use holdover_model::intent::{IntentHash, SealedIntent};
use holdover_model::role::Message;

use super::tenure::arrived;
use super::{Detector, Situation};
use crate::stack::Change;
use crate::world::{Sight, SightKind};

/// How many claims are many.
const MANY: usize = 4;

/// Claims that are not further apart than this come at once: none of them is a retry of another,
/// for that is never sent as soon.
const AT_ONCE_NS: u64 = 20_000_000;

const RACE: &str = "The operation-identity article: \"Test the race, not the helper function\"";

pub(super) fn situations() -> Vec<Situation> {
    let claimed = SightKind::Event(EventKind::OperationClaimed);
    let status = SightKind::Event(EventKind::StatusChanged);
    let mut situations = vec![
        Situation::new(
            "many-claims-of-one-intent",
            "Four or more claims of one intent reach the ledger within 20 ms, before anything has left for it.",
            OneIntent::default,
        )
        .from(RACE)
        .watching(&[claimed, status, SightKind::Shown]),
        Situation::new(
            "many-claims-in-one-millisecond",
            "Claims of four or more different intents reach the ledger in the same millisecond.",
            DifferentIntents::default,
        )
        .from(RACE)
        .watching(&[SightKind::Shown]),
    ];
    situations.extend(Change::ALL.iter().map(|change| {
        Situation::new(
            &format!("operation-id-reused-with-changed-{change}"),
            &format!("An operation id is claimed again for an intent that differs in its {change} and in nothing else."),
            || Reused::new(*change),
        )
        .from("The operation-identity article: \"If a worker tries to reuse an ID with any of those fields changed\"; google/adk-js#670")
        .watching(&[claimed, SightKind::Shown])
    }));
    situations
}

#[derive(Default)]
struct OneIntent {
    /// When each claim came.
    claims: BTreeMap<IntentHash, Vec<u64>>,
    operations: BTreeMap<OperationId, IntentHash>,
    /// Of which something has left.
    left: BTreeSet<IntentHash>,
}

impl Detector for OneIntent {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Shown { at_ns, what, .. } => {
                let Some((_, Message::Claim { intent, .. })) = arrived(what) else { return false };
                if self.left.contains(&intent.hash()) {
                    return false;
                }
                let claims = self.claims.entry(intent.hash()).or_default();
                claims.retain(|earlier_ns| at_ns - earlier_ns <= AT_ONCE_NS);
                claims.push(at_ns);
                claims.len() >= MANY
            }
            Sight::Event(record) => {
                match &record.event {
                    Event::OperationClaimed { operation_id, intent_hash, .. } => {
                        self.operations.insert(operation_id.clone(), *intent_hash);
                    }
                    Event::StatusChanged {
                        operation_id, from: OperationStatus::Prepared, ..
                    } => {
                        self.left.extend(self.operations.get(operation_id));
                    }
                    _ => {}
                }
                false
            }
            _ => false,
        }
    }
}

#[derive(Default)]
struct DifferentIntents {
    millisecond: u64,
    intents: BTreeSet<IntentHash>,
}

impl Detector for DifferentIntents {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        let Sight::Shown { at_ns, what, .. } = *sight else { return false };
        let Some((_, Message::Claim { intent, .. })) = arrived(what) else { return false };
        if at_ns / 1_000_000 != self.millisecond {
            self.millisecond = at_ns / 1_000_000;
            self.intents.clear();
        }
        self.intents.insert(intent.hash());
        self.intents.len() >= MANY
    }
}

/// An id that comes with another intent.
struct Reused {
    change: Change,
    /// Every claim. They are looked through only when an id comes along, which is rare.
    claims: Vec<SealedIntent>,
    operations: Vec<(OperationId, IntentHash)>,
}

impl Reused {
    fn new(change: Change) -> Self {
        Self { change, claims: Vec::new(), operations: Vec::new() }
    }

    fn named_by(&self, id: &OperationId) -> Option<&SealedIntent> {
        let (_, hash) = self.operations.iter().find(|(operation_id, _)| operation_id == id)?;
        self.claims.iter().find(|claim| claim.hash() == *hash)
    }
}

impl Detector for Reused {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Event(record) => {
                if let Event::OperationClaimed { operation_id, intent_hash, .. } = &record.event {
                    self.operations.push((operation_id.clone(), *intent_hash));
                }
                false
            }
            Sight::Shown { what, .. } => {
                let Some((_, Message::Claim { intent, proposal, .. })) = arrived(what) else {
                    return false;
                };
                let first = proposal.as_ref().and_then(|id| self.named_by(id));
                let is_reached = first.is_some_and(|first| {
                    self.change.is_all_that_differs(first.record(), intent.record())
                });
                self.claims.push(intent.clone());
                is_reached
            }
            _ => false,
        }
    }
}
