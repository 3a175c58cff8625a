//! One operation id, two intents: fail loudly, block both, keep the evidence.

use holdover_model::design::Design;
use holdover_model::design::identity::AllocatedBy;
use holdover_model::event::{Event, EventKind, OperationStatus, Outcome, Rejection};
use holdover_model::intent::{Intent, PayloadHash, Target};
use holdover_model::receipt::CollisionReceipt;
use holdover_model::resource::ResourceVersion;
use holdover_model::role::agent::Task;
use holdover_model::role::{Actor, Message};
use serde_json::json;

use crate::cluster::{Cluster, Mail, is, task, worker};

/// The release task of the operation-identity article, whose workers make ids up from the
/// run and the current millisecond.
fn two_writes_within_a_millisecond() -> Cluster {
    let mut design = Design::named("push-before-ready").unwrap();
    design.identity.allocated_by = AllocatedBy::RunAndMillisecond;
    let at = |resource: &str| Target {
        system: "payments".into(),
        environment: "production".into(),
        resource: resource.into(),
    };
    let billing =
        Task { target: at("billing/account-418/limit"), ..task("update-billing-limit", "") };
    let webhook = Task { target: at("webhook/account-418"), ..task("rotate-webhook", "") };
    Cluster::with_workers(design, &["A", "B"], vec![billing, webhook])
}

fn collisions(cluster: &Cluster) -> Vec<CollisionReceipt> {
    let receipt = |event: &Event| match event {
        Event::IdentityCollision { receipt } => Some(receipt.clone()),
        _ => None,
    };
    cluster.events.iter().filter_map(receipt).collect()
}

fn intent_of((_, _, message): &Mail) -> Intent {
    let Message::Claim { intent, .. } = message else { panic!("{} is no claim", message.kind()) };
    intent.record().clone()
}

#[test]
fn the_collision_receipt_has_every_field_of_the_article() {
    let mut cluster = two_writes_within_a_millisecond();
    cluster.begin(1);
    cluster.begin(2);
    let claims = cluster.flow_except(is("claim"));
    let hash = |claim| intent_of(claim).seal().unwrap().hash().to_string();
    let (first, second) = (hash(&claims[0]), hash(&claims[1]));
    assert!(first.starts_with("sha256:") && first != second);
    cluster.release(claims);
    cluster.flow();
    let evidence = collisions(&cluster);
    let [receipt] = &evidence[..] else { panic!("one collision") };
    assert_eq!(
        serde_json::to_value(receipt).unwrap(),
        json!({
            "conflicting_operation_id": "op_cc-9021_1000",
            "first_intent_hash": first,
            "second_intent_hash": second,
            "first_target": "payments/production/billing/account-418/limit",
            "second_target": "payments/production/webhook/account-418",
            "dispatch_blocked": true,
            "decision": "human_review_required",
        })
    );
    assert_eq!(cluster.entry().collisions, evidence, "the evidence is kept");
}

#[test]
fn both_write_paths_are_blocked_whoever_tries_again() {
    let mut cluster = two_writes_within_a_millisecond();
    cluster.begin(1);
    cluster.begin(2);
    let claims = cluster.flow_except(is("claim"));
    let [billing, webhook] = [0, 1].map(|index| intent_of(&claims[index]).seal().unwrap().hash());
    cluster.release(claims);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Blocked));
    assert_eq!(cluster.outcome(2), Some(Outcome::Blocked));
    let evidence = cluster.entry().clone();
    assert_eq!(evidence.status, OperationStatus::Blocked);

    for actor in [Actor::Ledger, worker("A"), worker("B")] {
        cluster.restart(&actor);
    }
    for intent_hash in [billing, webhook] {
        for letter in ["A", "B"] {
            let dispatch = Message::Dispatch {
                operation_id: "op_cc-9021_1000".into(),
                intent_hash,
                after: evidence.attempt_id,
            };
            cluster.deliver(worker(letter), &Actor::Ledger, dispatch);
            let (.., answer) = cluster.mail.pop_back().expect("an answer");
            assert_eq!(answer.kind(), "entry", "and no leave to dispatch");
        }
    }
    assert_eq!(*cluster.entry(), evidence, "the evidence survives crashes and retries");
    assert_eq!(cluster.count(EventKind::Dispatched), 0);
    assert_eq!(cluster.count(EventKind::EffectCommitted), 0);
}

/// The article's first page: billing has succeeded, and its receipt is about to prove that
/// the webhook was rotated.
#[test]
fn a_receipt_under_a_shared_id_does_not_complete_the_other_intent() {
    let mut cluster = two_writes_within_a_millisecond();
    cluster.begin(1);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    let receipt = cluster.entry().receipt.clone();
    assert!(receipt.is_some());
    cluster.begin(2);
    cluster.flow();
    assert_eq!(cluster.outcome(2), Some(Outcome::Blocked));
    assert_eq!(cluster.count(EventKind::OperationCompleted), 1, "only billing ever completed");
    assert_eq!(cluster.entry().status, OperationStatus::Blocked);
    assert_eq!(cluster.entry().receipt, receipt, "billing's evidence is kept for review");
    assert_eq!(collisions(&cluster).len(), 1);
}

#[test]
fn every_collision_of_an_id_stays_on_record() {
    let mut cluster = two_writes_within_a_millisecond();
    cluster.begin(1);
    let claims = cluster.flow_except(is("claim"));
    let first = intent_of(&claims[0]);
    cluster.release(claims);
    cluster.flow_except(is("dispatch"));
    let others = ["second", "third"].map(|step| Intent { step_id: step.into(), ..first.clone() });
    // Each comes twice, and what comes again is no news.
    for other in others.iter().chain(&others) {
        claim_known_id(&mut cluster, other);
    }
    let hashes: Vec<_> =
        cluster.entry().collisions.iter().map(|receipt| receipt.second_intent_hash).collect();
    assert_eq!(hashes, others.map(|intent| intent.seal().unwrap().hash()));
    assert_eq!(collisions(&cluster), cluster.entry().collisions);
}

/// Claims the id of the only operation for another intent.
fn claim_known_id(cluster: &mut Cluster, intent: &Intent) {
    let (operation_id, entry) = cluster.ledger().entries().next().unwrap();
    let claim = Message::Claim {
        intent: intent.clone().seal().unwrap(),
        proposal: Some(operation_id.clone()),
        consent: entry.consent.clone(),
        request_number: 1,
    };
    cluster.deliver(worker("B"), &Actor::Ledger, claim);
}

#[test]
fn no_field_that_changes_authority_or_outcome_can_change_under_an_id() {
    let mut prepared = Cluster::new("push-before-ready", vec![task("one", "routing-rule")]);
    prepared.begin(1);
    let dispatch = prepared.flow_except(is("dispatch"));
    let original = prepared.entry().intent.record().clone();
    let elsewhere = |change: fn(&mut Target)| {
        let mut target = original.target.clone();
        change(&mut target);
        Intent { target, ..original.clone() }
    };
    let approved = original.expected_version.expect("the task names a state");
    for (field, changed) in [
        ("run_id", Intent { run_id: "cc-9022".into(), ..original.clone() }),
        ("step_id", Intent { step_id: "two".into(), ..original.clone() }),
        ("principal", Intent { principal: "somebody".into(), ..original.clone() }),
        ("target.system", elsewhere(|target| target.system = "billing".into())),
        ("target.environment", elsewhere(|target| target.environment = "production".into())),
        ("target.resource", elsewhere(|target| target.resource = "another-rule".into())),
        ("method", Intent { method: "delete".into(), ..original.clone() }),
        ("payload_hash", Intent { payload_hash: PayloadHash::of(b"other"), ..original.clone() }),
        (
            "expected_version",
            Intent { expected_version: Some(approved.next()), ..original.clone() },
        ),
        ("expected_version", Intent { expected_version: None, ..original.clone() }),
        ("approval_id", Intent { approval_id: "approval-553".into(), ..original.clone() }),
        ("policy_version", Intent { policy_version: "policy-2".into(), ..original.clone() }),
    ] {
        let mut cluster = prepared.clone();
        claim_known_id(&mut cluster, &changed);
        assert_eq!(cluster.entry().collisions.len(), 1, "{field}");
        cluster.release(dispatch.clone());
        cluster.flow();
        assert_eq!(cluster.count(EventKind::Dispatched), 0, "{field}");
    }
    // The very same intent is no collision, however often it comes.
    claim_known_id(&mut prepared, &original);
    assert_eq!(prepared.entry().collisions, []);
    assert_eq!(prepared.entry().status, OperationStatus::Prepared);
}

/// The last line of defence: an id that names another intent by the time it gets there.
#[test]
fn the_destination_refuses_a_known_id_with_another_intent() {
    let mut cluster = Cluster::new("push-before-ready", vec![task("one", "routing-rule")]);
    cluster.begin(1);
    let apply = cluster.flow_except(is("apply"));
    cluster.release(apply.clone());
    cluster.flow();
    let before = cluster.rule();
    let Ok([(from, to, mut message)]) = <[Mail; 1]>::try_from(apply) else { panic!("one write") };
    let other = Intent { method: "delete".into(), ..cluster.entry().intent.record().clone() };
    if let Message::Apply { envelope, .. } = &mut message {
        envelope.intent_hash = other.seal().unwrap().hash();
    }
    cluster.deliver(from, &to, message);
    assert_eq!(cluster.rejections(), [Rejection::IdentityCollision]);
    assert_eq!(cluster.rule(), before);
    assert_eq!(cluster.count(EventKind::EffectReplayed), 0, "nor is it shown the receipt");
    assert_eq!(before.version, ResourceVersion::default().next());
}

/// What blocking is good for: the same story where a collision is only written to the log.
#[test]
#[should_panic(expected = "collision-blocks")]
fn a_collision_that_is_only_logged_lets_the_work_go_on() {
    let tasks = vec![task("one", "billing"), task("two", "webhook")];
    let mut cluster = Cluster::new("collision-logged-only", tasks);
    cluster.begin(1);
    cluster.begin(2);
    cluster.flow();
}
