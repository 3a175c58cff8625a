//! What a sweep showed.

use std::time::Duration;

use super::{Divergence, Shown, Sweep, Tally};
use crate::plan::Plan;
use crate::search::Origin;
use crate::stack::Finding;

/// One run that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its place among all runs of the sweep, from 0.
    pub run: u64,
    /// Where its plan came from.
    pub origin: Origin,
    /// Its plan.
    pub plan: Plan,
    /// What was found.
    pub finding: Finding,
    /// The digest of the run; zeros if it never came back.
    pub digest: [u8; 32],
}

/// What a sweep showed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The sweep.
    pub sweep: Sweep,
    /// How many runs it took. They are fewer than was asked for only if one hung.
    pub runs: u64,
    /// How many of them were seeds: draws from the profile, each independent of the others. Cells of
    /// the matrix and mutants are chosen.
    pub seeds_drawn: u64,
    /// How many events there were in all runs together.
    pub events: u64,
    /// How long it took in real time.
    pub wall: Duration,
    /// How many cells the matrix has; 0 if none of it was to be run.
    pub matrix_cells: u64,
    /// The runs that failed, in order.
    pub failures: Vec<Failure>,
    /// The seeds whose two runs were not the same, in order, if that was to be checked.
    pub divergences: Vec<Divergence>,
    /// How often each situation was reached.
    pub tally: Tally,
    /// SHA-256 over the runs' digests in their order.
    pub digest: [u8; 32],
}

impl Outcome {
    /// Whether nothing was found, and all was reached that has to be.
    pub fn holds(&self) -> bool {
        self.found_nothing() && self.missing().is_empty()
    }

    /// Whether no run failed and none diverged.
    pub fn found_nothing(&self) -> bool {
        self.failures.is_empty() && self.divergences.is_empty()
    }

    /// In how many runs a situation was reached.
    pub fn reached(&self, name: &str) -> u64 {
        self.tally.of(name).map_or(0, |reached| reached.runs)
    }

    /// The names of the situations that no run reached.
    pub fn unreached(&self) -> Vec<&str> {
        self.tally.unreached().collect()
    }

    /// The names of those that had to be reached and were not.
    pub fn missing(&self) -> Vec<&str> {
        let required = self.sweep.required.iter().map(String::as_str);
        required.filter(|name| self.reached(name) == 0).collect()
    }

    /// How fast the sweep was.
    pub fn runs_per_second(&self) -> f64 {
        as_float(self.runs) / self.wall.as_secs_f64().max(1e-9)
    }

    /// The failure rate of seeds that no failure in so many of them excludes with 95 % confidence
    /// (3/N); `None` if something was found, or no run was a seed.
    pub fn failure_rate_below(&self) -> Option<f64> {
        let is_known = self.found_nothing() && self.seeds_drawn > 0;
        is_known.then(|| (3.0 / as_float(self.seeds_drawn)).min(1.0))
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
    /// If it does not replay, what is shown says where its runs part. One that hung is not
    /// run again: it would hang again.
    pub fn show(&self, failure: &Failure) -> Shown {
        Shown::of_failure(&self.sweep, failure)
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn as_float(count: u64) -> f64 {
    count as f64
}
