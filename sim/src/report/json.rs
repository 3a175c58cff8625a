//! The same for programs: one object per command.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::plan::Plan;
use crate::stack::Finding;
use crate::sweep::{Outcome, Shown};

/// What `holdover sweep --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct SweepReport {
    /// The version that ran.
    pub version: &'static str,
    /// The design.
    pub design: String,
    /// The first seed.
    pub seed_start: u64,
    /// The seed after the last one.
    pub seed_end: u64,
    /// How many runs there were.
    pub runs: u64,
    /// How many events there were in all runs together.
    pub events: u64,
    /// How fast it was.
    pub runs_per_second: f64,
    /// The failure rate that zero failures exclude with 95 % confidence; `None` if there
    /// were failures.
    pub failure_rate_below: Option<f64>,
    /// The seeds that failed, in order.
    pub failures: Vec<FailureReport>,
    /// SHA-256 over the runs' digests in the order of their seeds.
    pub digest: String,
}

/// One seed that failed.
#[derive(Clone, Debug, Serialize)]
pub struct FailureReport {
    /// The invariant that broke, or what else was found.
    pub invariant: &'static str,
    /// What happened, in one sentence.
    pub explanation: String,
    /// The seed.
    pub seed: u64,
    /// The digest of the run.
    pub digest: String,
    /// Where the plan was saved: for the first seed of each class.
    pub saved: Option<PathBuf>,
}

/// A sweep's report; `saved` says which seeds were saved where.
pub fn sweep(outcome: &Outcome, saved: &[(u64, PathBuf)]) -> SweepReport {
    let failures = outcome
        .failures
        .iter()
        .map(|failure| FailureReport {
            invariant: failure.finding.class(),
            explanation: failure.finding.explanation(),
            seed: failure.seed.0,
            digest: hex::encode(failure.digest),
            saved: saved
                .iter()
                .find(|(seed, _)| *seed == failure.seed.0)
                .map(|(_, path)| path.clone()),
        })
        .collect();
    SweepReport {
        version: env!("CARGO_PKG_VERSION"),
        design: outcome.sweep.design.name.clone(),
        seed_start: outcome.sweep.seeds.start,
        seed_end: outcome.sweep.seeds.end,
        runs: outcome.runs,
        events: outcome.events,
        runs_per_second: outcome.runs_per_second(),
        failure_rate_below: outcome.failure_rate_below().map(|rate| rate.min(1.0)),
        failures,
        digest: hex::encode(outcome.digest),
    }
}

/// What `holdover replay --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayReport<'a> {
    /// The file, if it was one.
    pub file: Option<&'a Path>,
    /// The plan.
    pub plan: &'a Plan,
    /// What was found now: an invariant's name or what else it was; `None` if all held.
    pub invariant: Option<&'static str>,
    /// What happened, in one sentence.
    pub explanation: Option<String>,
    /// The digest of the run.
    pub digest: String,
    /// Whether it is the digest that was saved; `None` for a seed.
    pub same_digest: Option<bool>,
    /// Whether the verdict is the one that was saved; `None` for a seed.
    pub same_verdict: Option<bool>,
}

/// A replay's report. A seed has no file and nothing to compare with.
pub fn replay<'a>(shown: &'a Shown, file: Option<&'a Path>) -> ReplayReport<'a> {
    let finding = shown.run.finding.as_ref();
    ReplayReport {
        file,
        plan: &shown.saved.plan,
        invariant: finding.map(Finding::class),
        explanation: finding.map(Finding::explanation),
        digest: hex::encode(shown.run.digest),
        same_digest: file.map(|_| shown.has_same_digest()),
        same_verdict: file.map(|_| shown.has_same_verdict()),
    }
}
