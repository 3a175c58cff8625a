//! Two runs of one plan that were not the same, and where they parted.
//!
//! The engine itself draws from the seed alone. What differs between two runs comes from the
//! code on the hosts: the order of a `HashMap`, the machine's clock, its randomness, another
//! thread. All of these differ from run to run also within one process, so a second run
//! shows what changes the run. What does not change it, such as a map that is only looked up
//! in, does no harm.

use std::fmt;

use crate::plan::Plan;
use crate::random::Seed;
use crate::stack::{self, Run};
use crate::world::{Moment, World};

/// How often a plan is run in search of a difference: what differs only sometimes needs more
/// than one try.
const TRIES: usize = 8;

/// A seed whose runs are not the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The seed.
    pub seed: Seed,
    /// The first moment that differs; `None` if it did not differ again when it was looked
    /// for.
    pub first: Option<Difference>,
}

/// The first moment at which two runs differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// How many moments were the same before.
    pub same_before: usize,
    /// What happened in one run; `None` if it was over.
    pub one: Option<Moment>,
    /// What happened in the other.
    pub other: Option<Moment>,
}

impl Difference {
    /// Compares two runs moment by moment.
    pub fn between(one: &[Moment], other: &[Moment]) -> Option<Self> {
        let same_before = one.iter().zip(other).take_while(|(one, other)| one == other).count();
        let (one, other) = (one.get(same_before), other.get(same_before));
        (one.is_some() || other.is_some()).then(|| Self {
            same_before,
            one: one.cloned(),
            other: other.cloned(),
        })
    }
}

impl Divergence {
    /// Runs a plan again and again until two runs differ.
    pub(super) fn locate(plan: &Plan, prepare: impl Fn(&mut World)) -> Self {
        let traced = || {
            let run = stack::run_with(plan, |world| {
                world.record_trace();
                prepare(world);
            });
            run.map(|run| run.trace).unwrap_or_default()
        };
        let one = traced();
        let first = (0..TRIES).find_map(|_| Difference::between(&one, &traced()));
        Self { seed: plan.seed, first }
    }
}

/// Whether two runs can be told apart.
pub(super) fn are_same(one: &Run, other: &Run) -> bool {
    one.digest == other.digest && one.finding == other.finding
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {} gives another run each time", self.seed)?;
        match &self.first {
            None => write!(f, "; in {TRIES} more runs the difference did not show again"),
            Some(first) => write!(f, "; {first}"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the first difference, after {} equal moments, is at ", self.same_before)?;
        match (&self.one, &self.other) {
            (Some(one), Some(other)) => f.write_str(&one.difference(other)),
            (Some(only), None) | (None, Some(only)) => {
                write!(f, "{only}; the other time, nothing happened any more")
            }
            (None, None) => f.write_str("the end"),
        }
    }
}
