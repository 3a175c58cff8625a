//! From the checker to the world: a counterexample becomes a plan that shows the same violation.
//!
//! The checker says which message was late, which answer was lost and who crashed when. In the
//! world each of these is a fault with a trigger. A counterexample does not say how long
//! anything takes, though, and the world does more at a time than one step. So for
//! each step there are several [`ingredients`], and plans are made of none, one or two of them and
//! run in a fixed order until one breaks the invariant that the counterexample breaks: a
//! search, but one that was told where to look. Nothing in it is random.
//!
//! ```
//! use holdover::directed::{self, Found};
//! use holdover_model::check::{Bounds, Budget, Options, check};
//! use holdover_model::design::Design;
//!
//! let design = Design::named("highest-seen")?;
//! let bounds = Bounds { operations: 1, ..Bounds::default() }.with(Budget::Takeovers, 1);
//! let verdict = check(&design, &[bounds], Options::default());
//! let Found { plan, finding, tried, .. } =
//!     directed::replay(&design, &verdict, &mut |_| ()).expect("the world shows it, too");
//! assert_eq!(finding.class(), "no-stale-effect");
//! println!("{plan}found after {tried} plans");
//! # Ok::<(), holdover_model::design::DesignError>(())
//! ```

mod ingredients;
mod why_not;
mod workload;

use std::collections::BTreeSet;

use holdover_model::check::{Bounds, Consents, Counterexample, Happening, Verdict};
use holdover_model::design::Design;
use holdover_model::invariant::InvariantId;
use holdover_model::role::Signal;

pub use why_not::{NotInTheWorld, NotShown, why_not_in_the_world};

use crate::fault::PlannedFault;
use crate::plan::Plan;
use crate::shrink::Effort;
use crate::stack::{self, Finding, WORKERS};
use crate::sweep::Sweep;

/// How many plans are tried for one counterexample, at most.
pub const TRIES_MAX: usize = 4_000;

/// How many runs the plan that was found is shrunk with.
const SHRINKS_WITH: Effort = Effort { runs_max: 400, within: std::time::Duration::MAX };

/// How long packets travel, so that what comes first is the plan's doing alone.
const LATENCY_US: u64 = 1_000;

/// How many steps a plan may take: a multiple of what runs take in which all settles.
const STEPS_MAX: u64 = 50_000;

/// A plan that shows in the world what the checker has found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The plan, shrunk.
    pub plan: Plan,
    /// What it shows: the invariant that the counterexample breaks.
    pub finding: Finding,
    /// How many plans were tried.
    pub tried: u64,
}

/// Makes plans from a verdict's counterexample and runs them until one breaks the same invariant.
/// `progress` is told how many were run.
///
/// # Errors
///
/// When there is no counterexample, when it is about something that does not happen in the
/// world, or when no plan has shown it.
pub fn replay(
    design: &Design,
    verdict: &Verdict,
    progress: &mut dyn FnMut(u64),
) -> Result<Found, NotShown> {
    let (Some(counterexample), Some(report)) = (&verdict.counterexample, verdict.bounds.last())
    else {
        return Err(NotShown::NoCounterexample);
    };
    if let Some(why_not) = not_in_the_world(&report.bounds, counterexample) {
        return Err(NotShown::NotInTheWorld(why_not));
    }
    let invariant = counterexample.violation.invariant;
    let (mut tried, mut instead) = (0, BTreeSet::new());
    for plan in plans(design, &report.bounds, counterexample) {
        tried += 1;
        let finding = run(&plan, invariant);
        progress(tried);
        match finding {
            Some(finding) if finding.class() == invariant.as_str() => {
                return Ok(smaller(plan, finding, tried));
            }
            Some(finding) => {
                instead.insert(finding.class());
            }
            None => {}
        }
    }
    Err(match why_not_in_the_world(&design.name) {
        Some(why_not) => NotShown::NotInTheWorld(why_not),
        None => NotShown::NotFound { tried, instead },
    })
}

/// The first thing in a counterexample that does not happen in the world.
fn not_in_the_world(bounds: &Bounds, counterexample: &Counterexample) -> Option<NotInTheWorld> {
    let is_about_consent = counterexample.violation.invariant == InvariantId::ApprovalBound;
    if is_about_consent && bounds.consents != Consents::Own {
        return Some(NotInTheWorld::BorrowedConsent);
    }
    counterexample.steps.iter().find_map(|step| match &step.happening {
        Happening::Signal(Signal::Recreate(_)) => Some(NotInTheWorld::Recreation),
        Happening::Signal(Signal::InventEpoch(_)) => Some(NotInTheWorld::InventedEpoch),
        Happening::Signal(Signal::Misconfigure) => Some(NotInTheWorld::Misconfiguration),
        Happening::Signal(Signal::Forget(_)) => Some(NotInTheWorld::Forgetting),
        Happening::Signal(Signal::Revoke(_)) => Some(NotInTheWorld::Revocation),
        _ if step.actor.starts_with("worker") && !WORKERS.contains(&step.actor.as_str()) => {
            Some(NotInTheWorld::ThirdWorker)
        }
        _ => None,
    })
}

/// The plans that may show a counterexample, the likeliest first: without any fault or with one,
/// then with two.
fn plans(design: &Design, bounds: &Bounds, counterexample: &Counterexample) -> Vec<Plan> {
    let workloads = workload::of(bounds, counterexample);
    let timings = workload::timings(counterexample);
    let faults = ingredients::of(design, counterexample);
    let one = faults.iter().map(|fault| vec![fault.clone()]);
    let few = std::iter::once(Vec::new()).chain(one).collect();
    let two = pairs(&faults);
    let mut plans = Vec::new();
    for (timing, choices) in
        [few, two].iter().flat_map(|choices| timings.iter().map(move |timing| (*timing, choices)))
    {
        for (faults, tasks) in
            choices.iter().flat_map(|faults| workloads.iter().map(move |tasks| (faults, tasks)))
        {
            if plans.len() == TRIES_MAX {
                return plans;
            }
            let quiet = Plan::quiet(design, tasks.clone(), LATENCY_US);
            plans.push(Plan { timing, faults: faults.clone(), ..quiet });
        }
    }
    plans
}

/// Every two of these, those first that stand near the beginning.
fn pairs(faults: &[PlannedFault]) -> Vec<Vec<PlannedFault>> {
    let places = (0..faults.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
    let mut places: Vec<_> = places.collect();
    places.sort_by_key(|(one, other)| one + other);
    places
        .into_iter()
        .map(|(one, other)| vec![faults[one].clone(), faults[other].clone()])
        .collect()
}

fn run(plan: &Plan, invariant: InvariantId) -> Option<Finding> {
    // What never settles takes long; what breaks before does not.
    let steps_max = match invariant {
        InvariantId::EveryOperationSettles => u64::MAX,
        _ => STEPS_MAX,
    };
    let run = stack::run_with(plan, |world| world.limit_steps(steps_max));
    run.expect("counterexamples name no other hosts than the reference system").finding
}

/// The plan without what turned out not to be needed.
fn smaller(plan: Plan, finding: Finding, tried: u64) -> Found {
    let sweep = Sweep::new(plan.design.clone());
    match sweep.shrink(&plan, &finding, SHRINKS_WITH, &mut |_| ()) {
        Some(shrunk) => Found { plan: shrunk.plan, finding: shrunk.finding, tried },
        None => Found { plan, finding, tried },
    }
}
