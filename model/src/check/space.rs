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

use crate::check::bounds::{Budget, Budgets};
use crate::check::component::{Component, Input};
use crate::check::intern::{Interner, mix};
use crate::check::lens::InputNumber;
use crate::check::reduction::Manner;
use crate::check::reduction::dead_message::Rules;
use crate::check::reduction::symmetry::Symmetry;
use crate::check::system::System;
use crate::check::{Assumptions, Reductions};
use crate::event::Event;
use crate::intent::IntentHash;
use crate::invariant::Monitor;
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

impl Purse {
    /// Whether an agent that has asked may ask once more.
    pub(crate) fn lets_ask_again(&self) -> bool {
        self.is_calm || self.left[Budget::Retries] > 0 || self.left[Budget::AgentCrashes] > 0
    }
}

/// No event, no backup, no component: whatever a number can stand for, not this.
pub(crate) const NONE: u32 = u32::MAX;

/// A letter's number ends with its link: sender and receiver.
pub(crate) const LINK_BITS: u32 = 8;

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
    pub(crate) supervisor: usize,
    pub(crate) authority: usize,
    pub(crate) ledger: usize,
    pub(crate) destination: usize,
    letters: Interner<Letter>,
    pub(crate) intents: Interner<IntentHash>,
    events: Interner<Vec<Event>>,
    pub(crate) signals: Interner<Signal>,
    pub(crate) purses: Interner<Purse>,
    pub(crate) stimuli: Vec<(usize, u32, Budget)>,
    /// A step was found that depends on the names of operations.
    is_asymmetric: AtomicBool,
}

impl Space {
    #[cfg(test)]
    pub(crate) fn new(system: System, reductions: Reductions, assumptions: Assumptions) -> Self {
        let manner = Manner::of(system.design(), system.bounds(), reductions);
        Self::looked_at(system, manner, assumptions)
    }

    /// The space, looked at in a manner that is sound for its design.
    pub(crate) fn looked_at(system: System, manner: Manner, assumptions: Assumptions) -> Self {
        let Manner { reductions, rules } = manner;
        let signals = Interner::new();
        let stimuli = system
            .stimuli()
            .iter()
            .map(|(slot, signal, budget)| (*slot, signals.number(signal.clone()), *budget))
            .collect();
        let symmetry = if reductions.symmetry { Symmetry::of(&system) } else { Symmetry::none() };
        let slot = |actor| system.slot(&actor).expect("every service takes part");
        Self {
            rules,
            supervisor: slot(Actor::Supervisor),
            authority: slot(Actor::Authority),
            ledger: slot(Actor::Ledger),
            destination: slot(Actor::Destination),
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

    pub(crate) fn purse_of(&self, state: &[u32]) -> Purse {
        *self.purses.value(state[self.slots() + 1])
    }

    pub(crate) fn set_purse(&self, state: &mut [u32], purse: Purse) {
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

    /// What reaches a role.
    pub(crate) fn input(&self, number: InputNumber) -> Input {
        match number {
            InputNumber::Start => Input::Start,
            InputNumber::Restore(backup) => Input::Restore(self.components.value(backup)),
            InputNumber::Signal(signal) => Input::Signal(self.signal(signal).as_ref().clone()),
            InputNumber::Letter(letter) => {
                let letter = self.letter(letter);
                let from = self.system.speaker(usize::from(letter.from), &letter.message);
                Input::Message { from, message: letter.message.clone() }
            }
        }
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
