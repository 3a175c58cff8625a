//! The transition system once more, on plain values and for another checker: nothing is
//! shared with the search but the step of a single role.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdover_model::check::component::{Component, Input};
use holdover_model::check::system::{Leave, System};
use holdover_model::check::{Bounds, Budget, Budgets};
use holdover_model::design::Design;
use holdover_model::event::Event;
use holdover_model::invariant::Monitor;
use holdover_model::role::{Actor, Message, Signal};
use stateright::{Model, Property};

/// A design within a bound, as `stateright` wants it.
pub(crate) struct Plain(System);

impl Plain {
    pub(crate) fn new(design: &Design, bounds: &Bounds) -> Self {
        Self(System::new(design, bounds))
    }
}

/// Sender, receiver, message.
type Letter = (usize, usize, Message);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    components: Vec<Arc<Component>>,
    network: BTreeMap<Letter, usize>,
    monitor: Arc<Monitor>,
    left: Vec<u8>,
    tick: u8,
    backup: Option<Arc<Component>>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Choice {
    Deliver(Letter),
    Duplicate(Letter),
    Lose(Letter),
    Fire(usize, Signal, Option<Budget>),
    Crash(usize),
    Tick,
    BackUp,
    Restore,
}

impl State {
    fn spend(&mut self, budget: Budget) -> bool {
        let left = &mut self.left[budget as usize];
        let is_there = *left > 0;
        *left = left.saturating_sub(1);
        is_there
    }

    fn remove(&mut self, letter: &Letter) {
        let copies = self.network.get_mut(letter).expect("it is under way");
        *copies -= 1;
        if *copies == 0 {
            self.network.remove(letter);
        }
    }
}

impl Plain {
    fn authority(&self) -> usize {
        self.0.slot(&Actor::Authority).unwrap()
    }

    /// Takes a step of one role; false if nothing came of it or an invariant broke.
    fn take(&self, state: &mut State, slot: usize, input: &Input) -> Result<bool, ()> {
        let before = Arc::clone(&state.components[slot]);
        let step = self.0.step(slot, &before, state.tick, input);
        let is_change =
            step.component != *before || !step.sends.is_empty() || !step.events.is_empty();
        state.components[slot] = Arc::new(step.component);
        if !step.events.is_empty() {
            let mut monitor = state.monitor.as_ref().clone();
            let observe = |event: &Event| monitor.observe(event);
            step.events.iter().try_for_each(observe).map_err(|_| ())?;
            state.monitor = Arc::new(monitor);
        }
        for (to, message) in step.sends {
            let Some(to) = self.0.slot(&to) else { continue };
            *state.network.entry((slot, to, message)).or_default() += 1;
        }
        Ok(is_change)
    }

    fn deliver(&self, state: &mut State, (from, to, message): &Letter) -> bool {
        let from = self.0.speaker(*from, message);
        let input = Input::Message { from, message: message.clone() };
        self.take(state, *to, &input).is_ok()
    }
}

impl Model for Plain {
    type State = State;
    type Action = Choice;

    fn init_states(&self) -> Vec<State> {
        let budgets: Budgets = self.0.bounds().budgets;
        let mut state = State {
            components: (0..self.0.actors().len()).map(|n| Arc::new(self.0.fresh(n))).collect(),
            network: BTreeMap::new(),
            monitor: Arc::new(self.0.monitor()),
            left: Budget::ALL.iter().map(|budget| budgets[*budget]).collect(),
            tick: 0,
            backup: None,
        };
        for slot in 0..state.components.len() {
            self.take(&mut state, slot, &Input::Start).unwrap();
        }
        if budgets[Budget::Restores] > 0 {
            state.backup = Some(Arc::new(state.components[self.authority()].backup()));
        }
        vec![state]
    }

    fn actions(&self, state: &State, choices: &mut Vec<Choice>) {
        let has = |budget: Budget| state.left[budget as usize] > 0;
        for letter in state.network.keys() {
            choices.push(Choice::Deliver(letter.clone()));
            if has(Budget::Duplications) {
                choices.push(Choice::Duplicate(letter.clone()));
            }
            if has(Budget::Losses) {
                choices.push(Choice::Lose(letter.clone()));
            }
        }
        for (slot, component) in state.components.iter().enumerate() {
            for (signal, pace) in component.armed() {
                let budget = match System::leave(pace) {
                    Leave::Spends(budget) => Some(budget),
                    Leave::Free | Leave::Poll => None,
                };
                if budget.is_none_or(has) {
                    choices.push(Choice::Fire(slot, signal.clone(), budget));
                }
            }
            if has(self.0.crash_budget(slot)) {
                choices.push(Choice::Crash(slot));
            }
        }
        for (slot, signal, budget) in self.0.stimuli() {
            if has(*budget) {
                choices.push(Choice::Fire(*slot, signal.clone(), Some(*budget)));
            }
        }
        if has(Budget::Expiries) {
            choices.push(Choice::Tick);
        }
        if has(Budget::Restores) {
            choices.extend([Choice::BackUp, Choice::Restore]);
        }
    }

    fn next_state(&self, state: &State, choice: Choice) -> Option<State> {
        let mut next = state.clone();
        let is_step = match choice {
            Choice::Deliver(letter) => {
                next.remove(&letter);
                self.deliver(&mut next, &letter)
            }
            Choice::Duplicate(letter) => {
                next.spend(Budget::Duplications) && self.deliver(&mut next, &letter)
            }
            Choice::Lose(letter) => {
                next.remove(&letter);
                next.spend(Budget::Losses)
            }
            Choice::Fire(slot, signal, budget) => {
                budget.is_none_or(|budget| next.spend(budget))
                    && self.take(&mut next, slot, &Input::Signal(signal)) == Ok(true)
            }
            Choice::Crash(slot) => {
                next.spend(self.0.crash_budget(slot))
                    && self.take(&mut next, slot, &Input::Start) == Ok(true)
            }
            Choice::Tick => {
                next.tick += 1;
                next.spend(Budget::Expiries)
            }
            Choice::BackUp => {
                next.backup = Some(Arc::new(next.components[self.authority()].backup()));
                next.backup != state.backup
            }
            Choice::Restore => {
                let backup = next.backup.clone().expect("a backup is there from the start");
                next.spend(Budget::Restores)
                    && self.take(&mut next, self.authority(), &Input::Restore(backup)).is_ok()
            }
        };
        if next.left[Budget::Restores as usize] == 0 {
            next.backup = None;
        }
        is_step.then_some(next)
    }

    /// Always true: steps that break an invariant are left out, as the search is told to.
    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("goes on", |_, _| true)]
    }
}
