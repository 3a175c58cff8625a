//! What it takes to reach each situation, and what is not enough.

use std::collections::BTreeSet;

use holdover::fault::{DiskFault, Fault};
use holdover::situation::{Situation, catalogue};
use holdover_model::event::{Event, LeaseEnd, Outcome, Rejection};
use holdover_model::identity::AttemptId;
use holdover_model::intent::{Intent, PayloadHash};
use holdover_model::resource::ResourceId;
use holdover_model::role::{Actor, Message};

use crate::story::{Story, intent, only_the_first_reaches, receipt, sealed, worker};

macro_rules! stories {
    ($($test:ident: $name:literal => $reaches:expr; not $($misses:expr),+ $(,)?;)*) => {
        $(#[test]
        fn $test() {
            only_the_first_reaches($name, &[&$reaches, $(&$misses),+]);
        })*

        const NAMES: &[&str] = &[$($name),*];
    };
}

#[test]
fn every_situation_has_its_story() {
    let told: BTreeSet<_> = NAMES.iter().copied().collect();
    let situations = catalogue();
    let all: BTreeSet<_> = situations.iter().map(Situation::name).collect();
    assert_eq!(told, all);
}

stories! {
    paused: "worker-paused-before-mutation" =>
        |run: &mut Story| { run.ready("A", 1).dispatches("A", 1, 1).is_held("worker-A", "before-apply", false); };
    not
        // At another point.
        |run: &mut Story| { run.ready("A", 1).dispatches("A", 1, 1).is_held("worker-A", "before-settle", false); },
        // Its authority is gone by then.
        |run: &mut Story| {
            run.ready("A", 1).dispatches("A", 1, 1).lease_ends("A", 1, LeaseEnd::Revoked);
            run.is_held("worker-A", "before-apply", false);
        };

    expired: "lease-expired-while-paused" =>
        |run: &mut Story| { run.ready("A", 1).freezes("worker-A").lease_ends("A", 1, LeaseEnd::Expired); };
    not
        |run: &mut Story| { run.ready("A", 1).freezes("worker-A").thaws("worker-A").lease_ends("A", 1, LeaseEnd::Expired); },
        |run: &mut Story| { run.ready("A", 1).freezes("worker-B").lease_ends("A", 1, LeaseEnd::Expired); },
        |run: &mut Story| { run.ready("A", 1).freezes("worker-A").lease_ends("A", 1, LeaseEnd::Released); },
        |run: &mut Story| { run.ready("A", 1).freezes("worker-A").goes_down("worker-A").lease_ends("A", 1, LeaseEnd::Expired); },
        |run: &mut Story| {
            run.is_held("worker-A", "before-apply", true).ends(&stall("worker-A"));
            run.lease_ends("A", 1, LeaseEnd::Expired);
        };

    takeover: "takeover-complete-before-first-write" =>
        |run: &mut Story| { run.ready("A", 1).dispatches("A", 1, 1).ready("B", 2); };
    not
        // Nothing of the earlier holder is on its way any more.
        |run: &mut Story| { run.ready("A", 1).dispatches("A", 1, 1).commits("A", 1, 1).ready("B", 2); },
        // It is no successor.
        |run: &mut Story| { run.ready("A", 1).dispatches("A", 1, 1).ready("A", 2); };

    stale_before: "stale-write-before-first-write" =>
        |run: &mut Story| { run.ready("B", 2).arrives("A", 1, 1).rejects("A", 1, 1, Rejection::StaleEpoch); };
    not
        |run: &mut Story| { run.ready("B", 2).commits("B", 2, 7).arrives("A", 1, 1).rejects("A", 1, 1, Rejection::StaleEpoch); },
        |run: &mut Story| { run.ready("B", 2).arrives("B", 2, 1).commits("B", 2, 1); },
        // It had arrived before.
        |run: &mut Story| { run.ready("A", 1).arrives("A", 1, 1).ready("B", 2).rejects("A", 1, 1, Rejection::StaleEpoch); },
        // It is refused for what is known of its operation.
        |run: &mut Story| { run.ready("B", 2).arrives("A", 1, 1).rejects("A", 1, 1, Rejection::AttemptClosed); };

    stale_after: "stale-write-after-first-write" =>
        |run: &mut Story| { run.ready("B", 2).commits("B", 2, 7).arrives("A", 1, 1).commits("A", 1, 1); };
    not
        |run: &mut Story| { run.ready("B", 2).arrives("A", 1, 1).commits("A", 1, 1); },
        // Another one has written before B was ready.
        |run: &mut Story| { run.ready("A", 1).commits("A", 1, 7).ready("B", 2).arrives("A", 1, 1).rejects("A", 1, 1, Rejection::StaleEpoch); };

    inside: "stale-write-inside-the-destination" =>
        |run: &mut Story| { run.arrives("A", 1, 1).later_ms(1).fence_admits("B", 2); };
    not
        |run: &mut Story| { run.arrives("A", 1, 1).rejects("A", 1, 1, Rejection::Sealed).later_ms(1).fence_admits("B", 2); },
        // The fence moves in the step in which the write arrives.
        |run: &mut Story| { run.arrives("A", 1, 1).fence_admits("B", 2); },
        // A crash has thrown it out.
        |run: &mut Story| { run.arrives("A", 1, 1).goes_down("destination").later_ms(1).fence_admits("B", 2); },
        |run: &mut Story| { run.arrives("A", 1, 1).later_ms(1).fence_admits("A", 1); };

    restarted: "authority-restarted" =>
        |run: &mut Story| { run.ready("A", 1).goes_down("authority").comes_up("authority"); };
    not
        |run: &mut Story| { run.ready("A", 1).goes_down("ledger").comes_up("ledger"); },
        |run: &mut Story| { run.ready("A", 1).goes_down("authority"); },
        |run: &mut Story| { run.ready("A", 1).lease_ends("A", 1, LeaseEnd::Released).goes_down("authority").comes_up("authority"); };

    restored: "authority-restored-and-epoch-issued" =>
        |run: &mut Story| { run.later_ms(100).ready("A", 1).later_ms(10).strikes(&restore(20)).ready("B", 2); };
    not
        // The backup has the grant.
        |run: &mut Story| { run.later_ms(100).ready("A", 1).later_ms(10).strikes(&restore(5)).ready("B", 2); },
        // No epoch follows.
        |run: &mut Story| { run.later_ms(100).ready("A", 1).later_ms(10).strikes(&restore(20)); };

    response_lost: "response-lost-after-commit" =>
        |run: &mut Story| { run.commits("A", 1, 1).is_unanswered(1); };
    not
        |run: &mut Story| { run.is_unanswered(1).commits("A", 1, 1); },
        |run: &mut Story| { run.commits("A", 1, 1).is_unanswered(2); },
        |run: &mut Story| { run.rejects("A", 1, 1, Rejection::Sealed).is_unanswered(1); };

    request_lost: "request-lost-before-commit" =>
        |run: &mut Story| { run.is_unanswered(1).reconciles(1, false); };
    not
        |run: &mut Story| { run.rejects("A", 1, 1, Rejection::Sealed).is_unanswered(1).reconciles(1, false); },
        |run: &mut Story| { run.is_unanswered(1).reconciles(1, true); },
        |run: &mut Story| { run.reconciles(1, false); };

    reconciled_committed: "unknown-reconciled-to-committed" =>
        |run: &mut Story| { run.is_unanswered(1).reconciles(1, true); };
    not
        |run: &mut Story| { run.is_unanswered(1).reconciles(1, false); },
        |run: &mut Story| { run.reconciles(1, true); };

    reconciled_not_committed: "unknown-reconciled-to-not-committed" =>
        |run: &mut Story| { run.is_unanswered(1).reconciles(1, false); };
    not
        |run: &mut Story| { run.is_unanswered(1).reconciles(1, true); },
        |run: &mut Story| { run.reconciles(1, false); };

    replayed: "retry-answered-from-receipt" =>
        |run: &mut Story| {
            let attempt_id = AttemptId(2);
            run.emits("destination", Event::EffectReplayed { receipt: receipt("A", 1, 1), attempt_id });
        };
    not
        |run: &mut Story| { run.commits("A", 1, 1).arrives("A", 1, 1); };

    one_intent: "many-claims-of-one-intent" =>
        |run: &mut Story| { for _ in 0..4 { run.later_ms(1).claims(&intent("one"), None); } };
    not
        |run: &mut Story| { for _ in 0..3 { run.later_ms(1).claims(&intent("one"), None); } },
        |run: &mut Story| { for _ in 0..4 { run.later_ms(50).claims(&intent("one"), None); } },
        |run: &mut Story| { for step in STEPS { run.later_ms(1).claims(&intent(step), None); } },
        |run: &mut Story| {
            run.claims(&intent("one"), None).is_claimed(&intent("one")).is_marked();
            for _ in 0..4 { run.claims(&intent("one"), None); }
        };

    different_intents: "many-claims-in-one-millisecond" =>
        |run: &mut Story| { for step in STEPS { run.claims(&intent(step), None); } };
    not
        |run: &mut Story| { for step in STEPS { run.later_ms(1).claims(&intent(step), None); } },
        |run: &mut Story| { for _ in STEPS { run.claims(&intent("one"), None); } };

    changed_payload: "operation-id-reused-with-changed-payload" =>
        |run: &mut Story| reuses(run, "op_1", &Intent { payload_hash: PayloadHash::of(b"x"), ..intent("one") });
    not
        |run: &mut Story| reuses(run, "op_2", &Intent { payload_hash: PayloadHash::of(b"x"), ..intent("one") }),
        |run: &mut Story| reuses(run, "op_1", &Intent { policy_version: "x".into(), ..intent("one") }),
        |run: &mut Story| reuses(run, "op_1", &intent("one"));

    changed_target: "operation-id-reused-with-changed-target" =>
        |run: &mut Story| reuses(run, "op_1", &elsewhere());
    not
        |run: &mut Story| reuses(run, "op_2", &elsewhere()),
        // More than the target differs.
        |run: &mut Story| reuses(run, "op_1", &Intent { step_id: "two".into(), ..elsewhere() });

    changed_version: "operation-id-reused-with-changed-version" =>
        |run: &mut Story| reuses(run, "op_1", &Intent { expected_version: None, ..intent("one") });
    not
        |run: &mut Story| reuses(run, "op_1", &Intent { payload_hash: PayloadHash::of(b"x"), ..intent("one") }),
        |run: &mut Story| reuses(run, "op_1", &intent("one"));

    changed_approval: "operation-id-reused-with-changed-approval" =>
        |run: &mut Story| reuses(run, "op_1", &Intent { approval_id: "x".into(), ..intent("one") });
    not
        |run: &mut Story| reuses(run, "op_1", &Intent { policy_version: "x".into(), ..intent("one") }),
        |run: &mut Story| reuses(run, "op_1", &intent("one"));

    changed_policy: "operation-id-reused-with-changed-policy" =>
        |run: &mut Story| reuses(run, "op_1", &Intent { policy_version: "x".into(), ..intent("one") });
    not
        |run: &mut Story| reuses(run, "op_1", &Intent { approval_id: "x".into(), ..intent("one") }),
        |run: &mut Story| reuses(run, "op_1", &intent("one"));

    crash_prepared: "crash-between-prepared-and-dispatched" =>
        |run: &mut Story| { run.claims(&intent("one"), None).is_claimed(&intent("one")).goes_down("worker-A"); };
    not
        |run: &mut Story| { run.claims(&intent("one"), None).is_claimed(&intent("one")).goes_down("worker-B"); },
        |run: &mut Story| { run.claims(&intent("one"), None).goes_down("worker-A"); },
        |run: &mut Story| { run.claims(&intent("one"), None).is_claimed(&intent("one")).is_marked().goes_down("worker-A"); };

    crash_dispatched: "crash-between-dispatched-and-reply" =>
        |run: &mut Story| { run.dispatches("A", 1, 1).goes_down("worker-A"); };
    not
        |run: &mut Story| { run.dispatches("A", 1, 1).goes_down("worker-B"); },
        |run: &mut Story| {
            let intent_hash = sealed(&intent("one")).hash();
            let attempt_id = AttemptId(1);
            let applied = Message::Applied { intent_hash, attempt_id, receipt: receipt("A", 1, 1) };
            run.dispatches("A", 1, 1).hears("worker-A", Actor::Destination, applied).goes_down("worker-A");
        };

    approval: "approval-replayed" =>
        |run: &mut Story| { shows_used_consent(run, "two", true); };
    not
        |run: &mut Story| { shows_used_consent(run, "two", false); },
        // A retry of the operation that it was used for.
        |run: &mut Story| { shows_used_consent(run, "one", true); };

    clock_of_authority: "clock-step-on-authority" =>
        |run: &mut Story| steps(run, "authority", true);
    not |run: &mut Story| steps(run, "authority", false), |run: &mut Story| steps(run, "ledger", true);

    clock_of_ledger: "clock-step-on-ledger" =>
        |run: &mut Story| steps(run, "ledger", true);
    not |run: &mut Story| steps(run, "ledger", false), |run: &mut Story| steps(run, "agent-1", true);

    clock_of_destination: "clock-step-on-destination" =>
        |run: &mut Story| steps(run, "destination", true);
    not |run: &mut Story| steps(run, "destination", false), |run: &mut Story| steps(run, "worker-A", true);

    clock_of_worker: "clock-step-on-worker" =>
        |run: &mut Story| steps(run, "worker-B", true);
    not |run: &mut Story| steps(run, "worker-B", false), |run: &mut Story| steps(run, "supervisor", true);

    clock_of_supervisor: "clock-step-on-supervisor" =>
        |run: &mut Story| steps(run, "supervisor", true);
    not |run: &mut Story| steps(run, "supervisor", false), |run: &mut Story| steps(run, "worker-A", true);

    clock_of_agent: "clock-step-on-agent" =>
        |run: &mut Story| steps(run, "agent-2", true);
    not |run: &mut Story| steps(run, "agent-2", false), |run: &mut Story| steps(run, "worker-A", true);

    stuck: "heartbeat-alive-while-stuck" =>
        |run: &mut Story| { beats(run.is_held("worker-A", "before-apply", true), "worker-A", 3); };
    not
        |run: &mut Story| { beats(run.is_held("worker-A", "before-apply", true), "worker-A", 2); },
        |run: &mut Story| { beats(run.is_held("worker-A", "before-apply", true), "worker-B", 3); },
        // The whole process stops.
        |run: &mut Story| { beats(run.is_held("worker-A", "before-apply", false), "worker-A", 3); },
        // The heartbeat itself stops.
        |run: &mut Story| { beats(run.is_held("worker-A", "heartbeat", true), "worker-A", 3); },
        |run: &mut Story| { beats(run.is_held("worker-A", "before-apply", true).ends(&stall("worker-A")), "worker-A", 3); };
}

const STEPS: [&str; 4] = ["one", "two", "three", "four"];

fn stall(host: &str) -> Fault {
    Fault::Stall { host: host.into(), point: "before-apply".into(), for_us: 1 }
}

fn restore(age_ms: u64) -> Fault {
    let host = "authority".into();
    Fault::Disk(DiskFault::Restore { host, age_us: age_ms * 1_000, restart_after_us: 1 })
}

fn elsewhere() -> Intent {
    let mut elsewhere = intent("one");
    elsewhere.target.resource.push_str("/other");
    elsewhere
}

/// The id `op_1` is given to an intent, and some id is claimed for another.
fn reuses(run: &mut Story, id: &str, second: &Intent) {
    let first = intent("one");
    run.claims(&first, None).is_claimed(&first).claims(second, Some(id));
}

/// A consent is used for one intent, shown for another (or again for the same one), and perhaps
/// that is about to leave.
fn shows_used_consent(run: &mut Story, step: &str, leaves: bool) {
    let (first, second) = (sealed(&intent("one")), intent(step));
    let used = Event::ApprovalUsed {
        approval_id: first.record().approval_id.clone(),
        operation_id: "op_1".into(),
        intent_hash: first.hash(),
    };
    run.emits("ledger", used).claims(&second, None);
    if leaves {
        let dispatch = Message::Dispatch {
            operation_id: "op_2".into(),
            intent_hash: sealed(&second).hash(),
            after: AttemptId(0),
        };
        run.hears("ledger", worker("A"), dispatch);
    }
}

/// A clock is set while an agent waits, or after it has its answer.
fn steps(run: &mut Story, host: &str, is_waiting: bool) {
    let intent_hash = sealed(&intent("one")).hash();
    let resource = ResourceId::new("rule");
    run.emits("agent-1", Event::IntentRequested { intent_hash, resource });
    if !is_waiting {
        let outcome = Outcome::Committed;
        run.emits("agent-1", Event::IntentAnswered { intent_hash, outcome });
    }
    run.strikes(&Fault::ClockStep { host: host.into(), by_us: -5 });
}

fn beats(run: &mut Story, host: &str, times: usize) {
    for _ in 0..times {
        run.passes(host, "heartbeat");
    }
}
