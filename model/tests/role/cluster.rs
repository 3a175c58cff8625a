//! All roles around one table: the test decides which message arrives when.
//!
//! Nothing moves by itself. A test lets everything flow, or holds back the messages that it
//! names, as a network or a paused process would.

use std::collections::VecDeque;
use std::time::Duration;

use holdover_model::design::Design;
use holdover_model::event::{Event, EventKind, Outcome};
use holdover_model::identity::{AgentId, RunId, WorkerId};
use holdover_model::intent::{Payload, Target};
use holdover_model::invariant::Monitor;
use holdover_model::lease::Timestamp;
use holdover_model::resource::{ResourceId, ResourceVersion};
use holdover_model::role::agent::{Agent, Brief, Task};
use holdover_model::role::authority::Authority;
use holdover_model::role::destination::Destination;
use holdover_model::role::ledger::Ledger;
use holdover_model::role::supervisor::Supervisor;
use holdover_model::role::worker::Worker;
use holdover_model::role::{Actor, Context, Delay, Message, Output, Role, Signal};

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

pub(crate) fn worker(letter: &str) -> Actor {
    Actor::Worker(WorkerId::new(format!("worker-{letter}")))
}

/// A message under way.
pub(crate) type Mail = (Actor, Actor, Message);

pub(crate) struct Cluster {
    design: Design,
    pub(crate) now: Timestamp,
    pub(crate) authority: Authority,
    pub(crate) ledger: Ledger,
    pub(crate) destination: Destination,
    pub(crate) workers: Vec<(Actor, Worker)>,
    supervisor: Supervisor,
    pub(crate) agents: Vec<(Actor, Agent)>,
    pub(crate) mail: VecDeque<Mail>,
    pub(crate) armed: Vec<(Actor, Delay, Signal)>,
    pub(crate) events: Vec<Event>,
    monitor: Monitor,
    steps: u64,
}

impl Cluster {
    /// Two workers, and one agent per task; the n-th agent asks the n-th worker first.
    pub(crate) fn new(design: &str, tasks: Vec<Task>) -> Self {
        let design = Design::named(design).unwrap();
        let names = ["worker-A", "worker-B"].map(WorkerId::new);
        let version = ResourceVersion::default();
        let resources: Vec<_> =
            tasks.iter().map(|task| (task.target.resource_id(), version)).collect();
        let agents = tasks
            .into_iter()
            .enumerate()
            .map(|(index, task)| {
                let id = AgentId::new(format!("agent-{}", index + 1));
                let mut workers = names.to_vec();
                workers.rotate_left(index % 2);
                let brief = Brief {
                    id: id.clone(),
                    run_id: RunId::new("cc-9021"),
                    principal: "claude-code-release".into(),
                    policy_version: "policy-2026-09-06.4".into(),
                    workers,
                    tasks: vec![task],
                    requests_max: None,
                };
                (Actor::Agent(id), Agent::new(brief))
            })
            .collect();
        Self {
            monitor: Monitor::new(design.guarantee),
            design,
            now: Timestamp { unix_ns: 1_000_000_000 },
            authority: Authority::new(),
            ledger: Ledger::new(),
            destination: Destination::new(resources),
            workers: names
                .iter()
                .map(|name| (Actor::Worker(name.clone()), Worker::new(name.clone(), None)))
                .collect(),
            supervisor: Supervisor::new(names.to_vec()),
            agents,
            mail: VecDeque::new(),
            armed: Vec::new(),
            events: Vec::new(),
            steps: 0,
        }
    }

    /// Gives a signal to an actor.
    pub(crate) fn signal(&mut self, to: &Actor, signal: Signal) {
        self.armed.retain(|(actor, _, armed)| (actor, armed) != (to, &signal));
        self.act(to, Input::Signal(signal));
    }

    /// Gives a message to an actor, whoever would have sent it.
    pub(crate) fn deliver(&mut self, from: Actor, to: &Actor, message: Message) {
        self.act(to, Input::Message(from, message));
    }

    /// The n-th agent begins.
    pub(crate) fn begin(&mut self, number: usize) {
        let agent = self.agents[number - 1].0.clone();
        self.signal(&agent, Signal::Begin(0));
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
    pub(crate) fn release(&mut self, held: Vec<Mail>) {
        self.mail.extend(held);
    }

    /// Lets every timer of this kind fire that an actor has armed.
    pub(crate) fn fire(&mut self, of: &Actor, delay: Delay) {
        let due: Vec<_> = self
            .armed
            .iter()
            .filter(|(actor, armed, _)| actor == of && *armed == delay)
            .map(|(_, _, signal)| signal.clone())
            .collect();
        for signal in due {
            self.signal(of, signal);
        }
    }

    /// Lets the term of every lease pass at the authority.
    pub(crate) fn expire_leases(&mut self) {
        self.now = self.now.after(TERM);
        self.fire(&Actor::Authority, Delay::LeaseTerm);
    }

    /// A worker crashes and restarts: all it knew is gone.
    pub(crate) fn restart_worker(&mut self, index: usize) {
        let (actor, worker) = &mut self.workers[index];
        let Actor::Worker(id) = actor.clone() else { unreachable!("workers are workers") };
        *worker = Worker::new(id, None);
        let actor = actor.clone();
        self.armed.retain(|(owner, ..)| *owner != actor);
    }

    pub(crate) fn outcome(&self, agent: usize) -> Option<Outcome> {
        self.agents[agent - 1].1.outcomes().next().flatten()
    }

    pub(crate) fn count(&self, kind: EventKind) -> usize {
        self.events.iter().filter(|event| event.kind() == kind).count()
    }

    fn act(&mut self, to: &Actor, input: Input) {
        self.steps += 1;
        let context =
            Context { design: &self.design, now: self.now, lease_term: TERM, entropy: self.steps };
        let done = match to {
            Actor::Authority => step(&mut self.authority, context, input),
            Actor::Ledger => step(&mut self.ledger, context, input),
            Actor::Destination => step(&mut self.destination, context, input),
            Actor::Supervisor => step(&mut self.supervisor, context, input),
            Actor::Worker(_) => {
                let found = self.workers.iter_mut().find(|(actor, _)| actor == to);
                step(&mut found.expect("a worker of the cluster").1, context, input)
            }
            Actor::Agent(_) => {
                let found = self.agents.iter_mut().find(|(actor, _)| actor == to);
                step(&mut found.expect("an agent of the cluster").1, context, input)
            }
        };
        for event in done.events {
            if let Err(violation) = self.monitor.observe(&event) {
                panic!("{violation}");
            }
            self.events.push(event);
        }
        for (delay, signal) in done.timers {
            self.armed.retain(|(actor, _, armed)| (actor, armed) != (to, &signal));
            self.armed.push((to.clone(), delay, signal));
        }
        self.mail.extend(done.sends.into_iter().map(|(peer, message)| (to.clone(), peer, message)));
    }
}

/// How long a lease lasts.
const TERM: Duration = Duration::from_secs(1);

#[allow(clippy::large_enum_variant, reason = "lives for one step")]
enum Input {
    Message(Actor, Message),
    Signal(Signal),
}

struct Done {
    events: Vec<Event>,
    sends: Vec<(Actor, Message)>,
    timers: Vec<(Delay, Signal)>,
}

/// One step of a role.
fn step<R: Role>(role: &mut R, context: Context<'_>, input: Input) -> Done {
    let mut output = Output::default();
    match input {
        Input::Message(from, message) => role.receive(context, from, message, &mut output),
        Input::Signal(signal) => role.signal(context, signal, &mut output),
    }
    Done { events: output.events, sends: output.sends, timers: output.timers }
}
