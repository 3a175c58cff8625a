//! The exhaustive checker: every interleaving within stated bounds.
//!
//! It runs the very same [roles](crate::role) as the simulated world. What is random there
//! is a choice here: which message is delivered next, whether a timer fires before an
//! answer comes, when a worker is suspected or crashes. The search is breadth first, so
//! the first counterexample is a shortest one.
//!
//! ```
//! use holdover_model::check::{Bounds, Budget, Judgement, Options, check};
//! use holdover_model::design::Design;
//!
//! let design = Design::named("highest-seen")?;
//! let bounds = Bounds::default().with(Budget::Takeovers, 1);
//! let verdict = check(&design, &[bounds], Options::default());
//! assert_eq!(verdict.verdict, Judgement::Violated);
//! println!("{verdict}");
//! # Ok::<(), holdover_model::design::DesignError>(())
//! ```

pub mod bounds;
pub mod component;
pub mod system;

mod action;
mod counterexample;
mod expand;
mod facts;
mod intern;
pub(crate) mod judge;
mod lens;
mod mail;
mod reduction;
mod refutation;
mod search;
mod settle;
mod space;
mod verdict;
mod visited;

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde::Serialize;

pub use bounds::{
    Bounds, Budget, Budgets, Consents, Scope, deep_portfolio, portfolio, small_portfolio,
};
pub use counterexample::{Counterexample, Moment};
pub use mail::{Happening, Post};

pub use search::Progress;
pub use verdict::{BoundReport, Judgement, Verdict};

use crate::design::Design;
use crate::parallel;
use lens::Lens;
use reduction::Manner;
use search::{End, Found, Limits, search, search_through};
use space::Space;
use system::System;

/// Ways to look at fewer states and still see every violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reductions {
    /// Messages that can never matter again are removed.
    pub dead_messages: bool,
    /// Of states that differ only in which operation is which, one is explored.
    pub symmetry: bool,
    /// Of orders of steps that make no difference, one is explored.
    pub partial_order: bool,
}

impl Reductions {
    /// Every state is looked at.
    pub fn none() -> Self {
        Self { dead_messages: false, symmetry: false, partial_order: false }
    }

    /// As few states as possible are looked at.
    pub fn all() -> Self {
        Self { dead_messages: true, symmetry: true, partial_order: true }
    }
}

impl Default for Reductions {
    fn default() -> Self {
        Self::all()
    }
}

/// What restricts behaviour: a violation that needs more than this is not seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Assumptions {
    /// Between two roles, messages arrive in the order in which they were sent.
    pub ordered_links: bool,
    /// A reply that its receiver would ignore at this moment is never delivered.
    pub unawaited_replies_vanish: bool,
}

impl Assumptions {
    /// Nothing is assumed.
    pub fn none() -> Self {
        Self::default()
    }
}

impl fmt::Display for Assumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            (self.ordered_links, "links keep order"),
            (self.unawaited_replies_vanish, "replies that nobody awaits vanish"),
        ];
        let made: Vec<_> = named.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        f.pad(if made.is_empty() { "nothing".into() } else { made.join(", ") }.as_str())
    }
}

/// How to check.
pub struct Options<'a> {
    /// How many threads search.
    pub threads: usize,
    /// How much memory the search may take: beyond it the answer is "not exhausted".
    pub memory_mib_max: usize,
    /// Ways to look at fewer states.
    pub reductions: Reductions,
    /// What is assumed that restricts behaviour.
    pub assumptions: Assumptions,
    /// Whether a settled state has to stay reachable from every state.
    pub checks_settling: bool,
    /// Whether the search goes on after a violation, with all that does not break an
    /// invariant: for comparing counts of states.
    pub explores_past_violations: bool,
    /// Once this is true the search ends, and what it has not looked at is not exhausted.
    pub stop: Option<&'a AtomicBool>,
    /// Is told now and then how far the search has come.
    pub progress: Option<&'a mut dyn FnMut(Progress<'_>)>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            threads: parallel::cores(),
            memory_mib_max: 4096,
            reductions: Reductions::all(),
            assumptions: Assumptions::none(),
            checks_settling: true,
            explores_past_violations: false,
            stop: None,
            progress: None,
        }
    }
}

/// Explores everything within each of the bounds, until an invariant is broken.
pub fn check(design: &Design, bounds: &[Bounds], mut options: Options<'_>) -> Verdict {
    let mut verdict = Verdict {
        design: design.name.clone(),
        verdict: Judgement::Safe,
        bounds: Vec::new(),
        reductions: options.reductions,
        assumptions: options.assumptions,
        counterexample: None,
    };
    for bounds in bounds {
        let manner = Manner::of(design, bounds, options.reductions);
        let (report, counterexample) = explore(design, bounds, manner, &mut options);
        if !report.exhausted && verdict.verdict == Judgement::Safe {
            verdict.verdict = Judgement::NotExhausted;
        }
        verdict.bounds.push(report);
        if counterexample.is_some() {
            verdict.verdict = Judgement::Violated;
            verdict.counterexample = counterexample;
            break;
        }
    }
    verdict
}

/// Explores everything within one bound, in a manner that is sound for the design.
pub(crate) fn explore(
    design: &Design,
    bounds: &Bounds,
    manner: Manner,
    options: &mut Options<'_>,
) -> (BoundReport, Option<Counterexample>) {
    explore_and(design, bounds, manner, options, &mut |_| ())
}

/// The same; if everything was explored by one thread and nothing broke, `examine` is shown every
/// step.
pub(crate) fn explore_and(
    design: &Design,
    bounds: &Bounds,
    manner: Manner,
    options: &mut Options<'_>,
    examine: &mut dyn FnMut(&Lens<'_>),
) -> (BoundReport, Option<Counterexample>) {
    let began = Instant::now();
    let mut manner = manner;
    let limits = Limits {
        threads: options.threads.max(1),
        memory_bytes_max: options.memory_mib_max.saturating_mul(1 << 20),
        depth_max: None,
        checks_settling: options.checks_settling,
        explores_past_violations: options.explores_past_violations,
        stop: options.stop,
    };
    let mut silent = |_: Progress<'_>| ();
    let (space, found) = loop {
        let progress = options.progress.as_deref_mut().unwrap_or(&mut silent);
        let space = Space::looked_at(System::new(design, bounds), manner, options.assumptions);
        let mut lens = Lens::new(&space);
        let found = search_through(&mut lens, limits, progress);
        if found.end == End::Exhausted && limits.threads == 1 {
            examine(&lens);
        }
        drop(lens);
        if found.end != End::Asymmetric {
            break (space, found);
        }
        manner.reductions.symmetry = false;
    };
    let counterexample = match &found.end {
        End::Violated(path) => {
            // Which run was found may depend on how the threads took turns, and partial
            // order may have hidden a shorter one. One thread without it settles both.
            let first = counterexample::follow(&space, path);
            let reductions = Reductions { partial_order: false, ..manner.reductions };
            let manner = Manner { reductions, ..manner };
            let limits = Limits {
                threads: 1,
                depth_max: Some(first.steps.len()),
                checks_settling: false,
                explores_past_violations: false,
                ..limits
            };
            let again = Space::looked_at(System::new(design, bounds), manner, options.assumptions);
            let progress = options.progress.as_deref_mut().unwrap_or(&mut silent);
            Some(match search(&again, limits, progress).end {
                End::Violated(path) => counterexample::follow(&again, &path),
                _ => first,
            })
        }
        End::Wedged(path) => Some(counterexample::follow(&space, path)),
        _ => None,
    };
    let Found { end, unique_states, generated_states, depth, peak_bytes, asked } = found;
    #[expect(clippy::cast_precision_loss, reason = "this is shown to people")]
    let peak_memory_mib = peak_bytes as f64 / f64::from(1 << 20);
    let report = BoundReport {
        bounds: bounds.clone(),
        unique_states,
        generated_states,
        depth,
        seconds: began.elapsed().as_secs_f64(),
        peak_memory_mib,
        exhausted: match end {
            End::Exhausted | End::Wedged(_) => true,
            End::Violated(_) => limits.explores_past_violations,
            End::Stopped | End::Asymmetric => false,
        },
        symmetric: manner.reductions.symmetry,
        asked,
    };
    (report, counterexample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::action::Action;
    use crate::check::expand::Successors;

    /// The only state that follows another one by an action of this kind.
    fn after(lens: &mut Lens<'_>, state: &[u32], is_meant: impl Fn(Action) -> bool) -> Vec<u32> {
        let mut successors = Successors::default();
        lens.expand(state, &mut successors);
        let mut meant = successors.iter().filter(|(action, _)| is_meant(*action));
        let (_, next) = meant.next().expect("it is possible");
        assert!(meant.next().is_none(), "it is possible in one way only");
        next.expect("nothing is broken").to_vec()
    }

    /// An agent reads, crashes, and begins again only later. Until then it would ignore the
    /// answer to the read.
    #[test]
    fn a_reply_that_nobody_awaits_vanishes_by_assumption_only() {
        let bounds = Bounds { operations: 1, ..Bounds::default() }.with(Budget::AgentCrashes, 1);
        for vanishes in [false, true] {
            let assumptions =
                Assumptions { unawaited_replies_vanish: vanishes, ..Assumptions::none() };
            let system = System::new(&Design::default(), &bounds);
            let space = Space::new(system, Reductions::none(), assumptions);
            let mut lens = Lens::new(&space);
            let mut state = lens.initial().unwrap();
            state = after(&mut lens, &state, |action| matches!(action, Action::Signal(0, _)));
            state = after(&mut lens, &state, |action| matches!(action, Action::Crash(0)));
            state = after(&mut lens, &state, |action| matches!(action, Action::Deliver(_)));
            let replies = state.len() - space.head();
            assert_eq!(replies, usize::from(!vanishes));
        }
    }
}
