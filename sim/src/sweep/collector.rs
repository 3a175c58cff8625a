//! Puts the runs of a sweep together as they come.
//!
//! Runs end in any order, and what is said of them must not depend on that. Nothing here grows
//! with the number of runs but what is out of turn.

use std::collections::BTreeMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Divergence, Failure, Outcome, Sweep, Tally};
use crate::plan::Plan;
use crate::search::novelty::Feature;
use crate::search::{Origin, Search};
use crate::stack::{Finding, Run};

/// What is kept of one run until its turn comes.
pub(super) struct Summary {
    origin: Origin,
    plan: Plan,
    digest: [u8; 32],
    events: u64,
    finding: Option<Finding>,
    /// The places of the situations that it reached.
    reached: Vec<usize>,
    /// What it reached, if somebody learns from that.
    features: Vec<Feature>,
    divergence: Option<Divergence>,
}

impl Summary {
    pub(super) fn new(
        origin: Origin,
        plan: Plan,
        run: Run,
        reached: Vec<usize>,
        divergence: Option<Divergence>,
    ) -> Self {
        let Run { finding, digest, records, .. } = run;
        let (events, features) = (records.len() as u64, Vec::new());
        Self { origin, plan, digest, events, finding, reached, features, divergence }
    }

    pub(super) fn hung(origin: Origin, plan: Plan, host: String, after: Duration) -> Self {
        Self::new(origin, plan, Run::hung(host, after), Vec::new(), None)
    }

    pub(super) fn with_features(self, features: Vec<Feature>) -> Self {
        Self { features, ..self }
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
    seeds_drawn: u64,
    events: u64,
    failures: Vec<Failure>,
    divergences: Vec<Divergence>,
    tally: Tally,
    /// Runs to learn from, in their order.
    lessons: Vec<(Plan, Vec<Feature>)>,
}

impl Collector {
    pub(super) fn new(sweep: &Sweep) -> Self {
        Self {
            next: 0,
            out_of_turn: BTreeMap::new(),
            digests: Sha256::new(),
            runs: 0,
            seeds_drawn: 0,
            events: 0,
            failures: Vec::new(),
            divergences: Vec::new(),
            tally: Tally::new(&sweep.situations),
            lessons: Vec::new(),
        }
    }

    /// How many runs are in.
    pub(super) fn runs(&self) -> u64 {
        self.runs + self.out_of_turn.len() as u64
    }

    /// How many of those whose turn has come have failed.
    pub(super) fn failures(&self) -> usize {
        self.failures.len() + self.divergences.len()
    }

    pub(super) fn add(&mut self, run: u64, summary: Summary) {
        self.out_of_turn.insert(run, summary);
        while let Some(summary) = self.out_of_turn.remove(&self.next) {
            self.count(self.next, summary);
            self.next += 1;
        }
    }

    pub(super) fn extend(&mut self, summaries: impl Iterator<Item = (u64, Summary)>) {
        for (run, summary) in summaries {
            self.add(run, summary);
        }
    }

    fn count(&mut self, run: u64, summary: Summary) {
        let Summary { origin, plan, digest, events, finding, reached, features, divergence } =
            summary;
        self.digests.update(digest);
        self.runs += 1;
        self.seeds_drawn += u64::from(matches!(origin, Origin::Seed(_)));
        self.events += events;
        self.tally.count(origin, &reached);
        self.divergences.extend(divergence);
        match finding {
            Some(finding) => self.failures.push(Failure { run, origin, plan, finding, digest }),
            // What fails has been found; what is learned from is what may lead to more.
            None if !features.is_empty() => self.lessons.push((plan, features)),
            None => {}
        }
    }

    /// Has a search learn from all runs since the last time.
    pub(super) fn teach(&mut self, search: &mut Search) {
        for (plan, features) in self.lessons.drain(..) {
            search.learn(&plan, &features);
        }
    }

    /// All of them. Where some are missing because a run hung, those beyond count as well.
    pub(super) fn finish(mut self, sweep: &Sweep, matrix_cells: u64, wall: Duration) -> Outcome {
        for (run, summary) in std::mem::take(&mut self.out_of_turn) {
            self.count(run, summary);
        }
        let Self { digests, runs, seeds_drawn, events, failures, divergences, tally, .. } = self;
        Outcome {
            sweep: sweep.clone(),
            runs,
            seeds_drawn,
            events,
            wall,
            matrix_cells,
            failures,
            divergences,
            tally,
            digest: digests.finalize().into(),
        }
    }
}
