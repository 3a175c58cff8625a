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

mod corpus;
mod divergence;
mod example;
mod outcome;
mod seeds;
mod shown;
mod watchdog;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use holdover_model::design::Design;

pub use corpus::{Corpus, Replayed, Standing};
pub use divergence::{Difference, Divergence};
pub use example::Example;
pub use outcome::{Failure, Outcome};
pub use seeds::{SeedsError, parse_seeds};
pub use shown::{Shown, replay, replay_with};

use crate::plan::{Plan, PlanError, Profile};
use crate::random::Seed;
use crate::report;
use crate::shrink::Effort;
use crate::stack::{self, Run};
use crate::world::World;
use outcome::{Summary, Tally};
use watchdog::{Busy, Watchdog};

/// How much a failing test spends on making its failure small.
const SHRINKS_WITH: Effort = Effort { runs_max: 2_000, within: Duration::from_secs(10) };

/// A sweep that is to be done.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The design that is run.
    pub design: Design,
    /// The seeds.
    pub seeds: Range<u64>,
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
    /// A sweep of the seeds 0 to 999 on all cores.
    pub fn new(design: Design) -> Self {
        let jobs = thread::available_parallelism().map_or(1, usize::from);
        Self {
            design,
            seeds: 0..1000,
            jobs,
            profile: Profile::default(),
            checks_determinism: false,
            hang_after: watchdog::HANG_AFTER,
            hosts: |_, _| (),
            corpus: None,
        }
    }

    /// The same with other seeds.
    #[must_use]
    pub fn seeds(self, seeds: Range<u64>) -> Self {
        Self { seeds, ..self }
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
        self.run_plan(&self.plan(seed), |_| ())
    }

    fn run_plan(&self, plan: &Plan, prepare: impl FnOnce(&mut World)) -> Run {
        let run = stack::run_with(plan, |world| {
            prepare(world);
            (self.hosts)(world, plan);
        });
        run.expect("generated plans name only hosts that exist")
    }

    /// Runs all seeds.
    pub fn run(&self) -> Outcome {
        self.run_with(|_| ())
    }

    /// Runs all seeds and tells `progress` now and then how far it is.
    pub fn run_with(&self, mut progress: impl FnMut(Progress)) -> Outcome {
        let began = Instant::now();
        let shared = Arc::new(Shared::new(self));
        let (sender, summaries) = mpsc::channel();
        // Not scoped: a thread that hangs is left behind.
        let mut workers: Vec<_> = (0..self.jobs)
            .map(|_| {
                let (shared, sender) = (Arc::clone(&shared), sender.clone());
                let busy = Arc::new(Busy::default());
                let job = Arc::clone(&busy);
                let thread = thread::spawn(move || shared.work(&job, &sender));
                Worker { busy, watchdog: Watchdog::new(self.hang_after), thread }
            })
            .collect();
        let mut tally = Tally::new(self.seeds.start);
        while workers.iter().any(|worker| !worker.thread.is_finished()) {
            thread::sleep(watchdog::LOOKS_EVERY);
            workers.retain_mut(|worker| match worker.watchdog.look(&worker.busy) {
                None => true,
                Some(found) => {
                    // A second hang would only cost another core.
                    shared.next.store(self.seeds.end, Ordering::Relaxed);
                    tally.add(found.with, Summary::hung(found.host, self.hang_after));
                    false
                }
            });
            tally.extend(summaries.try_iter());
            progress(shared.progress());
        }
        for worker in workers {
            // A run's panics are findings, so this is one of the sweep itself.
            worker.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        tally.extend(summaries.try_iter());
        tally.finish(self, began.elapsed())
    }

    /// Runs its corpus and all seeds and panics with a report if a run fails.
    ///
    /// `HOLDOVER_SEEDS` (`N` or `A..B`) runs others instead, `HOLDOVER_SEED` a single one.
    ///
    /// # Panics
    ///
    /// When a run fails or diverges, when one of the two variables cannot be read, or a plan of
    /// the corpus cannot.
    pub fn assert_holds(self) {
        let sweep = match seeds::from_environment() {
            Ok(Some(seeds)) => self.seeds(seeds),
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
        println!("{}", report::terminal::summary(&outcome));
    }
}

/// A thread of a sweep, and what watches it.
struct Worker {
    busy: Arc<Busy<Seed>>,
    watchdog: Watchdog,
    thread: thread::JoinHandle<()>,
}

/// What the threads of a sweep share.
struct Shared {
    sweep: Sweep,
    next: AtomicU64,
    runs: AtomicU64,
    failures: AtomicUsize,
}

impl Shared {
    fn new(sweep: &Sweep) -> Self {
        Self {
            sweep: sweep.clone(),
            next: AtomicU64::new(sweep.seeds.start),
            runs: AtomicU64::new(0),
            failures: AtomicUsize::new(0),
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            runs: self.runs.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
        }
    }

    /// Runs seeds until there are no more.
    fn work(&self, busy: &Busy<Seed>, done: &mpsc::Sender<(Seed, Summary)>) {
        loop {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.sweep.seeds.end {
                return;
            }
            let seed = Seed(seed);
            let summary = self.run_seed(seed, busy);
            busy.end();
            self.failures.fetch_add(usize::from(summary.is_failure()), Ordering::Relaxed);
            self.runs.fetch_add(1, Ordering::Relaxed);
            if done.send((seed, summary)).is_err() {
                return; // The sweep was given up.
            }
        }
    }

    fn run_seed(&self, seed: Seed, busy: &Busy<Seed>) -> Summary {
        let sweep = &self.sweep;
        let plan = sweep.plan(seed);
        let watched = || sweep.run_plan(&plan, |world| busy.begin(seed, world.pulse()));
        let run = watched();
        let diverges = sweep.checks_determinism && !divergence::are_same(&run, &watched());
        let divergence = diverges.then(|| {
            Divergence::locate(&plan, |world| {
                busy.begin(seed, world.pulse());
                (sweep.hosts)(world, &plan);
            })
        });
        Summary::new(run, divergence)
    }
}
