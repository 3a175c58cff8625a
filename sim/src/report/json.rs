//! The same for programs: one object per command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::plan::Plan;
use crate::search::Origin;
use crate::stack::Finding;
use crate::sweep::{Divergence, Example, Outcome, Replayed, Shown};

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
    /// The shares of the sources of plans.
    pub mix: String,
    /// How many cells the matrix has; 0 if it has no share.
    pub matrix_cells: u64,
    /// How many runs there were.
    pub runs: u64,
    /// How many of them were seeds, which are drawn independently.
    pub seeds_drawn: u64,
    /// How many events there were in all runs together.
    pub events: u64,
    /// How fast it was.
    pub runs_per_second: f64,
    /// The failure rate of seeds that zero failures exclude with 95 % confidence; `None` if there
    /// were failures, or no seeds.
    pub failure_rate_below: Option<f64>,
    /// The saved plans of a design of this name, which were run first.
    pub corpus: Vec<ReplayedReport>,
    /// The runs that failed, in order.
    pub failures: Vec<FailureReport>,
    /// The seeds whose two runs were not the same, if that was checked.
    pub divergences: Vec<DivergenceReport>,
    /// In how many runs each situation was reached.
    pub situations: BTreeMap<String, u64>,
    /// The situations that no run reached.
    pub unreached: Vec<String>,
    /// SHA-256 over the runs' digests in their order.
    pub digest: String,
}

/// One saved plan that was run again.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayedReport {
    /// Its file.
    pub file: PathBuf,
    /// The design.
    pub design: String,
    /// What it showed when it was saved.
    pub expected: String,
    /// What it shows now; `none` if all held.
    pub found: &'static str,
    /// The version that saved it.
    pub version: String,
    /// Whether the run is, to the last packet, the one that was saved.
    pub same_digest: bool,
    /// Whether what it shows is what it showed.
    pub same_verdict: bool,
    /// How the run differs from one more run of the same plan, which it should not.
    pub divergence: Option<DivergenceReport>,
}

/// Saved plans that were run again.
pub fn corpus(replayed: &[Replayed]) -> Vec<ReplayedReport> {
    let report = |Replayed { file, shown }: &Replayed| ReplayedReport {
        file: file.clone(),
        design: shown.saved.plan.design.name.clone(),
        expected: shown.saved.expected.finding.clone(),
        found: shown.found(),
        version: shown.saved.expected.version.clone(),
        same_digest: shown.has_same_digest(),
        same_verdict: shown.has_same_verdict(),
        divergence: shown.divergence.as_ref().map(DivergenceReport::new),
    };
    replayed.iter().map(report).collect()
}

/// One run that failed.
#[derive(Clone, Debug, Serialize)]
pub struct FailureReport {
    /// The invariant that broke, or what else was found.
    pub invariant: &'static str,
    /// What happened, in one sentence.
    pub explanation: String,
    /// The host that is to blame, where one is: of a panic, a hang, an exceeded budget.
    pub host: Option<String>,
    /// Its place among all runs of the sweep, from 0.
    pub run: u64,
    /// Where its plan came from.
    pub origin: String,
    /// The seed, if it was one.
    pub seed: Option<u64>,
    /// The digest of the run.
    pub digest: String,
    /// The class of which this is the example, for the first run of each class.
    pub class: Option<ClassReport>,
    /// Where the example's plan was saved.
    pub saved: Option<PathBuf>,
}

/// A class of failures, and what its example needs.
#[derive(Clone, Debug, Serialize)]
pub struct ClassReport {
    /// The kinds of faults that are needed, if it was shrunk.
    pub fault_kinds: Vec<&'static str>,
    /// The roles that they strike.
    pub roles: Vec<String>,
    /// How many failures are of this class.
    pub count: usize,
    /// How many faults the saved plan has.
    pub faults: usize,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many runs it took to shrink it; `None` if it is saved as it failed.
    pub shrink_runs: Option<u64>,
    /// How long that took, in real time.
    pub shrink_seconds: Option<f64>,
}

impl ClassReport {
    fn new(example: &Example) -> Self {
        let plan = &example.shown.saved.plan;
        Self {
            fault_kinds: example.class.faults.iter().map(|kind| kind.name()).collect(),
            roles: example.class.roles.iter().cloned().collect(),
            count: example.count,
            faults: plan.faults.len(),
            tasks: plan.tasks.len(),
            shrink_runs: example.shrunk.as_ref().map(|shrunk| shrunk.runs),
            shrink_seconds: example.shrunk.as_ref().map(|shrunk| shrunk.wall.as_secs_f64()),
        }
    }
}

/// A run that is not repeatable.
#[derive(Clone, Debug, Serialize)]
pub struct DivergenceReport {
    /// The seed.
    pub seed: u64,
    /// When the first moment that differs was, in nanoseconds of simulated time.
    pub at_ns: Option<u64>,
    /// Whose doing it was.
    pub host: Option<String>,
    /// What differs, in one sentence.
    pub explanation: String,
}

impl DivergenceReport {
    fn new(divergence: &Divergence) -> Self {
        let first = divergence.first.as_ref();
        let moment = first.and_then(|first| first.one.as_ref().or(first.other.as_ref()));
        Self {
            seed: divergence.seed.0,
            at_ns: moment.map(|moment| u64::try_from(moment.at.as_nanos()).unwrap_or(u64::MAX)),
            host: moment.and_then(|moment| moment.host.as_deref()).map(str::to_owned),
            explanation: divergence.to_string(),
        }
    }
}

/// A sweep's report, with what its corpus showed and with `examples` of its failures, and where
/// each was saved.
pub fn sweep(
    outcome: &Outcome,
    replayed: &[Replayed],
    examples: &[(Example, PathBuf)],
) -> SweepReport {
    let failures = outcome
        .failures
        .iter()
        .map(|failure| {
            let example = examples.iter().find(|(example, _)| example.run == failure.run);
            FailureReport {
                invariant: failure.finding.class(),
                explanation: failure.finding.explanation(),
                host: failure.finding.host().map(str::to_owned),
                run: failure.run,
                origin: failure.origin.to_string(),
                seed: match failure.origin {
                    Origin::Seed(seed) => Some(seed.0),
                    _ => None,
                },
                digest: hex::encode(failure.digest),
                class: example.map(|(example, _)| ClassReport::new(example)),
                saved: example.map(|(_, path)| path.clone()),
            }
        })
        .collect();
    SweepReport {
        version: env!("CARGO_PKG_VERSION"),
        design: outcome.sweep.design.name.clone(),
        seed_start: outcome.sweep.seeds.start,
        seed_end: outcome.sweep.seeds.end,
        mix: outcome.sweep.mix.to_string(),
        matrix_cells: outcome.matrix_cells,
        runs: outcome.runs,
        seeds_drawn: outcome.seeds_drawn,
        events: outcome.events,
        runs_per_second: outcome.runs_per_second(),
        failure_rate_below: outcome.failure_rate_below(),
        corpus: corpus(replayed),
        failures,
        divergences: outcome.divergences.iter().map(DivergenceReport::new).collect(),
        situations: outcome.tally.iter().map(|one| (one.name.clone(), one.runs)).collect(),
        unreached: outcome.tally.unreached().map(str::to_owned).collect(),
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
    /// The host that is to blame, where one is: of a panic, a hang, an exceeded budget.
    pub host: Option<&'a str>,
    /// How the run differs from one more run of the same plan, which it should not.
    pub divergence: Option<DivergenceReport>,
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
        host: finding.and_then(Finding::host),
        divergence: shown.divergence.as_ref().map(DivergenceReport::new),
        digest: hex::encode(shown.run.digest),
        same_digest: file.map(|_| shown.has_same_digest()),
        same_verdict: file.map(|_| shown.has_same_verdict()),
    }
}
