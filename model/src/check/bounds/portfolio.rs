//! The portfolio: what `holdover check` explores if nothing else is said.
//!
//! One design is worth minutes. Many are checked within the [small](super::small_portfolio) bounds.

use crate::check::bounds::Budget::{
    AgentCrashes, AuthorityCrashes, DestinationCrashes, Duplications, Expiries, Forgettings, Idles,
    InventedEpochs, LedgerCrashes, Losses, Misconfigurations, Recreations, Renewals, Resends,
    Restores, Retries, Revocations, SupervisorCrashes, Takeovers, WorkerCrashes,
};
use crate::check::bounds::{Bounds, Consents};
use crate::check::reduction::dead_message::Rules;
use crate::design::Design;

/// The bounds that are explored if nothing else is said.
///
/// No single bound shows everything, and budgets multiply. So each fault comes alone with
/// a second request, and those faults come together that have been seen to need each
/// other. Losses are left out where they add nothing: a message that is never delivered is
/// as good as lost, so they only matter for settling.
///
/// At the end come the two [`deep`](deep_portfolio) bounds in which many faults meet, for
/// designs for which every [reduction](crate::check::Reductions) is sound. For other designs they
/// would take hours, so there they have to be asked for.
///
/// What this leaves out: more than two tries of an operation, and more than two operations.
pub fn portfolio(design: &Design) -> Vec<Bounds> {
    let two = Bounds::default();
    let one = Bounds { operations: 1, ..Bounds::default() };
    let mut portfolio = vec![
        // The usual case first: what is broken here is broken in the fewest steps.
        two.clone().with(Takeovers, 1),
        Bounds { is_conditional: false, ..two.clone() }.with(Takeovers, 1),
    ];
    let faults = [
        Takeovers,
        Revocations,
        Expiries,
        WorkerCrashes,
        AuthorityCrashes,
        LedgerCrashes,
        DestinationCrashes,
        AgentCrashes,
        SupervisorCrashes,
        Duplications,
        Renewals,
        Idles,
        Recreations,
        Misconfigurations,
        Forgettings,
    ];
    portfolio.extend(faults.map(|fault| one.clone().with(Retries, 1).with(fault, 1)));
    portfolio.push(one.clone().with(Retries, 1).with(Losses, 1).with(Resends, 1));
    portfolio.extend([
        Bounds { is_conditional: false, ..one.clone() }
            .with(Retries, 1)
            .with(Takeovers, 1)
            .with(WorkerCrashes, 1),
        // One worker before and after its crash, each time with something to write.
        Bounds { is_conditional: false, ..two.clone() }.with(WorkerCrashes, 1),
        Bounds { workers: 3, ..one.clone() }.with(Takeovers, 2),
        Bounds { resources: 2, ..two }.with(Takeovers, 1),
    ]);
    if design.guarantee.rejects_invented_epochs {
        portfolio.push(one.clone().with(InventedEpochs, 1));
    }
    portfolio.push(Bounds { consents: Consents::Borrowed, ..one.clone() });
    portfolio.push(Bounds { consents: Consents::Shared, attempts_max: 1, ..Bounds::default() });
    if can_be_restored(design) {
        portfolio.push(one.with(Restores, 1).with(Takeovers, 1));
    }
    portfolio
        .extend(deep_portfolio().into_iter().filter(|bounds| allows_everything(design, bounds)));
    portfolio
}

/// Bounds in which faults meet that the rest of the [`portfolio`] shows one by one: a worker
/// and the authority crash, leases expire and pass on; and a request is repeated while a
/// worker crashes and a lease passes on. Both are about two operations on one resource.
pub fn deep_portfolio() -> Vec<Bounds> {
    let faults = [WorkerCrashes, AuthorityCrashes, Expiries, Takeovers];
    let with = |bounds: Bounds, budget| bounds.with(budget, 1);
    vec![
        faults.into_iter().fold(Bounds::default(), with),
        [Retries, Takeovers, WorkerCrashes].into_iter().fold(Bounds::default(), with),
    ]
}

/// Whether the authority can be restored from a backup of its own: a co-located store is not
/// restored in parts.
fn can_be_restored(design: &Design) -> bool {
    !design.fence.asked().is_co_located()
}

/// Whether every reduction is sound for a design, with all its rules.
fn allows_everything(design: &Design, bounds: &Bounds) -> bool {
    let rules = Rules::of(design, bounds);
    rules.ledger_is_sole && rules.jobs_are_apart
}
