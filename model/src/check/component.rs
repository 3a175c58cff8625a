//! One role as the checker sees it: its state, what of it survives a crash, and its timers.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::design::Design;
use crate::design::setting::SettingSet;
use crate::event::Event;
use crate::lease::Timestamp;
use crate::role::agent::Agent;
use crate::role::authority::Authority;
use crate::role::co_located::CoLocated;
use crate::role::destination::Destination;
use crate::role::ledger::Ledger;
use crate::role::relevance::Relevance;
use crate::role::supervisor::Supervisor;
use crate::role::worker::Worker;
use crate::role::{Actor, Context, Delay, Message, Output, Role, Signal};

/// A lease lasts one tick of the clock that all roles share.
pub const LEASE_TERM: Duration = Duration::from_secs(1);

/// A role and its durable twin: the role as it will be after a crash.
///
/// The twin is a fresh role into which every record was loaded, so nothing here has to
/// know which records replace which. Records that a role keeps late are durable from its
/// next step on: a crash before that loses them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Host<R> {
    live: R,
    kept: R,
    /// The twin as it will be, while late records are on their way.
    late: Option<R>,
}

impl<R: Role> Host<R> {
    /// A role that has not started.
    pub fn new(role: R) -> Self {
        Self { kept: role.clone(), live: role, late: None }
    }

    fn step(&mut self, context: Context<'_>, input: &Input) -> Effects {
        let mut output = Output::default();
        match (self.late.take(), input) {
            (None, _) | (_, Input::Start | Input::Restore(_)) => {}
            (Some(late), _) => self.kept = late,
        }
        match input {
            Input::Message { from, message } => {
                self.live.receive(context, from.clone(), message.clone(), &mut output);
            }
            Input::Signal(signal) => self.live.signal(context, signal.clone(), &mut output),
            Input::Start | Input::Restore(_) => {
                self.live = self.kept.clone();
                self.live.resume(context, &mut output);
            }
        }
        for record in output.records {
            self.kept.load(record);
        }
        if !output.late_records.is_empty() {
            let mut late = self.kept.clone();
            for record in output.late_records {
                late.load(record);
            }
            self.late = Some(late);
        }
        let later = output.sends_later.into_iter().map(|(_, to, message)| (to, message));
        let sends = output.sends.into_iter().chain(later).collect();
        Effects { sends, events: output.events, timers: output.timers }
    }
}

/// What a role wants done after a step, without the records, which are kept already.
#[derive(PartialEq, Eq)]
struct Effects {
    sends: Vec<(Actor, Message)>,
    events: Vec<Event>,
    timers: Vec<(Delay, Signal)>,
}

impl Effects {
    fn append(&mut self, later: Self) {
        self.sends.extend(later.sends);
        self.events.extend(later.events);
        self.timers.extend(later.timers);
    }
}

/// Any of the roles.
#[expect(clippy::large_enum_variant, reason = "each value is kept once, behind a pointer")]
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Machine {
    /// An agent.
    Agent(Host<Agent>),
    /// A worker.
    Worker(Host<Worker>),
    /// The supervisor.
    Supervisor(Host<Supervisor>),
    /// The authority.
    Authority(Host<Authority>),
    /// Authority and destination in one store.
    CoLocated(Host<CoLocated>),
    /// The ledger.
    Ledger(Host<Ledger>),
    /// The destination.
    Destination(Host<Destination>),
}

macro_rules! with_host {
    ($machine:expr, $host:ident => $body:expr) => {
        match $machine {
            Machine::Agent($host) => $body,
            Machine::Worker($host) => $body,
            Machine::Supervisor($host) => $body,
            Machine::Authority($host) => $body,
            Machine::CoLocated($host) => $body,
            Machine::Ledger($host) => $body,
            Machine::Destination($host) => $body,
        }
    };
}

impl Machine {
    fn step(&mut self, context: Context<'_>, input: &Input) -> Effects {
        if let (Self::Authority(host), Input::Restore(backup)) = (&mut *self, input)
            && let Self::Authority(backup) = &backup.machine
        {
            // The count is kept outside of the backup.
            let times = host.live.incarnation() + 1;
            host.kept = backup.kept.clone();
            let mut effects = host.step(context, input);
            effects.append(host.step(context, &Input::Signal(Signal::Restored(times))));
            return effects;
        }
        with_host!(self, host => host.step(context, input))
    }

    fn is_out_of_date(&self, signal: &Signal) -> bool {
        with_host!(self, host => host.live.is_out_of_date(signal))
    }

    /// The worker, if that is what this is.
    pub fn worker(&self) -> Option<&Worker> {
        if let Self::Worker(host) = self { Some(&host.live) } else { None }
    }

    /// The agent, if that is what this is.
    pub fn agent(&self) -> Option<&Agent> {
        if let Self::Agent(host) = self { Some(&host.live) } else { None }
    }

    /// The ledger, if that is what this is.
    pub fn ledger(&self) -> Option<&Ledger> {
        if let Self::Ledger(host) = self { Some(&host.live) } else { None }
    }

    /// The destination, if that is what this is.
    pub fn destination(&self) -> Option<&Destination> {
        match self {
            Self::Destination(host) => Some(&host.live),
            Self::CoLocated(host) => Some(&host.live.destination),
            _ => None,
        }
    }

    /// The authority, if that is what this is.
    pub fn authority(&self) -> Option<&Authority> {
        match self {
            Self::Authority(host) => Some(&host.live),
            Self::CoLocated(host) => Some(&host.live.authority),
            _ => None,
        }
    }
}

/// What can reach a role.
#[expect(clippy::large_enum_variant, reason = "it lives as long as one step")]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    /// It starts, or crashes and starts again, with what it has kept.
    Start,
    /// It starts again with what an earlier self had kept. A co-located store is not
    /// restored in parts: for it this is a start.
    Restore(Arc<Component>),
    /// A message.
    Message {
        /// Who sent it.
        from: Actor,
        /// What it says.
        message: Message,
    },
    /// A timer of its own, or a stimulus from outside.
    Signal(Signal),
}

/// When an armed signal may fire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Pace {
    /// At any time: an agent begins when it likes.
    AtWill,
    /// After a delay that the role asked for.
    After(Delay),
}

/// A role's whole state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Component {
    machine: Machine,
    armed: BTreeMap<Signal, Pace>,
    /// How many steps so far depended on the random number they were given.
    draws: u32,
}

/// A role after a step, and what it wants to be known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The role's state.
    pub component: Component,
    /// Messages to send.
    pub sends: Vec<(Actor, Message)>,
    /// Facts that are now true.
    pub events: Vec<Event>,
    /// The settings that had a say in it: whatever the others are, the step is the same.
    pub asked: SettingSet,
}

impl Component {
    /// A role that has not started.
    pub fn new(machine: Machine) -> Self {
        Self { machine, armed: BTreeMap::new(), draws: 0 }
    }

    /// The role.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What a backup holds of this role: what it has kept, and nothing else.
    #[must_use]
    pub fn backup(&self) -> Self {
        let mut machine = self.machine.clone();
        with_host!(&mut machine, host => host.live = host.kept.clone());
        Self::new(machine)
    }

    /// The signals that wait to be fired.
    pub fn armed(&self) -> impl Iterator<Item = (&Signal, Pace)> {
        self.armed.iter().map(|(signal, pace)| (signal, *pace))
    }

    /// Takes one step. `tick` is the time on the shared clock, `slot` tells roles apart.
    ///
    /// A random number has to differ from all others and still be a function of the state.
    /// So it counts the steps that needed one; whether a step does is found out by taking
    /// it with another number too. `number` is given where something better is known.
    #[must_use]
    pub fn step(
        &self,
        design: &Design,
        slot: usize,
        tick: u8,
        number: Option<u64>,
        input: &Input,
    ) -> Step {
        let drawn = ((0x10 + slot as u64) << 32) | u64::from(self.draws);
        let asked = Cell::new(SettingSet::default());
        let context = |entropy| Context {
            design: design.asked_noting(&asked),
            now: Timestamp::default().after(LEASE_TERM * u32::from(tick)),
            lease_term: LEASE_TERM,
            entropy,
        };
        let mut next = self.clone();
        let effects = next.machine.step(context(number.unwrap_or(drawn)), input);
        if number.is_none() {
            let mut other = self.machine.clone();
            if other.step(context(!drawn), input) != effects || other != next.machine {
                next.draws += 1;
            }
        }
        let Effects { sends, events, timers } = effects;
        match input {
            Input::Start | Input::Restore(_) => {
                next.armed.clear();
                if let Machine::Agent(agent) = &next.machine {
                    let begin = |index| (Signal::Begin(index), Pace::AtWill);
                    next.armed.extend((0..agent.live.tasks()).map(begin));
                }
            }
            Input::Signal(signal) => {
                next.armed.remove(signal);
            }
            Input::Message { .. } => {}
        }
        for (delay, signal) in timers {
            next.armed.insert(signal, Pace::After(delay));
        }
        let machine = &next.machine;
        next.armed.retain(|signal, _| !machine.is_out_of_date(signal));
        Step { component: next, sends, events, asked: asked.get() }
    }
}
