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

mod seeds;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use holdover_model::design::Design;
use sha2::{Digest, Sha256};

pub use seeds::{SeedsError, parse_seeds};

use crate::plan::{Plan, PlanError, Profile, SavedPlan};
use crate::random::Seed;
use crate::report;
use crate::stack::{self, Finding, Run};

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
}

/// How far a sweep has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// How many runs are over.
    pub runs: u64,
    /// How many of them failed.
    pub failures: usize,
}

/// One seed that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: Seed,
    /// What was found.
    pub finding: Finding,
    /// The digest of the run.
    pub digest: [u8; 32],
}

/// What a sweep showed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The sweep.
    pub sweep: Sweep,
    /// How many runs it took.
    pub runs: u64,
    /// How many events there were in all runs together.
    pub events: u64,
    /// How long it took in real time.
    pub wall: Duration,
    /// The seeds that failed, in order.
    pub failures: Vec<Failure>,
    /// SHA-256 over the runs' digests in the order of their seeds.
    pub digest: [u8; 32],
}

/// What is kept of one run.
struct Summary {
    digest: [u8; 32],
    events: u64,
    finding: Option<Finding>,
}

impl Sweep {
    /// A sweep of the seeds 0 to 999 on all cores.
    pub fn new(design: Design) -> Self {
        let jobs = thread::available_parallelism().map_or(1, usize::from);
        Self { design, seeds: 0..1000, jobs, profile: Profile::default() }
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

    /// The plan of one of its seeds.
    pub fn plan(&self, seed: Seed) -> Plan {
        Plan::generate(seed, &self.design, &self.profile)
    }

    /// Runs one of its seeds.
    pub fn run_seed(&self, seed: Seed) -> Run {
        stack::run(&self.plan(seed)).expect("generated plans name only hosts that exist")
    }

    /// Runs all seeds.
    pub fn run(&self) -> Outcome {
        self.run_with(|_| ())
    }

    /// Runs all seeds and tells `progress` now and then how far it is.
    pub fn run_with(&self, mut progress: impl FnMut(Progress)) -> Outcome {
        let began = Instant::now();
        let next = AtomicU64::new(self.seeds.start);
        let (runs, failures) = (AtomicU64::new(0), AtomicUsize::new(0));
        let work = || {
            let mut done = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= self.seeds.end {
                    return done;
                }
                let Run { finding, digest, records, .. } = self.run_seed(Seed(seed));
                failures.fetch_add(usize::from(finding.is_some()), Ordering::Relaxed);
                done.push((seed, Summary { digest, events: records.len() as u64, finding }));
                runs.fetch_add(1, Ordering::Relaxed);
            }
        };
        let mut summaries: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs).map(|_| scope.spawn(work)).collect();
            while workers.iter().any(|worker| !worker.is_finished()) {
                thread::sleep(Duration::from_millis(20));
                progress(Progress {
                    runs: runs.load(Ordering::Relaxed),
                    failures: failures.load(Ordering::Relaxed),
                });
            }
            workers
                .into_iter()
                .flat_map(|worker| worker.join().expect("a run's panics are findings"))
                .collect()
        });
        summaries.sort_by_key(|(seed, _)| *seed);
        self.outcome(summaries, began.elapsed())
    }

    fn outcome(&self, summaries: Vec<(u64, Summary)>, wall: Duration) -> Outcome {
        let mut digest = Sha256::new();
        let (runs, mut events, mut failures) = (summaries.len() as u64, 0, Vec::new());
        for (seed, summary) in summaries {
            digest.update(summary.digest);
            events += summary.events;
            if let Some(finding) = summary.finding {
                failures.push(Failure { seed: Seed(seed), finding, digest: summary.digest });
            }
        }
        let sweep = self.clone();
        Outcome { sweep, runs, events, wall, failures, digest: digest.finalize().into() }
    }

    /// Runs all seeds and panics with a report if one fails.
    ///
    /// `HOLDOVER_SEEDS` (`N` or `A..B`) runs others instead, `HOLDOVER_SEED` a single one.
    ///
    /// # Panics
    ///
    /// When a seed fails, or when one of the two variables cannot be read.
    pub fn assert_holds(self) {
        let sweep = match seeds::from_environment() {
            Ok(Some(seeds)) => self.seeds(seeds),
            Ok(None) => self,
            Err(error) => panic!("{error}"),
        };
        println!("{}", report::terminal::headline(&sweep));
        let outcome = sweep.run();
        if let Some(failure) = outcome.failures.first() {
            let shown = outcome.show(failure);
            panic!(
                "{}\n{}",
                report::terminal::failure(&shown, None),
                report::terminal::summary(&outcome)
            );
        }
        println!("{}", report::terminal::summary(&outcome));
    }
}

/// A failure with everything that a report shows of it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The plan, ready to be saved.
    pub saved: SavedPlan,
    /// The run, done once more.
    pub run: Run,
}

impl Shown {
    /// Runs one seed of a sweep.
    pub fn of_seed(sweep: &Sweep, seed: Seed) -> Self {
        let run = sweep.run_seed(seed);
        let (class, explanation) = match &run.finding {
            Some(finding) => (finding.class(), finding.explanation()),
            None => ("none", String::new()),
        };
        let saved = SavedPlan::new(sweep.plan(seed), class, explanation, run.digest);
        Self { saved, run }
    }

    /// Whether the run was, to the last packet, the one that was saved.
    pub fn has_same_digest(&self) -> bool {
        hex::encode(self.run.digest) == self.saved.expected.digest
    }

    /// Whether the run showed what was saved.
    pub fn has_same_verdict(&self) -> bool {
        let finding = self.run.finding.as_ref();
        finding.is_some_and(|finding| finding.class() == self.saved.expected.finding)
    }
}

impl Outcome {
    /// How fast the sweep was.
    pub fn runs_per_second(&self) -> f64 {
        self.runs_as_float() / self.wall.as_secs_f64().max(1e-9)
    }

    /// The failure rate that no failure in so many runs excludes with 95 % confidence (3/N);
    /// `None` if there were failures.
    pub fn failure_rate_below(&self) -> Option<f64> {
        self.failures.is_empty().then(|| 3.0 / self.runs_as_float())
    }

    #[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn runs_as_float(&self) -> f64 {
        self.runs as f64
    }

    /// The first failure of each class of findings.
    pub fn first_of_each_class(&self) -> Vec<&Failure> {
        let mut firsts: Vec<&Failure> = Vec::new();
        for failure in &self.failures {
            if firsts.iter().all(|first| first.finding.class() != failure.finding.class()) {
                firsts.push(failure);
            }
        }
        firsts
    }

    /// Runs a failing seed once more, to verify that it replays and to have its timeline.
    ///
    /// # Panics
    ///
    /// When it does not replay: the engine has lost its determinism, and nothing that it
    /// says can be trusted.
    pub fn show(&self, failure: &Failure) -> Shown {
        let shown = Shown::of_seed(&self.sweep, failure.seed);
        assert!(
            shown.run.digest == failure.digest
                && shown.run.finding.as_ref() == Some(&failure.finding),
            "seed {} does not replay: this is a bug in holdover or a leak in the code under test",
            failure.seed
        );
        shown
    }
}

/// Replays a saved plan.
///
/// # Errors
///
/// When it names a host that does not exist.
pub fn replay(saved: SavedPlan) -> Result<Shown, PlanError> {
    let run = stack::run(&saved.plan)?;
    Ok(Shown { saved, run })
}
