//! How often each situation was reached in many runs.

use crate::search::Origin;
use crate::situation::Situation;

/// One situation in many runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reached {
    /// The situation's name.
    pub name: String,
    /// How many runs reached it.
    pub runs: u64,
    /// The first run that did.
    pub first: Option<Origin>,
}

/// Every situation in many runs, in the order of the list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally(Vec<Reached>);

impl Tally {
    pub(super) fn new(situations: &[Situation]) -> Self {
        let unreached =
            |one: &Situation| Reached { name: one.name().to_owned(), runs: 0, first: None };
        Self(situations.iter().map(unreached).collect())
    }

    /// Counts a run that has reached the situations at these places. Runs are counted in
    /// their order.
    pub(super) fn count(&mut self, origin: Origin, reached: &[usize]) {
        for place in reached {
            let one = &mut self.0[*place];
            one.runs += 1;
            one.first.get_or_insert(origin);
        }
    }

    /// Every situation.
    pub fn iter(&self) -> impl Iterator<Item = &Reached> {
        self.0.iter()
    }

    /// The situation of that name.
    pub fn of(&self, name: &str) -> Option<&Reached> {
        self.0.iter().find(|one| one.name == name)
    }

    /// The names of those that no run reached.
    pub fn unreached(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|one| one.runs == 0).map(|one| one.name.as_str())
    }
}
