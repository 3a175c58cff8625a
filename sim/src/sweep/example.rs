//! Failures sorted into classes, with one small example of each.

use super::{Failure, Outcome, Shown, Sweep, watchdog};
use crate::plan::{Class, Plan};
use crate::random::Seed;
use crate::shrink::{self, Effort, Shrunk, shrink};
use crate::stack::{Finding, Run};

/// How many failures with one finding are shrunk. A broken design fails in one seed of three;
/// what the first few do not show is still in the sweep's list of failures.
const SHRUNK_MAX: usize = 3;

/// How many times the steps of the failing run a simpler plan may take, and how many more.
const STEPS_TIMES: u64 = 4;
const STEPS_MORE: u64 = 20_000;

/// One class of failures, with an example that a person can read.
#[derive(Clone, Debug)]
pub struct Example {
    /// The seed from which the example comes.
    pub seed: Seed,
    /// Its class. If it was not shrunk, that is the finding alone.
    pub class: Class,
    /// How many failures of the sweep are of this class.
    pub count: usize,
    /// How it was made small; `None` if it is shown as it failed.
    pub shrunk: Option<Shrunk>,
    /// How many faults and tasks it had before.
    pub before: (usize, usize),
    /// The run.
    pub shown: Shown,
}

impl Outcome {
    /// One example of each class of failures, in the order in which they were found.
    ///
    /// With an `effort`, the first failures of each finding are shrunk, each with at most so
    /// much. What is left says what a failure needs, and every other failure that has that, and
    /// perhaps more, is counted to the same class.
    pub fn examples(
        &self,
        effort: Option<Effort>,
        progress: &mut dyn FnMut(shrink::Progress),
    ) -> Vec<Example> {
        let mut examples: Vec<Example> = Vec::new();
        let mut shrunk: Vec<&'static str> = Vec::new();
        for failure in &self.failures {
            let finding = failure.finding.class();
            let plan = self.sweep.plan(failure.seed);
            let class = Class::new(finding, &plan);
            let known = examples.iter_mut().find(|example| class.covers(&example.class));
            if let Some(known) = known {
                known.count += 1;
                continue;
            }
            let tries = shrunk.iter().filter(|shrunk| **shrunk == finding).count();
            if tries >= effort.map_or(1, |_| SHRUNK_MAX) {
                continue;
            }
            shrunk.push(finding);
            let example = self.example(failure, &plan, effort, progress);
            match examples.iter_mut().find(|known| known.class == example.class) {
                Some(known) => known.count += 1,
                None => examples.push(example),
            }
        }
        examples
    }

    fn example(
        &self,
        failure: &Failure,
        plan: &Plan,
        effort: Option<Effort>,
        progress: &mut dyn FnMut(shrink::Progress),
    ) -> Example {
        let small =
            effort.and_then(|effort| self.sweep.shrink(plan, &failure.finding, effort, progress));
        let (class, shown) = match &small {
            Some(small) => (small.class.clone(), Shown::of_plan(&self.sweep, &small.plan)),
            None => (Class::of_finding(failure.finding.class()), self.show(failure)),
        };
        let before = (plan.faults.len(), plan.tasks.len());
        Example { seed: failure.seed, class, count: 1, shrunk: small, before, shown }
    }
}

impl Sweep {
    /// [Shrinks](shrink()) a failing plan with the hosts of this sweep.
    ///
    /// A simpler plan gets a multiple of the steps that the failing run took: one that needs far
    /// more is no simpler example. A run that hangs is not shrunk, for it would hang again.
    pub fn shrink(
        &self,
        plan: &Plan,
        finding: &Finding,
        effort: Effort,
        progress: &mut dyn FnMut(shrink::Progress),
    ) -> Option<Shrunk> {
        if matches!(finding, Finding::Hang { .. }) {
            return None;
        }
        let steps_max = self.run_watched(plan, u64::MAX).steps * STEPS_TIMES + STEPS_MORE;
        let run = |plan: &Plan| self.run_watched(plan, steps_max).finding;
        shrink(plan, finding, effort, &run, progress)
    }

    fn run_watched(&self, plan: &Plan, steps_max: u64) -> Run {
        let (hosts, of_hosts) = (self.hosts, plan.clone());
        let run = watchdog::run(plan, self.hang_after, move |world| {
            world.limit_steps(steps_max);
            hosts(world, &of_hosts);
        });
        run.expect("a plan names no other hosts than the one that it was made from")
    }
}
