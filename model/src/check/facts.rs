//! What reductions want to know of messages and components, remembered by number.

use crate::check::component::Machine;
use crate::check::lens::{Lens, remembered};
use crate::check::reduction::dead_message::{self, Kind};
use crate::check::space::{LINK_BITS, NONE, Space};
use crate::identity::AttemptId;
use crate::role::Message;
use crate::role::agent::Agent;
use crate::role::relevance::{Fate, Reach};
use crate::role::worker::Worker;

/// What a message is, as far as reductions care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    /// The number of the intent that it is about.
    pub(crate) key: u32,
    /// For a message to the destination: what the answer is about.
    pub(crate) answer: Option<Fate>,
    /// For a message between supervisor and authority: the question that began it is
    /// answered already.
    pub(crate) is_last: bool,
}

/// What reductions ask about a component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Asked {
    HasJob,
    HasAnswer,
    IntentsWritten,
    IsIdle,
    IsUnoccupied,
    Reach,
    OthersHaveLeases,
    Jobs,
    AwaitsLease,
    IsInstallingFor,
    IsDoneWith,
    AwaitedFate,
    HasInside,
    FindsStateGone,
    HasClosed,
    FirstOpenAttempt,
}

impl Lens<'_> {
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
        // There are 16 questions at most.
        let key = (asked as u64) << 60 | u64::from(component) << 32 | u64::from(about);
        *self
            .answers
            .entry(key)
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

    /// How far the step of a job reaches that a message to it leads to; `None` if it leads
    /// to none.
    pub(crate) fn reach_of(&mut self, component: u32, letter: u32, after: u32) -> Option<Reach> {
        const ALL: [Reach; 4] = [Reach::Job, Reach::LosesLease, Reach::SeeksLease, Reach::Ends];
        let key = self.facts(letter).key;
        let reach = self.ask(Asked::Reach, component, letter, |space, machine| {
            let (after, key) = (space.components.value(after), *space.intents.value(key));
            let reach = machine.worker().zip(after.machine().worker());
            reach.and_then(|(before, after)| before.reach(after, key)).map_or(NONE, |r| r as u32)
        });
        ALL.get(reach as usize).copied()
    }

    /// Whether every job of a worker but this one has a lease to work under.
    pub(crate) fn others_have_leases(&mut self, component: u32, key: u32) -> bool {
        self.ask(Asked::OthersHaveLeases, component, key, |space, machine| {
            let key = *space.intents.value(key);
            machine.worker().is_some_and(|worker| worker.others_have_leases(key)).into()
        }) == 1
    }

    /// Whether a worker's job has seen that the state it was to replace is gone.
    pub(crate) fn finds_state_gone(&mut self, component: u32, key: u32) -> bool {
        self.ask(Asked::FindsStateGone, component, key, |space, machine| {
            let key = *space.intents.value(key);
            machine.worker().is_some_and(|worker| worker.finds_state_gone(key)).into()
        }) == 1
    }

    /// Whether nothing can change any more in what the ledger says of an intent.
    pub(crate) fn has_closed(&mut self, component: u32, key: u32) -> bool {
        self.ask(Asked::HasClosed, component, key, |space, machine| {
            let key = *space.intents.value(key);
            machine.ledger().is_some_and(|ledger| ledger.has_closed(key)).into()
        }) == 1
    }

    /// Whether a mutation with this intent is inside the destination.
    pub(crate) fn has_inside(&mut self, component: u32, key: u32) -> bool {
        self.ask(Asked::HasInside, component, key, |space, machine| {
            let key = *space.intents.value(key);
            machine.destination().is_some_and(|destination| destination.has_inside(key)).into()
        }) == 1
    }

    pub(crate) fn jobs(&mut self, component: u32) -> u32 {
        self.ask(Asked::Jobs, component, 0, |_, machine| {
            let jobs = machine.worker().map_or(0, Worker::jobs);
            u32::try_from(jobs).expect("a worker has few jobs")
        })
    }

    pub(crate) fn awaits_lease(&mut self, component: u32) -> bool {
        self.ask(Asked::AwaitsLease, component, 0, |_, machine| {
            machine.worker().is_some_and(Worker::awaits_lease).into()
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
        self.ask(Asked::IntentsWritten, component, 0, |_, machine| {
            machine.agent().is_some_and(Agent::has_asked).into()
        }) == 1
    }

    pub(crate) fn is_done_with(&mut self, component: u32, letter: u32) -> bool {
        self.ask(Asked::IsDoneWith, component, letter, |space, machine| {
            dead_message::is_done_with(machine, &space.letter(letter).message).into()
        }) == 1
    }

    pub(crate) fn awaited_fate(&mut self, component: u32, key: u32) -> Option<Fate> {
        let fate = self.ask(Asked::AwaitedFate, component, key, |space, machine| {
            let key = *space.intents.value(key);
            match machine.worker().and_then(|worker| worker.awaited_fate(key)) {
                Some(Fate::OfTry(attempt)) => attempt.0 << 1,
                Some(Fate::UpTo(attempt)) => attempt.0 << 1 | 1,
                None => NONE,
            }
        });
        let attempt = AttemptId(fate >> 1);
        (fate != NONE).then_some(if fate & 1 == 0 {
            Fate::OfTry(attempt)
        } else {
            Fate::UpTo(attempt)
        })
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

    /// Whether every request is answered and every operation settled.
    pub(crate) fn is_settled(&mut self, state: &[u32]) -> bool {
        let (space, monitor) = (self.space, state[self.space.slots()]);
        let is_settled = || u32::from(space.monitors.value(monitor).is_settled());
        remembered(&mut self.settled, monitor, is_settled) == 1
    }
}
