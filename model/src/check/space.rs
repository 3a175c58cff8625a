//! The transition system on numbers: every value that occurs is computed once.
//!
//! Global states are many, local situations are few: the same worker in the same state
//! receives the same message in millions of global states. So every role state, message
//! and event list gets a number ([`Interner`]), every local step is remembered, and the
//! search only copies numbers. A packed state is a slice of words:
//!
//! ```text
//! one component per slot | invariants | purse | backup | messages under way, sorted
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::check::action::Action;
use crate::check::bounds::{Budget, Budgets};
use crate::check::component::{Component, Input, Machine};
use crate::check::intern::{Interner, QuickMap, mix};
use crate::check::reduction::dead_message::{self, Kind, Rules};
use crate::check::reduction::partial_order::Commuting;
use crate::check::reduction::symmetry::Symmetry;
use crate::check::settle;
use crate::check::system::{Leave, System};
use crate::check::{Assumptions, Reductions};
use crate::event::Event;
use crate::identity::AttemptId;
use crate::intent::IntentHash;
use crate::invariant::{Monitor, Violation};
use crate::role::agent::Agent;
use crate::role::relevance::LeaseNeed;
use crate::role::worker::Worker;
use crate::role::{Actor, Message, Signal};

/// A message under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Letter {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) message: Message,
}

/// What is left to spend, and what time it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Purse {
    pub(crate) left: Budgets,
    pub(crate) tick: u8,
    /// Faults have stopped and every timer fires in the end: see `settle`.
    pub(crate) is_calm: bool,
}

/// No event, no backup, no component: whatever a number can stand for, not this.
pub(crate) const NONE: u32 = u32::MAX;

/// A letter's number ends with its link: sender and receiver.
const LINK_BITS: u32 = 8;

pub(crate) fn receiver(letter: u32) -> usize {
    (letter & 0xf) as usize
}

pub(crate) fn sender(letter: u32) -> usize {
    (letter >> 4 & 0xf) as usize
}

pub(crate) fn link(letter: u32) -> u32 {
    letter & ((1 << LINK_BITS) - 1)
}

/// Everything that has a number. Shared between threads.
pub(crate) struct Space {
    pub(crate) system: System,
    pub(crate) reductions: Reductions,
    pub(crate) assumptions: Assumptions,
    pub(crate) components: Interner<Component>,
    pub(crate) monitors: Interner<Monitor>,
    pub(crate) symmetry: Symmetry,
    pub(crate) rules: Rules,
    pub(crate) commuting: Commuting,
    pub(crate) supervisor: usize,
    pub(crate) authority: usize,
    pub(crate) ledger: usize,
    letters: Interner<Letter>,
    intents: Interner<IntentHash>,
    events: Interner<Vec<Event>>,
    signals: Interner<Signal>,
    purses: Interner<Purse>,
    stimuli: Vec<(usize, u32, Budget)>,
    /// A step was found that depends on the names of operations.
    is_asymmetric: AtomicBool,
}

impl Space {
    pub(crate) fn new(system: System, reductions: Reductions, assumptions: Assumptions) -> Self {
        let is_argued = dead_message::is_argued_for(system.design());
        let reductions = Reductions {
            dead_messages: reductions.dead_messages && is_argued,
            partial_order: reductions.partial_order && is_argued,
            ..reductions
        };
        let signals = Interner::new();
        let stimuli = system
            .stimuli()
            .iter()
            .map(|(slot, signal, budget)| (*slot, signals.number(signal.clone()), *budget))
            .collect();
        let symmetry = if reductions.symmetry { Symmetry::of(&system) } else { Symmetry::none() };
        let slot = |actor| system.slot(&actor).expect("every service takes part");
        Self {
            rules: Rules::of(system.design(), system.bounds()),
            commuting: Commuting::within(system.bounds()),
            supervisor: slot(Actor::Supervisor),
            authority: slot(Actor::Authority),
            ledger: slot(Actor::Ledger),
            intents: Interner::new(),
            system,
            reductions,
            assumptions,
            components: Interner::new(),
            monitors: Interner::new(),
            symmetry,
            letters: Interner::new(),
            events: Interner::new(),
            signals,
            purses: Interner::new(),
            stimuli,
            is_asymmetric: AtomicBool::new(false),
        }
    }

    pub(crate) fn slots(&self) -> usize {
        self.system.actors().len()
    }

    /// How many agents there are; they have the first slots.
    pub(crate) fn agents(&self) -> usize {
        usize::from(self.system.bounds().operations)
    }

    pub(crate) fn is_agent(&self, slot: usize) -> bool {
        slot < self.agents()
    }

    /// How many words precede the messages.
    pub(crate) fn head(&self) -> usize {
        self.slots() + 3
    }

    pub(crate) fn monitor_of(&self, state: &[u32]) -> Arc<Monitor> {
        self.monitors.value(state[self.slots()])
    }

    fn purse_of(&self, state: &[u32]) -> Purse {
        *self.purses.value(state[self.slots() + 1])
    }

    fn set_purse(&self, state: &mut [u32], purse: Purse) {
        state[self.slots() + 1] = self.purses.number(purse);
    }

    pub(crate) fn letter(&self, number: u32) -> Arc<Letter> {
        self.letters.value(number >> LINK_BITS)
    }

    pub(crate) fn letter_number(&self, letter: Letter) -> u32 {
        let link = u32::from(letter.from) << 4 | u32::from(letter.to);
        let number = self.letters.number(letter);
        assert!(number < 1 << (32 - LINK_BITS), "too many different messages");
        number << LINK_BITS | link
    }

    pub(crate) fn signal(&self, number: u32) -> Arc<Signal> {
        self.signals.value(number)
    }

    pub(crate) fn events(&self, number: u32) -> Arc<Vec<Event>> {
        if number == NONE { Arc::default() } else { self.events.value(number) }
    }

    pub(crate) fn events_number(&self, events: Vec<Event>) -> u32 {
        if events.is_empty() { NONE } else { self.events.number(events) }
    }

    pub(crate) fn is_asymmetric(&self) -> bool {
        self.is_asymmetric.load(Ordering::Relaxed)
    }

    pub(crate) fn found_asymmetry(&self) {
        self.is_asymmetric.store(true, Ordering::Relaxed);
    }

    /// Roughly what the values with their numbers take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        const PER_VALUE: usize = 1_500;
        (self.components.len() + self.monitors.len() + self.letters.len() + self.events.len())
            * PER_VALUE
    }
}

/// 64 bits that stand for a packed state. Never 0.
pub(crate) fn fingerprint(state: &[u32]) -> u64 {
    let mut hash = state.len() as u64;
    for pair in state.chunks(2) {
        let word = u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(NONE)) << 32;
        hash = mix(hash.rotate_left(23) ^ word, 0x2545_f491_4f6c_dd1d);
    }
    mix(hash, 0x9e6c_63d0_876a_3f6b).max(1)
}

/// The number of an input: what reaches a role, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InputNumber {
    Start,
    Restore(u32),
    Letter(u32),
    Signal(u32),
}

impl InputNumber {
    /// Component and input together, as one key.
    fn key(self, component: u32) -> u128 {
        let (kind, number) = match self {
            Self::Start => (0, 0),
            Self::Restore(backup) => (1, backup),
            Self::Letter(letter) => (2, letter),
            Self::Signal(signal) => (3, signal),
        };
        u128::from(component) << 64 | kind << 32 | u128::from(number)
    }
}

/// What a local step makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) component: u32,
    pub(crate) events: u32,
    sends: (u32, u32),
}

/// What one thread remembers of the [`Space`].
pub(crate) struct Lens<'a> {
    pub(crate) space: &'a Space,
    steps: QuickMap<(u128, u8), Outcome>,
    sends: Vec<u32>,
    observed: QuickMap<(u32, u32), u32>,
    /// The signals that wait in each component.
    armed: Vec<Option<Armed>>,
    backups: QuickMap<u32, u32>,
    purses: Vec<Option<Purse>>,
    settled: Vec<u32>,
    facts: Vec<Option<Facts>>,
    /// Answers about a component and an intent, or a component and a message.
    answers: QuickMap<(Asked, u32, u32), u32>,
    mirrors: Vec<Mirror>,
    is_verifying: bool,
    keeps_names: bool,
    steps_ahead: Successors,
    ahead: Successors,
}

/// What a message is, as far as reductions care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    /// The number of the intent that it is about.
    pub(crate) key: u32,
    /// For a message to the destination: the try whose fate is the answer.
    pub(crate) answer: Option<AttemptId>,
    /// For a message between supervisor and authority: the question that began it is
    /// answered already.
    pub(crate) is_last: bool,
}

/// What reductions ask about a component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Asked {
    HasJob,
    HasAnswer,
    HasAsked,
    IsIdle,
    IsUnoccupied,
    LeaseNeed,
    Jobs,
    AwaitsState,
    AwaitsLease,
    IsInstallingFor,
    IsDoneWith,
    AttemptUnderWay,
    FirstOpenAttempt,
}

/// The counterparts of values under one exchange of operations, as far as they are known.
#[derive(Default)]
struct Mirror {
    components: Vec<u32>,
    monitors: Vec<u32>,
    letters: Vec<u32>,
}

/// What is remembered under an index, or else computed and remembered.
fn remembered(memory: &mut Vec<u32>, index: u32, compute: impl FnOnce() -> u32) -> u32 {
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

/// The states that can follow one state.
#[derive(Default)]
pub(crate) struct Successors {
    words: Vec<u32>,
    found: Vec<(Action, usize, usize)>,
}

impl Successors {
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.found.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    pub(crate) fn keep_first(&mut self) {
        self.found.truncate(1);
    }

    /// Each action with the state it leads to, or with none if it breaks an invariant.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Action, Option<&[u32]>)> {
        self.found
            .iter()
            .map(|(action, start, end)| (*action, (start < end).then(|| &self.words[*start..*end])))
    }
}

impl<'a> Lens<'a> {
    pub(crate) fn new(space: &'a Space) -> Self {
        Self {
            space,
            steps: QuickMap::default(),
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

    /// What the search has remembered of a state.
    pub(crate) fn representative_fingerprint(&mut self, state: &[u32]) -> u64 {
        let mut representative = state.to_vec();
        self.choose_representative(&mut representative);
        fingerprint(&representative)
    }

    pub(crate) fn facts(&mut self, letter: u32) -> Facts {
        let index = (letter >> LINK_BITS) as usize;
        if index >= self.facts.len() {
            self.facts.resize(index + 1, None);
        }
        let space = self.space;
        *self.facts[index].get_or_insert_with(|| {
            let letter = space.letter(letter);
            let (kind, key) = dead_message::classify(&letter.message);
            let key = key.map_or(NONE, |key| space.intents.number(key));
            let is_last =
                matches!(letter.message, Message::Holding { .. } | Message::TakeOver { .. });
            Facts { kind, key, answer: dead_message::answer(&letter.message), is_last }
        })
    }

    fn ask(
        &mut self,
        asked: Asked,
        component: u32,
        about: u32,
        answer: impl FnOnce(&Space, &Machine) -> u32,
    ) -> u32 {
        let space = self.space;
        *self
            .answers
            .entry((asked, component, about))
            .or_insert_with(|| answer(space, space.components.value(component).machine()))
    }

    pub(crate) fn has_job(&mut self, component: u32, key: u32) -> bool {
        self.ask(Asked::HasJob, component, key, |space, machine| {
            let key = *space.intents.value(key);
            machine.worker().is_some_and(|worker| worker.has_job(key)).into()
        }) == 1
    }

    pub(crate) fn is_idle(&mut self, component: u32) -> bool {
        self.ask(Asked::IsIdle, component, 0, |_, machine| {
            machine.worker().is_some_and(Worker::is_idle).into()
        }) == 1
    }

    pub(crate) fn is_unoccupied(&mut self, component: u32) -> bool {
        self.ask(Asked::IsUnoccupied, component, 0, |_, machine| {
            machine.worker().is_some_and(Worker::is_unoccupied).into()
        }) == 1
    }

    pub(crate) fn lease_need(&mut self, component: u32, letter: u32) -> LeaseNeed {
        const ALL: [LeaseNeed; 4] =
            [LeaseNeed::None, LeaseNeed::Presence, LeaseNeed::Exact, LeaseNeed::Unknown];
        let need = self.ask(Asked::LeaseNeed, component, letter, |space, machine| {
            let letter = space.letter(letter);
            machine.worker().map_or(LeaseNeed::Unknown, |w| w.lease_need(&letter.message)) as u32
        });
        ALL[need as usize]
    }

    pub(crate) fn jobs(&mut self, component: u32) -> u32 {
        self.ask(Asked::Jobs, component, 0, |_, machine| {
            let jobs = machine.worker().map_or(0, Worker::jobs);
            u32::try_from(jobs).expect("a worker has few jobs")
        })
    }

    /// Whether a worker's job waits for a state or, else, for a lease.
    pub(crate) fn awaits_kind(&mut self, component: u32, kind: Kind) -> bool {
        let asked = if kind == Kind::State { Asked::AwaitsState } else { Asked::AwaitsLease };
        self.ask(asked, component, 0, |_, machine| {
            let worker = machine.worker();
            worker
                .is_some_and(|worker| match kind {
                    Kind::State => worker.awaits_state(),
                    _ => worker.awaits_lease(),
                })
                .into()
        }) == 1
    }

    pub(crate) fn is_installing_for(&mut self, component: u32, slot: usize) -> bool {
        let about = u32::try_from(slot).expect("a slot is below 16");
        self.ask(Asked::IsInstallingFor, component, about, |space, machine| {
            let worker = space.system.actors()[slot].name();
            machine.authority().is_some_and(|a| a.is_installing_for(worker)).into()
        }) == 1
    }

    pub(crate) fn has_answer(&mut self, component: u32, key: u32) -> bool {
        self.ask(Asked::HasAnswer, component, key, |space, machine| {
            let key = *space.intents.value(key);
            machine.agent().is_some_and(|agent| agent.has_answer(key)).into()
        }) == 1
    }

    pub(crate) fn has_asked(&mut self, component: u32) -> bool {
        self.ask(Asked::HasAsked, component, 0, |_, machine| {
            machine.agent().is_some_and(Agent::has_asked).into()
        }) == 1
    }

    pub(crate) fn is_done_with(&mut self, component: u32, letter: u32) -> bool {
        self.ask(Asked::IsDoneWith, component, letter, |space, machine| {
            dead_message::is_done_with(machine, &space.letter(letter).message).into()
        }) == 1
    }

    pub(crate) fn attempt_under_way(&mut self, component: u32, key: u32) -> Option<AttemptId> {
        let attempt = self.ask(Asked::AttemptUnderWay, component, key, |space, machine| {
            let key = *space.intents.value(key);
            let attempt = machine.worker().and_then(|worker| worker.attempt_under_way(key));
            attempt.map_or(NONE, |attempt| attempt.0)
        });
        (attempt != NONE).then_some(AttemptId(attempt))
    }

    pub(crate) fn first_open_attempt(&mut self, component: u32, key: u32) -> Option<AttemptId> {
        let attempt = self.ask(Asked::FirstOpenAttempt, component, key, |space, machine| {
            let key = *space.intents.value(key);
            let attempts_max = space.system.bounds().attempts_max;
            let attempt = machine.ledger().and_then(|l| l.first_open_attempt(key, attempts_max));
            attempt.map_or(NONE, |attempt| attempt.0)
        });
        (attempt != NONE).then_some(AttemptId(attempt))
    }

    /// The events of an action that is possible in a state.
    pub(crate) fn events_of(&mut self, state: &[u32], action: Action) -> u32 {
        let space = self.space;
        let tick = space.purse_of(state).tick;
        let (slot, input) = match action {
            Action::Deliver(letter) | Action::Duplicate(letter) => {
                (receiver(letter), InputNumber::Letter(letter))
            }
            Action::Signal(slot, signal) => (usize::from(slot), InputNumber::Signal(signal)),
            Action::Crash(slot) => (usize::from(slot), InputNumber::Start),
            Action::Restore => (space.authority, InputNumber::Restore(state[space.slots() + 2])),
            Action::Lose(_) | Action::Tick | Action::BackUp => return NONE,
        };
        self.step(slot, state[slot], tick, input).events
    }

    /// Roughly what this thread remembers, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.steps.capacity() * 64 + self.observed.capacity() * 16 + self.armed.len() * 80
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

    /// The messages that a step sends.
    pub(crate) fn sends(&self, outcome: Outcome) -> &[u32] {
        &self.sends[outcome.sends.0 as usize..outcome.sends.1 as usize]
    }

    /// Sorts messages. Where links keep their order, only those of different links.
    fn rank(&self, letter: u32) -> u32 {
        if self.space.assumptions.ordered_links { link(letter) } else { letter }
    }

    fn purse(&mut self, number: u32) -> Purse {
        let index = number as usize;
        if index >= self.purses.len() {
            self.purses.resize(index + 1, None);
        }
        *self.purses[index].get_or_insert_with(|| *self.space.purses.value(number))
    }

    fn backup(&mut self, component: u32) -> u32 {
        let components = &self.space.components;
        *self
            .backups
            .entry(component)
            .or_insert_with(|| components.number(components.value(component).backup()))
    }

    fn armed(&mut self, component: u32) -> Armed {
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
        let key = (input.key(component), tick);
        if let Some(outcome) = self.steps.get(&key) {
            return *outcome;
        }
        let outcome = self.compute(slot, component, tick, input);
        self.steps.insert(key, outcome);
        if !self.is_verifying && !self.space.symmetry.is_trivial() {
            self.is_verifying = true;
            self.verify(slot, component, tick, input, outcome);
            self.is_verifying = false;
        }
        outcome
    }

    fn compute(&mut self, slot: usize, number: u32, tick: u8, input: InputNumber) -> Outcome {
        let space = self.space;
        let input = match input {
            InputNumber::Start => Input::Start,
            InputNumber::Restore(backup) => Input::Restore(space.components.value(backup)),
            InputNumber::Signal(signal) => Input::Signal(space.signal(signal).as_ref().clone()),
            InputNumber::Letter(letter) => {
                let letter = space.letter(letter);
                let from = space.system.actors()[usize::from(letter.from)].clone();
                Input::Message { from, message: letter.message.clone() }
            }
        };
        let component = space.components.value(number);
        let step = space.system.step(slot, &component, tick, &input);
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
        }
    }

    /// Takes the mirrored step too: if it is not the mirror of the step, the operations are
    /// not symmetric after all.
    fn verify(
        &mut self,
        slot: usize,
        component: u32,
        tick: u8,
        input: InputNumber,
        outcome: Outcome,
    ) {
        let space = self.space;
        for index in 0..self.mirrors.len() {
            let permutation = &space.symmetry.permutations()[index];
            let mirrored = match input {
                InputNumber::Start => InputNumber::Start,
                InputNumber::Restore(n) => InputNumber::Restore(self.mirror_component(index, n)),
                InputNumber::Letter(n) => InputNumber::Letter(self.mirror_letter(index, n)),
                InputNumber::Signal(n) => {
                    let signal = space.symmetry.exchange(permutation, &*space.signal(n));
                    InputNumber::Signal(space.signals.number(signal))
                }
            };
            let component = self.mirror_component(index, component);
            let image = self.step(permutation.slot(slot), component, tick, mirrored);
            let mut sends = self.sends(image).to_vec();
            let mut expected = self.sends(outcome).to_vec();
            for letter in &mut expected {
                *letter = self.mirror_letter(index, *letter);
            }
            let mut events = space.events(image.events).to_vec();
            let mut expected_events =
                space.symmetry.exchange(permutation, &*space.events(outcome.events));
            // One step may concern several operations, in the order of their names.
            expected.sort_unstable();
            sends.sort_unstable();
            events.sort_unstable();
            expected_events.sort_unstable();
            let is_mirror = image.component == self.mirror_component(index, outcome.component)
                && sends == expected
                && events == expected_events;
            if !is_mirror {
                space.found_asymmetry();
            }
        }
    }

    /// The counterpart of a component under one exchange of operations.
    fn mirror_component(&mut self, index: usize, number: u32) -> u32 {
        let (space, permutation) = (self.space, &self.space.symmetry.permutations()[index]);
        remembered(&mut self.mirrors[index].components, number, || {
            let component = space.components.value(number);
            space.components.number(space.symmetry.exchange(permutation, &*component))
        })
    }

    fn mirror_monitor(&mut self, index: usize, number: u32) -> u32 {
        let (space, permutation) = (self.space, &self.space.symmetry.permutations()[index]);
        remembered(&mut self.mirrors[index].monitors, number, || {
            let monitor = space.monitors.value(number);
            space.monitors.number(space.symmetry.exchange(permutation, &*monitor))
        })
    }

    fn mirror_letter(&mut self, index: usize, number: u32) -> u32 {
        let (space, permutation) = (self.space, &self.space.symmetry.permutations()[index]);
        remembered(&mut self.mirrors[index].letters, number >> LINK_BITS, || {
            let letter = space.letter(number);
            let slot = |slot: u8| {
                let slot = permutation.slot(slot.into());
                u8::try_from(slot).expect("a slot is below 16")
            };
            space.letter_number(Letter {
                from: slot(letter.from),
                to: slot(letter.to),
                message: space.symmetry.exchange(permutation, &letter.message),
            })
        })
    }

    /// Replaces a state by the least of its counterparts.
    fn choose_representative(&mut self, words: &mut [u32]) {
        let (slots, head) = (self.space.slots(), self.space.head());
        let mut least: Option<Vec<u32>> = None;
        for index in 0..self.mirrors.len() {
            let mut image = words.to_vec();
            for slot in 0..slots {
                let place = self.space.symmetry.permutations()[index].slot(slot);
                image[place] = self.mirror_component(index, words[slot]);
            }
            image[slots] = self.mirror_monitor(index, words[slots]);
            if words[slots + 2] != NONE {
                image[slots + 2] = self.mirror_component(index, words[slots + 2]);
            }
            for letter in &mut image[head..] {
                *letter = self.mirror_letter(index, *letter);
            }
            image[head..].sort_by_key(|letter| self.rank(*letter));
            if image[..] < words[..] && least.as_ref().is_none_or(|least| image < *least) {
                least = Some(image);
            }
        }
        if let Some(least) = least {
            words.copy_from_slice(&least);
        }
    }

    /// The invariants after these events; [`NONE`] if one of them is broken.
    pub(crate) fn observe(&mut self, monitor: u32, events: u32) -> u32 {
        if events == NONE {
            return monitor;
        }
        let space = self.space;
        *self.observed.entry((monitor, events)).or_insert_with(|| {
            let mut monitor = space.monitors.value(monitor).as_ref().clone();
            match space.events(events).iter().try_for_each(|event| monitor.observe(event)) {
                Ok(()) => space.monitors.number(monitor),
                Err(_) => NONE,
            }
        })
    }

    /// Adds everything that the search has to look at after a state.
    pub(crate) fn expand(&mut self, state: &[u32], out: &mut Successors) {
        if !self.space.reductions.partial_order {
            return self.expand_fully(state, out);
        }
        let mut steps = std::mem::take(&mut self.steps_ahead);
        let mut ahead = std::mem::take(&mut self.ahead);
        let keeps_names = std::mem::replace(&mut self.keeps_names, true);
        out.clear();
        self.expand_chosen(state, &mut steps);
        for (action, successor) in steps.iter() {
            let start = out.words.len();
            let mut breaks = successor.is_none();
            out.words.extend_from_slice(successor.unwrap_or_default());
            while !breaks && self.step_at_once(&out.words[start..], &mut ahead) {
                let (_, next) = ahead.iter().next().expect("there is one step");
                breaks = next.is_none();
                out.words.truncate(start);
                out.words.extend_from_slice(next.unwrap_or_default());
            }
            if breaks {
                out.words.truncate(start);
            } else if !keeps_names && !self.mirrors.is_empty() {
                self.choose_representative(&mut out.words[start..]);
            }
            out.found.push((action, start, out.words.len()));
        }
        self.keeps_names = keeps_names;
        self.steps_ahead = steps;
        self.ahead = ahead;
    }

    /// The only step that is taken from a state, if there is one that can be taken at once.
    pub(crate) fn step_at_once(&mut self, state: &[u32], out: &mut Successors) -> bool {
        out.clear();
        let purse = self.purse(state[self.space.slots() + 1]);
        self.expand_at_once(state, purse, out);
        out.len() == 1
    }

    /// Adds the steps that can be taken at once, or else every step.
    pub(crate) fn expand_chosen(&mut self, state: &[u32], out: &mut Successors) {
        out.clear();
        if self.space.reductions.partial_order {
            let purse = self.purse(state[self.space.slots() + 1]);
            self.expand_at_once(state, purse, out);
        }
        if out.len() == 0 {
            self.expand_fully(state, out);
        }
    }

    /// Adds everything that can follow a state.
    fn expand_fully(&mut self, state: &[u32], out: &mut Successors) {
        out.clear();
        let space = self.space;
        let purse = self.purse(state[space.slots() + 1]);
        self.deliveries(state, purse, out);
        for slot in 0..space.slots() {
            self.signals(state, purse, slot, &|_| true, out);
            self.crash(state, purse, slot, out);
        }
        self.stimuli(state, purse, &|_| true, out);
        if let Some(left) = purse.left.spend(Budget::Expiries) {
            self.tick(state, Purse { left, tick: purse.tick + 1, ..purse }, out);
        }
        if let Some(left) = purse.left.spend(Budget::Restores) {
            self.restore(state, purse, left, out);
        }
    }

    /// Adds everything that can follow a state once faults have stopped, what promises most
    /// to settle it first: deliveries, timers, at last the passing of time.
    pub(crate) fn expand_calm(&mut self, state: &[u32], out: &mut Successors) {
        out.clear();
        let purse = self.purse(state[self.space.slots() + 1]);
        self.deliveries(state, purse, out);
        for slot in (0..self.space.slots()).rev() {
            self.signals(state, purse, slot, &|_| true, out);
        }
        if let Some(tick) = purse.tick.checked_add(1) {
            self.tick(state, Purse { tick, ..purse }, out);
        }
    }

    /// Replaces a state by the one in which faults have stopped.
    pub(crate) fn calm_down(&mut self, state: &mut Vec<u32>) {
        let purse = self.purse(state[self.space.slots() + 1]);
        self.space.set_purse(state, settle::calm(purse));
        state[self.space.slots() + 2] = NONE;
        let head = self.space.head();
        let mut place = head;
        while place < state.len() {
            if self.facts(state[place]).kind == Kind::Supervision {
                state.remove(place);
            } else {
                place += 1;
            }
        }
        if !self.mirrors.is_empty() {
            self.choose_representative(state);
        }
    }

    /// Whether every request is answered and every operation settled.
    pub(crate) fn is_settled(&mut self, state: &[u32]) -> bool {
        let (space, monitor) = (self.space, state[self.space.slots()]);
        let is_settled = || u32::from(space.monitors.value(monitor).is_settled());
        remembered(&mut self.settled, monitor, is_settled) == 1
    }

    /// Deliveries, losses and duplications of what is under way.
    fn deliveries(&mut self, state: &[u32], purse: Purse, out: &mut Successors) {
        let head = self.space.head();
        for index in head..state.len() {
            let is_again = index > head
                && match self.space.assumptions.ordered_links {
                    true => link(state[index - 1]) == link(state[index]),
                    false => state[index - 1] == state[index],
                };
            if !is_again {
                self.delivery(state, purse, index, out);
            }
        }
    }

    /// Delivery, loss and duplication of one message.
    pub(crate) fn delivery(
        &mut self,
        state: &[u32],
        purse: Purse,
        index: usize,
        out: &mut Successors,
    ) {
        let letter = state[index];
        let slot = receiver(letter);
        let outcome = self.step(slot, state[slot], purse.tick, InputNumber::Letter(letter));
        let is_pointless = self.space.reductions.partial_order
            && !purse.is_calm
            && self.is_refused(state, letter, outcome);
        if is_pointless {
            return;
        }
        self.reach(state, Action::Deliver(letter), purse, slot, outcome, Some(index), out);
        if let Some(left) = purse.left.spend(Budget::Duplications) {
            let purse = Purse { left, ..purse };
            self.reach(state, Action::Duplicate(letter), purse, slot, outcome, None, out);
        }
        if let Some(left) = purse.left.spend(Budget::Losses) {
            let start = out.words.len();
            out.words.extend_from_slice(&state[..index]);
            out.words.extend_from_slice(&state[index + 1..]);
            self.finish(Action::Lose(letter), Purse { left, ..purse }, start, out);
        }
    }

    /// Signals that wait in the role of a slot, those of them that are wanted.
    pub(crate) fn signals(
        &mut self,
        state: &[u32],
        purse: Purse,
        slot: usize,
        is_wanted: &dyn Fn(Leave) -> bool,
        out: &mut Successors,
    ) {
        for (signal, leave) in self.armed(state[slot]).iter() {
            let left = match leave {
                Leave::Spends(budget) if !purse.is_calm => purse.left.spend(*budget),
                _ => Some(purse.left),
            };
            if let Some(left) = left.filter(|_| is_wanted(*leave)) {
                self.signal(state, Purse { left, ..purse }, slot, *signal, out);
            }
        }
    }

    /// Signals from outside, those of them that are wanted.
    pub(crate) fn stimuli(
        &mut self,
        state: &[u32],
        purse: Purse,
        is_wanted: &dyn Fn(Budget) -> bool,
        out: &mut Successors,
    ) {
        for index in 0..self.space.stimuli.len() {
            let (slot, signal, budget) = self.space.stimuli[index];
            if let Some(left) = purse.left.spend(budget).filter(|_| is_wanted(budget)) {
                self.signal(state, Purse { left, ..purse }, slot, signal, out);
            }
        }
    }

    fn signal(
        &mut self,
        state: &[u32],
        purse: Purse,
        slot: usize,
        signal: u32,
        out: &mut Successors,
    ) {
        let outcome = self.step(slot, state[slot], purse.tick, InputNumber::Signal(signal));
        if self.changes(state[slot], outcome) {
            let action = Action::Signal(u8::try_from(slot).expect("a slot is below 16"), signal);
            self.reach(state, action, purse, slot, outcome, None, out);
        }
    }

    fn changes(&self, component: u32, outcome: Outcome) -> bool {
        outcome.component != component || outcome.events != NONE || !self.sends(outcome).is_empty()
    }

    fn crash(&mut self, state: &[u32], purse: Purse, slot: usize, out: &mut Successors) {
        let Some(left) = purse.left.spend(self.space.system.crash_budget(slot)) else { return };
        let outcome = self.step(slot, state[slot], purse.tick, InputNumber::Start);
        if self.changes(state[slot], outcome) {
            let action = Action::Crash(u8::try_from(slot).expect("a slot is below 16"));
            self.reach(state, action, Purse { left, ..purse }, slot, outcome, None, out);
        }
    }

    /// The clock goes on by one lease term.
    fn tick(&mut self, state: &[u32], purse: Purse, out: &mut Successors) {
        let start = out.words.len();
        out.words.extend_from_slice(state);
        self.finish(Action::Tick, purse, start, out);
    }

    /// The authority is backed up, or restored from its backup.
    fn restore(&mut self, state: &[u32], purse: Purse, left: Budgets, out: &mut Successors) {
        let space = self.space;
        let (slot, place) = (space.authority, space.slots() + 2);
        let outcome = self.step(slot, state[slot], purse.tick, InputNumber::Restore(state[place]));
        self.reach(state, Action::Restore, Purse { left, ..purse }, slot, outcome, None, out);
        let backup = self.backup(state[slot]);
        if backup != state[place] {
            let start = out.words.len();
            out.words.extend_from_slice(state);
            out.words[start + place] = backup;
            self.finish(Action::BackUp, purse, start, out);
        }
    }

    /// The global state after a step of one role.
    #[expect(clippy::too_many_arguments, reason = "they are the parts of one transition")]
    fn reach(
        &mut self,
        state: &[u32],
        action: Action,
        purse: Purse,
        slot: usize,
        outcome: Outcome,
        consumed: Option<usize>,
        out: &mut Successors,
    ) {
        let slots = self.space.slots();
        let monitor = self.observe(state[slots], outcome.events);
        let start = out.words.len();
        if monitor == NONE {
            out.found.push((action, start, start));
            return;
        }
        match consumed {
            Some(index) => {
                out.words.extend_from_slice(&state[..index]);
                out.words.extend_from_slice(&state[index + 1..]);
            }
            None => out.words.extend_from_slice(state),
        }
        out.words[start + slot] = outcome.component;
        out.words[start + slots] = monitor;
        let first = start + self.space.head();
        for index in outcome.sends.0..outcome.sends.1 {
            let letter = self.sends[index as usize];
            let rank = self.rank(letter);
            let after = out.words[first..].partition_point(|other| self.rank(*other) <= rank);
            out.words.insert(first + after, letter);
        }
        self.finish(action, purse, start, out);
    }

    /// Puts the purse in, and the state into its canonical form.
    fn finish(&mut self, action: Action, purse: Purse, start: usize, out: &mut Successors) {
        let space = self.space;
        let words = &mut out.words;
        if self.purse(words[start + space.slots() + 1]) != purse {
            words[start + space.slots() + 1] = space.purses.number(purse);
        }
        if purse.left[Budget::Restores] == 0 {
            words[start + space.slots() + 2] = NONE;
        }
        if space.reductions.dead_messages {
            self.remove_dead_messages(words, start, purse);
        }
        if !self.mirrors.is_empty() && !self.keeps_names {
            self.choose_representative(&mut words[start..]);
        }
        out.found.push((action, start, out.words.len()));
    }
}
