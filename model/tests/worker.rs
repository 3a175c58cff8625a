//! What a worker sends, message by message.

use std::time::Duration;

use holdover_model::design::Design;
use holdover_model::intent::{Intent, Payload, Target};
use holdover_model::lease::Timestamp;
use holdover_model::role::worker::Worker;
use holdover_model::role::{Actor, Consent, Context, Message, Output, Role};

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
        design: design.asked(),
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
