//! Thousands of seeds, in parallel.
//!
//! Every seed is a run of its own with a plan of its own; runs share nothing, so the result
//! does not depend on how many of them happen at once.
//!
//! In a test:
//!
//! ```
//! use holdover::sweep::Sweep;
//! use holdover_model::design::Design;
//!
//! let design = Design::named("push-before-ready").unwrap();
//! Sweep::new(design).seeds(0..20).assert_holds();
//! ```

mod collector;
mod corpus;
mod divergence;
mod example;
mod outcome;
mod round;
mod seeds;
mod shown;
mod tally;
mod watchdog;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdover_model::design::Design;
use holdover_model::parallel;

pub use corpus::{Corpus, Replayed, Standing};
pub use divergence::{Difference, Divergence};
pub use example::Example;
pub use outcome::{Failure, Outcome};
pub use seeds::{Asked, SeedsError, parse_seeds};
pub use shown::{Shown, replay, replay_with};
pub use tally::{Reached, Tally};

use crate::plan::{Plan, PlanError, Profile};
use crate::random::Seed;
use crate::report;
use crate::search::{self, Mix, Search};
use crate::shrink::Effort;
use crate::situation::{self, Lookout, Situation};
use crate::stack::{self, Run};
use crate::world::World;
use collector::Collector;

/// How much a failing test spends on making its failure small.
const SHRINKS_WITH: Effort = Effort { runs_max: 2_000, within: Duration::from_secs(10) };

/// A sweep that is to be done.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The design that is run.
    pub design: Design,
    /// The seeds, and as many runs. With a mix of several sources not all of them are of seeds.
    pub seeds: Range<u64>,
    /// Where the plans come from.
    pub mix: Mix,
    /// How many runs happen at once.
    pub jobs: usize,
    /// From which knobs plans are drawn.
    pub profile: Profile,
    /// Whether every seed is run twice, and the two runs have to be the same.
    pub checks_determinism: bool,
    /// After how long a run that does not come back counts as hung, in real time.
    pub hang_after: Duration,
    /// Puts more hosts into each world, beside those of the reference system.
    pub hosts: Install,
    /// The situations that are counted.
    pub situations: Vec<Situation>,
    /// The names of those that have to be reached.
    pub required: BTreeSet<String>,
    /// Where plans are that failed once, if any.
    pub corpus: Option<PathBuf>,
}

/// Adds hosts to the world of a plan.
pub type Install = fn(&mut World, &Plan);

/// How far a sweep has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// How many runs are over.
    pub runs: u64,
    /// How many of them failed.
    pub failures: usize,
}

impl Sweep {
    /// A sweep of 1000 runs with the default [`Mix`] on all cores.
    pub fn new(design: Design) -> Self {
        let jobs = parallel::cores();
        Self {
            design,
            seeds: 0..1000,
            mix: Mix::default(),
            jobs,
            profile: Profile::default(),
            checks_determinism: false,
            hang_after: watchdog::HANG_AFTER,
            hosts: |_, _| (),
            situations: situation::catalogue(),
            required: BTreeSet::new(),
            corpus: None,
        }
    }

    /// The same with exactly these seeds, and nothing else.
    #[must_use]
    pub fn seeds(self, seeds: Range<u64>) -> Self {
        Self { seeds, mix: Mix::SWARM, ..self }
    }

    /// The same with so many runs. Where their plans come from is up to the mix.
    #[must_use]
    pub fn runs(self, runs: u64) -> Self {
        Self { seeds: self.seeds.start..self.seeds.start + runs, ..self }
    }

    /// The same with what was asked for: so many runs, or exactly these seeds.
    #[must_use]
    pub fn asked(self, asked: Asked) -> Self {
        match asked {
            Asked::Runs(runs) => self.runs(runs),
            Asked::Seeds(seeds) => self.seeds(seeds),
        }
    }

    /// The same with plans from other sources.
    #[must_use]
    pub fn mix(self, mix: Mix) -> Self {
        Self { mix, ..self }
    }

    /// The same with so many runs at once.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs: jobs.max(1), ..self }
    }

    /// The same, but every seed is run twice and the two runs are compared.
    #[must_use]
    pub fn check_determinism(self) -> Self {
        Self { checks_determinism: true, ..self }
    }

    /// The same, but a run counts as hung after this much real time without a sign of life.
    #[must_use]
    pub fn hang_after(self, hang_after: Duration) -> Self {
        Self { hang_after, ..self }
    }

    /// The same with more hosts in each world.
    #[must_use]
    pub fn hosts(self, hosts: Install) -> Self {
        Self { hosts, ..self }
    }

    /// The same, but these situations are counted, too.
    #[must_use]
    pub fn situations(mut self, more: impl IntoIterator<Item = Situation>) -> Self {
        self.situations.extend(more);
        self
    }

    /// The same, but it does not [hold](Outcome::holds) unless the situations with these names
    /// are reached. A name that no situation has is never reached.
    #[must_use]
    pub fn require<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.required.extend(names.into_iter().map(Into::into));
        self
    }

    /// The same, but every situation that is counted so far has to be reached.
    #[must_use]
    pub fn require_all(self) -> Self {
        let names: Vec<_> = self.situations.iter().map(|one| one.name().to_owned()).collect();
        self.require(names)
    }

    /// The same, but what failed once is tried first: the plans that were saved in a folder
    /// under a design of the same name.
    #[must_use]
    pub fn corpus(self, folder: impl Into<PathBuf>) -> Self {
        Self { corpus: Some(folder.into()), ..self }
    }

    /// Runs the plans of its corpus, with its design as it is now.
    ///
    /// # Errors
    ///
    /// When a file there cannot be read, is not a saved plan, or names a host that does not exist.
    pub fn replay_corpus(&self) -> Result<Vec<Replayed>, PlanError> {
        let Some(folder) = &self.corpus else { return Ok(Vec::new()) };
        Corpus::load(folder)?.under(&self.design).replay_with(self.hosts, self.hang_after)
    }

    /// The plan of one of its seeds.
    pub fn plan(&self, seed: Seed) -> Plan {
        Plan::generate(seed, &self.design, &self.profile)
    }

    /// Runs one of its seeds, on this thread.
    pub fn run_seed(&self, seed: Seed) -> Run {
        self.run_plan(&self.plan(seed), |_| ()).0
    }

    /// Runs a plan; gives the places of the situations that were reached, too.
    fn run_plan(&self, plan: &Plan, prepare: impl FnOnce(&mut World)) -> (Run, Vec<usize>) {
        let lookout = Lookout::new(&self.situations);
        let run = stack::run_with(plan, |world| {
            prepare(world);
            (self.hosts)(world, plan);
            lookout.watch(world);
        });
        (run.expect("generated plans name only hosts that exist"), lookout.reached())
    }

    /// Runs all seeds.
    pub fn run(&self) -> Outcome {
        self.run_with(|_| ())
    }

    /// Runs all seeds and tells `progress` now and then how far it is.
    pub fn run_with(&self, mut progress: impl FnMut(Progress)) -> Outcome {
        let began = Instant::now();
        let total = self.seeds.end.saturating_sub(self.seeds.start);
        let mut search = Arc::new(self.search());
        let round = if search.is_learning() { search::ROUND } else { total.max(1) };
        let mut collector = Collector::new(self);
        let mut from = 0;
        while from < total {
            let runs = from..total.min(from + round);
            from = runs.end;
            if !round::run(self, &search, runs, &mut collector, &mut progress) {
                break;
            }
            let search = Arc::get_mut(&mut search).expect("the threads of a round have ended");
            collector.teach(search);
        }
        collector.finish(self, search.matrix().cells(), began.elapsed())
    }

    /// The search from which the plans come.
    pub fn search(&self) -> Search {
        Search::new(&self.design, self.profile, self.mix, self.seeds.start)
    }

    /// Runs its corpus and all seeds and panics with a report if a run fails.
    ///
    /// `HOLDOVER_SEEDS` (`N` or `A..B`) runs others instead, `HOLDOVER_SEED` a single one. Fewer
    /// seeds than asked for here do not have to reach what is required.
    ///
    /// # Panics
    ///
    /// When a run fails or diverges, when a required situation is not reached, when one of the
    /// two variables cannot be read, or a plan of the corpus cannot.
    pub fn assert_holds(self) {
        let runs = self.seeds.end - self.seeds.start;
        let sweep = match seeds::from_environment() {
            Ok(Some(asked)) if asked.runs() < runs => {
                Self { required: BTreeSet::new(), ..self.asked(asked) }
            }
            Ok(Some(asked)) => self.asked(asked),
            Ok(None) => self,
            Err(error) => panic!("{error}"),
        };
        println!("{}", report::terminal::headline(&sweep));
        let replayed = sweep.replay_corpus().unwrap_or_else(|error| panic!("{error}"));
        if let Some(failed) = replayed.iter().find(|replayed| replayed.has_failed()) {
            panic!("{}", report::terminal::replay(&failed.shown, Some(&failed.file)));
        }
        let outcome = sweep.run();
        if let Some(divergence) = outcome.divergences.first() {
            panic!("{divergence}\n{}", report::terminal::summary(&outcome));
        }
        if let Some(example) = outcome.examples(Some(SHRINKS_WITH), &mut |_| ()).first() {
            panic!(
                "{}\n{}",
                report::terminal::example(example, &outcome, None),
                report::terminal::summary(&outcome)
            );
        }
        let summary = report::terminal::summary(&outcome);
        assert!(outcome.holds(), "{summary}");
        println!("{summary}");
    }
}
