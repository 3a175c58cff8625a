//! The reference system: the protocol's roles as hosts that talk over sockets.
//!
//! Two workers, one supervisor, two agents, the authority, the ledger and the destination,
//! each on a host of its own. Authority, ledger, destination and agents keep what they must
//! on their disks. The code here is ordinary asynchronous Rust; that it runs in a simulation
//! shows only in its imports.
//!
//! * [`host`]: runs one role. `peers`, `wire`, `store`, `log`, `detector`: what a host has.
//! * [`Effect`]: what the agents want. [`Misuse`]: how careless they are. [`Timing`]: how long everybody waits.
//! * [`run`]: one plan, from the first request until everything has settled.

mod catalogue;
mod detector;
mod host;
mod log;
mod misuse;
mod peers;
mod run;
mod store;
mod timing;
mod wire;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use holdover_model::design::Design;
use holdover_model::identity::{AgentId, RunId, WorkerId};
use holdover_model::resource::ResourceId;
use holdover_model::role::agent::{Agent, Brief, Task};
use holdover_model::role::authority::Authority;
use holdover_model::role::co_located::CoLocated;
use holdover_model::role::destination::Destination;
use holdover_model::role::ledger::Ledger;
use holdover_model::role::supervisor::Supervisor;
use holdover_model::role::worker::Worker;
use holdover_model::role::{Actor, Signal};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::spawn_local;

pub use catalogue::{Effect, resources};
pub use misuse::{Change, Forgery, Misuse};
pub use run::{Finding, Run, run, run_with};
pub use timing::Timing;

use crate::plan::{Plan, PlannedTask};
use crate::world::{HostOptions, World, since_start};
use host::Seat;
use misuse::Careless;

/// The names of the workers.
pub const WORKERS: [&str; 2] = ["worker-A", "worker-B"];

/// The names of the agents.
pub const AGENTS: [&str; 2] = ["agent-1", "agent-2"];

/// The names of the hosts of which there is one.
pub const SERVICES: [&str; 4] = ["authority", "ledger", "destination", "supervisor"];

/// The names of all hosts.
pub fn hosts() -> impl Iterator<Item = &'static str> {
    WORKERS.into_iter().chain(SERVICES).chain(AGENTS)
}

/// The role that runs on a host: the hosts of workers and agents are numbered, any other host
/// is called what it is.
pub fn role_of(host: &str) -> &str {
    if WORKERS.contains(&host) {
        "worker"
    } else if AGENTS.contains(&host) {
        "agent"
    } else {
        host
    }
}

/// The reference system uses the registered timers only, so idle time costs nothing.
const OPTIONS: HostOptions = HostOptions { plain_timers: false };

fn seat(actor: Actor, design: &Rc<Design>, timing: Timing) -> Seat {
    let (_, stimuli) = unbounded_channel();
    Seat { actor, design: Rc::clone(design), timing, begin: Vec::new(), stimuli }
}

/// Adds the hosts of the reference system to a world.
pub fn install(world: &mut World, plan: &Plan) {
    let design = Rc::new(plan.design.clone());
    let timing = plan.timing;
    let shared = || (Rc::clone(&design), timing);

    let is_co_located = design.fence.asked().is_co_located();
    let revocations: Vec<_> = plan
        .revocations
        .iter()
        .map(|one| (Duration::from_micros(one.at_us), one.effect.target().resource_id()))
        .collect();
    let (d, t) = shared();
    if is_co_located {
        world.host_with("authority", OPTIONS, move || {
            let store = CoLocated::new(Authority::new(), Destination::new(resources()));
            host::run(
                store,
                Seat { begin: still_to_come(&revocations), ..seat(Actor::Authority, &d, t) },
            )
        });
    } else {
        world.host_with("authority", OPTIONS, move || {
            let seat = seat(Actor::Authority, &d, t);
            host::run(Authority::new(), Seat { begin: still_to_come(&revocations), ..seat })
        });
    }
    let (d, t) = shared();
    world
        .host_with("ledger", OPTIONS, move || host::run(Ledger::new(), seat(Actor::Ledger, &d, t)));
    let (d, t) = shared();
    if is_co_located {
        // Plans may name it all the same.
        world.host_with("destination", OPTIONS, || async {});
    } else {
        world.host_with("destination", OPTIONS, move || {
            host::run(Destination::new(resources()), seat(Actor::Destination, &d, t))
        });
    }
    let misuses: BTreeMap<_, _> = plan
        .tasks
        .iter()
        .enumerate()
        .filter_map(|(number, task)| Some((task.effect.step_id(number), task.misuse?)))
        .collect();
    for name in WORKERS {
        let (d, t) = shared();
        let misuses = misuses.clone();
        world.host_with(name, OPTIONS, move || {
            let id = WorkerId::new(name);
            let seat = seat(Actor::Worker(id.clone()), &d, t);
            let worker = Careless::new(Worker::new(id, None), misuses.clone());
            async move {
                // A task of its own: the worker answers even while its work is stuck.
                spawn_local(detector::answer());
                host::run(worker, seat).await;
            }
        });
    }
    let (d, t) = shared();
    world.host_with("supervisor", OPTIONS, move || {
        let (suspicions, stimuli) = unbounded_channel();
        let seat = Seat { stimuli, ..seat(Actor::Supervisor, &d, t) };
        async move {
            let workers: Vec<_> = WORKERS.into_iter().map(WorkerId::new).collect();
            for worker in &workers {
                spawn_local(detector::watch(worker.clone(), t, suspicions.clone()));
            }
            host::run(Supervisor::new(workers), seat).await;
        }
    });
    for (number, name) in AGENTS.into_iter().enumerate() {
        let (d, t) = shared();
        let (brief, begin) = brief(number, plan);
        world.host_with(name, OPTIONS, move || {
            let seat = seat(Actor::Agent(brief.id.clone()), &d, t);
            let (agent, begin) = (Agent::new(brief.clone()), begin.clone());
            async move {
                // What is wanted when is the plan's, so the host's clock has no say in it.
                let up_for = since_start().unwrap_or_default();
                let begin = begin
                    .into_iter()
                    .map(|(at, signal)| (at.saturating_sub(up_for), signal))
                    .collect();
                host::run(agent, Seat { begin, ..seat }).await;
            }
        });
    }
}

/// The revocations that a host has not missed when it boots.
fn still_to_come(revocations: &[(Duration, ResourceId)]) -> Vec<(Duration, Signal)> {
    let up_for = since_start().unwrap_or_default();
    revocations
        .iter()
        .filter_map(|(at, resource)| {
            Some((at.checked_sub(up_for)?, Signal::Revoke(resource.clone())))
        })
        .collect()
}

/// What an agent has to do, and when it begins with what. The agents take turns in whom
/// they ask first, so that both workers are busy.
fn brief(number: usize, plan: &Plan) -> (Brief, Vec<(Duration, Signal)>) {
    let mine: Vec<_> =
        plan.tasks.iter().enumerate().filter(|(_, task)| task.agent == AGENTS[number]).collect();
    let mut workers: Vec<_> = WORKERS.into_iter().map(WorkerId::new).collect();
    workers.rotate_left(number % WORKERS.len());
    let begin = mine
        .iter()
        .enumerate()
        .map(|(index, (_, task))| (Duration::from_micros(task.begin_at_us), Signal::Begin(index)))
        .collect();
    let brief = Brief {
        id: AgentId::new(AGENTS[number]),
        run_id: RunId::new("cc-9021"),
        principal: "claude-code-release".into(),
        policy_version: "policy-2026-09-06.4".into(),
        workers,
        tasks: mine.into_iter().map(|(number, task)| asked(number, task)).collect(),
        requests_max: None,
    };
    (brief, begin)
}

/// A planned task as its agent asks for it.
fn asked(number: usize, planned: &PlannedTask) -> Task {
    let task = planned.effect.task(number);
    match planned.misuse {
        Some(Misuse::ApprovalReplayed { of_task }) => {
            Task { approval_id: catalogue::approval_of(of_task), is_approved: false, ..task }
        }
        _ => task,
    }
}
