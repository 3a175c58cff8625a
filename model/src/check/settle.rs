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

use std::collections::HashSet;

use crate::check::bounds::Budgets;
use crate::check::expand::Successors;
use crate::check::lens::Lens;
use crate::check::space::{Purse, fingerprint};
use crate::check::visited::Visited;

/// A look that has seen this many states without finding a settled one is given up, and
/// the state counts as wedged. The calm system has no end: an agent may ask again for
/// ever.
const STATES_MAX: usize = 20_000;

/// No run of a look is longer than this, lest it follows an agent that asks again and
/// again.
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
        self.run_on(lens, &start) || self.look(lens, start)
    }

    /// One run, without looking right or left: it delivers what is under way, and lets
    /// timers fire when nothing is. Nearly always that is enough.
    fn run_on(&self, lens: &mut Lens<'_>, start: &[u32]) -> bool {
        let mut successors = Successors::default();
        let mut state = start.to_vec();
        let mut run = Vec::new();
        while run.len() < STEPS_MAX {
            let print = fingerprint(&state);
            run.push(print);
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
                .find(|successor| !run.contains(&fingerprint(successor)));
            match next {
                Some(next) => state = next.to_vec(),
                None => return false,
            }
        }
        false
    }

    /// Depth first, what promises most first; remembers every state on the way.
    fn look(&self, lens: &mut Lens<'_>, start: Vec<u32>) -> bool {
        let mut seen = HashSet::new();
        let mut successors = Successors::default();
        // What is still to be tried, and after how many steps of the current run.
        let mut open = vec![(0, start)];
        let mut path = Vec::new();
        while let Some((depth, state)) = open.pop() {
            let print = fingerprint(&state);
            if !seen.insert(print) {
                continue;
            }
            path.truncate(depth);
            path.push(print);
            if lens.is_settled(&state) || self.settling.contains(print) {
                for print in path {
                    self.settling.insert(print, 0);
                }
                return true;
            }
            if seen.len() > STATES_MAX {
                return false;
            }
            if depth == STEPS_MAX {
                continue;
            }
            lens.expand_calm(&state, &mut successors);
            let ahead = successors.iter().filter_map(|(_, successor)| successor);
            let before = open.len();
            open.extend(ahead.map(|successor| (depth + 1, successor.to_vec())));
            open[before..].reverse();
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
