//! The transition system: who takes part, how each begins, and what may happen to them.
//!
//! A global state is one [`Component`] per slot, the messages under way, what is left of
//! each budget, the clock, the authority's backup, and the invariants' memory.
//! Everything here works on plain values. The search works on numbers that stand for them.
//!
//! * Any message under way may be delivered next. It is lost or doubled only by budget.
//! * Armed signals fire at any time if their [`Pace`] is free, else by budget.
//! * The clock is shared, counts lease terms, and goes on only by the budget `expiries`.
//! * A crashed role starts again at once with what it had kept; messages stay under way.
//! * A step that changes nothing but the number of its messages is a delivery like any
//!   other; a signal, crash or restart that changes nothing at all is no step.

use std::cell::Cell;

use crate::check::bounds::{Bounds, Budget, Consents};
use crate::check::component::{Component, Host, Input, Machine, Pace, Step};
use crate::design::Design;
use crate::design::setting::SettingSet;
use crate::identity::{AgentId, OperationId, WorkerId};
use crate::intent::{Payload, Target};
use crate::invariant::Monitor;
use crate::resource::{ResourceId, ResourceVersion};
use crate::role::agent::{Agent, Brief, Task};
use crate::role::authority::Authority;
use crate::role::co_located::CoLocated;
use crate::role::destination::Destination;
use crate::role::ledger::Ledger;
use crate::role::supervisor::Supervisor;
use crate::role::worker::Worker;
use crate::role::{Actor, Delay, Message, Signal};

/// The largest number of roles, because a slot has to fit into four bits of a message's
/// number.
pub const SLOTS_MAX: usize = 16;

/// One design within one bound.
#[derive(Clone, Debug)]
pub struct System {
    design: Design,
    bounds: Bounds,
    /// Whether authority and destination are one store.
    is_co_located: bool,
    /// What the design was asked for to know who takes part.
    asked: SettingSet,
    actors: Vec<Actor>,
    stimuli: Vec<(usize, Signal, Budget)>,
}

/// The number that the ledger is given for the n-th operation.
fn allocated_number(operation: u8) -> u64 {
    u64::from(operation) << 32
}

/// The id that the ledger allocates for the n-th operation from that number.
fn allocated_id(operation: u8) -> OperationId {
    OperationId::new(format!("op_{:016x}", allocated_number(operation)))
}

/// What may fire an armed signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    /// Nothing has to be spent.
    Free,
    /// Nothing has to be spent: a refused worker asks again.
    Poll,
    /// One unit of this budget.
    Spends(Budget),
}

impl System {
    /// This design within this bound.
    ///
    /// # Panics
    ///
    /// When there are more than [`SLOTS_MAX`] roles, or none of a kind that is needed.
    pub fn new(design: &Design, bounds: &Bounds) -> Self {
        assert!(bounds.workers > 0 && bounds.resources > 0, "nothing to explore: {bounds}");
        let agents = (1..=bounds.operations).map(|n| Actor::Agent(agent_id(n)));
        let workers = (0..bounds.workers).map(|n| Actor::Worker(worker_id(n)));
        let services = [Actor::Supervisor, Actor::Authority, Actor::Ledger, Actor::Destination];
        let asked = Cell::new(SettingSet::default());
        let is_co_located = design.asked_noting(&asked).fence().is_co_located();
        // Co-located, the destination lives with the authority.
        let is_apart = |actor: &Actor| *actor != Actor::Destination || !is_co_located;
        let services = services.into_iter().filter(is_apart);
        let actors: Vec<_> = agents.chain(workers).chain(services).collect();
        assert!(actors.len() <= SLOTS_MAX, "{} roles are more than {SLOTS_MAX}", actors.len());
        let mut system = Self {
            design: design.clone(),
            bounds: bounds.clone(),
            is_co_located,
            asked: asked.get(),
            actors,
            stimuli: Vec::new(),
        };
        let slot = |actor| system.slot(&actor).expect("every service takes part");
        let (supervisor, authority) = (slot(Actor::Supervisor), slot(Actor::Authority));
        let suspect = |n| (supervisor, Signal::Suspect(worker_id(n)), Budget::Takeovers);
        let revoke = |n| (authority, Signal::Revoke(resource_id(n)), Budget::Revocations);
        let (ledger, destination) = (slot(Actor::Ledger), slot(Actor::Destination));
        let recreate = |n| (destination, Signal::Recreate(resource_id(n)), Budget::Recreations);
        let forget = |slot| move |n| (slot, Signal::Forget(allocated_id(n)), Budget::Forgettings);
        let worker_slots = (0..bounds.workers).map(|n| slot(Actor::Worker(worker_id(n))));
        let invent = |worker| {
            (0..bounds.resources)
                .map(move |n| (worker, Signal::InventEpoch(resource_id(n)), Budget::InventedEpochs))
        };
        let inventions: Vec<_> = worker_slots.flat_map(invent).collect();
        let misconfigure = (destination, Signal::Misconfigure, Budget::Misconfigurations);
        system.stimuli = (0..bounds.workers)
            .map(suspect)
            .chain((0..bounds.resources).map(revoke))
            .chain((0..bounds.resources).map(recreate))
            .chain((1..=bounds.operations).map(forget(ledger)))
            .chain((1..=bounds.operations).map(forget(destination)))
            .chain([misconfigure])
            .chain(inventions)
            .collect();
        system
    }

    /// The design.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The settings that decide who takes part.
    pub fn asked(&self) -> SettingSet {
        self.asked
    }

    /// The bound.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Who takes part, one per slot. The agents come first.
    pub fn actors(&self) -> &[Actor] {
        &self.actors
    }

    /// The slot of an actor.
    pub fn slot(&self, actor: &Actor) -> Option<usize> {
        let actor = match actor {
            Actor::Destination if self.is_co_located => &Actor::Authority,
            actor => actor,
        };
        self.actors.iter().position(|candidate| candidate == actor)
    }

    /// Who in this slot says a message.
    pub fn speaker(&self, slot: usize, message: &Message) -> Actor {
        match &self.actors[slot] {
            Actor::Authority if self.is_co_located => CoLocated::speaker(message),
            actor => actor.clone(),
        }
    }

    /// Signals that reach roles from outside: slot, signal, and what it costs.
    pub fn stimuli(&self) -> &[(usize, Signal, Budget)] {
        &self.stimuli
    }

    /// The invariants before anything has happened.
    pub fn monitor(&self) -> Monitor {
        Monitor::new(self.design.guarantee)
    }

    /// A role that has not started.
    pub fn fresh(&self, slot: usize) -> Component {
        let Bounds { workers, attempts_max, .. } = self.bounds;
        let workers = || (0..workers).map(worker_id).collect();
        let machine = match &self.actors[slot] {
            Actor::Agent(id) => {
                let number = u8::try_from(slot + 1).expect("a slot is below 16");
                let agent = Agent::new(self.brief(id.clone(), number, workers()));
                Machine::Agent(Host::new(agent))
            }
            Actor::Worker(id) => {
                Machine::Worker(Host::new(Worker::new(id.clone(), Some(attempts_max))))
            }
            Actor::Supervisor => Machine::Supervisor(Host::new(Supervisor::new(workers()))),
            Actor::Authority if self.is_co_located => {
                let store = CoLocated::new(Authority::new(), self.destination());
                Machine::CoLocated(Host::new(store))
            }
            Actor::Authority => Machine::Authority(Host::new(Authority::new())),
            Actor::Ledger => Machine::Ledger(Host::new(Ledger::new())),
            Actor::Destination => Machine::Destination(Host::new(self.destination())),
        };
        Component::new(machine)
    }

    fn destination(&self) -> Destination {
        let resources = 0..self.bounds.resources;
        Destination::new(resources.map(|n| (resource_id(n), ResourceVersion::default())))
    }

    /// The operations differ in their step only, so that they are symmetric; the payload is
    /// the same, for none of its bytes may appear anywhere by another name.
    fn brief(&self, id: AgentId, number: u8, workers: Vec<WorkerId>) -> Brief {
        let task = Task {
            step_id: step_name(number).as_str().into(),
            target: target(self.resource_of(number)),
            method: "update".into(),
            payload: Payload::new("new"),
            // Named like the step, so that operations stay symmetric.
            approval_id: match self.bounds.consents {
                Consents::Shared => "approval-1".into(),
                Consents::Own | Consents::Borrowed => step_name(number).as_str().into(),
            },
            is_conditional: self.bounds.is_conditional,
            is_approved: self.bounds.consents != Consents::Borrowed,
        };
        Brief {
            id,
            run_id: "run-1".into(),
            principal: "release".into(),
            policy_version: "policy-1".into(),
            workers,
            tasks: vec![task],
            requests_max: None,
        }
    }

    /// Which resource the n-th operation changes, counted from 1 and 0.
    pub(crate) fn resource_of(&self, operation: u8) -> u8 {
        (operation - 1) % self.bounds.resources
    }

    /// One step of the role in a slot.
    #[must_use]
    pub fn step(&self, slot: usize, component: &Component, tick: u8, input: &Input) -> Step {
        self.step_under(&self.design, slot, component, tick, input)
    }

    /// The same step under another design with the same roles.
    pub(crate) fn step_under(
        &self,
        design: &Design,
        slot: usize,
        component: &Component,
        tick: u8,
        input: &Input,
    ) -> Step {
        // The ledger takes a number that no entry has, beginning with this one. Numbers that
        // depend on the operation, and not on the order of claims, keep operations apart.
        let number = match input {
            Input::Message { message: Message::Claim { intent, .. }, .. } => {
                let step = intent.record().step_id.as_str();
                (1..=self.bounds.operations)
                    .find(|number| step_name(*number) == step)
                    .map(allocated_number)
            }
            _ => None,
        };
        component.step(design, slot, tick, number, input)
    }

    /// What has to be spent to fire a signal that was armed like this.
    ///
    /// Deadlines of leases are free: before the clock has reached them they change nothing.
    pub fn leave(pace: Pace) -> Leave {
        match pace {
            Pace::AtWill => Leave::Free,
            Pace::After(delay) => match delay {
                Delay::LeaseTerm | Delay::AttemptTimeout | Delay::Effect | Delay::Insertion => {
                    Leave::Free
                }
                Delay::Poll => Leave::Poll,
                Delay::Renewal => Leave::Spends(Budget::Renewals),
                Delay::Resend => Leave::Spends(Budget::Resends),
                Delay::AgentTimeout => Leave::Spends(Budget::Retries),
                Delay::Idle => Leave::Spends(Budget::Idles),
            },
        }
    }

    /// The budget from which crashes of the role in this slot are taken.
    pub fn crash_budget(&self, slot: usize) -> Budget {
        match &self.actors[slot] {
            Actor::Agent(_) => Budget::AgentCrashes,
            Actor::Worker(_) => Budget::WorkerCrashes,
            Actor::Supervisor => Budget::SupervisorCrashes,
            Actor::Authority => Budget::AuthorityCrashes,
            Actor::Ledger => Budget::LedgerCrashes,
            Actor::Destination => Budget::DestinationCrashes,
        }
    }
}

// Names of one kind have the same length: renaming replaces bytes in place.

fn agent_id(number: u8) -> AgentId {
    AgentId::new(agent_name(number))
}

pub(crate) fn agent_name(number: u8) -> String {
    format!("agent-{number:x}")
}

pub(crate) fn step_name(number: u8) -> String {
    format!("step-{number:x}")
}

/// How the ids begin that the ledger gives to an operation.
pub(crate) fn operation_name(number: u8) -> String {
    format!("op_{number:08x}")
}

pub(crate) fn resource_name(number: u8) -> String {
    format!("resource-{:x}", number + 1)
}

fn worker_id(number: u8) -> WorkerId {
    WorkerId::new(format!("worker-{}", char::from(b'A' + number)))
}

fn target(resource: u8) -> Target {
    Target { system: "staging".into(), environment: "eu".into(), resource: resource_name(resource) }
}

fn resource_id(number: u8) -> ResourceId {
    target(number).resource_id()
}
