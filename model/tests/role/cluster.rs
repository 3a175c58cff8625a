//! All roles around one table: the test decides which message arrives when.
//!
//! Nothing moves by itself. A test lets everything flow, or holds back the messages that it
//! names, as a network or a paused process would.

use std::collections::VecDeque;
use std::time::Duration;

use holdover_model::design::Design;
use holdover_model::event::{Event, EventKind, Outcome, Rejection};
use holdover_model::identity::{AgentId, RunId, WorkerId};
use holdover_model::intent::{Payload, Target};
use holdover_model::invariant::Monitor;
use holdover_model::lease::{Epoch, Timestamp};
use holdover_model::resource::{ResourceId, ResourceVersion};
use holdover_model::role::agent::{Agent, Brief, Task};
use holdover_model::role::authority::Authority;
use holdover_model::role::co_located::CoLocated;
use holdover_model::role::destination::{Cell, Destination};
use holdover_model::role::ledger::{Entry, Ledger};
use holdover_model::role::supervisor::Supervisor;
use holdover_model::role::worker::Worker;
use holdover_model::role::{Actor, Context, Delay, Message, Signal};

use crate::host::{Done, Host, Input};

/// How long a lease lasts.
pub(crate) const TERM: Duration = Duration::from_secs(1);

/// More steps than any story takes.
const STEPS_MAX: u32 = 10_000;

/// Makes one test of each function for each of the two safe designs, whose name it takes.
macro_rules! for_both_designs {
    ($($case:ident)*) => {
        mod push_before_ready {
            $(#[test] fn $case() { super::$case("push-before-ready"); })*
        }
        mod co_located {
            $(#[test] fn $case() { super::$case("co-located-gate"); })*
        }
    };
}
pub(crate) use for_both_designs;

/// The resource that most tests are about.
pub(crate) fn rule() -> ResourceId {
    target("routing-rule").resource_id()
}

pub(crate) fn target(resource: &str) -> Target {
    Target { system: "gateway".into(), environment: "staging".into(), resource: resource.into() }
}

pub(crate) fn task(step: &str, resource: &str) -> Task {
    Task {
        step_id: step.into(),
        target: target(resource),
        method: "update".into(),
        payload: Payload::new(format!("payload of {step}")),
        approval_id: format!("approval-{step}").as_str().into(),
        is_conditional: true,
        is_approved: true,
    }
}

pub(crate) fn worker_id(letter: &str) -> WorkerId {
    WorkerId::new(format!("worker-{letter}"))
}

pub(crate) fn worker(letter: &str) -> Actor {
    Actor::Worker(worker_id(letter))
}

/// A message under way.
pub(crate) type Mail = (Actor, Actor, Message);

pub(crate) fn is(kind: &'static str) -> impl Fn(&Mail) -> bool {
    move |(_, _, message)| message.kind() == kind
}

/// Where ownership and value live.
#[derive(Clone)]
enum Store {
    Apart(Host<Authority>, Host<Destination>),
    Together(Host<CoLocated>),
}

#[derive(Clone)]
pub(crate) struct Cluster {
    design: Design,
    pub(crate) now: Timestamp,
    store: Store,
    ledger: Host<Ledger>,
    workers: Vec<(Actor, Host<Worker>)>,
    supervisor: Host<Supervisor>,
    agents: Vec<(Actor, Host<Agent>)>,
    pub(crate) mail: VecDeque<Mail>,
    armed: Vec<(Actor, Delay, Signal)>,
    pub(crate) events: Vec<Event>,
    monitor: Monitor,
    steps: u32,
}

impl Cluster {
    /// Workers A and B under a named design, and one agent per task.
    pub(crate) fn new(design: &str, tasks: Vec<Task>) -> Self {
        Self::with_workers(Design::named(design).unwrap(), &["A", "B"], tasks)
    }

    /// These workers, and one agent per task; the n-th agent asks the n-th worker first.
    pub(crate) fn with_workers(design: Design, letters: &[&str], tasks: Vec<Task>) -> Self {
        let names: Vec<_> = letters.iter().copied().map(worker_id).collect();
        let version = ResourceVersion::default();
        let resources: Vec<_> =
            tasks.iter().map(|task| (task.target.resource_id(), version)).collect();
        let agents = tasks
            .into_iter()
            .enumerate()
            .map(|(index, task)| {
                let id = AgentId::new(format!("agent-{}", index + 1));
                let mut workers = names.clone();
                workers.rotate_left(index % names.len());
                let brief = Brief {
                    id: id.clone(),
                    run_id: RunId::new("cc-9021"),
                    principal: "claude-code-release".into(),
                    policy_version: "policy-2026-09-06.4".into(),
                    workers,
                    tasks: vec![task],
                    requests_max: None,
                };
                (Actor::Agent(id), Host::new(Agent::new(brief)))
            })
            .collect();
        let (authority, destination) = (Authority::new(), Destination::new(resources));
        let store = if design.fence.asked().is_co_located() {
            Store::Together(Host::new(CoLocated::new(authority, destination)))
        } else {
            Store::Apart(Host::new(authority), Host::new(destination))
        };
        let a_worker =
            |id: &WorkerId| (Actor::Worker(id.clone()), Host::new(Worker::new(id.clone(), None)));
        Self {
            monitor: Monitor::new(design.guarantee),
            design,
            now: Timestamp { unix_ns: 1_000_000_000 },
            store,
            ledger: Host::new(Ledger::new()),
            workers: names.iter().map(a_worker).collect(),
            supervisor: Host::new(Supervisor::new(names)),
            agents,
            mail: VecDeque::new(),
            armed: Vec::new(),
            events: Vec::new(),
            steps: 0,
        }
    }

    pub(crate) fn authority(&self) -> &Authority {
        match &self.store {
            Store::Apart(authority, _) => authority.role(),
            Store::Together(store) => &store.role().authority,
        }
    }

    pub(crate) fn destination(&self) -> &Destination {
        match &self.store {
            Store::Apart(_, destination) => destination.role(),
            Store::Together(store) => &store.role().destination,
        }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.ledger.role()
    }

    /// The ledger's only entry.
    pub(crate) fn entry(&self) -> &Entry {
        let mut entries = self.ledger().entries();
        let (_, entry) = entries.next().expect("something was claimed");
        assert!(entries.next().is_none(), "one operation only");
        entry
    }

    /// The resource that most tests are about, as it is.
    pub(crate) fn rule(&self) -> Cell {
        self.destination().cell(&rule())
    }

    /// Gives a signal to an actor.
    pub(crate) fn signal(&mut self, to: &Actor, signal: Signal) {
        let home = self.home(to);
        self.armed.retain(|(actor, _, armed)| (actor, armed) != (&home, &signal));
        self.act(&home, Input::Signal(signal));
    }

    /// Gives a message to an actor, whoever would have sent it.
    pub(crate) fn deliver(&mut self, from: Actor, to: &Actor, message: Message) {
        self.act(&self.home(to), Input::Message(from, message));
    }

    /// The n-th agent begins.
    pub(crate) fn begin(&mut self, number: usize) {
        let agent = self.agents[number - 1].0.clone();
        self.signal(&agent, Signal::Begin(0));
    }

    /// The n-th agent waits no longer and asks the next worker.
    pub(crate) fn ask_again(&mut self, number: usize) {
        let agent = self.agents[number - 1].0.clone();
        self.fire(&agent, Delay::AgentTimeout);
    }

    /// Lets messages arrive in the order in which they were sent, except those that are to
    /// be held back, until none is left. Gives what was held back.
    pub(crate) fn flow_except(&mut self, is_held: impl Fn(&Mail) -> bool) -> Vec<Mail> {
        let mut held = Vec::new();
        loop {
            while let Some(mail) = self.mail.pop_front() {
                if is_held(&mail) {
                    held.push(mail);
                } else {
                    let (from, to, message) = mail;
                    self.deliver(from, &to, message);
                }
            }
            if !self.take_inner_step() {
                return held;
            }
        }
    }

    /// Lets one mutation that was let in have its effect, or one claim its insertion.
    pub(crate) fn take_inner_step(&mut self) -> bool {
        let is_inner = |delay| matches!(delay, Delay::Effect | Delay::Insertion);
        let next = self.armed.iter().find(|(_, delay, _)| is_inner(*delay)).cloned();
        if let Some((actor, _, signal)) = &next {
            self.signal(actor, signal.clone());
        }
        next.is_some()
    }

    /// Lets everything arrive.
    pub(crate) fn flow(&mut self) {
        self.flow_except(|_| false);
    }

    /// Puts messages back under way.
    pub(crate) fn release(&mut self, held: impl IntoIterator<Item = Mail>) {
        self.mail.extend(held);
    }

    /// Lets every timer of this kind fire that an actor has armed.
    pub(crate) fn fire(&mut self, of: &Actor, delay: Delay) {
        let home = self.home(of);
        let due: Vec<_> = self
            .armed
            .iter()
            .filter(|(actor, armed, _)| *actor == home && *armed == delay)
            .map(|(_, _, signal)| signal.clone())
            .collect();
        for signal in due {
            self.signal(&home, signal);
        }
    }

    /// Lets the term of every lease pass at the authority.
    pub(crate) fn expire_leases(&mut self) {
        self.now = self.now.after(TERM);
        self.fire(&Actor::Authority, Delay::LeaseTerm);
    }

    /// The failure detector suspects a worker.
    pub(crate) fn suspect(&mut self, letter: &str) {
        self.signal(&Actor::Supervisor, Signal::Suspect(worker_id(letter)));
    }

    /// An actor crashes and starts again with what it has kept.
    pub(crate) fn restart(&mut self, actor: &Actor) {
        let home = self.home(actor);
        self.armed.retain(|(owner, ..)| *owner != home);
        self.act(&home, Input::Start);
    }

    pub(crate) fn outcome(&self, agent: usize) -> Option<Outcome> {
        self.agents[agent - 1].1.role().outcomes().next().flatten()
    }

    pub(crate) fn count(&self, kind: EventKind) -> usize {
        self.events.iter().filter(|event| event.kind() == kind).count()
    }

    /// Why mutations were refused, in order.
    pub(crate) fn rejections(&self) -> Vec<Rejection> {
        let reason = |event: &Event| match event {
            Event::EffectRejected { reason, .. } => Some(*reason),
            _ => None,
        };
        self.events.iter().filter_map(reason).collect()
    }

    /// The epochs that were issued, in order.
    pub(crate) fn epochs(&self) -> Vec<Epoch> {
        let epoch = |event: &Event| match event {
            Event::LeaseGranted { lease, .. } => Some(lease.epoch),
            _ => None,
        };
        self.events.iter().filter_map(epoch).collect()
    }

    /// Whose step it is when this actor acts: a co-located store acts for both.
    fn home(&self, actor: &Actor) -> Actor {
        match (&self.store, actor) {
            (Store::Together(_), Actor::Destination) => Actor::Authority,
            _ => actor.clone(),
        }
    }

    /// Who at home says a message.
    fn speaker(&self, home: &Actor, message: &Message) -> Actor {
        match (&self.store, home) {
            (Store::Together(_), Actor::Authority) => CoLocated::speaker(message),
            _ => home.clone(),
        }
    }

    fn act(&mut self, home: &Actor, input: Input) {
        self.steps += 1;
        assert!(self.steps < STEPS_MAX, "the roles never come to rest");
        // Every step is given the same random number: that ids differ must not be luck.
        let context =
            Context { design: self.design.asked(), now: self.now, lease_term: TERM, entropy: 7 };
        let Done { events, sends, timers } = match (home, &mut self.store) {
            (Actor::Authority, Store::Apart(authority, _)) => authority.step(context, input),
            (Actor::Authority, Store::Together(store)) => store.step(context, input),
            (Actor::Destination, Store::Apart(_, destination)) => destination.step(context, input),
            (Actor::Destination, Store::Together(_)) => unreachable!("the authority's is its home"),
            (Actor::Ledger, _) => self.ledger.step(context, input),
            (Actor::Supervisor, _) => self.supervisor.step(context, input),
            (Actor::Worker(_), _) => {
                let found = self.workers.iter_mut().find(|(actor, _)| actor == home);
                found.expect("a worker of the cluster").1.step(context, input)
            }
            (Actor::Agent(_), _) => {
                let found = self.agents.iter_mut().find(|(actor, _)| actor == home);
                found.expect("an agent of the cluster").1.step(context, input)
            }
        };
        for event in events {
            if let Err(violation) = self.monitor.observe(&event) {
                panic!("{violation}");
            }
            self.events.push(event);
        }
        for (delay, signal) in timers {
            self.armed.retain(|(actor, _, armed)| (actor, armed) != (home, &signal));
            self.armed.push((home.clone(), delay, signal));
        }
        for (to, message) in sends {
            self.mail.push_back((self.speaker(home, &message), to, message));
        }
    }
}
