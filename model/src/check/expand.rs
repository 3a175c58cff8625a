//! What can follow a state.

use crate::check::action::Action;
use crate::check::bounds::{Budget, Budgets};
use crate::check::lens::{InputNumber, Lens, Outcome};
use crate::check::reduction::dead_message::Kind;
use crate::check::settle;
use crate::check::space::{NONE, Purse, link, receiver};
use crate::check::system::Leave;

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

impl Lens<'_> {
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

    /// Adds the first delivery that can follow a state once faults have stopped; if nothing
    /// is under way, everything.
    pub(crate) fn expand_first_calm(&mut self, state: &[u32], out: &mut Successors) {
        let head = self.space.head();
        if state.len() == head {
            return self.expand_calm(state, out);
        }
        out.clear();
        let purse = self.purse(state[self.space.slots() + 1]);
        self.delivery(state, purse, head, out);
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

    /// Deliveries, losses and duplications of what is under way.
    fn deliveries(&mut self, state: &[u32], purse: Purse, out: &mut Successors) {
        let head = self.space.head();
        for index in head..state.len() {
            let is_again = index > head
                && if self.space.assumptions.ordered_links {
                    link(state[index - 1]) == link(state[index])
                } else {
                    state[index - 1] == state[index]
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
            && self.is_refused(state, purse, letter, outcome);
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
                // No renewal ever helps anything to settle, and there is no end of them.
                Leave::Spends(Budget::Renewals) => None,
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
        if space.assumptions.unawaited_replies_vanish {
            self.remove_unawaited(words, start, purse);
        }
        if space.reductions.dead_messages {
            self.remove_dead_messages(words, start, purse);
        }
        if !self.mirrors.is_empty() && !self.keeps_names {
            self.choose_representative(&mut words[start..]);
        }
        out.found.push((action, start, out.words.len()));
    }

    /// Removes the replies that their receivers would ignore at this moment.
    fn remove_unawaited(&mut self, words: &mut Vec<u32>, start: usize, purse: Purse) {
        let mut place = start + self.space.head();
        while place < words.len() {
            let letter = words[place];
            let (slot, component) = (receiver(letter), words[start + receiver(letter)]);
            let is_unawaited = self.facts(letter).kind.is_reply() && {
                let outcome = self.step(slot, component, purse.tick, InputNumber::Letter(letter));
                !self.changes(component, outcome)
            };
            if is_unawaited {
                words.remove(place);
            } else {
                place += 1;
            }
        }
    }
}
