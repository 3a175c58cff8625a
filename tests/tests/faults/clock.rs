//! Clocks that lie: what it does to a host, and whose clock matters to the protocol.

use std::time::Duration;

use holdover::fault::{Fault, PlannedFault, Trigger};
use holdover::plan::Plan;
use holdover::stack::{self, AGENTS, SERVICES, WORKERS};
use holdover::time::{Instant, unix_now};
use holdover::world::{START_UNIX_NS, since_start};
use holdover_model::design::Design;
use holdover_model::design::fence::EnforcedAt;
use holdover_model::design::lease::ExpiryJudgedBy;
use holdover_model::event::{Event, EventKind, LeaseEnd};

use crate::message::calm_plan;
use crate::scene::{Scene, crash, freeze};

fn step(host: &str, by_us: i64) -> Fault {
    Fault::ClockStep { host: host.into(), by_us }
}

fn drift(host: &str, ppm: i32, for_ms: u64) -> Fault {
    Fault::ClockDrift { host: host.into(), ppm, for_us: for_ms * 1_000 }
}

/// What the wall clock shows, in milliseconds since the start of the run.
fn wall_ms() -> i64 {
    (unix_now().unix_ns.cast_signed() - START_UNIX_NS.cast_signed()) / 1_000_000
}

#[test]
fn a_step_moves_the_wall_clock_forward_or_back_and_no_timer() {
    for (by_us, shown) in [(3_600_000_000, [100, 3_600_200]), (-5_000_000, [100, -4_800])] {
        let mut scene = Scene::new();
        scene.host("worker", move |diary| async move {
            let started = Instant::now();
            for shown in shown {
                holdover::time::sleep(Duration::from_millis(100)).await;
                assert_eq!(wall_ms(), shown);
                diary.note("woke");
            }
            assert_eq!(started.elapsed(), Duration::from_millis(200));
        });
        scene.at(150, step("worker", by_us));
        scene.run();
        assert_eq!(scene.diary.times("woke"), [100, 200]);
    }
}

#[test]
fn a_clock_that_drifts_takes_the_timers_along_to_the_nanosecond() {
    for (ppm, due_ns) in [(1_000_000, 1_500_000_000), (-500_000, 3_000_000_000_u64)] {
        let mut scene = Scene::new();
        scene.host("worker", move |_| async move {
            let started = Instant::now();
            // Registered before the drift and due in the middle of it.
            holdover::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(started.elapsed(), Duration::from_secs(2));
            assert_eq!(wall_ms(), 2_000);
            assert_eq!(since_start().unwrap(), Duration::from_nanos(due_ns));
        });
        scene.at(1_000, drift("worker", ppm, 60_000));
        scene.run();
    }
}

#[test]
fn plain_timers_of_tokio_drift_too() {
    let mut scene = Scene::new();
    let diary = scene.diary.clone();
    scene.world.host("worker", move || {
        let diary = diary.clone();
        async move {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                diary.note("woke");
            }
        }
    });
    scene.at(0, drift("worker", 1_000_000, 60_000));
    scene.run();
    assert_eq!(scene.diary.times("woke"), [100, 200, 300]);
}

#[test]
fn what_a_clock_has_gained_it_keeps_also_over_a_crash() {
    let mut scene = Scene::new();
    scene.host("worker", |diary| async move {
        diary.note(format!("wall {}", wall_ms()));
        holdover::time::sleep(Duration::from_secs(1)).await;
        diary.note(format!("wall {}", wall_ms()));
        std::future::pending::<()>().await;
    });
    scene.at(0, drift("worker", 100_000, 500));
    scene.at(100, step("worker", 7_000_000));
    scene.at(2_000, crash("worker", 100));
    scene.run();
    let expected = [(0, "wall 0"), (950, "wall 8000"), (2_100, "wall 9150"), (3_100, "wall 10150")];
    assert_eq!(scene.diary.entries(), expected.map(|(at, what)| (at, what.to_owned())));
}

#[test]
fn timers_that_come_due_in_a_freeze_by_a_drifting_clock_fire_at_the_thaw() {
    let mut scene = Scene::new();
    scene.host("worker", |diary| async move {
        for _ in 0..2 {
            holdover::time::sleep(Duration::from_millis(400)).await;
            diary.note("woke");
        }
    });
    scene.at(0, drift("worker", -500_000, 3_000));
    // Due at 800 ms of true time, in the middle of the freeze.
    scene.at(500, freeze("worker", 1_000));
    scene.run();
    assert_eq!(scene.diary.times("woke"), [1_500, 2_300]);
}

#[test]
fn healing_ends_a_drift_and_sets_no_clock_right() {
    let mut scene = Scene::new();
    scene.host("worker", |diary| async move {
        loop {
            holdover::time::sleep(Duration::from_secs(1)).await;
            diary.note(format!("wall {}", wall_ms()));
        }
    });
    scene.at(0, drift("worker", 1_000_000, 60_000));
    scene.at(0, step("worker", -500_000));
    scene.world.heal_at(Duration::from_millis(500));
    let _ = scene.world.run_until(Duration::from_secs(2));
    let expected = [(500, "wall 500"), (1_500, "wall 1500")];
    assert_eq!(scene.diary.entries(), expected.map(|(at, what)| (at, what.to_owned())));
}

#[test]
fn drifts_add_up_and_never_stop_a_clock() {
    let mut scene = Scene::new();
    scene.host("worker", |diary| async move {
        holdover::time::sleep(Duration::from_millis(100)).await;
        diary.note("woke");
    });
    for _ in 0..3 {
        scene.at(0, drift("worker", -900_000, 60_000));
    }
    scene.run();
    assert_eq!(scene.diary.times("woke"), [1_000]);
}

/// A plan in which a worker freezes with a lease in hand, nobody suspects it, and so the
/// lease expires.
fn expiring_plan() -> Plan {
    let mut plan = calm_plan("push-before-ready");
    plan.link.latency_us_max = plan.link.latency_us_min;
    plan.timing.suspicion_us = 60_000_000;
    plan.timing.agent_timeout_us = 30_000_000;
    plan.tasks.truncate(1);
    plan.tasks[0].begin_at_us = 0;
    let fault = Fault::Freeze { host: "worker-A".into(), for_us: 2_500_000 };
    let trigger = Trigger::Point { host: "worker-A".into(), name: "before-apply".into(), nth: 1 };
    plan.faults = vec![PlannedFault { trigger, fault }];
    plan
}

/// How long the first lease lasted, in true microseconds, if it expired.
fn expired_after_us(plan: &Plan) -> Option<u64> {
    let run = stack::run(plan).unwrap();
    assert_eq!(run.finding, None);
    let granted = run.records.iter().find(|one| one.event.kind() == EventKind::LeaseGranted)?;
    let ended = run
        .records
        .iter()
        .find(|one| matches!(one.event, Event::LeaseEnded { cause: LeaseEnd::Expired, .. }))?;
    Some((ended.at_ns - granted.at_ns) / 1_000)
}

/// The same once a clock begins to lie, at the grant of the lease.
fn expired_with(fault: Fault) -> Option<u64> {
    let mut plan = expiring_plan();
    let trigger = Trigger::Event { kind: EventKind::LeaseGranted, nth: 1, host: None };
    plan.faults.push(PlannedFault { trigger, fault });
    expired_after_us(&plan)
}

fn lies(host: &str) -> [Fault; 4] {
    let second_us = 1_000_000;
    [
        step(host, second_us),
        step(host, -second_us),
        drift(host, 400_000, 10_000),
        drift(host, -400_000, 10_000),
    ]
}

#[test]
fn nobodys_clock_but_the_authoritys_moves_the_end_of_a_lease() {
    let plan = expiring_plan();
    let truly_us = expired_after_us(&plan).unwrap();
    let seal_us = 2 * plan.link.latency_us_min;
    assert_eq!(truly_us, plan.timing.lease_term_us + seal_us);

    let others = [&AGENTS[..], &WORKERS[..], &["supervisor", "ledger", "destination"]].concat();
    assert_eq!(others.len() + 1, AGENTS.len() + WORKERS.len() + SERVICES.len());
    for fault in others.into_iter().flat_map(lies) {
        assert_eq!(expired_with(fault.clone()), Some(truly_us), "{fault}");
    }

    let [_, back, fast, slow] = lies("authority");
    // Set back by a second, which is more than one term and less than two.
    assert_eq!(expired_with(back), Some(3 * plan.timing.lease_term_us + seal_us));
    assert_eq!(expired_with(fast), Some(plan.timing.lease_term_us * 10 / 14 + seal_us));
    assert_eq!(expired_with(slow), Some(plan.timing.lease_term_us * 10 / 6 + seal_us));
}

/// A grant that is late by the authority's clock is refused: set forward between the grant
/// and the fence, it ends the lease at once.
#[test]
fn an_authority_whose_clock_leaps_ends_the_lease_that_it_is_about_to_hand_out() {
    let [leap, ..] = lies("authority");
    // There and back for the connection to the destination, the fence, and the seal.
    let round_trip_us = 2 * expiring_plan().link.latency_us_min;
    assert_eq!(expired_with(leap), Some(3 * round_trip_us));
}

/// A lease has expired and was sealed; then the clock goes back to before its end. What is
/// granted next does not overlap with it, whatever the clock shows.
#[test]
fn a_clock_that_goes_back_after_an_expiry_does_not_bring_the_lease_back() {
    let mut plan = expiring_plan();
    let trigger = Trigger::Event { kind: EventKind::LeaseEnded, nth: 1, host: None };
    plan.faults.push(PlannedFault { trigger, fault: step("authority", -3_000_000) });
    let run = stack::run(&plan).unwrap();
    assert_eq!(run.finding, None);
    let grants = run.records.iter().filter(|one| one.event.kind() == EventKind::LeaseGranted);
    assert!(grants.count() >= 2);
}

/// A design in which each side judges by its own clock, and nothing else protects the
/// resource. While the worker waits for the ledger its lease runs out.
fn by_own_clocks(fault: Option<Fault>) -> Option<&'static str> {
    let mut design = Design::default();
    design.lease.expiry_judged_by = ExpiryJudgedBy::WorkerClock;
    design.fence.enforced_at = EnforcedAt::Nowhere;
    let mut plan = expiring_plan();
    plan.design = design;
    let cut = Fault::Partition {
        a: vec!["worker-A".into()],
        b: vec!["authority".into(), "ledger".into()],
        for_us: 1_000_000,
    };
    let trigger = Trigger::Point { host: "ledger".into(), name: "before-entry".into(), nth: 1 };
    plan.faults = vec![PlannedFault { trigger, fault: cut }];
    plan.faults.extend(fault.map(|fault| {
        let trigger = Trigger::Event { kind: EventKind::LeaseGranted, nth: 1, host: None };
        PlannedFault { trigger, fault }
    }));
    stack::run(&plan).unwrap().finding.map(|finding| finding.class())
}

#[test]
fn where_workers_judge_by_their_own_clock_a_wrong_one_makes_a_stale_write() {
    assert_eq!(by_own_clocks(None), None);
    assert_eq!(by_own_clocks(Some(step("worker-A", -2_000_000))), Some("no-stale-effect"));
    assert_eq!(by_own_clocks(Some(drift("worker-A", -600_000, 10_000))), Some("no-stale-effect"));
    for host in ["worker-B", "supervisor", "ledger", "destination", "agent-1"] {
        for fault in lies(host) {
            assert_eq!(by_own_clocks(Some(fault.clone())), None, "{fault}");
        }
    }
}
