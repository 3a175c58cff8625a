//! What the reference system keeps, and what a design loses that keeps it too late or takes
//! an old backup for the truth.

use std::collections::BTreeSet;

use holdover::fault::{DiskFault, Fault, PlannedFault, Trigger};
use holdover::plan::Plan;
use holdover::random::Seed;
use holdover::stack::{Run, run};
use holdover::sweep::Sweep;
use holdover_model::design::Design;
use holdover_model::design::authority::Durability;
use holdover_model::event::EventKind;

fn named(name: &str) -> Design {
    Design::named(name).unwrap()
}

fn at_point(host: &str, name: &str, nth: u64) -> Trigger {
    Trigger::Point { host: host.into(), name: name.into(), nth }
}

fn crash(host: &str) -> Fault {
    Fault::Crash { host: host.into(), restart_after_us: 50_000 }
}

/// Runs seeds of a design in which nothing goes wrong but this, numbered from 1.
fn runs(
    design: &Design,
    planned: impl Fn(u64) -> (Trigger, Fault),
) -> impl Iterator<Item = (Plan, Run)> {
    runs_with(design, move |number| vec![planned(number)])
}

fn runs_with(
    design: &Design,
    planned: impl Fn(u64) -> Vec<(Trigger, Fault)>,
) -> impl Iterator<Item = (Plan, Run)> {
    (1..=40).map(move |number| {
        let mut plan = Sweep::new(design.clone()).plan(Seed(number));
        let planned = planned(number).into_iter();
        plan.faults = planned.map(|(trigger, fault)| PlannedFault { trigger, fault }).collect();
        let run = run(&plan).unwrap();
        (plan, run)
    })
}

/// What such runs find, as far as the fault has struck; at least some of them are struck.
fn findings(design: &Design, planned: impl Fn(u64) -> (Trigger, Fault)) -> BTreeSet<&'static str> {
    findings_of(runs(design, planned))
}

fn findings_of(runs: impl Iterator<Item = (Plan, Run)>) -> BTreeSet<&'static str> {
    let struck: Vec<_> = runs.filter(|(_, run)| !run.faults_fired.is_empty()).collect();
    assert!(struck.len() >= 10, "only {} runs were struck", struck.len());
    struck.iter().filter_map(|(_, run)| Some(run.finding.as_ref()?.class())).collect()
}

fn authority_keeps(durability: Durability) -> Design {
    let mut design = named("push-before-ready");
    design.authority.durability = durability;
    design
}

#[test]
fn what_an_authority_keeps_after_its_reply_is_lost_in_a_crash_between_the_two() {
    let between = |nth| (at_point("authority", "before-late-records", nth), crash("authority"));
    let found = findings(&authority_keeps(Durability::AfterReply), between);
    assert!(found.contains("epoch-monotonic"), "{found:?}");

    // The reply has left: somebody was told of what is lost.
    let design = authority_keeps(Durability::AfterReply);
    let told = runs(&design, between).filter(|(_, run)| {
        let Some(fired) = run.faults_fired.first() else { return false };
        let later = run.records.iter().filter(|record| record.at_ns > fired.at_ns);
        later.filter(|record| record.host.starts_with("destination")).count() > 0
    });
    assert!(told.count() > 0);

    // With the safe value nothing is ever late, so there is no such moment.
    let safe = authority_keeps(Durability::BeforeReply);
    assert!(runs(&safe, between).all(|(_, run)| run.faults_fired.is_empty()));
}

#[test]
fn an_authority_that_crashes_right_after_a_grant_knows_of_it_if_it_keeps_it_before_its_reply() {
    let after_grant = |nth| {
        let host = Some("authority".to_owned());
        (
            Trigger::Event { kind: EventKind::LeaseGranted, nth: nth % 8 + 1, host },
            crash("authority"),
        )
    };
    assert_eq!(findings(&authority_keeps(Durability::BeforeReply), after_grant), BTreeSet::new());
    for unsafe_value in [Durability::AfterReply, Durability::Memory] {
        let found = findings(&authority_keeps(unsafe_value), after_grant);
        assert!(found.contains("epoch-monotonic"), "{unsafe_value:?}: {found:?}");
    }
}

#[test]
fn a_receipt_that_is_kept_after_its_effect_is_lost_in_a_crash_between_the_two() {
    let at_effect = |nth| {
        let host = Some("destination".to_owned());
        Trigger::Event { kind: EventKind::EffectCommitted, nth, host }
    };
    // The worker does not hear the answer, and asks the destination after it is up again.
    let between = |number| {
        let nth = number % 5 + 1;
        let cut = |to: &str| {
            let (from, to) = ("destination".to_owned(), to.to_owned());
            (at_effect(nth), Fault::PartitionOneWay { from, to, for_us: 200_000 })
        };
        let at_late = at_point("destination", "before-late-records", nth);
        vec![cut("worker-A"), cut("worker-B"), (at_late, crash("destination"))]
    };
    let after_effect = |number| (at_effect(number % 5 + 1), crash("destination"));
    let (late, safe) = (named("inbox-after-effect"), named("push-before-ready"));
    let expected: BTreeSet<_> = late.expect.iter().map(|id| id.as_str()).collect();
    for found in [findings_of(runs_with(&late, between)), findings(&late, after_effect)] {
        assert!(!found.is_empty() && found.is_subset(&expected), "{found:?}: {expected:?}");
    }
    // With the safe value nothing is ever late, so the destination does not crash then.
    assert!(runs_with(&safe, between).all(|(_, run)| run.faults_fired.len() <= 2));
    assert_eq!(findings(&safe, after_effect), BTreeSet::new());
}

#[test]
fn a_torn_entry_was_never_told_and_is_dropped() {
    for host in ["authority", "ledger", "destination", "agent-1"] {
        let torn = |number: u64| {
            let host = host.to_owned();
            let kept_bytes = number * 3;
            (
                at_point(&host, "before-sync", number % 9 + 1),
                Fault::Disk(DiskFault::Tear { host, kept_bytes, restart_after_us: 50_000 }),
            )
        };
        assert_eq!(findings(&named("push-before-ready"), torn), BTreeSet::new(), "{host}");
    }
}

#[test]
fn a_role_whose_disk_fails_says_nothing_until_it_works_again() {
    for host in ["authority", "ledger", "destination"] {
        for fault in [
            DiskFault::Fail { host: host.into(), for_us: 700_000 },
            DiskFault::Fill { host: host.into(), free_bytes: 40, for_us: 700_000 },
        ] {
            let at = (Trigger::At { at_us: 300_000 }, Fault::Disk(fault.clone()));
            let mut said_later = 0;
            for (plan, run) in runs(&named("push-before-ready"), |_| at.clone()) {
                assert_eq!(run.finding, None, "{fault}, seed {}", plan.seed);
                let of_host = run.records.iter().filter(|record| *record.host == *host);
                let during = |at_ns: u64| (300_000_000..1_000_000_000).contains(&at_ns);
                if matches!(fault, DiskFault::Fail { .. }) {
                    let said = of_host.clone().find(|record| during(record.at_ns));
                    assert_eq!(said, None, "seed {}", plan.seed);
                }
                said_later += of_host.filter(|record| record.at_ns >= 1_000_000_000).count();
            }
            assert!(said_later > 0, "{fault}");
        }
    }
}

fn restored(host: &str, number: u64) -> (Trigger, Fault) {
    let host = host.to_owned();
    let age_us = 20_000 * number;
    let trigger = Trigger::At { at_us: 400_000 + 37_000 * (number % 10) };
    (trigger, Fault::Disk(DiskFault::Restore { host, age_us, restart_after_us: 50_000 }))
}

#[test]
fn an_authority_that_takes_a_backup_for_the_truth_issues_epochs_again() {
    let found = findings(&named("etcd-restored-snapshot"), |number| restored("authority", number));
    assert_eq!(found, BTreeSet::from(["epoch-monotonic"]));
}

#[test]
fn a_restored_authority_begins_a_new_incarnation() {
    let mut voided = 0;
    let design = named("push-before-ready");
    for (plan, run) in runs(&design, |number| restored("authority", number)) {
        assert_eq!(run.finding, None, "seed {}", plan.seed);
        let is_voided = |kind| kind == EventKind::LeasesVoided;
        voided += run.records.iter().filter(|record| is_voided(record.event.kind())).count();
    }
    assert!(voided > 0);
}

/// The second start knows of the restore from its own log, and a third from the world.
#[test]
fn an_incarnation_outlasts_crashes_and_further_restores() {
    for number in 1..=40 {
        let mut plan = Sweep::new(named("push-before-ready")).plan(Seed(number));
        let (trigger, fault) = restored("authority", number);
        let again = |after_us| match trigger {
            Trigger::At { at_us } => Trigger::At { at_us: at_us + after_us },
            _ => unreachable!("restores are planned for a time"),
        };
        // Before it is up, while it takes up what was left unfinished, and well after that.
        plan.faults = vec![
            PlannedFault { trigger: again(40_000 + 1_000 * number), fault: crash("authority") },
            PlannedFault { trigger: again(400_000), fault: crash("authority") },
            PlannedFault { trigger: again(800_000), fault: fault.clone() },
            PlannedFault { trigger, fault },
        ];
        let run = run(&plan).unwrap();
        assert_eq!(run.finding, None, "seed {number}");
        assert_eq!(run.faults_fired.len(), 4);
    }
}

/// No design claims to survive this: it is shown so that nobody believes it does.
#[test]
fn a_restored_destination_has_forgotten_what_it_had_confirmed() {
    let found = findings(&named("push-before-ready"), |number| restored("destination", number));
    assert!(!found.is_empty());
}
