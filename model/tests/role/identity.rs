//! Which operation is this, and what became of it?

use holdover_model::event::{Event, EventKind, OperationStatus, Outcome, Rejection};
use holdover_model::identity::AttemptId;
use holdover_model::role::{Actor, Delay, Message};

use crate::cluster::{Cluster, Mail, rule, task, worker};

fn one() -> Cluster {
    Cluster::new("push-before-ready", vec![task("one", "routing-rule")])
}

fn is(kind: &'static str) -> impl Fn(&Mail) -> bool {
    move |(_, _, message)| message.kind() == kind
}

fn has_failed((_, _, message): &Mail) -> bool {
    matches!(message, Message::Settle { status: OperationStatus::FailedBeforeEffect, .. })
}

fn status(cluster: &Cluster) -> OperationStatus {
    let (_, entry) = cluster.ledger.entries().next().expect("something was claimed");
    entry.status
}

fn ids(cluster: &Cluster) -> Vec<String> {
    cluster.ledger.entries().map(|(id, _)| id.to_string()).collect()
}

/// Agent 1 waits no longer for worker A and asks B.
fn worker_b_takes_over(cluster: &mut Cluster) {
    let agent = cluster.agents[0].0.clone();
    cluster.fire(&agent, Delay::AgentTimeout);
    cluster.flow();
    // A still holds the lease by the authority's record; its term has to pass first.
    cluster.expire_leases();
    cluster.flow();
    cluster.fire(&worker("B"), Delay::Poll);
    cluster.flow();
}

#[test]
fn identical_claims_converge_and_different_ones_differ() {
    let mut cluster = Cluster::new(
        "push-before-ready",
        vec![task("one", "routing-rule"), task("two", "webhook")],
    );
    cluster.begin(1);
    cluster.begin(2);
    let held = cluster.flow_except(is("claim"));
    let claims = held.len();
    assert_eq!(claims, 2);
    // Every claim arrives from both workers, as concurrent retries would have it.
    for (_, to, message) in held.iter().chain(held.iter().rev()) {
        for from in [worker("A"), worker("B")] {
            cluster.deliver(from, to, message.clone());
        }
    }
    assert_eq!(ids(&cluster).len(), 2);
    assert_eq!(cluster.count(EventKind::OperationClaimed), 2);
}

#[test]
fn a_lost_response_is_reconciled_before_anything_else() {
    let mut cluster = one();
    cluster.begin(1);
    let lost = cluster.flow_except(is("applied"));
    assert_eq!(lost.len(), 1, "the effect is there, its answer is lost");
    cluster.fire(&worker("A"), Delay::AttemptTimeout);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::OutcomeUnknown), 1);
    assert_eq!(cluster.count(EventKind::Reconciled), 1);
    assert_eq!(cluster.count(EventKind::Dispatched), 1, "no second try");
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
}

#[test]
fn a_lost_request_is_tried_again_under_the_same_operation() {
    let mut cluster = one();
    cluster.begin(1);
    let lost = cluster.flow_except(is("apply"));
    cluster.fire(&worker("A"), Delay::AttemptTimeout);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    assert_eq!(ids(&cluster).len(), 1);
    let (_, entry) = cluster.ledger.entries().next().unwrap();
    assert_eq!(entry.attempt_id, AttemptId(2));
    // The first try was not lost but late. It is the same operation.
    cluster.release(lost);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::EffectCommitted), 1);
    assert_eq!(cluster.count(EventKind::EffectReplayed), 1);
}

#[test]
fn a_try_that_was_reconciled_away_can_have_no_effect_any_more() {
    let mut cluster = one();
    cluster.begin(1);
    let late = cluster.flow_except(is("apply"));
    cluster.fire(&worker("A"), Delay::AttemptTimeout);
    // The worker learns that there is no effect, and gets no further.
    cluster.flow_except(has_failed);
    assert_eq!(cluster.count(EventKind::Reconciled), 1);
    cluster.release(late);
    cluster.flow_except(has_failed);
    assert_eq!(cluster.count(EventKind::EffectCommitted), 0);
    let closed = cluster.events.iter().any(|event| {
        matches!(event, Event::EffectRejected { reason: Rejection::AttemptClosed, .. })
    });
    assert!(closed);
}

#[test]
fn a_crash_between_prepared_and_dispatched_leaves_an_entry_that_can_be_taken_up() {
    let mut cluster = one();
    cluster.begin(1);
    cluster.flow_except(is("dispatch"));
    assert_eq!(status(&cluster), OperationStatus::Prepared);
    cluster.restart_worker(0);
    assert_eq!(status(&cluster), OperationStatus::Prepared, "the entry is there");
    worker_b_takes_over(&mut cluster);
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    assert_eq!(ids(&cluster).len(), 1);
    assert_eq!(cluster.count(EventKind::Dispatched), 1);
}

#[test]
fn a_crash_after_dispatch_is_reconciled_by_the_successor() {
    let mut cluster = one();
    cluster.begin(1);
    cluster.flow_except(is("applied"));
    cluster.restart_worker(0);
    worker_b_takes_over(&mut cluster);
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    assert_eq!(cluster.count(EventKind::EffectCommitted), 1);
    assert_eq!(cluster.count(EventKind::Reconciled), 1);
}

#[test]
fn a_changed_payload_under_a_known_id_is_a_collision_and_nothing_leaves() {
    let mut cluster = Cluster::new(
        "push-before-ready",
        vec![task("one", "routing-rule"), task("two", "webhook")],
    );
    cluster.begin(1);
    cluster.begin(2);
    let mut held = cluster.flow_except(is("claim"));
    for (_, _, message) in &mut held {
        if let Message::Claim { proposal, .. } = message {
            *proposal = Some("op_019930f2".into());
        }
    }
    cluster.release(held);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::IdentityCollision), 1);
    assert_eq!(cluster.count(EventKind::Dispatched), 0, "both write paths are blocked");
    let (id, entry) = cluster.ledger.entries().next().unwrap();
    let receipt = entry.collision.as_ref().expect("the evidence is kept");
    assert_eq!(receipt.conflicting_operation_id, *id);
    assert_ne!(receipt.first_intent_hash, receipt.second_intent_hash);
    assert_ne!(receipt.first_target, receipt.second_target);
    assert!(receipt.dispatch_blocked);
    assert_eq!(serde_json::to_value(receipt).unwrap()["decision"], "human_review_required");
    assert_eq!(cluster.outcome(1), Some(Outcome::Blocked));
    assert_eq!(cluster.outcome(2), Some(Outcome::Blocked));
}

#[test]
fn an_effect_whose_approved_state_is_gone_is_never_sent() {
    let mut cluster = Cluster::new(
        "push-before-ready",
        vec![task("one", "routing-rule"), task("two", "routing-rule")],
    );
    cluster.begin(1);
    cluster.begin(2);
    // Both agents have seen the same state; the second one's worker gets no further.
    let held = cluster.flow_except(|(_, to, message)| {
        *to == Actor::Worker("worker-B".into()) && message.kind() == "perform"
    });
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    cluster.release(held);
    cluster.flow();
    assert_eq!(cluster.outcome(2), Some(Outcome::Failed));
    assert_eq!(cluster.destination.cell(&rule()).version.version.0, 1);
    let never_sent = cluster
        .events
        .iter()
        .any(|event| matches!(event, Event::StatusChanged { to: OperationStatus::NeverSent, .. }));
    assert!(never_sent);
}

#[test]
fn every_message_may_arrive_twice() {
    let mut cluster = Cluster::new(
        "push-before-ready",
        vec![task("one", "routing-rule"), task("two", "webhook")],
    );
    cluster.begin(1);
    cluster.begin(2);
    while let Some((from, to, message)) = cluster.mail.pop_front() {
        cluster.deliver(from.clone(), &to, message.clone());
        cluster.deliver(from, &to, message);
        if cluster.mail.is_empty() {
            cluster.take_inner_step();
        }
    }
    assert_eq!(cluster.count(EventKind::EffectCommitted), 2);
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    assert_eq!(cluster.outcome(2), Some(Outcome::Committed));
}
