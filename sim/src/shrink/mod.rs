//! Failing plans made small: fewer faults, fewer tasks, rounder numbers, the same finding.
//!
//! A sweep fails with seven tasks and five faults, of which most have nothing to do with what
//! broke. [`shrink`] takes away what is not needed, as delta debugging does (Zeller and
//! Hildebrandt, *Simplifying and isolating failure-inducing input*, 2002): it runs simpler
//! plans, and goes on from each that still shows a failure of the same [`Class`].
//!
//! It is a function of the plan and of how plans are run: it draws nothing, and a plan that was
//! shrunk to the end shrinks to itself. Every step makes the plan simpler by one fixed
//! order (`size`), so it ends. The design and the roles' waiting times are never
//! changed: they are what is tested.
//!
//! ```
//! use holdover::plan::{Plan, Profile};
//! use holdover::random::Seed;
//! use holdover::shrink::{Effort, shrink};
//! use holdover::stack;
//! use holdover_model::design::Design;
//!
//! let design = Design::named("timeout-means-failed")?;
//! let run = |plan: &Plan| stack::run(plan).ok()?.finding;
//! let (plan, finding) = (0..)
//!     .map(|seed| Plan::generate(Seed(seed), &design, &Profile::default()))
//!     .find_map(|plan| run(&plan).map(|finding| (plan, finding)))
//!     .unwrap();
//! let shrunk = shrink(&plan, &finding, Effort::runs(500), &run, &mut |_| ()).expect("it replays");
//! assert!(shrunk.plan.tasks.len() < plan.tasks.len());
//! assert_eq!(shrunk.class.finding, finding.class());
//! # Ok::<(), holdover_model::design::DesignError>(())
//! ```

mod numbers;
mod passes;
mod size;

use std::collections::BTreeSet;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::plan::{Class, Plan};
use crate::stack::Finding;
use crate::time::Instant;
use size::Size;

/// How much may be spent on one plan: what is used up first ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// How many runs, at most.
    pub runs_max: u64,
    /// How long, at most, in real time.
    pub within: Duration,
}

impl Effort {
    /// So many runs, however long they take: the result is then the same on every machine.
    pub fn runs(runs_max: u64) -> Self {
        Self { runs_max, within: Duration::MAX }
    }

    /// So long, however many runs that allows.
    pub fn seconds(seconds: u64) -> Self {
        Self { runs_max: u64::MAX, within: Duration::from_secs(seconds) }
    }
}

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// How many runs it took so far.
    pub runs: u64,
    /// How many faults the smallest failing plan has.
    pub faults: usize,
    /// How many tasks it has.
    pub tasks: usize,
}

/// A failing plan of which nothing more could be taken away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shrunk {
    /// The plan.
    pub plan: Plan,
    /// What it shows.
    pub finding: Finding,
    /// Its class: what is needed for such a failure.
    pub class: Class,
    /// How many runs it took.
    pub runs: u64,
    /// How long it took in real time.
    pub wall: Duration,
    /// Whether everything was tried; if not, the effort was used up before.
    pub is_finished: bool,
}

/// Looks for the smallest plan with a failure of the same class.
///
/// `run` runs a plan; `None` means that nothing was found. `progress` is told of every run.
///
/// Returns `None` if the plan does not show `finding` when it is run again.
pub fn shrink(
    plan: &Plan,
    finding: &Finding,
    effort: Effort,
    run: &dyn Fn(&Plan) -> Option<Finding>,
    progress: &mut dyn FnMut(Progress),
) -> Option<Shrunk> {
    let began = Instant::now();
    let again = run(plan)?;
    if again.class() != finding.class() {
        return None;
    }
    let mut shrinker = Shrinker {
        class: Class::new(again.class(), plan),
        plan: plan.clone(),
        finding: again,
        tried: BTreeSet::new(),
        runs: 1,
        effort,
        began,
        is_exhausted: false,
        run,
        progress,
    };
    while passes::all(&mut shrinker) {}
    let Shrinker { plan, finding, runs, is_exhausted, .. } = shrinker;
    let class = Class::new(finding.class(), &plan);
    Some(Shrunk { plan, finding, class, runs, wall: began.elapsed(), is_finished: !is_exhausted })
}

/// The smallest failing plan so far, and what was tried.
struct Shrinker<'a> {
    /// The class that the original has.
    class: Class,
    plan: Plan,
    finding: Finding,
    /// Hashes of the plans that were run and are of no use.
    tried: BTreeSet<[u8; 32]>,
    runs: u64,
    effort: Effort,
    began: Instant,
    is_exhausted: bool,
    run: &'a dyn Fn(&Plan) -> Option<Finding>,
    progress: &'a mut dyn FnMut(Progress),
}

impl Shrinker<'_> {
    /// Goes on from this plan if it is simpler and fails in the same way; says whether it does.
    fn accept(&mut self, candidate: Plan) -> bool {
        let is_simpler = Size::of(&candidate) < Size::of(&self.plan);
        let is_worth_a_run = is_simpler && candidate.validate().is_ok();
        if !is_worth_a_run || !self.tried.insert(hash(&candidate)) {
            return false;
        }
        let is_over =
            self.runs >= self.effort.runs_max || self.began.elapsed() >= self.effort.within;
        if is_over {
            self.is_exhausted = true;
            return false;
        }
        self.runs += 1;
        let finding = (self.run)(&candidate)
            .filter(|finding| self.class.covers(&Class::new(finding.class(), &candidate)));
        let is_same = finding.is_some();
        if let Some(finding) = finding {
            self.finding = finding;
            self.plan = candidate;
        }
        (self.progress)(Progress {
            runs: self.runs,
            faults: self.plan.faults.len(),
            tasks: self.plan.tasks.len(),
        });
        is_same
    }

    /// The same with a change to the plan.
    fn accept_with(&mut self, change: impl FnOnce(&mut Plan)) -> bool {
        let mut candidate = self.plan.clone();
        change(&mut candidate);
        self.accept(candidate)
    }
}

fn hash(plan: &Plan) -> [u8; 32] {
    Sha256::digest(postcard::to_stdvec(plan).expect("a plan is plain data")).into()
}
