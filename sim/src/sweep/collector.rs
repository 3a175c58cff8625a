//! Puts the runs of a sweep together as they come.
//!
//! Runs end in any order, and what is said of them must not depend on that. Nothing here grows
//! with the number of runs but what is out of turn.

use std::collections::BTreeMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Divergence, Failure, Outcome, Sweep, Tally};
use crate::random::Seed;
use crate::stack::{Finding, Run};

/// What is kept of one run.
pub(super) struct Summary {
    digest: [u8; 32],
    events: u64,
    finding: Option<Finding>,
    /// The places of the situations that it reached.
    reached: Vec<usize>,
    divergence: Option<Divergence>,
}

impl Summary {
    pub(super) fn new(run: Run, reached: Vec<usize>, divergence: Option<Divergence>) -> Self {
        let Run { finding, digest, records, .. } = run;
        Self { digest, events: records.len() as u64, finding, reached, divergence }
    }

    pub(super) fn hung(host: String, after: Duration) -> Self {
        Self::new(Run::hung(host, after), Vec::new(), None)
    }

    pub(super) fn is_failure(&self) -> bool {
        self.finding.is_some() || self.divergence.is_some()
    }
}

/// See the module.
pub(super) struct Collector {
    next: u64,
    out_of_turn: BTreeMap<u64, Summary>,
    digests: Sha256,
    runs: u64,
    events: u64,
    failures: Vec<Failure>,
    divergences: Vec<Divergence>,
    tally: Tally,
}

impl Collector {
    pub(super) fn new(sweep: &Sweep) -> Self {
        Self {
            next: sweep.seeds.start,
            out_of_turn: BTreeMap::new(),
            digests: Sha256::new(),
            runs: 0,
            events: 0,
            failures: Vec::new(),
            divergences: Vec::new(),
            tally: Tally::new(&sweep.situations),
        }
    }

    pub(super) fn add(&mut self, seed: Seed, summary: Summary) {
        self.out_of_turn.insert(seed.0, summary);
        while let Some(summary) = self.out_of_turn.remove(&self.next) {
            self.count(Seed(self.next), summary);
            self.next += 1;
        }
    }

    fn count(&mut self, seed: Seed, summary: Summary) {
        let Summary { digest, events, finding, reached, divergence } = summary;
        self.digests.update(digest);
        self.runs += 1;
        self.events += events;
        self.tally.count(seed, &reached);
        self.divergences.extend(divergence);
        self.failures.extend(finding.map(|finding| Failure { seed, finding, digest }));
    }

    /// All of them. Where some are missing because a run hung, those beyond count as well.
    pub(super) fn finish(mut self, sweep: &Sweep, wall: Duration) -> Outcome {
        for (seed, summary) in std::mem::take(&mut self.out_of_turn) {
            self.count(Seed(seed), summary);
        }
        let Self { digests, runs, events, failures, divergences, tally, .. } = self;
        let digest = digests.finalize().into();
        Outcome { sweep: sweep.clone(), runs, events, wall, failures, divergences, tally, digest }
    }
}
