//! Runs that are planned so that they come to what a row is about.
//!
//! One or two tasks, one or two faults, a network without surprises. Whoever wants to see a row
//! at work replays one of these.

use holdover_model::design::Design;

use crate::fault::{Fault, PlannedFault, Trigger};
use crate::plan::{Plan, PlannedTask, Revocation};
use crate::stack::{AGENTS, Change, Effect, Forgery, Misuse, Timing};

/// A millisecond.
const MS: u64 = 1_000;

/// A plan, and the name of the row for which it is made.
type Planned = (&'static str, Plan);

/// Every planned run of a design.
pub(super) fn planned(design: &Design) -> Vec<Planned> {
    let quiet = Quiet(design);
    [handovers(&quiet), ends(&quiet), answers(&quiet), claims(&quiet), forgeries(&quiet)].concat()
}

/// Another worker takes over, and the first one comes back.
fn handovers(quiet: &Quiet<'_>) -> Vec<Planned> {
    // The heartbeat stops along with the work, so the supervisor has the lease passed on.
    let frozen = |for_us| quiet.plan(vec![rule(0, 0)], vec![freeze("before-apply", for_us)]);
    // The heartbeat goes on, so the lease expires.
    let stalled = |tasks| quiet.plan(tasks, vec![stall("before-apply", 1_500 * MS)]);
    let restarted =
        vec![freeze("before-apply", 2_200 * MS), at(1_000 * MS, crash("authority", 200 * MS))];
    // The write has arrived, and takes so long that somebody else is ready before its effect.
    let mut inside = quiet.plan(
        vec![invoice(0, 0)],
        vec![at(100 * MS, Fault::Freeze { host: "worker-A".into(), for_us: 2_000 * MS })],
    );
    inside.timing.effect_us = 550 * MS;
    inside.timing.attempt_timeout_us = 1_000 * MS;
    vec![
        ("resume-before-the-first-write", frozen(680 * MS)),
        ("resume-before-the-first-write", inside),
        ("pause-before-the-mutation", frozen(200 * MS)),
        ("expire-and-grant", stalled(vec![rule(0, 0), rule(1, 900 * MS)])),
        ("write-then-retry-the-old-worker", stalled(vec![invoice(0, 0), invoice(1, 900 * MS)])),
        (
            "restart-the-ownership-service",
            quiet.plan(vec![invoice(0, 0), invoice(1, 1_400 * MS)], restarted),
        ),
    ]
}

/// A lease ends, and nobody takes over.
fn ends(quiet: &Quiet<'_>) -> Vec<Planned> {
    let stalled = |for_us, more: Vec<PlannedFault>| {
        let faults = [more, vec![stall("before-apply", for_us)]].concat();
        quiet.plan(vec![rule(0, 0)], faults)
    };
    let chosen_times = |by_us| {
        let step = at(1, Fault::ClockStep { host: "worker-A".into(), by_us });
        ("a-timestamp-chosen-by-the-worker", stalled(1_500 * MS, vec![step]))
    };
    let revocations = vec![Revocation { at_us: 150 * MS, effect: Effect::RoutingRule }];
    vec![
        ("expiry-without-a-replacement", stalled(1_200 * MS, vec![])),
        ("immediate-revocation", Plan { revocations, ..stalled(300 * MS, vec![]) }),
        chosen_times(-5_000_000),
        chosen_times(5_000_000),
    ]
}

/// A write is answered, or its answer is lost.
fn answers(quiet: &Quiet<'_>) -> Vec<Planned> {
    let from = if quiet.0.fence.asked().is_co_located() { "authority" } else { "destination" };
    let (from, to, kind) = (from.to_owned(), "worker-A".to_owned(), "applied".to_owned());
    let lost = at(0, Fault::LoseMessage { from, to, kind, times: 1 });
    vec![
        ("the-current-holder-writes", quiet.plan(vec![rule(0, 0)], vec![])),
        ("lose-the-write-response", quiet.plan(vec![rule(0, 0)], vec![lost])),
    ]
}

/// Claims come together, come again, or are left behind.
fn claims(quiet: &Quiet<'_>) -> Vec<Planned> {
    let misused = |misuse| quiet.plan(vec![misused(0, misuse)], vec![]);
    let crashed =
        PlannedFault { trigger: at_point("before-dispatch"), fault: crash("worker-A", 200 * MS) };
    let mut plans = vec![
        ("different-intents-concurrently", quiet.plan(all_at_once(), vec![])),
        ("identical-retries-concurrently", misused(Misuse::ClaimedAtOnce { times: 16 })),
        (
            "existing-id-with-a-changed-payload",
            misused(Misuse::IdReused { changed: Change::Payload }),
        ),
        (
            "crash-between-prepared-and-dispatched",
            quiet.asking_again(vec![rule(0, 0)], vec![crashed]),
        ),
    ];
    // Two workers claim the same intent: the first is held up until about the time at which the
    // second, which was asked instead, gets there. A look-up and its insertion are far apart.
    for held_up_ms in [800, 850, 900, 950, 1_000, 1_050] {
        let stalled = stall("before-claim", held_up_ms * MS);
        let mut plan = quiet.asking_again(vec![rule(0, 0)], vec![stalled]);
        plan.timing.effect_us = 100 * MS;
        plan.timing.attempt_timeout_us = 400 * MS;
        plans.push(("identical-retries-concurrently", plan));
    }
    plans
}

/// A write shows a lease that its worker does not hold.
fn forgeries(quiet: &Quiet<'_>) -> Vec<Planned> {
    let forged = |begin_at_us, lease| misused(begin_at_us, Misuse::Forged { lease });
    let plan = |lease| quiet.plan(vec![forged(0, lease)], vec![]);
    let second = vec![rule(0, 0), forged(500 * MS, Forgery::EarlierEpoch)];
    vec![
        ("a-made-up-higher-epoch", plan(Forgery::HigherEpoch)),
        ("the-epoch-of-another-worker", plan(Forgery::OtherWorker)),
        ("a-lease-for-another-resource", plan(Forgery::OtherResource)),
        ("an-earlier-epoch-of-the-same-worker", quiet.plan(second, vec![])),
    ]
}

/// The latency of every packet.
const LATENCY_US: u64 = 2_000;

/// Plans in which nothing is left to chance.
struct Quiet<'a>(&'a Design);

impl Quiet<'_> {
    /// The agents wait, however long it takes.
    fn plan(&self, tasks: Vec<PlannedTask>, faults: Vec<PlannedFault>) -> Plan {
        let timing = Timing { agent_timeout_us: 10_000_000, ..Timing::default() };
        Plan { timing, ..self.asking_again(tasks, faults) }
    }

    /// An agent that waits for long asks another worker.
    fn asking_again(&self, tasks: Vec<PlannedTask>, faults: Vec<PlannedFault>) -> Plan {
        Plan { faults, ..Plan::quiet(self.0, tasks, LATENCY_US) }
    }
}

fn task(agent: usize, begin_at_us: u64, effect: Effect, misuse: Option<Misuse>) -> PlannedTask {
    PlannedTask { agent: AGENTS[agent].into(), begin_at_us, effect, misuse }
}

fn rule(agent: usize, begin_at_us: u64) -> PlannedTask {
    task(agent, begin_at_us, Effect::RoutingRule, None)
}

/// It replaces no state, so that nothing but the fence stands against an old worker.
fn invoice(agent: usize, begin_at_us: u64) -> PlannedTask {
    task(agent, begin_at_us, Effect::Invoice, None)
}

fn misused(begin_at_us: u64, misuse: Misuse) -> PlannedTask {
    task(0, begin_at_us, Effect::RoutingRule, Some(misuse))
}

/// Each agent wants each effect.
fn all_at_once() -> Vec<PlannedTask> {
    let of_agent = |agent| Effect::ALL.iter().map(move |effect| task(agent, 0, *effect, None));
    (0..AGENTS.len()).flat_map(of_agent).collect()
}

fn at(at_us: u64, fault: Fault) -> PlannedFault {
    PlannedFault { trigger: Trigger::At { at_us }, fault }
}

fn at_point(name: &str) -> Trigger {
    Trigger::Point { host: "worker-A".into(), name: name.into(), nth: 1 }
}

fn freeze(point: &str, for_us: u64) -> PlannedFault {
    let fault = Fault::Freeze { host: "worker-A".into(), for_us };
    PlannedFault { trigger: at_point(point), fault }
}

fn stall(point: &str, for_us: u64) -> PlannedFault {
    let fault = Fault::Stall { host: "worker-A".into(), point: point.into(), for_us };
    PlannedFault { trigger: at_point(point), fault }
}

fn crash(host: &str, restart_after_us: u64) -> Fault {
    Fault::Crash { host: host.into(), restart_after_us }
}
