//! What one thread knows of the [`Space`]: every local step is computed once.

use std::sync::Arc;

use crate::check::action::Action;
use crate::check::bounds::Budget;
use crate::check::expand::Successors;
use crate::check::facts::Facts;
use crate::check::intern::QuickMap;
use crate::check::reduction::symmetry::Mirror;
use crate::check::space::{Letter, NONE, Purse, Space, link, receiver};
use crate::check::system::{Leave, System};
use crate::design::setting::SettingSet;
use crate::invariant::Violation;
use crate::role::Message;

/// The number of an input: what reaches a role, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InputNumber {
    Start,
    Restore(u32),
    Letter(u32),
    Signal(u32),
}

impl InputNumber {
    /// Component and input together, as one key. Where there are more than 2^30 components,
    /// memory has long run out.
    fn key(self, component: u32) -> u64 {
        let (kind, number) = match self {
            Self::Start => (0, 0),
            Self::Restore(backup) => (1, backup),
            Self::Letter(letter) => (2, letter),
            Self::Signal(signal) => (3, signal),
        };
        u64::from(component) << 34 | kind << 32 | u64::from(number)
    }

    /// The component and the input of a key.
    fn of_key(key: u64) -> (u32, Self) {
        let number = u32::try_from(key & u64::from(u32::MAX)).expect("32 bits");
        let input = match key >> 32 & 3 {
            0 => Self::Start,
            1 => Self::Restore(number),
            2 => Self::Letter(number),
            _ => Self::Signal(number),
        };
        (u32::try_from(key >> 34).expect("30 bits"), input)
    }
}

/// What a local step makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) component: u32,
    pub(crate) events: u32,
    pub(crate) sends: (u32, u32),
    /// The settings that had a say in it.
    pub(crate) asked: SettingSet,
    /// Who took it.
    slot: u8,
}

/// A local step: who takes it, in which state, at what time, and what makes him.
pub(crate) type LocalStep = (usize, u32, u8, InputNumber);

/// What one thread remembers of the [`Space`].
pub(crate) struct Lens<'a> {
    pub(crate) space: &'a Space,
    /// The settings that had a say in any step so far.
    pub(crate) asked: SettingSet,
    /// By the tick of the clock.
    steps: Vec<QuickMap<u64, Outcome>>,
    pub(crate) sends: Vec<u32>,
    observed: QuickMap<u64, u32>,
    /// The signals that wait in each component.
    armed: Vec<Option<Armed>>,
    backups: QuickMap<u32, u32>,
    purses: Vec<Option<Purse>>,
    pub(crate) settled: Vec<u32>,
    pub(crate) facts: Vec<Option<Facts>>,
    /// Answers about a component and an intent, or a component and a message.
    pub(crate) answers: QuickMap<u64, u32>,
    pub(crate) mirrors: Vec<Mirror>,
    is_verifying: bool,
    pub(crate) keeps_names: bool,
    pub(crate) steps_ahead: Successors,
    pub(crate) ahead: Successors,
}

/// What is remembered under an index, or else computed and remembered.
pub(crate) fn remembered(memory: &mut Vec<u32>, index: u32, compute: impl FnOnce() -> u32) -> u32 {
    let index = index as usize;
    if index >= memory.len() {
        memory.resize((index + 1).next_power_of_two(), NONE);
    }
    if memory[index] == NONE {
        memory[index] = compute();
    }
    memory[index]
}

/// Signals with what it takes to fire them.
type Armed = Arc<[(u32, Leave)]>;

impl<'a> Lens<'a> {
    pub(crate) fn new(space: &'a Space) -> Self {
        Self {
            space,
            asked: space.system.asked(),
            steps: Vec::new(),
            sends: Vec::new(),
            observed: QuickMap::default(),
            armed: Vec::new(),
            backups: QuickMap::default(),
            purses: Vec::new(),
            settled: Vec::new(),
            facts: Vec::new(),
            answers: QuickMap::default(),
            mirrors: space.symmetry.permutations().iter().map(|_| Mirror::default()).collect(),
            is_verifying: false,
            keeps_names: false,
            steps_ahead: Successors::default(),
            ahead: Successors::default(),
        }
    }

    /// Whether states stay as they are instead of being replaced by their representatives.
    pub(crate) fn keeps_names(&mut self, keeps_names: bool) {
        self.keeps_names = keeps_names;
    }

    /// The events of an action that is possible in a state.
    pub(crate) fn outcome_of(&mut self, state: &[u32], action: Action) -> Option<Outcome> {
        let space = self.space;
        let tick = space.purse_of(state).tick;
        let (slot, input) = match action {
            Action::Deliver(letter) | Action::Duplicate(letter) => {
                (receiver(letter), InputNumber::Letter(letter))
            }
            Action::Signal(slot, signal) => (usize::from(slot), InputNumber::Signal(signal)),
            Action::Crash(slot) => (usize::from(slot), InputNumber::Start),
            Action::Restore => (space.authority, InputNumber::Restore(state[space.slots() + 2])),
            Action::Lose(_) | Action::Tick | Action::BackUp => return None,
        };
        Some(self.step(slot, state[slot], tick, input))
    }

    /// Roughly what this thread remembers, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.steps.iter().map(QuickMap::capacity).sum::<usize>() * 40
            + self.observed.capacity() * 16
            + self.armed.len() * 80
    }

    /// The state in which every role has just started.
    pub(crate) fn initial(&mut self) -> Result<Vec<u32>, Box<Violation>> {
        let space = self.space;
        let mut monitor = space.system.monitor();
        let mut state = Vec::new();
        let mut letters = Vec::new();
        for slot in 0..space.slots() {
            let fresh = space.components.number(space.system.fresh(slot));
            let outcome = self.step(slot, fresh, 0, InputNumber::Start);
            for event in space.events(outcome.events).iter() {
                monitor.observe(event)?;
            }
            state.push(outcome.component);
            letters.extend_from_slice(self.sends(outcome));
        }
        let purse = Purse { left: space.system.bounds().budgets, tick: 0, is_calm: false };
        let backup = match purse.left[Budget::Restores] {
            0 => NONE,
            _ => self.backup(state[space.authority]),
        };
        state.extend([space.monitors.number(monitor), space.purses.number(purse), backup]);
        letters.sort_by_key(|letter| self.rank(*letter));
        state.extend(letters);
        Ok(state)
    }

    /// Every local step so far that asked for one of these settings.
    pub(crate) fn steps_that_asked(&self, settings: SettingSet) -> impl Iterator<Item = LocalStep> {
        let by_tick = self.steps.iter().enumerate();
        let steps = by_tick.flat_map(|(tick, steps)| steps.iter().map(move |step| (tick, step)));
        steps.filter(move |(_, (_, outcome))| outcome.asked.meets(settings)).map(
            |(tick, (key, outcome))| {
                let (component, input) = InputNumber::of_key(*key);
                let tick = u8::try_from(tick).expect("time is short");
                (usize::from(outcome.slot), component, tick, input)
            },
        )
    }

    /// The messages that a step sends.
    pub(crate) fn sends(&self, outcome: Outcome) -> &[u32] {
        &self.sends[outcome.sends.0 as usize..outcome.sends.1 as usize]
    }

    /// Sorts messages. Where links keep their order, only those of different links.
    pub(crate) fn rank(&self, letter: u32) -> u32 {
        if self.space.assumptions.ordered_links { link(letter) } else { letter }
    }

    pub(crate) fn purse(&mut self, number: u32) -> Purse {
        let index = number as usize;
        if index >= self.purses.len() {
            self.purses.resize(index + 1, None);
        }
        *self.purses[index].get_or_insert_with(|| *self.space.purses.value(number))
    }

    pub(crate) fn backup(&mut self, component: u32) -> u32 {
        let components = &self.space.components;
        *self
            .backups
            .entry(component)
            .or_insert_with(|| components.number(components.value(component).backup()))
    }

    pub(crate) fn armed(&mut self, component: u32) -> Armed {
        let index = component as usize;
        if index >= self.armed.len() {
            self.armed.resize(index + 1, None);
        }
        let space = self.space;
        Arc::clone(self.armed[index].get_or_insert_with(|| {
            space
                .components
                .value(component)
                .armed()
                .map(|(signal, pace)| (space.signals.number(signal.clone()), System::leave(pace)))
                .collect()
        }))
    }

    /// One step of one role.
    pub(crate) fn step(
        &mut self,
        slot: usize,
        component: u32,
        tick: u8,
        input: InputNumber,
    ) -> Outcome {
        let (key, time) = (input.key(component), usize::from(tick));
        if time >= self.steps.len() {
            self.steps.resize_with(time + 1, QuickMap::default);
        }
        if let Some(outcome) = self.steps[time].get(&key) {
            return *outcome;
        }
        let outcome = self.compute(slot, component, tick, input);
        self.steps[time].insert(key, outcome);
        if !self.is_verifying && !self.space.symmetry.is_trivial() {
            self.is_verifying = true;
            self.verify(slot, component, tick, input, outcome);
            self.is_verifying = false;
        }
        outcome
    }

    fn compute(&mut self, slot: usize, number: u32, tick: u8, input: InputNumber) -> Outcome {
        let space = self.space;
        let input = space.input(input);
        let component = space.components.value(number);
        let step = space.system.step(slot, &component, tick, &input);
        self.asked = self.asked.or(step.asked);
        let start = self.sends.len();
        for (to, message) in step.sends {
            if let Message::Perform { intent, .. } = &message {
                space.symmetry.learn(intent);
            }
            let Some(to) = space.system.slot(&to) else { continue };
            let as_slot = |slot| u8::try_from(slot).expect("a slot is below 16");
            let letter = Letter { from: as_slot(slot), to: as_slot(to), message };
            self.sends.push(space.letter_number(letter));
        }
        let index = |n| u32::try_from(n).expect("fewer than 2^32 messages");
        Outcome {
            component: space.components.number(step.component),
            events: space.events_number(step.events),
            sends: (index(start), index(self.sends.len())),
            asked: step.asked,
            slot: u8::try_from(slot).expect("a slot is below 16"),
        }
    }

    /// The invariants after these events; [`NONE`] if one of them is broken.
    pub(crate) fn observe(&mut self, monitor: u32, events: u32) -> u32 {
        if events == NONE {
            return monitor;
        }
        let space = self.space;
        let key = u64::from(monitor) << 32 | u64::from(events);
        *self.observed.entry(key).or_insert_with(|| {
            let mut monitor = space.monitors.value(monitor).as_ref().clone();
            match space.events(events).iter().try_for_each(|event| monitor.observe(event)) {
                Ok(()) => space.monitors.number(monitor),
                Err(_) => NONE,
            }
        })
    }
}
