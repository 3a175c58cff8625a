//! The acceptance table: what has to be shown before a handover is switched on, and what was.
//!
//! Each row says what happens and which evidence is required. It is judged in every run: in those
//! that are planned to come to it, and in a sweep of seeds. A row passes if at least one run came
//! to it and every run that did has the evidence. One that no run came to is *not exercised*, and
//! evidence that did not come is missing: neither is ever a pass.
//!
//! ```
//! use holdover::accept::{Acceptance, Status};
//! use holdover_model::design::Design;
//!
//! let table = Acceptance::new(Design::named("push-before-ready").unwrap()).seeds(10).run();
//! let row = table.row("resume-before-the-first-write").unwrap();
//! assert_eq!(row.status, Status::Pass);
//! ```

mod checklist;
mod evidence;
mod gate;
mod judge;
mod plans;
mod race;
mod rows;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdover_model::design::Design;
use holdover_model::invariant::InvariantId;
use holdover_model::parallel;
use serde::Serialize;
use sha2::{Digest, Sha256};

pub use evidence::{Collision, Evidence, Unresolved};
pub use judge::{Judge, Verdict};
pub use rows::{ROWS, Row, Section};

use crate::plan::{Plan, Profile, SavedPlan};
use crate::random::Seed;
use crate::situation::{Lookout, Situation, catalogue};
use crate::stack::{self, Finding, Run};

/// How many seeds are swept beside the planned runs, if nothing else is asked for: enough for
/// most rows to be met by chance as well.
pub const SEEDS: u64 = 500;

/// An acceptance that is to be done.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// The design.
    pub design: Design,
    /// How many seeds are swept, from 0 on.
    pub seeds: u64,
    /// How many runs happen at once.
    pub jobs: usize,
    /// From which knobs the plans of the seeds are drawn.
    pub profile: Profile,
}

/// Which run it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// The n-th of those that are planned, and the row for which it is.
    Planned(usize, &'static str),
    /// One of the sweep.
    Swept(Seed),
}

/// What became of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every run that came to it has the evidence.
    Pass,
    /// At least one run that came to it has not.
    Fail,
    /// No run came to it.
    NotExercised,
}

impl Status {
    /// The name in tables and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotExercised => "not-exercised",
        }
    }
}

/// A row with what was found about it.
pub struct Judged {
    /// The row.
    pub row: &'static Row,
    /// What became of it.
    pub status: Status,
    /// How many runs came to it.
    pub runs: u64,
    /// The first run that decides: one that failed, or else one that passed.
    pub example: Option<Example>,
    /// What was wrong in it.
    pub wrong: Option<String>,
}

/// A run that can be replayed.
#[derive(Clone, Debug)]
pub struct Example {
    /// Which run it was.
    pub origin: Origin,
    /// Its plan, ready to be saved.
    pub saved: SavedPlan,
}

/// The table.
pub struct Table {
    /// What was asked for.
    pub acceptance: Acceptance,
    /// Every row, in order.
    pub rows: Vec<Judged>,
    /// How many runs there were.
    pub runs: u64,
    /// Every run in which something was found, and what.
    pub findings: Vec<(Origin, Finding)>,
    /// In how many runs each situation was reached.
    pub situations: BTreeMap<String, u64>,
    /// What the runs leave behind for a review.
    pub evidence: Evidence,
    /// SHA-256 over the runs' digests, the planned ones first.
    pub digest: [u8; 32],
}

/// What is kept of one run.
struct Outcome {
    verdicts: Vec<Verdict>,
    finding: Option<Finding>,
    digest: [u8; 32],
    reached: Vec<usize>,
    evidence: Evidence,
}

impl Acceptance {
    /// An acceptance with [`SEEDS`] seeds on all cores.
    pub fn new(design: Design) -> Self {
        let jobs = parallel::cores();
        Self { design, seeds: SEEDS, jobs, profile: Profile::default() }
    }

    /// The same with so many seeds.
    #[must_use]
    pub fn seeds(self, seeds: u64) -> Self {
        Self { seeds, ..self }
    }

    /// The same with so many runs at once.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs: jobs.max(1), ..self }
    }

    /// Does all runs.
    pub fn run(&self) -> Table {
        self.run_with(|_, _| ())
    }

    /// Does all runs, and tells after each how many of how many are over. That is told from
    /// several threads.
    ///
    /// # Panics
    ///
    /// When a thread of its own panics; a panic in a run is a finding.
    pub fn run_with(&self, progress: impl Fn(usize, usize) + Sync) -> Table {
        let situations = catalogue();
        let planned = plans::planned(&self.design);
        let origins = planned
            .iter()
            .enumerate()
            .map(|(place, (row, _))| Origin::Planned(place, row))
            .chain((0..self.seeds).map(|seed| Origin::Swept(Seed(seed))));
        let origins: Vec<_> = origins.collect();
        let over = AtomicUsize::new(0);
        let outcomes = parallel::map(self.jobs, &origins, |origin| {
            let outcome = judge(*origin, &self.plan(*origin, &planned), &situations);
            progress(over.fetch_add(1, Ordering::Relaxed) + 1, origins.len());
            outcome
        });
        self.table(&situations, &planned, origins.into_iter().zip(outcomes).collect())
    }

    fn plan(&self, origin: Origin, planned: &[(&'static str, Plan)]) -> Plan {
        match origin {
            Origin::Planned(place, _) => planned[place].1.clone(),
            Origin::Swept(seed) => Plan::generate(seed, &self.design, &self.profile),
        }
    }

    fn table(
        &self,
        situations: &[Situation],
        planned: &[(&'static str, Plan)],
        outcomes: BTreeMap<Origin, Outcome>,
    ) -> Table {
        let rows = ROWS
            .iter()
            .enumerate()
            .map(|(place, row)| {
                let verdicts: Vec<_> = outcomes
                    .iter()
                    .map(|(origin, outcome)| (*origin, outcome.verdict(place, row)))
                    .filter(|(_, verdict)| *verdict != Verdict::NotExercised)
                    .collect();
                let wrong = verdicts.iter().find(|(_, verdict)| *verdict != Verdict::Right);
                // Of those that pass, the one that was made for this row is the easiest to read.
                let made_for =
                    |origin: Origin| matches!(origin, Origin::Planned(_, of) if of == row.name);
                let deciding = wrong
                    .or_else(|| verdicts.iter().find(|(origin, _)| made_for(*origin)))
                    .or(verdicts.first());
                let example = deciding.map(|(origin, _)| {
                    let outcome = &outcomes[origin];
                    let plan = self.plan(*origin, planned);
                    let saved = SavedPlan::of(plan, outcome.finding.as_ref(), outcome.digest);
                    Example { origin: *origin, saved }
                });
                Judged {
                    row,
                    status: match (wrong, verdicts.is_empty()) {
                        (Some(_), _) => Status::Fail,
                        (None, false) => Status::Pass,
                        (None, true) => Status::NotExercised,
                    },
                    runs: verdicts.len() as u64,
                    example,
                    wrong: wrong.map(|(_, verdict)| match verdict {
                        Verdict::Wrong(what) => what.clone(),
                        _ => "the evidence never came".into(),
                    }),
                }
            })
            .collect();
        let mut digest = Sha256::new();
        let mut counts = vec![0; situations.len()];
        let mut evidence = Evidence::default();
        let (runs, mut findings) = (outcomes.len() as u64, Vec::new());
        for (origin, outcome) in outcomes {
            digest.update(outcome.digest);
            outcome.reached.iter().for_each(|place| counts[*place] += 1);
            evidence.add(outcome.evidence);
            findings.extend(outcome.finding.map(|finding| (origin, finding)));
        }
        Table {
            acceptance: self.clone(),
            rows,
            runs,
            findings,
            situations: situations.iter().map(|one| one.name().to_owned()).zip(counts).collect(),
            evidence,
            digest: digest.finalize().into(),
        }
    }
}

impl Outcome {
    /// What a row makes of the run, its finding considered.
    fn verdict(&self, place: usize, row: &Row) -> Verdict {
        let broken = match &self.finding {
            Some(Finding::Violation(violation)) => Some(violation.invariant),
            _ => None,
        };
        let is_against = broken.is_some_and(|id: InvariantId| row.breaks.contains(&id));
        match &self.verdicts[place] {
            Verdict::Right | Verdict::Open if is_against => {
                Verdict::Wrong(self.finding.as_ref().map(Finding::explanation).unwrap_or_default())
            }
            // The run was ended by something else before the evidence could come.
            Verdict::Open if self.finding.is_some() => Verdict::NotExercised,
            verdict => verdict.clone(),
        }
    }
}

impl Table {
    /// Whether every row passes and nothing else was found.
    pub fn is_accepted(&self) -> bool {
        self.findings.is_empty() && self.rows.iter().all(|row| row.status == Status::Pass)
    }

    /// The row of that name.
    pub fn row(&self, name: &str) -> Option<&Judged> {
        self.rows.iter().find(|judged| judged.row.name == name)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Planned(place, row) => write!(f, "planned run {place}, for {row}"),
            Self::Swept(seed) => write!(f, "seed {seed}"),
        }
    }
}

/// Runs a plan and has every row judge it.
fn judge(origin: Origin, plan: &Plan, situations: &[Situation]) -> Outcome {
    let judges: Vec<_> = ROWS.iter().map(|row| (row.judge)()).collect();
    let judges = Rc::new(RefCell::new(judges));
    let lookout = Lookout::new(situations);
    let run = stack::run_with(plan, |world| {
        lookout.watch(world);
        let judges = Rc::clone(&judges);
        world.watch(move |sight| {
            judges.borrow_mut().iter_mut().for_each(|judge| judge.sees(sight));
        });
    });
    let run = run.expect("these plans name only hosts that exist");
    let evidence = Evidence::of(&run, &origin.to_string());
    let verdicts = judges.borrow().iter().map(|judge| judge.verdict()).collect();
    let Run { finding, digest, .. } = run;
    Outcome { verdicts, finding, digest, reached: lookout.reached(), evidence }
}
