//! A mutation whose answer does not come, and what is found out about it.

use std::collections::BTreeSet;

use holdover_model::event::{Event, EventKind};
use holdover_model::identity::OperationId;

use super::tenure::{DECISIONS, Try, decided};
use super::{Detector, Situation};
use crate::world::{Sight, SightKind};

pub(super) fn situations() -> [Situation; 5] {
    let unknown = SightKind::Event(EventKind::OutcomeUnknown);
    let reconciled = SightKind::Event(EventKind::Reconciled);
    let all = [&DECISIONS[..], &[unknown, reconciled]].concat();
    [
        Situation::new(
            "response-lost-after-commit",
            "An effect is there, and the worker that sent it waits for the answer in vain.",
            || Unanswered::new(true),
        )
        .from("The stale-worker article, release checklist: \"Lose the write response\"; akash-network/console#3449")
        .watching(&all),
        Situation::new(
            "request-lost-before-commit",
            "A worker waits for an answer in vain, and when it asks, the destination has never decided about its write.",
            || Unanswered::new(false),
        )
        .from("The stale-worker article: \"A timeout is not evidence that the old write failed\"")
        .watching(&all),
        Situation::new(
            "unknown-reconciled-to-committed",
            "An unknown outcome is reconciled: there is an effect.",
            || Reconciled::new(true),
        )
        .from("The stale-worker article, release checklist: \"Reconciliation determines the effect before a retry\"")
        .watching(&[unknown, reconciled]),
        Situation::new(
            "unknown-reconciled-to-not-committed",
            "An unknown outcome is reconciled: there is no effect and none to come.",
            || Reconciled::new(false),
        )
        .from("ietf-wg-httpapi/idempotency#41")
        .watching(&[unknown, reconciled]),
        Situation::new(
            "retry-answered-from-receipt",
            "A write of a committed operation arrives again and is answered from its receipt.",
            || |sight: &Sight<'_>| {
                matches!(sight, Sight::Event(record)
                    if matches!(record.event, Event::EffectReplayed { .. }))
            },
        )
        .from("The operation-identity article: \"several network attempts while the target system still sees one business operation\"")
        .watching(&[SightKind::Event(EventKind::EffectReplayed)]),
    ]
}

/// A try that is not answered in time, and whether its effect is there all the same.
struct Unanswered {
    is_committed: bool,
    committed: BTreeSet<Try>,
    decided: BTreeSet<Try>,
    unknown: BTreeSet<Try>,
}

impl Unanswered {
    fn new(is_committed: bool) -> Self {
        Self {
            is_committed,
            committed: BTreeSet::new(),
            decided: BTreeSet::new(),
            unknown: BTreeSet::new(),
        }
    }
}

impl Detector for Unanswered {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        let Sight::Event(record) = sight else { return false };
        if let Some(key) = decided(&record.event) {
            if matches!(record.event, Event::EffectCommitted { .. }) {
                self.committed.insert(key.clone());
            }
            self.decided.insert(key);
        }
        match &record.event {
            Event::OutcomeUnknown { operation_id, attempt_id } => {
                let key = (operation_id.clone(), *attempt_id);
                let is_there = self.committed.contains(&key);
                self.unknown.insert(key);
                self.is_committed && is_there
            }
            Event::Reconciled { operation_id, attempt_id, committed: false } => {
                let key = (operation_id.clone(), *attempt_id);
                !self.is_committed && self.unknown.contains(&key) && !self.decided.contains(&key)
            }
            _ => false,
        }
    }
}

/// An operation whose outcome was unknown until the destination was asked.
struct Reconciled {
    is_committed: bool,
    unknown: BTreeSet<OperationId>,
}

impl Reconciled {
    fn new(is_committed: bool) -> Self {
        Self { is_committed, unknown: BTreeSet::new() }
    }
}

impl Detector for Reconciled {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        let Sight::Event(record) = sight else { return false };
        match &record.event {
            Event::OutcomeUnknown { operation_id, .. } => {
                self.unknown.insert(operation_id.clone());
                false
            }
            Event::Reconciled { operation_id, committed, .. } => {
                *committed == self.is_committed && self.unknown.contains(operation_id)
            }
            _ => false,
        }
    }
}
