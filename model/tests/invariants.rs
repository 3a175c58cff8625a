//! Each invariant against the smallest run that breaks it and its nearest neighbour that
//! does not, as bare events: what a system of any make would log.

use holdover_model::design::guarantee::{FencedFrom, Guarantee};
use holdover_model::envelope::Envelope;
use holdover_model::event::{Event, LeaseEnd, OperationStatus, Outcome, Rejection};
use holdover_model::identity::{AttemptId, OperationId};
use holdover_model::intent::{Intent, IntentHash, Payload, PayloadHash, Target};
use holdover_model::invariant::{InvariantId, Monitor, Violation};
use holdover_model::lease::{Epoch, Holder, Lease, Timestamp};
use holdover_model::receipt::{CollisionDecision, CollisionReceipt, Receipt};
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
    Event::LeaseEnded {
        resource: RULE.into(),
        holder: holder(worker, epoch),
        cause,
        asked_for,
        lapsed_at: None,
    }
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
        let trusting = Guarantee { rejects_invented_epochs: false, ..Guarantee::default() };
        holds(trusting, &run);
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
fn an_operation_id_that_comes_back_is_open_again() {
    use OperationStatus::{Blocked, NeverSent, Prepared};
    let mut monitor = Monitor::new(Guarantee { stable_identity: false, ..Guarantee::default() });
    let mut observe = |event| monitor.observe(&event).unwrap();
    observe(claimed("op-1", "one"));
    observe(status("op-1", Prepared, NeverSent));
    observe(claimed("op-1", "one"));
    assert!(!monitor.is_settled(), "it was claimed anew");
    monitor.observe(&status("op-1", Prepared, Blocked)).unwrap();
    assert!(monitor.is_settled());
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

#[test]
fn single_holder_by_the_authoritys_time() {
    let granted_at = |worker: &str, epoch, at, until| Event::LeaseGranted {
        lease: Lease {
            resource: RULE.into(),
            worker: worker.into(),
            epoch: Epoch(epoch),
            expires_at: Timestamp { unix_ns: until },
        },
        granted_at: Timestamp { unix_ns: at },
    };
    let first = || granted_at("worker-A", 1, 0, 100);
    let overlapping = granted_at("worker-B", 2, 99, 200);
    breaks(Guarantee::default(), InvariantId::SingleHolder, &[first(), overlapping.clone()]);
    holds(Guarantee::default(), &[first(), granted_at("worker-B", 2, 100, 200)]);
    // An end ends it, but expiry only when the time is really up, and a release only by
    // the holder of this very lease.
    for cause in [LeaseEnd::Revoked, LeaseEnd::Released, LeaseEnd::TakenOver] {
        holds(Guarantee::default(), &[first(), ended("worker-A", 1, cause), overlapping.clone()]);
    }
    let too_early = ended("worker-A", 1, LeaseEnd::Expired);
    let by_another = Event::LeaseEnded {
        resource: RULE.into(),
        holder: holder("worker-A", 1),
        cause: LeaseEnd::Released,
        asked_for: Some(holder("worker-A", 0)),
        lapsed_at: None,
    };
    let lapsed = |unix_ns| Event::LeaseEnded {
        resource: RULE.into(),
        holder: holder("worker-A", 1),
        cause: LeaseEnd::Expired,
        asked_for: None,
        lapsed_at: Some(Timestamp { unix_ns }),
    };
    // The clock that has shown the end of the term may be set back afterwards.
    holds(Guarantee::default(), &[first(), lapsed(100), overlapping.clone()]);
    for end in [too_early, lapsed(99), by_another] {
        let run = [first(), end, overlapping.clone()];
        breaks(Guarantee::default(), InvariantId::SingleHolder, &run);
    }
    let voided = Event::LeasesVoided { resource: RULE.into(), below: Epoch(2) };
    holds(Guarantee::default(), &[first(), voided, overlapping]);
}

#[test]
fn one_operation_per_intent_if_identities_are_claimed_to_be_stable() {
    let run = [claimed("op-1", "one"), claimed("op-2", "one")];
    breaks(Guarantee::default(), InvariantId::OneOperationPerIntent, &run);
    let unstable = Guarantee { stable_identity: false, ..Guarantee::default() };
    let mut monitor = Monitor::new(unstable);
    for event in &run {
        monitor.observe(event).unwrap();
    }
    let mut monitor = Monitor::new(Guarantee::default());
    for event in [claimed("op-1", "one"), claimed("op-1", "one"), claimed("op-2", "two")] {
        monitor.observe(&event).unwrap();
    }
}

#[test]
fn collision_blocks() {
    use OperationStatus::{Blocked, Committed, Dispatched, Prepared};
    let collision = || Event::IdentityCollision {
        receipt: CollisionReceipt {
            conflicting_operation_id: "op-1".into(),
            first_intent_hash: intent("one"),
            second_intent_hash: intent("two"),
            first_target: RULE.into(),
            second_target: RULE.into(),
            dispatch_blocked: true,
            decision: CollisionDecision::HumanReviewRequired,
        },
    };
    for to in [Dispatched, Committed] {
        let run = [claimed("op-1", "one"), collision(), status("op-1", Prepared, to)];
        breaks(Guarantee::default(), InvariantId::CollisionBlocks, &run);
    }
    holds(
        Guarantee::default(),
        &[claimed("op-1", "one"), collision(), status("op-1", Prepared, Blocked)],
    );
}

fn reconciled(operation: &str, committed: bool) -> Event {
    Event::Reconciled { operation_id: operation.into(), attempt_id: AttemptId(1), committed }
}

#[test]
fn unknown_stays_unknown_until_a_reconcile() {
    use OperationStatus::{Blocked, Dispatched, FailedBeforeEffect, Prepared, Unknown};
    let unknown = || {
        vec![
            claimed("op-1", "one"),
            status("op-1", Prepared, Dispatched),
            status("op-1", Dispatched, Unknown),
        ]
    };
    let failed = || status("op-1", Unknown, FailedBeforeEffect);
    let with = |rest: &[Event]| [&unknown()[..], rest].concat();
    breaks(Guarantee::default(), InvariantId::UnknownStaysUnknown, &with(&[failed()]));
    holds(Guarantee::default(), &with(&[reconciled("op-1", false), failed()]));
    holds(Guarantee::default(), &with(&[status("op-1", Unknown, Blocked)]));
    // What a reconcile told of one try says nothing of the next.
    let again = [
        reconciled("op-1", false),
        failed(),
        status("op-1", FailedBeforeEffect, Dispatched),
        status("op-1", Dispatched, Unknown),
        failed(),
    ];
    breaks(Guarantee::default(), InvariantId::UnknownStaysUnknown, &with(&again));
    let indefinite = Guarantee { definite_outcomes: false, ..Guarantee::default() };
    holds(indefinite, &with(&[failed()]));
}

#[test]
fn nothing_completes_without_a_receipt_and_what_failed_has_no_effect() {
    use OperationStatus::{Dispatched, FailedBeforeEffect, Prepared};
    let start = || [granted("worker-A", 1), claimed("op-1", "one")];
    let happens = || effect("op-1", "one", holder("worker-A", 1), 7);
    let fails = || status("op-1", Dispatched, FailedBeforeEffect);
    let told = || Event::IntentAnswered { intent_hash: intent("one"), outcome: Outcome::Failed };
    let unproven = Event::OperationCompleted {
        operation_id: "op-1".into(),
        intent_hash: intent("one"),
        resource: RULE.into(),
        worker: "worker-A".into(),
        receipt: None,
    };
    for rest in [
        vec![unproven],
        vec![status("op-1", Prepared, Dispatched), fails(), happens()],
        vec![status("op-1", Prepared, Dispatched), happens(), fails()],
        vec![told(), happens()],
        vec![happens(), told()],
    ] {
        let run = [&start()[..], &rest].concat();
        breaks(Guarantee::default(), InvariantId::UnknownStaysUnknown, &run);
    }
}

#[test]
fn durable_evidence() {
    let happened = || [granted("worker-A", 1), effect("op-1", "one", holder("worker-A", 1), 7)];
    let with = |last: Event| [&happened()[..], &[last]].concat();
    breaks(Guarantee::default(), InvariantId::DurableEvidence, &with(reconciled("op-1", false)));
    holds(Guarantee::default(), &with(reconciled("op-1", true)));
    holds(Guarantee::default(), &with(reconciled("op-2", false)));
}

#[test]
fn no_lost_update() {
    let replaced = |expected| Event::EffectCommitted {
        receipt: receipt("op-1", "one", holder("worker-A", 1), 7),
        expected,
    };
    let with = |event| [granted("worker-A", 1), event];
    breaks(Guarantee::default(), InvariantId::NoLostUpdate, &with(replaced(Some(version(6)))));
    let other_life = ResourceVersion { incarnation: Incarnation(2), ..version(7) };
    breaks(Guarantee::default(), InvariantId::NoLostUpdate, &with(replaced(Some(other_life))));
    holds(Guarantee::default(), &with(replaced(Some(version(7)))));
    holds(Guarantee::default(), &with(replaced(None)));
}

fn rejected(after: ResourceVersion, payload: Option<Payload>) -> Event {
    let Event::Dispatched { envelope, resource, holder } = dispatched("op-2", "two") else {
        unreachable!("that is what it makes")
    };
    let reason = Rejection::StaleEpoch;
    Event::EffectRejected { envelope, resource, holder, reason, version: after, payload }
}

#[test]
fn rejection_leaves_no_trace() {
    let before = || [granted("worker-A", 1), effect("op-1", "one", holder("worker-A", 1), 7)];
    let with = |last: Event| [&before()[..], &[last]].concat();
    let changed = with(rejected(version(9), None));
    breaks(Guarantee::default(), InvariantId::RejectionLeavesNoTrace, &changed);
    holds(Guarantee::default(), &with(rejected(version(8), None)));
}

#[test]
fn no_payload_in_evidence() {
    let leaked = [rejected(version(8), Some(Payload::new("secret")))];
    breaks(Guarantee::default(), InvariantId::NoPayloadInEvidence, &leaked);
    holds(Guarantee::default(), &[rejected(version(8), None)]);
}

#[test]
fn approval_bound_and_used_once() {
    let grant = |approval: &str, step: &str| Event::ApprovalGranted {
        approval_id: approval.into(),
        intent_hash: intent(step),
    };
    let usage = |approval: &str, operation: &str, step: &str| Event::ApprovalUsed {
        approval_id: approval.into(),
        operation_id: operation.into(),
        intent_hash: intent(step),
    };
    let bound = InvariantId::ApprovalBound;
    breaks(Guarantee::default(), bound, &[grant("a-1", "one"), usage("a-1", "op-2", "two")]);
    let twice = [
        grant("a-1", "one"),
        grant("a-1", "two"),
        usage("a-1", "op-1", "one"),
        usage("a-1", "op-2", "two"),
    ];
    breaks(Guarantee::default(), bound, &twice);
    let retried = [grant("a-1", "one"), usage("a-1", "op-1", "one"), usage("a-1", "op-2", "one")];
    breaks(Guarantee::default(), bound, &retried);
    // Where an intent may get a second id, one consent covers both.
    holds(Guarantee { stable_identity: false, ..Guarantee::default() }, &retried);
    let again = [grant("a-1", "one"), usage("a-1", "op-1", "one"), usage("a-1", "op-1", "one")];
    holds(Guarantee::default(), &again);
}
