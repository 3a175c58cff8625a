//! The four cases of the operation-identity article: test the race, not the helper function.
//!
//! Claims are held at a barrier until all of them are under way, and then arrive in many
//! orders.

use std::collections::{BTreeMap, BTreeSet};

use holdover_model::design::Design;
use holdover_model::event::{Event, EventKind, OperationStatus, Outcome};
use holdover_model::identity::AttemptId;
use holdover_model::intent::PayloadHash;
use holdover_model::role::{Actor, Delay, Message};

use crate::cluster::{Cluster, Mail, is, rule, task, worker};

const SIXTEEN: [&str; 16] =
    ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P"];

/// Every order of so many things.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let insert = |order: Vec<usize>| {
        (0..=order.len()).map(move |place| {
            let mut longer = order.clone();
            longer.insert(place, last);
            longer
        })
    };
    permutations(last).into_iter().flat_map(insert).collect()
}

/// Orders of so many things in which each is first and each is last, forwards and backwards.
fn rotations(count: usize) -> Vec<Vec<usize>> {
    let rotated = |start| (0..count).map(move |place| (start + place) % count);
    let forwards = (0..count).map(|start| rotated(start).collect());
    let backwards = (0..count).map(|start| rotated(start).rev().collect());
    forwards.chain(backwards).collect()
}

/// All orders of a few claims, and some of sixteen.
fn races() -> [(&'static [&'static str], Vec<Vec<usize>>); 2] {
    [(&SIXTEEN[..5], permutations(5)), (&SIXTEEN, rotations(16))]
}

/// Every worker is at the barrier with a claim of its own intent.
fn different_claims_at_the_barrier(letters: &[&str]) -> (Cluster, Vec<Mail>) {
    let tasks = letters.iter().map(|letter| task(letter, &format!("rule-{letter}"))).collect();
    let design = Design::named("push-before-ready").unwrap();
    let mut cluster = Cluster::with_workers(design, letters, tasks);
    let mut barrier = Vec::new();
    for number in 1..=letters.len() {
        cluster.begin(number);
        barrier.extend(cluster.flow_except(is("claim")));
    }
    assert_eq!(barrier.len(), letters.len());
    (cluster, barrier)
}

/// Every worker is at the barrier with a claim of the same intent: each was asked in turn and
/// looked dead when it got there.
fn identical_claims_at_the_barrier(design: &str, letters: &[&str]) -> (Cluster, Vec<Mail>) {
    let design = Design::named(design).unwrap();
    let mut cluster = Cluster::with_workers(design, letters, vec![task("one", "routing-rule")]);
    cluster.begin(1);
    let mut barrier = cluster.flow_except(is("claim"));
    while barrier.len() < letters.len() {
        cluster.expire_leases();
        cluster.flow();
        cluster.ask_again(1);
        barrier.extend(cluster.flow_except(is("claim")));
    }
    let workers: BTreeSet<_> = barrier.iter().map(|(from, ..)| from).collect();
    assert_eq!(workers.len(), letters.len(), "one claim each");
    (cluster, barrier)
}

/// The claims arrive in this order; gives what the ledger answered to whom.
fn open(cluster: &mut Cluster, barrier: &[Mail], order: &[usize]) -> Vec<(Actor, Message)> {
    for index in order {
        let (from, to, message) = barrier[*index].clone();
        cluster.deliver(from, &to, message);
    }
    cluster.mail.iter().map(|(_, to, message)| (to.clone(), message.clone())).collect()
}

#[test]
fn different_intents_launched_concurrently_always_receive_different_operation_ids() {
    for (letters, orders) in races() {
        let (paused, barrier) = different_claims_at_the_barrier(letters);
        for order in orders {
            let mut cluster = paused.clone();
            let answers = open(&mut cluster, &barrier, &order);
            let ids: BTreeSet<_> = cluster.ledger().entries().map(|(id, _)| id.clone()).collect();
            assert_eq!(ids.len(), letters.len(), "{order:?}");
            for (to, answer) in answers {
                let Message::Entry { intent_hash, entry } = answer else { panic!("{answer:?}") };
                assert_eq!(entry.intent_hash, intent_hash, "{to} is told of its own intent");
                assert_eq!(entry.status, OperationStatus::Prepared);
            }
            assert_eq!(cluster.count(EventKind::IdentityCollision), 0);
        }
    }
}

/// Each receipt maps to one operation id, one intent and one version of one resource.
#[test]
fn different_intents_launched_concurrently_leave_one_chain_of_evidence_each() {
    let (mut cluster, barrier) = different_claims_at_the_barrier(&SIXTEEN);
    let order: Vec<_> = (0..16).rev().collect();
    open(&mut cluster, &barrier, &order);
    cluster.flow();
    let mut intents = BTreeMap::new();
    for (operation_id, entry) in cluster.ledger().entries() {
        let receipt = entry.receipt.as_ref().expect("committed");
        assert!(receipt.binds(operation_id, entry.intent.hash()));
        assert_eq!(receipt.resource, entry.intent.record().target.resource_id());
        assert_eq!(receipt.payload_hash, entry.intent.record().payload_hash);
        assert_eq!(receipt.version_after, cluster.destination().cell(&receipt.resource).version);
        intents.insert(receipt.operation_id.clone(), receipt.intent_hash);
    }
    let distinct: BTreeSet<_> = intents.values().collect();
    assert_eq!((intents.len(), distinct.len()), (16, 16));
    assert!((1..=16).all(|agent| cluster.outcome(agent) == Some(Outcome::Committed)));
}

#[test]
fn identical_retries_launched_concurrently_converge_on_one_operation_id() {
    for (letters, orders) in races() {
        let (paused, barrier) = identical_claims_at_the_barrier("push-before-ready", letters);
        for order in orders {
            let mut cluster = paused.clone();
            let answers = open(&mut cluster, &barrier, &order);
            assert_eq!(cluster.count(EventKind::OperationClaimed), 1, "{order:?}");
            assert_eq!(cluster.entry().status, OperationStatus::Prepared);
            assert_eq!(cluster.entry().attempt_id, AttemptId(0), "nothing has left");
            let (operation_id, _) = cluster.ledger().entries().next().unwrap();
            let told: BTreeSet<_> = answers
                .iter()
                .map(|(to, answer)| match answer {
                    Message::Entry { entry, .. } if entry.operation_id == *operation_id => to,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(told.len(), letters.len(), "everybody is told of the same operation");

            // All of them go on with it at once, and it is still one effect.
            cluster.flow();
            for letter in letters.iter().cycle().take(100) {
                if cluster.outcome(1).is_none() {
                    cluster.expire_leases();
                    cluster.flow();
                    cluster.fire(&worker(letter), Delay::Poll);
                    cluster.flow();
                }
            }
            assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
            assert_eq!(cluster.count(EventKind::EffectCommitted), 1);
            assert_eq!(cluster.entry().status, OperationStatus::Committed);
        }
    }
}

/// What the unique constraint is good for: two claims that look before either inserts.
#[test]
#[should_panic(expected = "one-operation-per-intent")]
fn identical_retries_that_look_first_and_insert_later_receive_two_operation_ids() {
    let (mut cluster, barrier) =
        identical_claims_at_the_barrier("look-up-then-insert", &["A", "B"]);
    open(&mut cluster, &barrier, &[0, 1]);
    cluster.flow();
}

#[test]
fn an_existing_id_with_a_changed_payload_is_rejected_before_dispatch() {
    // A is about to dispatch when the same id is claimed for another payload.
    let (mut cluster, dispatch) = between_prepared_and_dispatched();
    let (id, entry) = cluster.ledger().entries().next().unwrap();
    let (id, mut changed) = (id.clone(), entry.intent.record().clone());
    changed.payload_hash = PayloadHash::of(b"another payload");
    let changed = changed.seal().unwrap();
    let claim = Message::Claim {
        intent: changed.clone(),
        proposal: Some(id.clone()),
        consent: cluster.entry().consent.clone(),
        request_number: 1,
    };
    cluster.deliver(worker("B"), &Actor::Ledger, claim);
    assert_eq!(cluster.count(EventKind::IdentityCollision), 1);
    assert_eq!(cluster.entry().status, OperationStatus::Blocked);
    cluster.release(dispatch);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::Dispatched), 0, "neither payload leaves");
    assert_eq!(cluster.outcome(1), Some(Outcome::Blocked));

    // Nor does the changed intent leave without a claim: its hash is compared at the gateway.
    let (mut cluster, _) = between_prepared_and_dispatched();
    let dispatch =
        Message::Dispatch { operation_id: id, intent_hash: changed.hash(), after: AttemptId(0) };
    cluster.deliver(worker("B"), &Actor::Ledger, dispatch);
    let (.., answer) = cluster.mail.pop_back().expect("an answer");
    let Message::Entry { entry, .. } = answer else { panic!("{answer:?}") };
    assert_ne!(entry.intent_hash, changed.hash(), "B is shown what the id stands for");
    assert_eq!(cluster.entry().status, OperationStatus::Prepared);
}

/// Worker A has claimed and crashes before the ledger hears that a try is about to leave.
fn between_prepared_and_dispatched() -> (Cluster, Vec<Mail>) {
    let tasks = vec![task("one", "routing-rule"), task("two", "routing-rule")];
    let mut cluster = Cluster::new("push-before-ready", tasks);
    cluster.begin(1);
    let dispatch = cluster.flow_except(is("dispatch"));
    assert_eq!(dispatch.len(), 1);
    assert_eq!(cluster.entry().status, OperationStatus::Prepared);
    (cluster, dispatch)
}

#[test]
fn a_crash_between_prepared_and_dispatched_leaves_a_recoverable_journal_entry() {
    let (mut cluster, _) = between_prepared_and_dispatched();
    let entry = cluster.entry().clone();
    cluster.restart(&worker("A"));
    cluster.restart(&Actor::Ledger);
    assert_eq!(*cluster.entry(), entry, "the entry is there, after a crash of the ledger too");

    // Recovery dispatches the original intent, under the id that it has.
    cluster.expire_leases();
    cluster.flow();
    cluster.ask_again(1);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    assert_eq!(cluster.count(EventKind::OperationClaimed), 1);
    assert_eq!(cluster.count(EventKind::Dispatched), 1);
    assert_eq!(cluster.entry().intent, entry.intent);
}

#[test]
fn a_crash_between_prepared_and_dispatched_can_be_closed_as_never_sent() {
    let (mut cluster, late) = between_prepared_and_dispatched();
    cluster.restart(&worker("A"));
    cluster.expire_leases();
    cluster.flow();
    // Meanwhile another effect replaces the state that was approved for replacement.
    cluster.begin(2);
    cluster.flow();
    assert_eq!(cluster.outcome(2), Some(Outcome::Committed));
    cluster.ask_again(1);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Failed));
    let never_sent = |event: &Event| {
        matches!(event, Event::StatusChanged { to: OperationStatus::NeverSent, .. })
    };
    assert_eq!(cluster.events.iter().filter(|event| never_sent(event)).count(), 1);
    // What the crashed worker had under way comes too late.
    cluster.release(late);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::Dispatched), 1, "that of the other effect");
    assert_eq!(cluster.destination().cell(&rule()).version.version.0, 1);
}
