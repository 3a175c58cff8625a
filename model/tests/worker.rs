//! What a worker sends, message by message.

use std::time::Duration;

use holdover_model::design::Design;
use holdover_model::design::fence::EnforcedAt;
use holdover_model::event::OperationStatus;
use holdover_model::identity::{AttemptId, OperationId};
use holdover_model::intent::{Intent, Payload, Target};
use holdover_model::lease::{Epoch, Holder, Lease, Timestamp};
use holdover_model::resource::{Incarnation, ResourceVersion, Version};
use holdover_model::role::worker::Worker;
use holdover_model::role::{Actor, Consent, Context, EntryView, Message, Output, Role};

fn perform(step: &str) -> Message {
    let payload = Payload::new("new");
    let intent = Intent {
        run_id: "cc-9021".into(),
        step_id: step.into(),
        principal: "release".into(),
        target: Target {
            system: "staging".into(),
            environment: "eu".into(),
            resource: "routing-rule".into(),
        },
        method: "update".into(),
        payload_hash: payload.hash(),
        expected_version: None,
        approval_id: "approval-552".into(),
        policy_version: "policy-1".into(),
    };
    let intent = intent.seal().unwrap();
    let consent = Consent {
        approval_id: "approval-552".into(),
        intent_hash: intent.hash(),
        request_number: 1,
    };
    Message::Perform {
        call_id: step.into(),
        request_number: 1,
        asked_at: Timestamp::default(),
        consent,
        intent,
        payload,
    }
}

/// Two acquisitions would give one worker two epochs, and its writes under the first would
/// be refused as stale.
#[test]
fn jobs_on_one_resource_share_an_acquisition() {
    let design = Design::default();
    let context = Context {
        design: &design,
        now: Timestamp::default(),
        lease_term: Duration::from_secs(1),
        entropy: 0,
    };
    let mut worker = Worker::new("worker-A".into(), None);
    let mut acquisitions = 0;
    let mut receive = |worker: &mut Worker, from, message| {
        let mut output = Output::default();
        worker.receive(context, from, message, &mut output);
        let is_acquire = |(_, message): &&(Actor, Message)| message.kind() == "acquire";
        acquisitions += output.sends.iter().filter(is_acquire).count();
        output
    };
    for step in ["rotate", "announce"] {
        receive(&mut worker, Actor::Agent("agent-1".into()), perform(step));
    }
    let resource = "staging/eu/routing-rule".into();
    let denied = receive(&mut worker, Actor::Authority, Message::Denied { resource });
    assert_eq!(acquisitions, 1);

    // Refused, both jobs may ask again; the first that does asks for both.
    assert_eq!(denied.timers.len(), 2);
    let mut output = Output::default();
    worker.signal(context, denied.timers[0].1.clone(), &mut output);
    assert_eq!(output.sends.len(), 1);
    assert_eq!(output.timers.len(), 2, "both wait for the same answer again");
}

/// An acquisition that is answered twice leaves the worker with a later lease than the one
/// its job began under.
#[test]
fn a_try_whose_lease_is_gone_is_followed_by_one_under_the_lease_that_is_held() {
    let mut design = Design::default();
    design.fence.enforced_at = EnforcedAt::Adapter;
    let context = Context {
        design: &design,
        now: Timestamp::default(),
        lease_term: Duration::from_secs(1),
        entropy: 0,
    };
    let mut worker = Worker::new("worker-A".into(), None);
    let mut receive = |from, message| {
        let mut output = Output::default();
        worker.receive(context, from, message, &mut output);
        output.sends
    };
    let job = perform("rotate");
    let Message::Perform { ref intent, .. } = job else { unreachable!("it is one") };
    let (intent_hash, resource) = (intent.hash(), intent.record().target.resource_id());
    let operation_id = OperationId::from("op_1");
    let ready = |epoch| Message::Ready {
        lease: Lease {
            resource: resource.clone(),
            worker: "worker-A".into(),
            epoch: Epoch(epoch),
            expires_at: Timestamp::default().after(Duration::from_secs(1)),
        },
    };
    let entry = |status, attempt_id| Message::Entry {
        intent_hash,
        entry: EntryView {
            operation_id: operation_id.clone(),
            intent_hash,
            status,
            attempt_id,
            receipt: None,
            is_closed: false,
        },
    };
    let may_dispatch = |attempt_id| Message::MayDispatch {
        operation_id: operation_id.clone(),
        intent_hash,
        attempt_id,
    };
    let confirms = |sends: &[(Actor, Message)]| match sends {
        [(Actor::Authority, Message::Confirm { holder, .. })] => Some(holder.epoch),
        _ => None,
    };

    receive(Actor::Agent("agent-1".into()), job.clone());
    receive(Actor::Authority, ready(1));
    let version = ResourceVersion { incarnation: Incarnation(1), version: Version(26) };
    receive(
        Actor::Destination,
        Message::State {
            resource: resource.clone(),
            version,
            value: None,
            intent_hash: Some(intent_hash),
        },
    );
    receive(Actor::Ledger, entry(OperationStatus::Prepared, AttemptId(0)));
    let asked = receive(Actor::Ledger, may_dispatch(AttemptId(1)));
    assert_eq!(confirms(&asked), Some(Epoch(1)), "{asked:?}");

    receive(Actor::Authority, ready(2));
    let holder = Holder { worker: "worker-A".into(), epoch: Epoch(1) };
    let gone = Message::Confirmed { resource: resource.clone(), holder, is_current: false };
    receive(Actor::Authority, gone);
    receive(Actor::Ledger, entry(OperationStatus::FailedBeforeEffect, AttemptId(1)));
    let asked = receive(Actor::Ledger, may_dispatch(AttemptId(2)));
    assert_eq!(confirms(&asked), Some(Epoch(2)), "{asked:?}");
}
