//! Each invariant against the smallest run that breaks it and its nearest neighbour that
//! does not, as bare events: what a system of any make would log.

use holdover_model::design::guarantee::{FencedFrom, Guarantee};
use holdover_model::envelope::Envelope;
use holdover_model::event::{Event, LeaseEnd, OperationStatus, Outcome};
use holdover_model::identity::{AttemptId, OperationId};
use holdover_model::intent::{Intent, IntentHash, PayloadHash, Target};
use holdover_model::invariant::{InvariantId, Monitor, Violation};
use holdover_model::lease::{Epoch, Holder, Lease, Timestamp};
use holdover_model::receipt::Receipt;
use holdover_model::resource::{Incarnation, ResourceId, ResourceVersion, Version};

const RULE: &str = "gateway/staging/routing-rule";

fn intent(step: &str) -> IntentHash {
    let record = Intent {
        run_id: "cc-9021".into(),
        step_id: step.into(),
        principal: "claude-code-release".into(),
        target: Target {
            system: "gateway".into(),
            environment: "staging".into(),
            resource: "routing-rule".into(),
        },
        method: "update".into(),
        payload_hash: PayloadHash::of(step.as_bytes()),
        expected_version: None,
        approval_id: "approval-552".into(),
        policy_version: "policy-2026-09-06.4".into(),
    };
    record.seal().unwrap().hash()
}

fn holder(worker: &str, epoch: u64) -> Holder {
    Holder { worker: worker.into(), epoch: Epoch(epoch) }
}

fn granted(worker: &str, epoch: u64) -> Event {
    let (resource, expires_at) = (ResourceId::new(RULE), Timestamp { unix_ns: 1 });
    Event::LeaseGranted {
        lease: Lease { resource, worker: worker.into(), epoch: Epoch(epoch), expires_at },
        granted_at: expires_at,
    }
}

fn ready(worker: &str, epoch: u64) -> Event {
    Event::TakeoverComplete { resource: RULE.into(), holder: holder(worker, epoch) }
}

fn ended(worker: &str, epoch: u64, cause: LeaseEnd) -> Event {
    let asked_for = (cause == LeaseEnd::Released).then(|| holder(worker, epoch));
    Event::LeaseEnded { resource: RULE.into(), holder: holder(worker, epoch), cause, asked_for }
}

fn version(number: u64) -> ResourceVersion {
    ResourceVersion { incarnation: Incarnation(1), version: Version(number) }
}

fn receipt(operation: &str, step: &str, by: Holder, before: u64) -> Receipt {
    Receipt {
        operation_id: operation.into(),
        intent_hash: intent(step),
        attempt_id: AttemptId(1),
        resource: RULE.into(),
        holder: by,
        version_before: version(before),
        version_after: version(before + 1),
        payload_hash: PayloadHash::of(b"rule"),
    }
}

fn effect(operation: &str, step: &str, by: Holder, before: u64) -> Event {
    Event::EffectCommitted { receipt: receipt(operation, step, by, before), expected: None }
}

fn claimed(operation: &str, step: &str) -> Event {
    Event::OperationClaimed {
        operation_id: operation.into(),
        intent_hash: intent(step),
        resource: RULE.into(),
    }
}

fn dispatched(operation: &str, step: &str) -> Event {
    Event::Dispatched {
        envelope: Envelope {
            operation_id: operation.into(),
            intent_hash: intent(step),
            attempt_id: AttemptId(1),
            run_id: "cc-9021".into(),
            call_id: "call-44".into(),
            approval_id: "approval-552".into(),
        },
        resource: RULE.into(),
        holder: holder("worker-A", 1),
    }
}

fn completed(operation: &str, step: &str, receipt: Receipt) -> Event {
    Event::OperationCompleted {
        operation_id: operation.into(),
        intent_hash: intent(step),
        resource: RULE.into(),
        worker: "worker-A".into(),
        receipt: Some(receipt),
    }
}

fn status(operation: &str, from: OperationStatus, to: OperationStatus) -> Event {
    Event::StatusChanged { operation_id: operation.into(), from, to }
}

fn run(guarantee: Guarantee, events: &[Event]) -> Result<(), Box<Violation>> {
    let mut monitor = Monitor::new(guarantee);
    events.iter().try_for_each(|event| monitor.observe(event))?;
    monitor.finish()
}

#[track_caller]
fn holds(guarantee: Guarantee, events: &[Event]) {
    run(guarantee, events).unwrap();
}

/// The last event, and none before it, breaks the invariant.
#[track_caller]
fn breaks(guarantee: Guarantee, invariant: InvariantId, events: &[Event]) {
    let mut monitor = Monitor::new(guarantee);
    let (last, before) = events.split_last().unwrap();
    for event in before {
        monitor.observe(event).unwrap();
    }
    assert_eq!(monitor.observe(last).unwrap_err().invariant, invariant);
}

fn claims(fenced_from: FencedFrom) -> Guarantee {
    Guarantee { fenced_from, ..Guarantee::default() }
}

#[test]
fn no_stale_effect_after_the_successor_is_ready() {
    let run = [
        granted("worker-A", 41),
        ready("worker-A", 41),
        granted("worker-B", 42),
        ready("worker-B", 42),
        effect("op-1", "one", holder("worker-A", 41), 7),
    ];
    breaks(claims(FencedFrom::Ready), InvariantId::NoStaleEffect, &run);
    breaks(claims(FencedFrom::Grant), InvariantId::NoStaleEffect, &run);
    holds(claims(FencedFrom::FirstWrite), &run);
}

#[test]
fn no_stale_effect_between_grant_and_ready_is_a_stronger_claim() {
    let run = [
        granted("worker-A", 41),
        granted("worker-B", 42),
        effect("op-1", "one", holder("worker-A", 41), 7),
    ];
    breaks(claims(FencedFrom::Grant), InvariantId::NoStaleEffect, &run);
    holds(claims(FencedFrom::Ready), &run);
}

#[test]
fn no_stale_effect_after_the_first_write_is_the_weakest_claim() {
    let run = [
        granted("worker-A", 41),
        granted("worker-B", 42),
        effect("op-2", "two", holder("worker-B", 42), 7),
        effect("op-1", "one", holder("worker-A", 41), 8),
    ];
    breaks(claims(FencedFrom::FirstWrite), InvariantId::NoStaleEffect, &run);
}

#[test]
fn no_stale_effect_after_expiry_or_revocation_if_that_is_claimed() {
    for (cause, guarantee) in [
        (LeaseEnd::Expired, Guarantee { expiry: false, ..Guarantee::default() }),
        (LeaseEnd::Revoked, Guarantee { revocation: false, ..Guarantee::default() }),
        (LeaseEnd::Released, Guarantee { revocation: false, ..Guarantee::default() }),
    ] {
        let run = [
            granted("worker-A", 41),
            ended("worker-A", 41, cause),
            effect("op-1", "one", holder("worker-A", 41), 7),
        ];
        breaks(Guarantee::default(), InvariantId::NoStaleEffect, &run);
        holds(guarantee, &run);
    }
}

#[test]
fn no_forged_epoch() {
    for by in [holder("worker-A", 42), holder("worker-B", 41)] {
        let run = [granted("worker-A", 41), effect("op-1", "one", by, 7)];
        breaks(Guarantee::default(), InvariantId::NoForgedEpoch, &run);
    }
    holds(
        Guarantee::default(),
        &[granted("worker-A", 41), effect("op-1", "one", holder("worker-A", 41), 7)],
    );
}

#[test]
fn epoch_monotonic() {
    for epoch in [41, 40] {
        let run = [granted("worker-A", 41), granted("worker-B", epoch)];
        breaks(Guarantee::default(), InvariantId::EpochMonotonic, &run);
    }
    holds(Guarantee::default(), &[granted("worker-A", 41), granted("worker-A", 50)]);
}

#[test]
fn one_intent_per_operation_wherever_the_id_is_used() {
    let by = || holder("worker-A", 1);
    for second in
        [claimed("op-1", "two"), dispatched("op-1", "two"), effect("op-1", "two", by(), 7)]
    {
        let run = [granted("worker-A", 1), claimed("op-1", "one"), second];
        breaks(Guarantee::default(), InvariantId::OneIntentPerOperation, &run);
    }
}

#[test]
fn at_most_one_effect_of_an_operation_and_of_an_intent() {
    let by = || holder("worker-A", 1);
    for second in ["op-1", "op-2"] {
        let run = [
            granted("worker-A", 1),
            effect("op-1", "one", by(), 7),
            effect(second, "one", by(), 8),
        ];
        breaks(Guarantee::default(), InvariantId::AtMostOneEffect, &run);
    }
    holds(
        Guarantee::default(),
        &[granted("worker-A", 1), effect("op-1", "one", by(), 7), effect("op-2", "two", by(), 8)],
    );
}

#[test]
fn receipt_binds_intent_operation_resource_and_version() {
    let good = receipt("op-1", "one", holder("worker-A", 1), 7);
    let before =
        [granted("worker-A", 1), Event::EffectCommitted { receipt: good.clone(), expected: None }];
    let with = |last: Event| [&before[..], &[last]].concat();
    for wrong in [
        completed("op-2", "one", good.clone()),
        completed("op-1", "two", good.clone()),
        completed("op-1", "one", Receipt { resource: "elsewhere".into(), ..good.clone() }),
        completed("op-1", "one", Receipt { version_after: version(99), ..good.clone() }),
    ] {
        breaks(Guarantee::default(), InvariantId::ReceiptBindsIntent, &with(wrong));
    }
    holds(Guarantee::default(), &with(completed("op-1", "one", good)));
}

#[test]
fn claim_before_dispatch() {
    breaks(
        Guarantee::default(),
        InvariantId::ClaimBeforeDispatch,
        &[claimed("op-2", "two"), dispatched("op-1", "one")],
    );
}

#[test]
fn every_operation_settles() {
    use OperationStatus::{Blocked, Committed, Dispatched, FailedBeforeEffect, NeverSent};
    use OperationStatus::{Prepared, Unknown};
    for (last, is_settled) in [
        (Prepared, false),
        (Dispatched, false),
        (Unknown, false),
        (Committed, true),
        (FailedBeforeEffect, true),
        (NeverSent, true),
        (Blocked, true),
    ] {
        let result =
            run(Guarantee::default(), &[claimed("op-1", "one"), status("op-1", Prepared, last)]);
        let broken = result.err().map(|violation| violation.invariant);
        let expected = (!is_settled).then_some(InvariantId::EveryOperationSettles);
        assert_eq!(broken, expected, "{last:?}");
    }
}

#[test]
fn every_request_is_answered() {
    let requested = Event::IntentRequested { intent_hash: intent("one"), resource: RULE.into() };
    let answered = Event::IntentAnswered { intent_hash: intent("one"), outcome: Outcome::Blocked };
    let mut monitor = Monitor::new(Guarantee::default());
    monitor.observe(&requested).unwrap();
    assert!(!monitor.is_settled());
    assert_eq!(monitor.finish().unwrap_err().invariant, InvariantId::EveryOperationSettles);
    monitor.observe(&answered).unwrap();
    assert!(monitor.is_settled());
    assert_eq!(monitor.answered(), 1);
    monitor.finish().unwrap();
}

#[test]
fn a_violation_names_what_it_is_about() {
    let run = run(
        Guarantee::default(),
        &[granted("worker-A", 41), effect("op-1", "one", holder("worker-A", 99), 7)],
    );
    let violation = run.unwrap_err();
    assert!(violation.subject.concerns(&granted("worker-A", 41)));
    assert!(violation.subject.concerns(&dispatched("op-1", "other")));
    let elsewhere = Event::OperationClaimed {
        operation_id: OperationId::new("op-9"),
        intent_hash: intent("nine"),
        resource: "elsewhere".into(),
    };
    assert!(!violation.subject.concerns(&elsewhere));
    assert!(violation.to_string().starts_with("no-forged-epoch: "));
}
