//! An operation's whole life in the ledger: claimed once, recorded before anything leaves,
//! consented to, evidenced, and remembered.

use holdover_model::event::{Event, EventKind, OperationStatus, Outcome, Rejection};
use holdover_model::identity::AttemptId;
use holdover_model::receipt::Receipt;
use holdover_model::role::agent::Task;
use holdover_model::role::{Actor, Answer, Delay, Message, Signal};

use crate::cluster::{Cluster, Mail, is, task, worker};

fn one(design: &str) -> Cluster {
    Cluster::new(design, vec![task("one", "routing-rule")])
}

/// The statuses that operations went through, in order.
fn statuses(cluster: &Cluster) -> Vec<OperationStatus> {
    let to = |event: &Event| match event {
        Event::StatusChanged { to, .. } => Some(*to),
        _ => None,
    };
    cluster.events.iter().filter_map(to).collect()
}

fn committed(cluster: &Cluster) -> Receipt {
    cluster.entry().receipt.clone().expect("committed")
}

#[test]
fn an_operation_is_prepared_then_dispatched_then_committed() {
    let mut cluster = one("push-before-ready");
    cluster.begin(1);
    let claim = cluster.flow_except(is("claim"));
    assert_eq!(cluster.ledger().entries().count(), 0);
    cluster.release(claim);
    let dispatch = cluster.flow_except(is("dispatch"));
    assert_eq!(cluster.entry().status, OperationStatus::Prepared);
    assert_eq!(cluster.entry().attempt_id, AttemptId(0), "no try has an id yet");
    cluster.release(dispatch);
    let apply = cluster.flow_except(is("apply"));
    assert_eq!(cluster.entry().status, OperationStatus::Dispatched, "before anything leaves");
    assert_eq!(cluster.entry().attempt_id, AttemptId(1));
    cluster.release(apply);
    cluster.flow();
    assert_eq!(statuses(&cluster), [OperationStatus::Dispatched, OperationStatus::Committed]);
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
}

#[test]
fn a_crash_of_the_ledger_at_any_step_forgets_nothing() {
    for lost in ["claim", "entry", "dispatch", "may-dispatch", "settle"] {
        let mut cluster = one("push-before-ready");
        cluster.begin(1);
        cluster.flow_except(is(lost));
        let entries = |cluster: &Cluster| {
            let entries = cluster.ledger().entries();
            entries.map(|(id, entry)| (id.clone(), entry.clone())).collect::<Vec<_>>()
        };
        let before = entries(&cluster);
        cluster.restart(&Actor::Ledger);
        assert_eq!(entries(&cluster), before, "{lost}");
        cluster.fire(&worker("A"), Delay::Resend);
        cluster.flow();
        assert_eq!(cluster.outcome(1), Some(Outcome::Committed), "{lost}");
        assert_eq!(cluster.count(EventKind::OperationClaimed), 1, "{lost}");
        assert_eq!(cluster.count(EventKind::EffectCommitted), 1, "{lost}");
    }
}

#[test]
fn nothing_leaves_again_before_it_is_reconciled() {
    let mut cluster = one("push-before-ready");
    cluster.begin(1);
    cluster.flow_except(is("apply"));
    let (operation_id, entry) = cluster.ledger().entries().next().unwrap();
    let (operation_id, intent_hash) = (operation_id.clone(), entry.intent.hash());
    let again = |cluster: &mut Cluster| {
        for after in [AttemptId(0), AttemptId(1)] {
            let operation_id = operation_id.clone();
            let dispatch = Message::Dispatch { operation_id, intent_hash, after };
            cluster.deliver(worker("B"), &Actor::Ledger, dispatch);
            let (.., answer) = cluster.mail.pop_back().expect("an answer");
            assert_eq!(answer.kind(), "entry", "and no leave to dispatch");
        }
    };
    assert_eq!(cluster.entry().status, OperationStatus::Dispatched);
    again(&mut cluster);
    cluster.fire(&worker("A"), Delay::AttemptTimeout);
    cluster.flow_except(is("reconcile"));
    assert_eq!(cluster.entry().status, OperationStatus::Unknown);
    again(&mut cluster);
    assert_eq!(cluster.count(EventKind::Dispatched), 1);
}

#[test]
fn a_consent_for_another_intent_lets_nothing_leave() {
    let shown = Task { is_approved: false, ..task("one", "routing-rule") };
    let mut cluster = Cluster::new("push-before-ready", vec![shown]);
    cluster.begin(1);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Blocked));
    assert_eq!(cluster.entry().status, OperationStatus::Blocked);
    assert_eq!(cluster.count(EventKind::ApprovalUsed), 0);
    assert_eq!(cluster.count(EventKind::Dispatched), 0);
}

#[test]
fn a_consent_serves_one_operation_and_all_of_its_tries() {
    let shared =
        |step, resource| Task { approval_id: "approval-552".into(), ..task(step, resource) };
    let tasks = vec![shared("one", "routing-rule"), shared("two", "webhook")];
    let mut cluster = Cluster::new("push-before-ready", tasks);
    cluster.begin(1);
    cluster.flow_except(is("apply"));
    cluster.fire(&worker("A"), Delay::AttemptTimeout);
    cluster.flow();
    assert_eq!(committed(&cluster).attempt_id, AttemptId(2));
    assert_eq!(cluster.count(EventKind::ApprovalUsed), 1, "once for both tries");

    // That it is used up survives a crash, too.
    cluster.restart(&Actor::Ledger);
    cluster.begin(2);
    cluster.flow();
    assert_eq!(cluster.outcome(2), Some(Outcome::Blocked));
    assert_eq!(cluster.count(EventKind::ApprovalUsed), 1);
    assert_eq!(cluster.count(EventKind::EffectCommitted), 1);
}

/// What single use is good for: the same story where a consent is never used up.
#[test]
#[should_panic(expected = "approval-bound")]
fn a_reusable_consent_serves_two_operations() {
    let shared =
        |step, resource| Task { approval_id: "approval-552".into(), ..task(step, resource) };
    let tasks = vec![shared("one", "routing-rule"), shared("two", "webhook")];
    let mut cluster = Cluster::new("reusable-approval", tasks);
    cluster.begin(1);
    cluster.flow();
    cluster.begin(2);
    cluster.flow();
}

#[test]
fn no_receipt_satisfies_another_workers_completion_check() {
    let tasks = vec![task("one", "routing-rule"), task("two", "webhook")];
    let mut cluster = Cluster::new("push-before-ready", tasks);
    cluster.begin(1);
    cluster.flow();
    let receipt = committed(&cluster);
    cluster.begin(2);
    cluster.flow_except(is("apply"));
    let (id, entry) =
        cluster.ledger().entries().find(|(id, _)| **id != receipt.operation_id).unwrap();
    let (operation_id, intent_hash) = (id.clone(), entry.intent.hash());
    let status = |cluster: &Cluster| cluster.ledger().entry(&operation_id).unwrap().status;

    // The worker is shown it as the answer to its write, the ledger as evidence of its
    // operation, the agent as the end of its request: A's receipt, each time.
    let applied =
        Message::Applied { intent_hash, attempt_id: AttemptId(1), receipt: receipt.clone() };
    cluster.deliver(Actor::Destination, &worker("B"), applied);
    cluster.flow();
    assert_eq!(status(&cluster), OperationStatus::Dispatched);
    let settle = Message::Settle {
        operation_id: operation_id.clone(),
        intent_hash,
        attempt_id: AttemptId(1),
        status: OperationStatus::Committed,
        receipt: Some(receipt.clone()),
    };
    cluster.deliver(worker("B"), &Actor::Ledger, settle);
    cluster.flow();
    assert_eq!(status(&cluster), OperationStatus::Dispatched);
    let answer = Answer::Committed(Some(receipt));
    let answered = Message::Answered { intent_hash, answer };
    cluster.deliver(worker("B"), &Actor::Agent("agent-2".into()), answered);
    assert_eq!(cluster.outcome(2), None);
    assert_eq!(cluster.count(EventKind::OperationCompleted), 1);
}

/// An operation is done, and so long ago that it is not remembered; then its request, and
/// its write, come once more.
fn retried_after_it_is_forgotten(design: &str) -> (Cluster, Mail) {
    // It depends on no earlier state, so nothing but its identity keeps it from happening again.
    let issue_invoice = Task { is_conditional: false, ..task("one", "routing-rule") };
    let mut cluster = Cluster::new(design, vec![issue_invoice]);
    cluster.begin(1);
    let perform = cluster.flow_except(is("perform"));
    cluster.release(perform.clone());
    let apply = cluster.flow_except(is("apply"));
    cluster.release(apply.clone());
    cluster.flow();
    let operation_id = committed(&cluster).operation_id;
    for actor in [Actor::Ledger, Actor::Destination] {
        cluster.signal(&actor, Signal::Forget(operation_id.clone()));
    }
    let (agent, _, perform) = perform.into_iter().next().expect("a request");
    cluster.deliver(agent, &worker("B"), perform);
    let write = apply.into_iter().next().expect("a write");
    (cluster, write)
}

#[test]
fn an_expired_key_is_refused_and_not_run_again() {
    let (mut cluster, (from, to, write)) = retried_after_it_is_forgotten("expired-token-refused");
    let answers = cluster.flow_except(is("answered"));
    let [(.., Message::Answered { answer: Answer::Blocked, .. })] = &answers[..] else {
        panic!("{answers:?}")
    };
    cluster.deliver(from, &to, write);
    assert_eq!(cluster.rejections(), [Rejection::AttemptClosed], "by the destination, too");
    assert_eq!(cluster.count(EventKind::OperationClaimed), 1);
    assert_eq!(cluster.count(EventKind::Dispatched), 1);
    assert_eq!(cluster.count(EventKind::EffectCommitted), 1);
    assert_eq!(cluster.rule().version.version.0, 1);
}

#[test]
fn a_key_that_is_kept_longer_than_anybody_retries_is_answered_from_its_receipt() {
    let (mut cluster, (from, to, write)) = retried_after_it_is_forgotten("push-before-ready");
    let receipt = committed(&cluster);
    let answers = cluster.flow_except(is("answered"));
    let [(.., Message::Answered { answer: Answer::Committed(Some(told)), .. })] = &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert_eq!(*told, receipt);
    cluster.deliver(from, &to, write);
    assert_eq!(cluster.rejections(), []);
    assert_eq!(cluster.count(EventKind::EffectReplayed), 1);
    assert_eq!(cluster.count(EventKind::EffectCommitted), 1);
}

/// What retention is good for: the same story where a key that is not known counts as new.
#[test]
#[should_panic(expected = "at-most-one-effect")]
fn a_pruned_key_is_run_again() {
    let (mut cluster, _) = retried_after_it_is_forgotten("pruned-key");
    cluster.flow();
}
