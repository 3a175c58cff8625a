//! Symmetry between operations: of states that differ only in which operation is which,
//! one is explored.
//!
//! **Why it is sound.** The operations are wanted by agents that differ in their names
//! only, ask the same workers, and change resources that are alike. Exchanging two
//! operations everywhere in a state (names of agents, steps, resources, and the hashes of
//! the intents made from them) therefore maps runs to runs and violations to violations,
//! provided that no step depends on those names. That proviso is not assumed: for every
//! local step that the search takes for the first time, the exchanged step is taken too
//! and must be the exchange of the step. A design for which it is not (say, one whose
//! operation ids are computed from intent hashes) is searched without this reduction.
//!
//! **Why not workers.** Every agent asks the workers in the same order, so the first step
//! already tells them apart, and no state has a counterpart that is reached with the
//! workers exchanged.
//!
//! **How.** States are exchanged in their serialised form, where a name is a run of bytes
//! and its counterpart has the same length. So this file knows nothing of what the roles
//! keep, and a field added to a role is exchanged along with the others.

use std::sync::RwLock;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::check::lens::{InputNumber, Lens, Outcome, remembered};
use crate::check::space::{LINK_BITS, Letter, NONE, fingerprint};
use crate::check::system::{System, agent_name, operation_name, resource_name, step_name};
use crate::intent::SealedIntent;
use crate::role::Actor;

/// Every exchange of operations that leaves the system as it is, but for the identity.
pub(crate) struct Symmetry {
    permutations: Vec<Permutation>,
    /// Every intent that an agent has written down so far.
    intents: RwLock<Vec<SealedIntent>>,
}

/// One exchange of operations.
pub(crate) struct Permutation {
    slots: Vec<usize>,
    names: Vec<Exchange>,
    /// The hashes of the intents that were known, with those of their counterparts.
    hashes: RwLock<Vec<Exchange>>,
}

/// What replaces what.
type Exchange = (Vec<u8>, Vec<u8>);

impl Symmetry {
    /// No symmetry: every state is its own representative.
    pub(crate) fn none() -> Self {
        Self { permutations: Vec::new(), intents: RwLock::default() }
    }

    /// The symmetry of this system.
    pub(crate) fn of(system: &System) -> Self {
        let operations: Vec<u8> = (1..=system.bounds().operations).collect();
        let permutations = orders(&operations)
            .into_iter()
            .filter(|images| *images != operations)
            .filter_map(|images| Permutation::new(system, &operations, &images))
            .collect();
        Self { permutations, intents: RwLock::default() }
    }

    pub(crate) fn is_trivial(&self) -> bool {
        self.permutations.is_empty()
    }

    pub(crate) fn permutations(&self) -> &[Permutation] {
        &self.permutations
    }

    /// An agent has written down an intent: from here on its hash can occur anywhere.
    pub(crate) fn learn(&self, intent: &SealedIntent) {
        if self.is_trivial() || self.intents.read().expect("no thread panics").contains(intent) {
            return;
        }
        self.intents.write().expect("no thread panics").push(intent.clone());
    }

    /// A value with its operations exchanged.
    pub(crate) fn exchange<T: Serialize + DeserializeOwned>(
        &self,
        permutation: &Permutation,
        value: &T,
    ) -> T {
        let intents = self.intents.read().expect("no thread panics");
        let is_behind = permutation.hashes.read().expect("no thread panics").len() < intents.len();
        if is_behind {
            let mut hashes = permutation.hashes.write().expect("no thread panics");
            for intent in &intents[hashes.len()..] {
                let counterpart: SealedIntent = replace_all(intent, &[&permutation.names]);
                let bytes = |intent: &SealedIntent| intent.hash().as_bytes().to_vec();
                hashes.push((bytes(intent), bytes(&counterpart)));
            }
        }
        drop(intents);
        let hashes = permutation.hashes.read().expect("no thread panics");
        replace_all(value, &[&permutation.names, &hashes])
    }
}

impl Permutation {
    /// `operations[i]` becomes `images[i]`. `None` if the resources cannot follow.
    fn new(system: &System, operations: &[u8], images: &[u8]) -> Option<Self> {
        let mut resources: Vec<(u8, u8)> = Vec::new();
        let mut names = Vec::new();
        for (operation, image) in operations.iter().zip(images) {
            let (from, to) = (system.resource_of(*operation), system.resource_of(*image));
            let is_consistent = |&(a, b): &(u8, u8)| (a == from) == (b == to);
            if !resources.iter().all(is_consistent) {
                return None;
            }
            if !resources.contains(&(from, to)) {
                resources.push((from, to));
                names.push((resource_name(from), resource_name(to)));
            }
            names.push((agent_name(*operation), agent_name(*image)));
            names.push((step_name(*operation), step_name(*image)));
            names.push((operation_name(*operation), operation_name(*image)));
        }
        names.retain(|(from, to)| from != to);
        let slots = system
            .actors()
            .iter()
            .enumerate()
            .map(|(slot, actor)| match actor {
                // The agents come first, one per operation.
                Actor::Agent(_) => usize::from(images[slot]) - 1,
                _ => slot,
            })
            .collect();
        let names = names.into_iter().map(|(from, to)| (from.into(), to.into())).collect();
        Some(Self { slots, names, hashes: RwLock::default() })
    }

    /// The slot that a role has after the exchange.
    pub(crate) fn slot(&self, slot: usize) -> usize {
        self.slots[slot]
    }
}

fn replace_all<T: Serialize + DeserializeOwned>(value: &T, exchanges: &[&[Exchange]]) -> T {
    let mut bytes = postcard::to_stdvec(value).expect("every part of a state has a wire form");
    let mut place = 0;
    while place < bytes.len() {
        let found = exchanges
            .iter()
            .flat_map(|exchanges| exchanges.iter())
            .find(|(from, _)| bytes[place..].starts_with(from));
        match found {
            Some((from, to)) => {
                bytes[place..place + from.len()].copy_from_slice(to);
                place += from.len();
            }
            None => place += 1,
        }
    }
    postcard::from_bytes(&bytes).expect("names of one kind have the same length")
}

fn orders(items: &[u8]) -> Vec<Vec<u8>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (index, first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(index);
        for mut order in orders(&rest) {
            order.insert(0, *first);
            all.push(order);
        }
    }
    all
}

/// The counterparts of values under one exchange of operations, as far as they are known.
#[derive(Default)]
pub(crate) struct Mirror {
    components: Vec<u32>,
    monitors: Vec<u32>,
    letters: Vec<u32>,
}

impl Lens<'_> {
    /// What the search has remembered of a state.
    pub(crate) fn representative_fingerprint(&mut self, state: &[u32]) -> u64 {
        let mut representative = state.to_vec();
        self.choose_representative(&mut representative);
        fingerprint(&representative)
    }

    /// Takes the mirrored step too: if it is not the mirror of the step, the operations are
    /// not symmetric after all.
    pub(crate) fn verify(
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
    pub(crate) fn mirror_component(&mut self, index: usize, number: u32) -> u32 {
        let (space, permutation) = (self.space, &self.space.symmetry.permutations()[index]);
        remembered(&mut self.mirrors[index].components, number, || {
            let component = space.components.value(number);
            space.components.number(space.symmetry.exchange(permutation, &*component))
        })
    }

    pub(crate) fn mirror_monitor(&mut self, index: usize, number: u32) -> u32 {
        let (space, permutation) = (self.space, &self.space.symmetry.permutations()[index]);
        remembered(&mut self.mirrors[index].monitors, number, || {
            let monitor = space.monitors.value(number);
            space.monitors.number(space.symmetry.exchange(permutation, &*monitor))
        })
    }

    pub(crate) fn mirror_letter(&mut self, index: usize, number: u32) -> u32 {
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
    pub(crate) fn choose_representative(&mut self, words: &mut [u32]) {
        let (slots, head) = (self.space.slots(), self.space.head());
        let mut least: Option<Vec<u32>> = None;
        for index in 0..self.mirrors.len() {
            let mut image = words.to_vec();
            for (slot, component) in words[..slots].iter().enumerate() {
                let place = self.space.symmetry.permutations()[index].slot(slot);
                image[place] = self.mirror_component(index, *component);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::bounds::Bounds;
    use crate::design::Design;

    fn permutations(operations: u8, resources: u8) -> usize {
        let bounds = Bounds { resources, operations, ..Bounds::default() };
        Symmetry::of(&System::new(&Design::default(), &bounds)).permutations.len()
    }

    #[test]
    fn operations_are_exchanged_only_along_with_their_resources() {
        assert_eq!(permutations(1, 1), 0);
        assert_eq!(permutations(2, 1), 1);
        assert_eq!(permutations(3, 1), 5);
        assert_eq!(permutations(2, 2), 1);
        // The first and the third share a resource, the second has its own.
        assert_eq!(permutations(3, 2), 1);
    }

    #[test]
    fn an_exchange_done_twice_changes_nothing() {
        let bounds = Bounds { operations: 2, resources: 2, ..Bounds::default() };
        let system = System::new(&Design::default(), &bounds);
        let symmetry = Symmetry::of(&system);
        let permutation = &symmetry.permutations()[0];
        let first = system.fresh(0);
        let exchanged = symmetry.exchange(permutation, &first);
        assert_eq!(exchanged, system.fresh(1));
        assert_eq!(symmetry.exchange(permutation, &exchanged), first);
    }
}
