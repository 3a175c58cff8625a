//! What a sweep showed.

use std::collections::BTreeMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Divergence, Shown, Sweep};
use crate::random::Seed;
use crate::stack::{Finding, Run};

/// One seed that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: Seed,
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
    /// How many runs it took. They are fewer than there are seeds only if one hung.
    pub runs: u64,
    /// How many events there were in all runs together.
    pub events: u64,
    /// How long it took in real time.
    pub wall: Duration,
    /// The seeds that failed, in order.
    pub failures: Vec<Failure>,
    /// The seeds whose two runs were not the same, in order, if that was to be checked.
    pub divergences: Vec<Divergence>,
    /// SHA-256 over the runs' digests in the order of their seeds.
    pub digest: [u8; 32],
}

/// What is kept of one run.
pub(super) struct Summary {
    digest: [u8; 32],
    events: u64,
    finding: Option<Finding>,
    divergence: Option<Divergence>,
}

impl Summary {
    pub(super) fn new(run: Run, divergence: Option<Divergence>) -> Self {
        let Run { finding, digest, records, .. } = run;
        Self { digest, events: records.len() as u64, finding, divergence }
    }

    pub(super) fn hung(host: String, after: Duration) -> Self {
        Self::new(Run::hung(host, after), None)
    }

    pub(super) fn is_failure(&self) -> bool {
        self.finding.is_some() || self.divergence.is_some()
    }
}

/// Puts runs together as they come. All that grows with their number is what is out of turn.
pub(super) struct Tally {
    next: u64,
    out_of_turn: BTreeMap<u64, Summary>,
    digests: Sha256,
    runs: u64,
    events: u64,
    failures: Vec<Failure>,
    divergences: Vec<Divergence>,
}

impl Tally {
    /// The first run is of this seed.
    pub(super) fn new(first: u64) -> Self {
        Self {
            next: first,
            out_of_turn: BTreeMap::new(),
            digests: Sha256::new(),
            runs: 0,
            events: 0,
            failures: Vec::new(),
            divergences: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, seed: Seed, summary: Summary) {
        self.out_of_turn.insert(seed.0, summary);
        while let Some(summary) = self.out_of_turn.remove(&self.next) {
            self.count(Seed(self.next), summary);
            self.next += 1;
        }
    }

    pub(super) fn extend(&mut self, summaries: impl Iterator<Item = (Seed, Summary)>) {
        for (seed, summary) in summaries {
            self.add(seed, summary);
        }
    }

    fn count(&mut self, seed: Seed, summary: Summary) {
        let Summary { digest, events, finding, divergence } = summary;
        self.digests.update(digest);
        self.runs += 1;
        self.events += events;
        self.divergences.extend(divergence);
        self.failures.extend(finding.map(|finding| Failure { seed, finding, digest }));
    }

    /// All of them. Where some are missing because a run hung, those beyond count as well.
    pub(super) fn finish(mut self, sweep: &Sweep, wall: Duration) -> Outcome {
        for (seed, summary) in std::mem::take(&mut self.out_of_turn) {
            self.count(Seed(seed), summary);
        }
        let Self { digests, runs, events, failures, divergences, .. } = self;
        let digest = digests.finalize().into();
        Outcome { sweep: sweep.clone(), runs, events, wall, failures, divergences, digest }
    }
}

impl Outcome {
    /// Whether nothing was found.
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && self.divergences.is_empty()
    }

    /// How fast the sweep was.
    pub fn runs_per_second(&self) -> f64 {
        self.runs_as_float() / self.wall.as_secs_f64().max(1e-9)
    }

    /// The failure rate that no failure in so many runs excludes with 95 % confidence (3/N);
    /// `None` if something was found.
    pub fn failure_rate_below(&self) -> Option<f64> {
        self.holds().then(|| 3.0 / self.runs_as_float())
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
    /// If it does not replay, what is shown says where its runs part. One that hung is not
    /// run again: it would hang again.
    pub fn show(&self, failure: &Failure) -> Shown {
        Shown::of_failure(&self.sweep, failure)
    }
}
