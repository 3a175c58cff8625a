//! The main job: the safe design survives thousands of seeds, each unsafe one is caught by
//! the invariant that it breaks.
//!
//! `HOLDOVER_SEEDS` (`N` or `A..B`) makes the first sweep larger.

use std::collections::BTreeSet;

use holdover::plan::{Plan, PlannedTask};
use holdover::random::Seed;
use holdover::sweep::Sweep;
use holdover::world::{LinkProfile, Order};
use holdover_model::design::identity::OnMismatch;
use holdover_model::design::{Design, NAMED};
use holdover_model::event::EventKind;
use holdover_model::invariant::InvariantId;

fn named(name: &str) -> Design {
    Design::named(name).unwrap()
}

#[test]
fn the_safe_design_survives() {
    Sweep::new(named("push-before-ready")).seeds(0..2_000).assert_holds();
}

#[test]
fn a_store_for_ownership_and_value_survives() {
    let outcome = Sweep::new(named("co-located-gate")).seeds(0..500).run();
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures.first());
}

/// Whoever has to speak first also has to open the connection, in every design. A design whose
/// roles cannot reach each other is broken by nothing that it says.
#[test]
fn every_named_design_does_its_work_where_nothing_goes_wrong() {
    for (name, _) in NAMED {
        let design = named(name);
        let sweep = Sweep::new(design.clone());
        let whole = sweep.plan(Seed(0));
        for task in &whole.tasks {
            let task = PlannedTask { misuse: None, ..task.clone() };
            let plan = Plan { tasks: vec![task], faults: Vec::new(), ..whole.clone() };
            let run = holdover::stack::run(&plan).unwrap();
            if let Some(finding) = run.finding {
                let is_known = design.expect.iter().any(|known| known.as_str() == finding.class());
                let settles = InvariantId::EveryOperationSettles.as_str() != finding.class();
                assert!(is_known && settles, "{name}: {}", finding.explanation());
                continue;
            }
            let effects = run
                .records
                .iter()
                .filter(|record| record.event.kind() == EventKind::EffectCommitted);
            assert_eq!(effects.count(), 1, "{name}: {plan}");
        }
    }
}

/// Under a constant latency nothing breaks a tie: a worker that is sent back to the start each time
/// that it asks again for its lease would ask for ever.
#[test]
fn an_answer_that_takes_longer_than_a_worker_waits_is_one_all_the_same() {
    let design = named("push-before-ready");
    let whole = Sweep::new(design.clone()).plan(Seed(0));
    let task = PlannedTask { misuse: None, ..whole.tasks[0].clone() };
    for latency_us in [10_000, 40_000, 70_000] {
        let link = LinkProfile { latency_us_min: latency_us, latency_us_max: latency_us };
        let (tasks, faults) = (vec![task.clone()], Vec::new());
        let run = holdover::stack::run(&Plan { tasks, faults, link, ..whole.clone() }).unwrap();
        assert_eq!(run.finding, None, "{latency_us} us");
    }
}

/// Sweeps a broken design; gives the invariants that broke.
fn broken(name: &str, seeds: u64) -> BTreeSet<&'static str> {
    let outcome = Sweep::new(named(name)).seeds(0..seeds).run();
    outcome.failures.iter().map(|failure| failure.finding.class()).collect()
}

#[track_caller]
fn is_caught(name: &str, by: InvariantId) {
    let expected: BTreeSet<_> = named(name).expect.into_iter().map(InvariantId::as_str).collect();
    let found = broken(name, 1_000);
    assert!(found.contains(by.as_str()), "{name}: {by} did not break, but {found:?}");
    assert!(found.is_subset(&expected), "{name}: {found:?} broke, expected were {expected:?}");
}

#[test]
fn highest_seen_admits_a_stale_write() {
    is_caught("highest-seen", InvariantId::NoStaleEffect);
}

#[test]
fn a_check_in_the_adapter_admits_a_stale_write() {
    is_caught("adapter-check", InvariantId::NoStaleEffect);
}

#[test]
fn ids_from_run_and_millisecond_name_two_intents() {
    is_caught("run-and-millisecond", InvariantId::OneIntentPerOperation);
}

#[test]
fn a_receipt_under_a_shared_id_proves_the_wrong_effect() {
    is_caught("run-and-millisecond", InvariantId::ReceiptBindsIntent);
}

#[test]
fn a_timeout_that_counts_as_a_failure_makes_a_second_effect() {
    is_caught("timeout-means-failed", InvariantId::AtMostOneEffect);
}

/// The unsafe setting alone is not enough where the ledger compares intents: it then stops
/// both operations, which is a correct outcome.
#[test]
fn shared_ids_are_blocked_where_intents_are_compared() {
    let mut design = named("run-and-millisecond");
    design.identity.on_mismatch = OnMismatch::Block;
    let sweep = Sweep::new(design).seeds(0..300);
    let outcome = sweep.run();
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures.first());
    let run = sweep.run_seed(holdover::random::Seed(1));
    let collisions = run
        .records
        .iter()
        .filter(|record| record.event.kind() == EventKind::IdentityCollision)
        .count();
    assert!(collisions > 0, "seed 1 has no collision");
}

/// A sweep in which nothing happens holds vacuously. These moments have to happen.
#[test]
fn the_sweep_reaches_the_moments_that_matter() {
    let sweep = Sweep::new(named("push-before-ready"));
    let mut missing: BTreeSet<EventKind> = EventKind::ALL.iter().copied().collect();
    // With ids from the ledger there is nothing to collide.
    missing.remove(&EventKind::IdentityCollision);
    // The world does not have others change resources yet.
    missing.remove(&EventKind::ResourceRecreated);
    for seed in 0..800 {
        for record in sweep.run_seed(holdover::random::Seed(seed)).records {
            missing.remove(&record.event.kind());
        }
    }
    assert!(missing.is_empty(), "never seen in 800 seeds: {missing:?}");
}

/// Where every link always takes as long and mutations stay inside for long, nothing breaks a tie:
/// workers that abort each other's tries would do so for ever.
#[test]
fn workers_that_meet_again_and_again_come_to_an_end() {
    let sweep = Sweep::new(named("push-before-ready"));
    for seed in 0..500 {
        let mut plan = sweep.plan(Seed(seed));
        plan.order = Order::Priority { depth: 4 };
        plan.timing.effect_us = sweep.profile.effect_us_max;
        let run = holdover::stack::run(&plan).unwrap();
        assert_eq!(run.finding, None, "seed {seed}");
    }
}
