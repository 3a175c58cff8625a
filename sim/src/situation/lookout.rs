//! All detectors of one run.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Detector, Situation, Watches};
use crate::world::{Sight, World};

/// Looks out for situations in one run.
pub struct Lookout(Rc<RefCell<State>>);

struct State {
    /// Those whose situation is not reached yet, with its place in the list.
    waiting: Vec<(Watches, usize, Box<dyn Detector>)>,
    /// What any of them wants to see.
    watches: Watches,
    reached: Vec<usize>,
}

impl Lookout {
    /// Looks out for these situations.
    pub fn new(situations: &[Situation]) -> Self {
        let waiting: Vec<_> = situations
            .iter()
            .enumerate()
            .map(|(place, situation)| (situation.watches, place, situation.detector()))
            .collect();
        let watches = union(&waiting);
        Self(Rc::new(RefCell::new(State { waiting, watches, reached: Vec::new() })))
    }

    /// Watches a world from now on.
    pub fn watch(&self, world: &mut World) {
        let state = Rc::clone(&self.0);
        world.watch(move |sight| state.borrow_mut().sees(sight));
    }

    /// The places in the list of the situations that were reached so far, in their order.
    pub fn reached(&self) -> Vec<usize> {
        let mut reached = self.0.borrow().reached.clone();
        reached.sort_unstable();
        reached
    }
}

impl State {
    fn sees(&mut self, sight: &Sight<'_>) {
        let kind = Watches::only(sight.kind());
        if !self.watches.overlaps(kind) {
            return;
        }
        let Self { waiting, reached, .. } = self;
        let before = reached.len();
        waiting.retain_mut(|(watches, place, detector)| {
            let is_reached = watches.overlaps(kind) && detector.sees(sight);
            if is_reached {
                reached.push(*place);
            }
            !is_reached
        });
        if self.reached.len() > before {
            self.watches = union(&self.waiting);
        }
    }
}

fn union(waiting: &[(Watches, usize, Box<dyn Detector>)]) -> Watches {
    Watches(waiting.iter().fold(0, |all, (watches, ..)| all | watches.0))
}
