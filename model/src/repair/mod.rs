//! The smallest changes that make a design keep what it claims, or why there are none.
//!
//! Candidates are sets of changes, the cheapest first: fewest changes, then the sum of what each
//! [costs](crate::design::cost). A candidate is searched exhaustively. If it breaks, the
//! counterexample says *because* of which settings: it is a counterexample of every design that
//! agrees about those, so no repair can do without changing one of them. What is learnt from one
//! candidate refutes many others unseen, and the next candidates are those that change one of the
//! settings to blame. This is the tree of hitting sets of R. Reiter, *A theory of diagnosis from
//! first principles* (1987), grown lazily, with counterexamples as its conflicts.
//!
//! A setting is only changed to its safe default, or to what it is in a [named](crate::design::NAMED)
//! design that is safe. Settings that a team cannot change ([`fixed`](crate::design::changeable)) are never changed. If
//! there is no repair then, some claim has to be given up: which one, and what can still be had, is
//! found in the same way. Where the destination cannot be made to refuse a stale write, the safe
//! answer is that nobody takes over automatically.
//!
//! ```
//! use holdover_model::design::Design;
//! use holdover_model::repair::{Options, repair};
//!
//! // The destination compares epochs, but lets the old holder's write complete that it has let in.
//! let design = Design::named("fence-without-drain")?;
//! let found = repair(&design, &Options::default());
//! let changes: Vec<_> = found.repairs[0].changes.iter().map(|change| change.to_string()).collect();
//! assert_eq!(changes, ["fence.in-flight-writes = \"drained\""]);
//! # Ok::<(), holdover_model::design::DesignError>(())
//! ```

mod candidate;
mod concession;
mod conflict;
mod hunt;

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde::Serialize;

use crate::check::{Bounds, Judgement, Scope};
use crate::design::Design;
use crate::design::change::Change;
use crate::design::setting::SettingSet;
use crate::invariant::Violation;
use crate::parallel;
use candidate::Domain;
use hunt::Hunter;

/// How to repair.
pub struct Options<'a> {
    /// Within which bounds a candidate has to hold. In the [portfolio](Scope::Portfolio) it has to
    /// hold within the small bounds, too: those are quick to refute it.
    pub scope: Scope,
    /// How many repairs are wanted.
    pub repairs_max: usize,
    /// How many settings a repair may change.
    pub changes_max: usize,
    /// How many designs are searched at once.
    pub threads: usize,
    /// How much memory each search may take.
    pub memory_mib_max: usize,
    /// Once this is true, what has been found so far is the result.
    pub stop: Option<&'a AtomicBool>,
    /// Is told of each candidate that is judged.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            scope: Scope::Small,
            repairs_max: 3,
            changes_max: 8,
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
    /// What is being looked for, in a few words.
    pub stage: &'static str,
    /// How many candidates were judged, by a search or by what was learnt before.
    pub judged: u64,
    /// How many are known that have not been judged. There may be more.
    pub waiting: usize,
    /// How many settings those change that are judged now.
    pub changes: usize,
    /// How many repairs have been found.
    pub found: usize,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Repairs {
    /// The name of the design.
    pub design: String,
    /// What the design is as it stands, within the bounds that a repair has to hold within.
    pub verdict: Judgement,
    /// The bounds within which it is safe as it stands; none if it is not.
    pub within: Vec<Bounds>,
    /// What breaks in it, if something does.
    pub violation: Option<Violation>,
    /// The settings that were not to be changed.
    pub fixed: SettingSet,
    /// The repairs, the cheapest first. None if the design is safe as it stands.
    pub repairs: Vec<Repair>,
    /// Whether there are no other repairs with as few changes. Nothing is known of those that take
    /// more.
    pub are_all: bool,
    /// How many candidates were not decided, because a search needs more memory. Each may be a
    /// repair, and cheaper than those that were found.
    pub undecided: usize,
    /// Why there is none, if there is none.
    pub impossible: Option<Impossible>,
    /// Whether it came to its end.
    pub is_complete: bool,
    /// How many candidates were judged.
    pub candidates: u64,
    /// How many searches that took.
    pub searches: u64,
    /// How many were spared, because the search of a neighbour had shown the same.
    pub searches_spared: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Changes after which a design keeps what it claims. None of them can be left out.
#[derive(Clone, Debug, Serialize)]
pub struct Repair {
    /// The changes, in the order of a design file.
    pub changes: Vec<Change>,
    /// What the changes of settings cost together.
    pub cost: u32,
    /// The bounds within which it was searched exhaustively.
    pub within: Vec<Bounds>,
    /// The design with these changes.
    #[serde(skip)]
    pub design: Design,
}

/// Why a design cannot be repaired.
#[derive(Clone, Debug, Serialize)]
pub struct Impossible {
    /// Whether everything that may be changed was, in every combination: otherwise it is only known
    /// that so few changes do not suffice.
    pub is_proved: bool,
    /// The claims that are given up, each with what is left of it in the cheapest design that keeps
    /// the others. Empty if no such design was found.
    pub unmet: Vec<Concession>,
    /// What breaks, whatever else is changed.
    pub violation: Violation,
    /// The settings that stand in the way: if one of them could be changed, there would be a
    /// repair. All that are fixed, if it takes several of them.
    pub because: Vec<Change>,
    /// The answer that is safe: nobody takes over automatically, and no more is claimed than can
    /// be kept. `None` if not even that was found.
    pub safe_answer: Option<Repair>,
}

/// A claim that is given up.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Concession {
    /// The claim, and what is left of it.
    #[serde(flatten)]
    pub change: Change,
    /// Whether it cannot be met with what is fixed, beside the claims that are kept. Otherwise, it
    /// is only known that so few changes do not suffice, or a search needs more memory.
    pub is_proved: bool,
}

/// Looks for the smallest changes that make a design keep what it claims.
pub fn repair(design: &Design, options: &Options<'_>) -> Repairs {
    let began = Instant::now();
    let mut hunter = Hunter::new(options);
    let domain = Domain::new(design);
    let found = hunter.hunt("repairs", &domain, options.repairs_max);
    let as_it_stands = found.repairs.iter().find(|repair| repair.changes.is_empty());
    let is_safe = as_it_stands.is_some();
    let within = as_it_stands.map_or_else(Vec::new, |repair| repair.within.clone());
    let violation = found.conflict.as_ref().map(|conflict| conflict.violation.clone());
    let (are_all, undecided) = (found.are_all, found.undecided);
    let repairs = if is_safe { Vec::new() } else { found.repairs };
    let impossible = match &violation {
        Some(violation) if repairs.is_empty() && !hunter.judge.is_stopped() => {
            Some(concession::impossible(&mut hunter, &domain, violation, found.is_exhausted))
        }
        _ => None,
    };
    // A claim that was not looked at to the end is not one that cannot be met.
    let impossible = impossible.filter(|_| !hunter.judge.is_stopped());
    Repairs {
        design: design.name.clone(),
        verdict: match (is_safe, &violation) {
            (true, _) => Judgement::Safe,
            (_, Some(_)) => Judgement::Violated,
            _ => Judgement::NotExhausted,
        },
        within,
        violation,
        fixed: design.fixed,
        repairs,
        are_all,
        undecided,
        impossible,
        is_complete: !hunter.judge.is_stopped(),
        candidates: hunter.judged,
        searches: hunter.judge.searches(),
        searches_spared: hunter.judge.spared(),
        seconds: began.elapsed().as_secs_f64(),
    }
}
