//! The zoo: every named design checked, and what was found compared with what it expects.

mod simulate;

use holdover_model::check::{Judgement, Options, Verdict, check, small_portfolio};
use holdover_model::design::{Design, NAMED};
use holdover_model::invariant::InvariantId;
use holdover_model::parallel;
use serde::Serialize;

pub use crate::directed::{NotInTheWorld, why_not_in_the_world};
pub use simulate::{Detections, Done, Hunt, Limits, Looked, Method, Simulated, Survivor, simulate};

/// What was found about one design, beside what it expects.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Specimen {
    /// The name of the design.
    pub design: String,
    /// The invariants that it is known to break, first the one that the shortest run breaks;
    /// none for a safe design.
    pub expected: Vec<InvariantId>,
    /// The invariant that broke first, `safe`, or `not-exhausted`.
    pub found: String,
    /// Whether that is what was expected.
    pub agrees: bool,
    /// How many steps the shortest counterexample takes.
    pub counterexample_steps: Option<usize>,
    /// How many different states were looked at.
    pub unique_states: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Specimen {
    /// What this verdict says about this design.
    pub fn new(design: &Design, verdict: &Verdict) -> Self {
        let found = match verdict.invariant() {
            Some(invariant) => invariant.as_str(),
            None => verdict.verdict.as_str(),
        };
        let agrees = verdict.invariant() == design.expect.first().copied()
            && verdict.verdict != Judgement::NotExhausted;
        Self {
            design: design.name.clone(),
            expected: design.expect.clone(),
            found: found.to_owned(),
            agrees,
            counterexample_steps: verdict.counterexample.as_ref().map(|found| found.steps.len()),
            unique_states: verdict.unique_states(),
            seconds: verdict.seconds(),
        }
    }
}

/// Checks every named design within its [small bounds](small_portfolio), as many at once as there
/// are threads, in the order of their names. `seen` is told of each as soon as it is done.
///
/// # Panics
///
/// When a named design is malformed: the crate's own tests see to it that none is.
pub fn check_all(threads: usize, seen: &(dyn Fn(&Specimen) + Sync)) -> Vec<Specimen> {
    parallel::map(threads, NAMED, |(name, _)| {
        let design = Design::named(name).expect("a named design is well formed");
        let options = Options { threads: 1, ..Options::default() };
        let verdict = check(&design, &small_portfolio(&design), options);
        let specimen = Specimen::new(&design, &verdict);
        seen(&specimen);
        specimen
    })
}

#[cfg(test)]
mod tests {
    use holdover_model::check::{Bounds, Budget};

    use super::*;

    fn specimen(name: &str, bounds: &Bounds, expect: &[InvariantId]) -> Specimen {
        let design = Design { expect: expect.to_vec(), ..Design::named(name).unwrap() };
        Specimen::new(&design, &check(&design, std::slice::from_ref(bounds), Options::default()))
    }

    #[test]
    fn an_answer_agrees_only_with_what_was_expected() {
        let quiet = Bounds { operations: 1, ..Bounds::default() };
        let takeover = quiet.clone().with(Budget::Takeovers, 1);
        let stale = InvariantId::NoStaleEffect;

        let broken = specimen("highest-seen", &takeover, &[stale]);
        assert!(broken.agrees && broken.found == "no-stale-effect", "{broken:?}");
        assert!(broken.counterexample_steps.unwrap() > 5);
        let other = specimen("highest-seen", &takeover, &[InvariantId::EpochMonotonic]);
        assert!(!other.agrees, "another invariant broke: {other:?}");
        assert!(!specimen("highest-seen", &takeover, &[]).agrees, "it was said to be safe");

        let safe = specimen("highest-seen", &quiet, &[]);
        assert!(safe.agrees && safe.found == "safe", "{safe:?}");
        assert!(!specimen("highest-seen", &quiet, &[stale]).agrees, "nothing was found");
    }
}
