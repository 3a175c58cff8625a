//! Which plans a sweep runs, and in which order.
//!
//! Three sources take turns, each good at what the others miss:
//!
//! * [`Matrix`]: every moment of a few runs with every fault, one at a time and in pairs. No
//!   randomness; finds whatever one or two faults at the right moment do.
//! * swarm: a seed's [plan](Plan::generate), with a random half of the kinds of faults (Groce et
//!   al., *Swarm testing*, ISSTA 2012), in one of several [orders](crate::world::Order).
//! * mutation: plans that reached something new, changed a little. What counts as new is in
//!   [`novelty`]; plans are changed, not bytes, so every mutant means something.
//!
//! How many runs each gets is the [`Mix`]. What a run is does not depend on how many happen at
//! once: mutants are made in rounds, from what all rounds before have reached.

mod census;
mod matrix;
mod mix;
mod mutation;
pub mod novelty;

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use holdover_model::design::Design;

use crate::plan::{Plan, Profile};
use crate::random::{Seed, between};
use crate::stack::Run;
use mix::Slot;
use novelty::Feature;

pub use matrix::Matrix;
pub use mix::{Mix, MixError};
pub use mutation::mutate;

/// How many runs there are between two looks at what was reached.
pub(crate) const ROUND: u64 = 256;

/// How many plans that reached something new are kept: the latest.
const KEPT_MAX: usize = 512;

/// Where the plan of a run comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// The matrix, and which of its cells.
    Matrix {
        /// Its place, from 0.
        cell: u64,
    },
    /// A seed.
    Seed(Seed),
    /// The plan of an earlier run, changed a little, or that of a seed as long as nothing new was
    /// reached.
    Mutant {
        /// What the changes were drawn from.
        seed: Seed,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matrix { cell } => write!(f, "cell {cell} of the matrix"),
            Self::Seed(seed) => write!(f, "seed {seed}"),
            Self::Mutant { seed } => write!(f, "mutant {seed}"),
        }
    }
}

/// A search: what comes next, and what was reached so far.
pub struct Search {
    design: Design,
    profile: Profile,
    mix: Mix,
    matrix: Matrix,
    first_seed: u64,
    known: BTreeSet<Feature>,
    /// Plans that reached something new, the latest last.
    kept: VecDeque<Plan>,
}

impl Search {
    /// A search that has not begun. Its seeds begin with this one.
    pub fn new(design: &Design, profile: Profile, mix: Mix, first_seed: u64) -> Self {
        Self {
            design: design.clone(),
            profile,
            mix,
            matrix: if mix.matrix > 0 { Matrix::new(design) } else { Matrix::empty() },
            first_seed,
            known: BTreeSet::new(),
            kept: VecDeque::new(),
        }
    }

    /// The matrix.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The plan of a run, and where it comes from. It depends on what was [learned](Self::learn)
    /// so far.
    pub fn plan(&self, run: u64) -> (Origin, Plan) {
        let (slot, number) = self.mix.slot(run);
        let seed = Seed(self.first_seed + number);
        match slot {
            Slot::Matrix => match self.matrix.plan(number) {
                Some(plan) => (Origin::Matrix { cell: number }, plan),
                // All of it was run.
                None => self.mutant(Seed(self.first_seed + run)),
            },
            Slot::Swarm => (Origin::Seed(seed), self.of_seed(seed)),
            Slot::Mutation => self.mutant(seed),
        }
    }

    fn of_seed(&self, seed: Seed) -> Plan {
        Plan::generate(seed, &self.design, &self.profile)
    }

    fn mutant(&self, seed: Seed) -> (Origin, Plan) {
        let mut random = seed.stream("mutation");
        // Of seeds that no other run of the search has.
        let other = self.of_seed(Seed(!seed.0));
        let latest = self.kept.len().saturating_sub(KEPT_MAX / 8);
        // Half of them from the latest: where something new was reached, more may be near.
        let from = if between(&mut random, 0, 1) == 0 { latest } else { 0 };
        let mutant = match self.kept.len() {
            0 => mutate(&self.of_seed(Seed(!seed.0 >> 1)), &other, seed, &mut random),
            kept => {
                let place = between(&mut random, from as u64, kept as u64 - 1);
                let parent = &self.kept[usize::try_from(place).expect("it is below a length")];
                mutate(parent, &other, seed, &mut random)
            }
        };
        (Origin::Mutant { seed }, mutant)
    }

    /// Takes in what a run has reached. Runs are learned from in their order.
    pub fn learn(&mut self, plan: &Plan, reached: &[Feature]) {
        let before = self.known.len();
        self.known.extend(reached);
        if self.known.len() > before && self.mix.mutation > 0 {
            if self.kept.len() == KEPT_MAX {
                self.kept.pop_front();
            }
            self.kept.push_back(plan.clone());
        }
    }

    /// How many different things were reached so far.
    pub fn reached(&self) -> usize {
        self.known.len()
    }

    /// Whether it wants to know what runs reach.
    pub fn is_learning(&self) -> bool {
        self.mix.mutation > 0
    }
}

/// What a run has reached.
pub fn features(run: &Run) -> Vec<Feature> {
    novelty::features(&run.records, &run.faults_fired)
}
