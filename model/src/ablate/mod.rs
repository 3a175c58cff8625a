//! Which safeguards carry the load: every setting with every other value, one at a time.
//!
//! A design that is safe says nothing about what makes it so. Here each safeguard is taken away in
//! turn, all else equal, and the checker asked whether the design still keeps what it claims:
//!
//! * *load-bearing*: it does not; the shortest counterexample shows what for it is there;
//! * *covered*: it does, because another safeguard covers this one: without that one too,
//!   something breaks that neither of them alone breaks;
//! * *not needed*: it does, and no other single safeguard explains it. Another value may be just as
//!   good a design, or there are two others that cover it;
//! * *not exercised*: within these bounds nobody asked for it, or it would have made no difference;
//!   so nothing is known. This is not safety.
//!
//! The answers hold within the bounds, as those of a [check](crate::check) do.
//!
//! ```
//! use holdover_model::ablate::{Finding, Options, ablate};
//! use holdover_model::check::{Bounds, Budget, Scope};
//! use holdover_model::design::Design;
//!
//! let design = Design::named("push-before-ready")?;
//! let bounds = Bounds { operations: 1, ..Bounds::default() }.with(Budget::Takeovers, 1);
//! let scope = Scope::Own(vec![bounds]);
//! let ablation = ablate(&design, &Options { scope, ..Options::default() });
//!
//! let finding = |change: &str| {
//!     let found = ablation.ablated.iter().find(|ablated| ablated.change.to_string() == change);
//!     &found.unwrap().finding
//! };
//! // A write that was let in before the fence advanced must not have its effect after.
//! let Finding::LoadBearing { violation, .. } = finding("fence.in-flight-writes = \"left-running\"")
//! else { panic!("{ablation:?}") };
//! assert_eq!(violation.invariant.as_str(), "no-stale-effect");
//! // No backup was restored within this bound. That says nothing about restores.
//! assert_eq!(*finding("authority.restore = \"as-is\""), Finding::NotExercised);
//! # Ok::<(), holdover_model::design::DesignError>(())
//! ```

mod cover;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use serde::Serialize;

pub use cover::Cover;

use crate::check::judge::{Judge, Judged};
use crate::check::{Bounds, Counterexample, Judgement, Scope};
use crate::design::Design;
use crate::design::change::{Change, SettingValue};
use crate::design::setting::SettingId;
use crate::invariant::Violation;
use crate::parallel;

/// How to ablate.
pub struct Options<'a> {
    /// Within which bounds each change is judged.
    pub scope: Scope,
    /// Whether every pair of changes is tried, and not only until it is known what covers a
    /// safeguard.
    pub pairs: bool,
    /// How many designs are searched at once.
    pub threads: usize,
    /// How much memory each search may take.
    pub memory_mib_max: usize,
    /// Once this is true, what has been found so far is the result.
    pub stop: Option<&'a AtomicBool>,
    /// Is told when a stage begins, and of each piece of work that is done.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            scope: Scope::Portfolio,
            pairs: false,
            threads: parallel::cores(),
            memory_mib_max: 1024,
            stop: None,
            progress: &|_| (),
        }
    }
}

/// How far it has got.
#[derive(Clone, Debug)]
pub struct Progress {
    /// What is being done, in a few words.
    pub stage: &'static str,
    /// How many pieces of it are done.
    pub done: usize,
    /// Of how many.
    pub of: usize,
    /// What the last of them was; empty when a stage begins.
    pub what: String,
}

/// What an ablation found.
#[derive(Clone, Debug, Serialize)]
pub struct Ablation {
    /// The name of the design.
    pub design: String,
    /// What the design is as it stands. Nothing is taken away from one that is not safe.
    pub verdict: Judgement,
    /// What breaks in the design as it stands, if something does.
    pub violation: Option<Violation>,
    /// The bounds within which the design as it stands was judged.
    pub bounds: Vec<Bounds>,
    /// Every setting with every other value, in the order of a design file.
    pub ablated: Vec<Ablated>,
    /// Pairs of changes that break something which neither breaks alone: those that it took to
    /// know what covers a safeguard, or all.
    pub pairs: Vec<Pair>,
    /// Whether it came to its end.
    pub is_complete: bool,
    /// How many searches were made.
    pub searches: u64,
    /// How many were spared, because the search of a neighbour had shown the same.
    pub searches_spared: u64,
    /// How long it took.
    pub seconds: f64,
}

/// One setting with another value.
#[derive(Clone, Debug, Serialize)]
pub struct Ablated {
    /// What it is in the design.
    pub from: SettingValue,
    /// What it was changed to.
    #[serde(flatten)]
    pub change: Change,
    /// Within how many bounds it is judged. The last ones of a portfolio are left out where they
    /// would take hours.
    pub bounds: usize,
    /// What came of it.
    #[serde(flatten)]
    pub finding: Finding,
}

/// What came of taking a safeguard away.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "finding")]
pub enum Finding {
    /// The design does not keep any more what it claims.
    LoadBearing {
        /// What breaks.
        violation: Violation,
        /// How many steps the shortest counterexample takes.
        steps: usize,
        /// The bound within which it was found.
        within: Bounds,
    },
    /// Nothing breaks, because another safeguard covers this one.
    Covered {
        /// Which.
        by: Vec<Cover>,
    },
    /// Nothing breaks, and no other single safeguard explains it.
    NotNeeded,
    /// Within these bounds nobody asked for it, or it would have made no difference: that says
    /// nothing about safety.
    NotExercised,
    /// It breaks nothing; what covers it was not looked at any more.
    Unexplained,
    /// A search ran out of memory.
    NotExhausted,
    /// It was not looked at any more.
    NotLookedAt,
}

impl Finding {
    /// The finding in a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::LoadBearing { .. } => "load-bearing",
            Self::Covered { .. } => "covered",
            Self::NotNeeded => "not-needed",
            Self::NotExercised => "not-exercised",
            Self::Unexplained => "unexplained",
            Self::NotExhausted => "not-exhausted",
            Self::NotLookedAt => "not-looked-at",
        }
    }
}

/// Two changes that break something together, and not alone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Pair {
    /// The changes.
    pub changes: [Change; 2],
    /// What breaks.
    pub violation: Violation,
    /// How many steps the shortest counterexample takes.
    pub steps: usize,
    /// The bound within which it was found, and within which each alone breaks nothing.
    pub within: Bounds,
}

/// Counts the pieces of one stage.
struct Stage<'a> {
    name: &'static str,
    of: usize,
    done: AtomicUsize,
    progress: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Stage<'a> {
    fn new(name: &'static str, of: usize, options: &Options<'a>) -> Self {
        let stage = Self { name, of, done: AtomicUsize::new(0), progress: options.progress };
        stage.tell(0, String::new());
        stage
    }

    fn done(&self, what: &dyn ToString) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.tell(done, what.to_string());
    }

    fn tell(&self, done: usize, what: String) {
        (self.progress)(Progress { stage: self.name, done, of: self.of, what });
    }
}

/// Takes every safeguard of a design away, one at a time.
pub fn ablate(design: &Design, options: &Options<'_>) -> Ablation {
    let began = Instant::now();
    let judge = Judge::new(options.memory_mib_max, options.stop);
    let bounds = options.scope.bounds(design);
    let mut ablation = Ablation {
        design: design.name.clone(),
        verdict: Judgement::Safe,
        violation: None,
        bounds: bounds.clone(),
        ablated: Vec::new(),
        pairs: Vec::new(),
        is_complete: false,
        searches: 0,
        searches_spared: 0,
        seconds: 0.0,
    };
    let changes: Vec<_> =
        SettingId::safeguards().flat_map(|setting| design.alternatives(setting)).collect();
    match as_it_stands(design, &bounds, &changes, &judge, options) {
        None => {
            let stage = Stage::new("one at a time", changes.len(), options);
            let alone = parallel::map(options.threads, &changes, |change| {
                let alone = alone(design, *change, &judge, options);
                stage.done(change);
                alone
            });
            let (findings, pairs) = cover::explain(design, &changes, alone, &judge, options);
            let row = |(change, finding): (Change, _)| Ablated {
                from: design.value(change.setting),
                change,
                bounds: options.scope.bounds(&design.with(change)).len(),
                finding,
            };
            ablation.ablated = changes.into_iter().zip(findings).map(row).collect();
            ablation.pairs = pairs;
            ablation.is_complete = !judge.is_stopped();
        }
        Some(Judged::Breaks(counterexample)) => {
            ablation.verdict = Judgement::Violated;
            ablation.violation = Some(counterexample.violation);
            ablation.is_complete = true;
        }
        Some(_) => ablation.verdict = Judgement::NotExhausted,
    }
    ablation.searches = judge.searches();
    ablation.searches_spared = judge.spared();
    ablation.seconds = began.elapsed().as_secs_f64();
    ablation
}

/// What keeps the design as it stands from being safe, if something does. By the way it is seen
/// which changes make no difference within which bounds.
fn as_it_stands(
    design: &Design,
    bounds: &[Bounds],
    changes: &[Change],
    judge: &Judge<'_>,
    options: &Options<'_>,
) -> Option<Judged> {
    let all: Vec<_> = changes.iter().map(|change| design.with(*change)).collect();
    let stage = Stage::new("the design as it stands", bounds.len(), options);
    // The last bounds of a portfolio take the longest.
    let longest_first: Vec<_> = bounds.iter().rev().collect();
    let judged = parallel::map(options.threads, &longest_first, |bounds| {
        let is_within = |changed: &&Design| options.scope.bounds(changed).contains(bounds);
        let neighbours: Vec<_> = all.iter().filter(is_within).cloned().collect();
        let judged = judge.survey(design, bounds, &neighbours);
        stage.done(*bounds);
        judged
    });
    // What breaks comes before what was not exhausted, and of that the first.
    let breaks = |judged: &Judged| matches!(judged, Judged::Breaks(_));
    let not_safe = judged.into_iter().filter(|judged| !matches!(judged, Judged::Holds { .. }));
    not_safe.reduce(|found, next| if breaks(&found) && !breaks(&next) { found } else { next })
}

/// What came of a change alone.
enum Alone {
    /// There is nothing more to find out.
    Found(Finding),
    /// It makes a difference, and breaks nothing.
    Holds,
    /// It was asked for, but all answers would have been the same.
    MakesNoDifference,
}

fn alone(design: &Design, change: Change, judge: &Judge<'_>, options: &Options<'_>) -> Alone {
    let changed = design.with(change);
    let (mut is_asked, mut differs, mut is_exhausted) = (false, false, true);
    for bounds in options.scope.bounds(&changed) {
        match judge.within(&changed, &bounds) {
            Judged::Breaks(found) => {
                let Counterexample { violation, steps, .. } = *found;
                let steps = steps.len();
                return Alone::Found(Finding::LoadBearing { violation, steps, within: bounds });
            }
            Judged::Holds { asked, is_spared, .. } if asked.contains(change.setting) => {
                is_asked = true;
                differs |= !is_spared;
            }
            Judged::Holds { .. } => {}
            Judged::NotExhausted if judge.is_stopped() => {
                return Alone::Found(Finding::NotLookedAt);
            }
            Judged::NotExhausted => is_exhausted = false,
        }
    }
    match (is_exhausted, is_asked, differs) {
        (false, ..) => Alone::Found(Finding::NotExhausted),
        (_, false, _) => Alone::Found(Finding::NotExercised),
        (_, true, true) => Alone::Holds,
        (_, true, false) => Alone::MakesNoDifference,
    }
}
