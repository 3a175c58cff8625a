//! Runs that are planned so that they come to what a row is about.
//!
//! One or two tasks, one or two faults, a network without surprises. Whoever wants to see a row
//! at work replays one of these.

use holdover_model::design::Design;

use crate::fault::{Fault, PlannedFault, Trigger};
use crate::plan::{Plan, PlannedTask, Revocation};
use crate::random::Seed;
use crate::stack::{AGENTS, Change, Effect, Forgery, Misuse, Timing};
use crate::world::LinkProfile;

/// Every planned run of a design: for which row it is made, and the plan.
pub(super) fn planned(design: &Design) -> Vec<(&'static str, Plan)> {
    let quiet = Quiet(design);
    let ms = 1_000;
    let rule = |agent, begin_at_us| task(agent, begin_at_us, Effect::RoutingRule, None);
    // It replaces no state, so that nothing but the fence stands against an old worker.
    let invoice = |agent, begin_at_us| task(agent, begin_at_us, Effect::Invoice, None);
    let misused = |begin_at_us, misuse| task(0, begin_at_us, Effect::RoutingRule, Some(misuse));
    let forged = |lease| misused(0, Misuse::Forged { lease });
    let forgery = |lease| quiet.plan(vec![forged(lease)], vec![]);
    let destination = if design.fence.is_co_located() { "authority" } else { "destination" };
    let lost_answer = |from: &str| {
        let (from, to, kind) = (from.to_owned(), "worker-A".into(), "applied".into());
        at(0, Fault::LoseMessage { from, to, kind, times: 1 })
    };
    let step = |by_us| at(1, Fault::ClockStep { host: "worker-A".into(), by_us });
    let chosen_times = |by_us| {
        let stalled = stall("before-apply", 1_500 * ms);
        (
            "a-timestamp-chosen-by-the-worker",
            quiet.plan(vec![rule(0, 0)], vec![step(by_us), stalled]),
        )
    };

    let mut plans = vec![
        // The heartbeat stops, too, so the supervisor has the lease passed on within its term.
        (
            "resume-before-the-first-write",
            quiet.plan(vec![rule(0, 0)], vec![freeze("before-apply", 680 * ms)]),
        ),
        (
            "pause-before-the-mutation",
            quiet.plan(vec![rule(0, 0)], vec![freeze("before-apply", 200 * ms)]),
        ),
        // The heartbeat goes on, so the lease expires.
        (
            "expire-and-grant",
            quiet
                .plan(vec![rule(0, 0), rule(1, 900 * ms)], vec![stall("before-apply", 1_500 * ms)]),
        ),
        (
            "write-then-retry-the-old-worker",
            quiet.plan(
                vec![invoice(0, 0), invoice(1, 900 * ms)],
                vec![stall("before-apply", 1_500 * ms)],
            ),
        ),
        (
            "expiry-without-a-replacement",
            quiet.plan(vec![rule(0, 0)], vec![stall("before-apply", 1_200 * ms)]),
        ),
        (
            "immediate-revocation",
            Plan {
                revocations: vec![Revocation { at_us: 150 * ms, effect: Effect::RoutingRule }],
                ..quiet.plan(vec![rule(0, 0)], vec![stall("before-apply", 300 * ms)])
            },
        ),
        (
            "restart-the-ownership-service",
            quiet.plan(
                vec![invoice(0, 0), invoice(1, 1_400 * ms)],
                vec![
                    freeze("before-apply", 2_200 * ms),
                    at(1_000 * ms, crash("authority", 200 * ms)),
                ],
            ),
        ),
        ("lose-the-write-response", quiet.plan(vec![rule(0, 0)], vec![lost_answer(destination)])),
        ("different-intents-concurrently", quiet.plan(all_at_once(), vec![])),
        (
            "identical-retries-concurrently",
            quiet.plan(vec![misused(0, Misuse::ClaimedAtOnce { times: 16 })], vec![]),
        ),
        (
            "existing-id-with-a-changed-payload",
            quiet.plan(vec![misused(0, Misuse::IdReused { changed: Change::Payload })], vec![]),
        ),
        (
            "crash-between-prepared-and-dispatched",
            quiet.asking_again(
                vec![rule(0, 0)],
                vec![PlannedFault {
                    trigger: at_point("before-dispatch"),
                    fault: crash("worker-A", 200 * ms),
                }],
            ),
        ),
        ("the-current-holder-writes", quiet.plan(vec![rule(0, 0)], vec![])),
        ("a-made-up-higher-epoch", forgery(Forgery::HigherEpoch)),
        ("the-epoch-of-another-worker", forgery(Forgery::OtherWorker)),
        ("a-lease-for-another-resource", forgery(Forgery::OtherResource)),
        (
            "an-earlier-epoch-of-the-same-worker",
            quiet.plan(
                vec![
                    rule(0, 0),
                    misused(500 * ms, Misuse::Forged { lease: Forgery::EarlierEpoch }),
                ],
                vec![],
            ),
        ),
        chosen_times(-5_000 * 1_000),
        chosen_times(5_000 * 1_000),
    ];
    // Two workers claim the same intent: the first is held up until about the time at which the
    // second, which was asked instead, gets there. A look-up and its insertion are far apart.
    for held_up_ms in [800, 850, 900, 950, 1_000, 1_050] {
        let mut plan =
            quiet.asking_again(vec![rule(0, 0)], vec![stall("before-claim", held_up_ms * ms)]);
        plan.timing.effect_us = 100 * ms;
        plan.timing.attempt_timeout_us = 400 * ms;
        plans.push(("identical-retries-concurrently", plan));
    }
    plans
}

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
        Plan {
            seed: Seed(0),
            heal_at_us: 3_000_000,
            link: LinkProfile { latency_us_min: 2_000, latency_us_max: 2_000 },
            timing: Timing::default(),
            design: self.0.clone(),
            tasks,
            revocations: Vec::new(),
            faults,
        }
    }
}

fn task(agent: usize, begin_at_us: u64, effect: Effect, misuse: Option<Misuse>) -> PlannedTask {
    PlannedTask { agent: AGENTS[agent].into(), begin_at_us, effect, misuse }
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
