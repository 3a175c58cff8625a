//! One run with everything that a report shows of it, and replays of saved plans.

use std::time::Duration;

use super::{Difference, Divergence, Failure, Install, Sweep, divergence, watchdog};
use crate::plan::{NOTHING, Plan, PlanError, SavedPlan};
use crate::random::Seed;
use crate::stack::{Finding, Run};

/// A run, with everything that a report shows of it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The plan, ready to be saved.
    pub saved: SavedPlan,
    /// The run, done once more.
    pub run: Run,
    /// How it differs from one more run of the same plan, which it should not.
    pub divergence: Option<Divergence>,
}

impl Shown {
    /// Runs one seed of a sweep, twice.
    pub fn of_seed(sweep: &Sweep, seed: Seed) -> Self {
        Self::of_plan(sweep, &sweep.plan(seed))
    }

    /// Runs a plan with the hosts of a sweep, twice.
    ///
    /// # Panics
    ///
    /// When it names a host that is not there.
    pub fn of_plan(sweep: &Sweep, plan: &Plan) -> Self {
        let (run, divergence) = run_twice(plan, sweep.hosts, sweep.hang_after)
            .expect("a plan for these hosts names no others");
        Self {
            saved: SavedPlan::of(plan.clone(), run.finding.as_ref(), run.digest),
            run,
            divergence,
        }
    }

    pub(super) fn of_failure(sweep: &Sweep, failure: &Failure) -> Self {
        if let Finding::Hang { host, .. } = &failure.finding {
            let run = Run::hung(host.clone(), sweep.hang_after);
            return Self {
                saved: SavedPlan::of(failure.plan.clone(), run.finding.as_ref(), run.digest),
                run,
                divergence: None,
            };
        }
        let mut shown = Self::of_plan(sweep, &failure.plan);
        let is_same = shown.run.digest == failure.digest
            && shown.run.finding.as_ref() == Some(&failure.finding);
        if !is_same {
            shown.divergence.get_or_insert(Divergence { seed: failure.plan.seed, first: None });
            // What was found is what is saved, even if it is not found again.
            let finding = Some(&failure.finding);
            shown.saved = SavedPlan::of(failure.plan.clone(), finding, failure.digest);
        }
        shown
    }

    /// Whether the run was, to the last packet, the one that was saved.
    pub fn has_same_digest(&self) -> bool {
        hex::encode(self.run.digest) == self.saved.expected.digest
    }

    /// Whether the run showed what was saved.
    pub fn has_same_verdict(&self) -> bool {
        self.found() == self.saved.expected.finding
    }

    /// What the run showed: an invariant's name, what else it was, or `none`.
    pub fn found(&self) -> &'static str {
        self.run.finding.as_ref().map_or(NOTHING, Finding::class)
    }
}

/// Replays a saved plan, twice.
///
/// # Errors
///
/// When it names a host that does not exist.
pub fn replay(saved: SavedPlan) -> Result<Shown, PlanError> {
    replay_with(saved, |_, _| (), watchdog::HANG_AFTER)
}

/// The same in a world with more hosts, and with another patience for code that never
/// awaits.
///
/// # Errors
///
/// When it names a host that does not exist.
pub fn replay_with(
    saved: SavedPlan,
    hosts: Install,
    hang_after: Duration,
) -> Result<Shown, PlanError> {
    let (run, divergence) = run_twice(&saved.plan, hosts, hang_after)?;
    Ok(Shown { saved, run, divergence })
}

/// Runs a plan, and once more to see whether that is the same run.
fn run_twice(
    plan: &Plan,
    hosts: Install,
    hang_after: Duration,
) -> Result<(Run, Option<Divergence>), PlanError> {
    let run = || {
        let of_hosts = plan.clone();
        watchdog::run(plan, hang_after, move |world| {
            world.record_trace();
            hosts(world, &of_hosts);
        })
    };
    let mut first = run()?;
    if matches!(first.finding, Some(Finding::Hang { .. })) {
        return Ok((first, None));
    }
    let second = run()?;
    let divergence = (!divergence::are_same(&first, &second)).then(|| Divergence {
        seed: plan.seed,
        first: Difference::between(&first.trace, &second.trace),
    });
    first.trace = Vec::new();
    Ok((first, divergence))
}
