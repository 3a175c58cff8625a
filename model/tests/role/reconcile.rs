//! A timeout is not evidence: what became of an operation is found out before anything else
//! happens to it.

use holdover_model::event::{Event, EventKind, OperationStatus, Outcome, Rejection};
use holdover_model::identity::AttemptId;
use holdover_model::role::{Delay, Message};

use crate::cluster::{Cluster, Mail, for_both_designs, is, task, worker};

for_both_designs! {
    a_lost_response_is_reconciled_before_anything_else
    a_lost_request_is_tried_again_under_the_same_operation
    a_try_that_was_reconciled_away_can_have_no_effect_any_more
    a_worker_whose_try_was_closed_under_a_lost_lease_hears_of_the_lease
    a_crash_after_dispatch_is_reconciled_by_the_successor
    an_effect_whose_approved_state_is_gone_is_never_sent
    every_message_may_arrive_twice
}

fn one(design: &str) -> Cluster {
    Cluster::new(design, vec![task("one", "routing-rule")])
}

fn has_failed((_, _, message): &Mail) -> bool {
    matches!(message, Message::Settle { status: OperationStatus::FailedBeforeEffect, .. })
}

/// Agent 1 waits no longer for worker A and asks B.
fn worker_b_takes_over(cluster: &mut Cluster) {
    cluster.ask_again(1);
    cluster.flow();
    // A still holds the lease by the authority's record; its term has to pass first.
    cluster.expire_leases();
    cluster.flow();
    cluster.fire(&worker("B"), Delay::Poll);
    cluster.flow();
}

fn a_lost_response_is_reconciled_before_anything_else(design: &str) {
    let mut cluster = one(design);
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

fn a_lost_request_is_tried_again_under_the_same_operation(design: &str) {
    let mut cluster = one(design);
    cluster.begin(1);
    let lost = cluster.flow_except(is("apply"));
    cluster.fire(&worker("A"), Delay::AttemptTimeout);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    assert_eq!(cluster.entry().attempt_id, AttemptId(2));
    // The first try was not lost but late. It is the same operation.
    cluster.release(lost);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::EffectCommitted), 1);
    assert_eq!(cluster.count(EventKind::EffectReplayed), 1);
}

fn a_try_that_was_reconciled_away_can_have_no_effect_any_more(design: &str) {
    let mut cluster = one(design);
    cluster.begin(1);
    let late = cluster.flow_except(is("apply"));
    cluster.fire(&worker("A"), Delay::AttemptTimeout);
    // The worker learns that there is no effect, and gets no further.
    cluster.flow_except(has_failed);
    assert_eq!(cluster.count(EventKind::Reconciled), 1);
    cluster.release(late);
    cluster.flow_except(has_failed);
    assert_eq!(cluster.count(EventKind::EffectCommitted), 0);
    assert_eq!(cluster.rejections(), [Rejection::AttemptClosed]);
}

/// Told of the closed try only, it would try again under the same lease, and close its successor's
/// tries in turn: two workers at it, neither of which gets anywhere.
fn a_worker_whose_try_was_closed_under_a_lost_lease_hears_of_the_lease(design: &str) {
    let mut cluster = one(design);
    cluster.begin(1);
    let late = cluster.flow_except(is("apply"));
    worker_b_takes_over(&mut cluster);
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed), "by its successor");
    assert_eq!(cluster.entry().attempt_id, AttemptId(2));
    assert_eq!(cluster.count(EventKind::Reconciled), 1, "which has closed the first try");
    cluster.release(late);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::EffectReplayed), 1, "an effect answers for all tries");

    // The same, but the successor's try has had no effect yet.
    let mut cluster = one(design);
    cluster.begin(1);
    let late = cluster.flow_except(is("apply"));
    cluster.ask_again(1);
    cluster.flow();
    cluster.expire_leases();
    cluster.flow();
    cluster.fire(&worker("B"), Delay::Poll);
    let _under_way = cluster.flow_except(is("apply"));
    cluster.release(late);
    cluster.flow();
    assert_eq!(cluster.rejections(), [Rejection::StaleEpoch]);
}

fn a_crash_after_dispatch_is_reconciled_by_the_successor(design: &str) {
    let mut cluster = one(design);
    cluster.begin(1);
    cluster.flow_except(is("applied"));
    cluster.restart(&worker("A"));
    worker_b_takes_over(&mut cluster);
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    assert_eq!(cluster.count(EventKind::EffectCommitted), 1);
    assert_eq!(cluster.count(EventKind::Reconciled), 1);
}

fn an_effect_whose_approved_state_is_gone_is_never_sent(design: &str) {
    let mut cluster =
        Cluster::new(design, vec![task("one", "routing-rule"), task("two", "routing-rule")]);
    cluster.begin(1);
    cluster.begin(2);
    // Both agents have seen the same state; the second one's worker gets no further.
    let held =
        cluster.flow_except(|(_, to, message)| *to == worker("B") && message.kind() == "perform");
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    cluster.release(held);
    cluster.flow();
    assert_eq!(cluster.outcome(2), Some(Outcome::Failed));
    assert_eq!(cluster.rule().version.version.0, 1);
    let never_sent = cluster
        .events
        .iter()
        .any(|event| matches!(event, Event::StatusChanged { to: OperationStatus::NeverSent, .. }));
    assert!(never_sent);
}

fn every_message_may_arrive_twice(design: &str) {
    let mut cluster =
        Cluster::new(design, vec![task("one", "routing-rule"), task("two", "webhook")]);
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
