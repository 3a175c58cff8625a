//! The small portfolio: what is explored where there are many designs, as in the zoo, or where each
//! neighbour of a design is looked at.
//!
//! Budgets multiply, so the faults are not all allowed at once: each bound has a budget for
//! faults that meet in public reports. The [portfolio](super::portfolio) goes further.

use crate::check::bounds::Budget::{
    AgentCrashes, AuthorityCrashes, DestinationCrashes, Duplications, Expiries, Forgettings,
    InventedEpochs, LedgerCrashes, Losses, Misconfigurations, Recreations, Renewals, Resends,
    Restores, Retries, Revocations, Takeovers, WorkerCrashes,
};
use crate::check::bounds::{Bounds, Budget, Consents};
use crate::design::Design;
use crate::design::guarantee::FencedFrom;

/// Small bounds for one design, in the order in which they are explored. They depend on what it
/// claims, not on whether it is known to be broken: a safe design is looked at wherever a broken
/// one with the same claims is.
pub fn small_portfolio(design: &Design) -> Vec<Bounds> {
    let one = |budgets| small(1, 2, budgets);
    let two = |budgets| small(2, 1, budgets);
    let unconditional = |bounds| Bounds { is_conditional: false, ..bounds };
    let two_resources = |bounds| Bounds { resources: 2, ..bounds };
    let mut bounds = vec![
        // Who may write: ownership that changes, ends, and is forgotten.
        one(&[(Takeovers, 1)]),
        one(&[(Expiries, 1)]),
        one(&[(Revocations, 1)]),
        one(&[(Expiries, 1), (Renewals, 1)]),
        one(&[(Takeovers, 1), (AuthorityCrashes, 1)]),
        one(&[(Takeovers, 1), (Restores, 1)]),
        one(&[(Takeovers, 1), (Misconfigurations, 1)]),
        // Which operation is which.
        two(&[]),
        // What a try is: answers that are late or lost, tries that are repeated.
        one(&[(Retries, 1)]),
        one(&[(Retries, 1), (WorkerCrashes, 1)]),
        one(&[(Retries, 1), (AuthorityCrashes, 1)]),
        one(&[(Retries, 1), (DestinationCrashes, 1)]),
        one(&[(Retries, 1), (LedgerCrashes, 1)]),
        one(&[(Retries, 1), (AgentCrashes, 1)]),
        one(&[(Retries, 1), (Forgettings, 1)]),
        one(&[(Recreations, 1)]),
        one(&[(Duplications, 1)]),
        one(&[(Losses, 1), (Resends, 1)]),
        unconditional(one(&[(Retries, 1), (Duplications, 1)])),
        // Whose consent covers what.
        Bounds { consents: Consents::Borrowed, ..one(&[]) },
        Bounds { consents: Consents::Shared, ..two(&[]) },
        // Two workers that are busy with the same operation.
        unconditional(small(1, 1, &[(Takeovers, 1), (Retries, 1)])),
        // Two that meet, and are tried again.
        two(&[(Retries, 1)]),
        two_resources(two(&[(Retries, 1)])),
        unconditional(two(&[(Retries, 1)])),
        // One worker before and after a crash, each time with something to write.
        unconditional(two(&[(WorkerCrashes, 1)])),
        // All of it.
        two(&[(Takeovers, 1)]),
        two_resources(two(&[(Takeovers, 1)])),
        one(&[(Takeovers, 1), (Retries, 1)]),
    ];
    if design.guarantee.fenced_from == FencedFrom::FirstWrite {
        // The successor has to write something else before the old holder does.
        bounds.push(two(&[(Takeovers, 1), (Retries, 1)]));
    }
    if design.guarantee.rejects_invented_epochs {
        bounds.push(one(&[(InventedEpochs, 1)]));
    }
    bounds
}

fn small(operations: u8, attempts_max: u32, budgets: &[(Budget, u8)]) -> Bounds {
    let budgets = budgets.iter().copied().collect();
    Bounds { operations, attempts_max, budgets, ..Bounds::default() }
}
