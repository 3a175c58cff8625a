//! What runs leave behind for a review: refused writes, collisions, outcomes that stay unknown.

use std::collections::{BTreeMap, BTreeSet};

use holdover_model::event::{Event, OperationStatus};
use holdover_model::identity::OperationId;
use holdover_model::receipt::CollisionReceipt;
use serde::Serialize;

use crate::stack::Run;

/// How many collisions and unknown outcomes are kept in full; all are counted.
const KEPT: usize = 20;

/// What runs leave behind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evidence {
    /// How many writes were refused, for each reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// How many operation ids named two intents.
    pub collisions: u64,
    /// The first of them.
    pub collision_receipts: Vec<Collision>,
    /// How many outcomes were unknown and are so at the end.
    pub unresolved: u64,
    /// The first of them.
    pub unresolved_operations: Vec<Unresolved>,
}

/// A collision, and in which run.
#[derive(Clone, Debug, Serialize)]
pub struct Collision {
    /// Which run.
    pub run: String,
    /// The receipt.
    pub receipt: CollisionReceipt,
}

/// An operation whose outcome nobody has found out.
#[derive(Clone, Debug, Serialize)]
pub struct Unresolved {
    /// Which run.
    pub run: String,
    /// The operation.
    pub operation_id: OperationId,
    /// The status that it has in the end, if its ledger has told one.
    pub status: Option<OperationStatus>,
}

/// Whether this status says what became of an operation.
fn is_resolved(status: OperationStatus) -> bool {
    use OperationStatus::{
        Blocked, Committed, Dispatched, FailedBeforeEffect, NeverSent, Prepared, Unknown,
    };
    match status {
        Committed | FailedBeforeEffect | NeverSent => true,
        Prepared | Dispatched | Unknown | Blocked => false,
    }
}

impl Evidence {
    /// What one run leaves behind.
    pub fn of(run: &Run, name: &str) -> Self {
        let mut evidence = Self::default();
        let mut unknown = BTreeSet::new();
        let mut statuses = BTreeMap::new();
        for record in &run.records {
            match &record.event {
                Event::EffectRejected { reason, .. } => {
                    *evidence.rejected.entry(reason.as_str()).or_default() += 1;
                }
                Event::IdentityCollision { receipt } => {
                    evidence.collisions += 1;
                    let receipt = receipt.clone();
                    evidence.collision_receipts.push(Collision { run: name.to_owned(), receipt });
                }
                Event::OutcomeUnknown { operation_id, .. } => {
                    unknown.insert(operation_id.clone());
                }
                Event::Reconciled { operation_id, .. } => {
                    unknown.remove(operation_id);
                }
                Event::StatusChanged { operation_id, to, .. } => {
                    statuses.insert(operation_id.clone(), *to);
                }
                _ => {}
            }
        }
        evidence.unresolved_operations = unknown
            .into_iter()
            .map(|operation_id| {
                let status = statuses.get(&operation_id).copied();
                Unresolved { run: name.to_owned(), operation_id, status }
            })
            .filter(|one| !one.status.is_some_and(is_resolved))
            .collect();
        evidence.unresolved = evidence.unresolved_operations.len() as u64;
        evidence.cut();
        evidence
    }

    /// Adds what another run leaves behind.
    pub fn add(&mut self, other: Self) {
        for (reason, count) in other.rejected {
            *self.rejected.entry(reason).or_default() += count;
        }
        self.collisions += other.collisions;
        self.collision_receipts.extend(other.collision_receipts);
        self.unresolved += other.unresolved;
        self.unresolved_operations.extend(other.unresolved_operations);
        self.cut();
    }

    fn cut(&mut self) {
        self.collision_receipts.truncate(KEPT);
        self.unresolved_operations.truncate(KEPT);
    }
}
