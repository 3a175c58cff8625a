//! All detectors of one run.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Detector, Situation, Watches};
use crate::world::{Sight, World};

/// Looks out for situations in one run.
pub struct Lookout(Rc<RefCell<State>>);

struct State {
    detectors: Vec<Box<dyn Detector>>,
    /// What each detector wants to see: nothing, once its situation is reached. Kept apart from
    /// the detectors, because it is looked through at every sight.
    watches: Vec<Watches>,
    /// What any of them wants to see.
    any: Watches,
    reached: Vec<usize>,
}

impl Lookout {
    /// Looks out for these situations.
    pub fn new(situations: &[Situation]) -> Self {
        let watches: Vec<_> = situations.iter().map(|one| one.watches).collect();
        Self(Rc::new(RefCell::new(State {
            detectors: situations.iter().map(Situation::detector).collect(),
            any: Watches::union(&watches),
            watches,
            reached: Vec::new(),
        })))
    }

    /// Watches a world from now on.
    pub fn watch(&self, world: &mut World) {
        let state = Rc::clone(&self.0);
        world.watch(move |sight| state.borrow_mut().sees(sight));
    }

    /// Takes a sight that no world has shown.
    pub fn sees(&self, sight: &Sight<'_>) {
        self.0.borrow_mut().sees(sight);
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
        if !self.any.overlaps(kind) {
            return;
        }
        let before = self.reached.len();
        for (place, watches) in self.watches.iter_mut().enumerate() {
            if watches.overlaps(kind) && self.detectors[place].sees(sight) {
                *watches = Watches::NOTHING;
                self.reached.push(place);
            }
        }
        if self.reached.len() > before {
            self.any = Watches::union(&self.watches);
        }
    }
}
