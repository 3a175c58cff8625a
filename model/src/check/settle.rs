//! Whether a settled state stays reachable from every reachable state.
//!
//! "Once faults stop, every operation settles": from each state that the search visits, a
//! run is looked for in which no fault happens any more (nothing is spent from any
//! budget), every message under way can be delivered, every timer can fire and the clock
//! can go on. It has to reach a state in which every request is answered and every
//! operation is settled. If there is none, the state is wedged. A run that breaks an
//! invariant on the way is not one: safety is judged by the search.
//!
//! States from which a settled one is reachable are remembered, so that a later look ends
//! as soon as it meets one of them; and what is left in the budgets does not matter here,
//! so that many states of the search are one state here.

use std::collections::{HashSet, VecDeque};

use crate::check::bounds::Budgets;
use crate::check::expand::Successors;
use crate::check::lens::Lens;
use crate::check::space::{Purse, fingerprint};
use crate::check::visited::Visited;

/// A look that has seen this many states without finding a settled one is given up, and
/// the state counts as wedged. The calm system has no end: an agent may ask again for
/// ever.
const STATES_MAX: usize = 20_000;

/// No run is longer than this, lest it follows an agent that asks again and again.
const STEPS_MAX: usize = 150;

/// The states from which a settled one is reachable, as far as they are known.
pub(crate) struct Calm {
    settling: Visited,
}

impl Calm {
    pub(crate) fn new() -> Self {
        Self { settling: Visited::new() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.settling.bytes()
    }

    /// Whether a settled state is reachable once faults have stopped.
    pub(crate) fn settles(&self, lens: &mut Lens<'_>, state: &[u32]) -> bool {
        if lens.is_settled(state) {
            return true;
        }
        let mut start = state.to_vec();
        lens.calm_down(&mut start);
        if self.settling.contains(fingerprint(&start)) {
            return true;
        }
        self.look(lens, start)
    }

    /// Runs on from this state and, where that leads nowhere, from those around it, the
    /// nearest first: what went wrong may be the very next step.
    fn look(&self, lens: &mut Lens<'_>, start: Vec<u32>) -> bool {
        let mut successors = Successors::default();
        let mut tried = HashSet::new();
        let mut seen = HashSet::from([fingerprint(&start)]);
        let mut open = VecDeque::from([start]);
        while let Some(state) = open.pop_front() {
            if self.run_on(lens, &state, &mut tried) {
                return true;
            }
            if seen.len() + tried.len() > STATES_MAX {
                return false;
            }
            lens.expand_calm(&state, &mut successors);
            let around = successors.iter().filter_map(|(_, successor)| successor);
            let fresh = around.filter(|successor| seen.insert(fingerprint(successor)));
            open.extend(fresh.map(<[u32]>::to_vec));
        }
        false
    }

    /// One run, without looking right or left: it delivers what is under way, and lets
    /// timers fire when nothing is. Nearly always that is enough. What was tried before it
    /// avoids.
    fn run_on(&self, lens: &mut Lens<'_>, start: &[u32], tried: &mut HashSet<u64>) -> bool {
        let mut successors = Successors::default();
        let mut state = start.to_vec();
        let mut run = Vec::new();
        while run.len() < STEPS_MAX {
            let print = fingerprint(&state);
            run.push(print);
            tried.insert(print);
            if lens.is_settled(&state) || self.settling.contains(print) {
                for print in run {
                    self.settling.insert(print, 0);
                }
                return true;
            }
            lens.expand_first_calm(&state, &mut successors);
            let next = successors
                .iter()
                .filter_map(|(_, successor)| successor)
                .find(|successor| !tried.contains(&fingerprint(successor)));
            match next {
                Some(next) => state = next.to_vec(),
                None => return false,
            }
        }
        false
    }
}

/// The purse once faults have stopped.
pub(crate) fn calm(purse: Purse) -> Purse {
    Purse { left: Budgets::none(), is_calm: true, ..purse }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::bounds::Bounds;
    use crate::check::space::Space;
    use crate::check::system::System;
    use crate::check::{Assumptions, Reductions};
    use crate::design::Design;

    #[test]
    fn a_request_that_nobody_remembers_is_a_wedge() {
        let bounds = Bounds { operations: 1, is_conditional: false, ..Bounds::default() };
        let system = System::new(&Design::default(), &bounds);
        let space = Space::new(system, Reductions::none(), Assumptions::none());
        let mut lens = Lens::new(&space);
        let initial = lens.initial().unwrap();
        let mut successors = Successors::default();
        lens.expand(&initial, &mut successors);
        let (_, asked) = successors.iter().next().expect("the agent begins");
        let asked = asked.expect("nothing is broken").to_vec();
        assert!(Calm::new().settles(&mut lens, &asked));

        // The request is gone, and so is the timer with which the agent would ask again.
        let mut forgotten = asked[..space.head()].to_vec();
        forgotten[0] = lens.backup(asked[0]);
        assert!(!lens.is_settled(&forgotten));
        assert!(!Calm::new().settles(&mut lens, &forgotten));
    }
}
