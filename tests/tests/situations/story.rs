//! A run told by hand, sight by sight, to a single detector.

use std::sync::Arc;

use holdover::fault::Fault;
use holdover::situation::{Lookout, catalogue};
use holdover::world::{Record, Sight};
use holdover_model::envelope::Envelope;
use holdover_model::event::{Event, LeaseEnd, OperationStatus, Rejection};
use holdover_model::identity::AttemptId;
use holdover_model::intent::{Intent, Payload, PayloadHash, SealedIntent, Target};
use holdover_model::lease::{Epoch, Holder, Lease, Timestamp};
use holdover_model::receipt::Receipt;
use holdover_model::resource::{ResourceId, ResourceVersion};
use holdover_model::role::{Actor, Consent, Message};

/// What has been told so far.
pub(crate) struct Story {
    lookout: Lookout,
    at_ms: u64,
    records: u64,
}

/// Tells a story to the detector of a situation; whether it is reached.
fn told(name: &str, tell: &dyn Fn(&mut Story)) -> bool {
    let situation = catalogue().into_iter().find(|one| one.name() == name);
    let situation = situation.unwrap_or_else(|| panic!("no situation is called {name}"));
    let mut story = Story { lookout: Lookout::new(&[situation]), at_ms: 0, records: 0 };
    tell(&mut story);
    !story.lookout.reached().is_empty()
}

/// The first story reaches the situation, all others nearly do.
#[track_caller]
pub(crate) fn only_the_first_reaches(name: &str, stories: &[&dyn Fn(&mut Story)]) {
    let reached: Vec<_> = stories.iter().map(|tell| told(name, *tell)).collect();
    let expected: Vec<_> = (0..stories.len()).map(|index| index == 0).collect();
    assert_eq!(reached, expected, "{name}");
}

impl Story {
    fn at_ns(&self) -> u64 {
        self.at_ms * 1_000_000
    }

    fn sees(&self, sight: &Sight<'_>) {
        self.lookout.sees(sight);
    }

    /// Time passes.
    pub(crate) fn later_ms(&mut self, ms: u64) -> &mut Self {
        self.at_ms += ms;
        self
    }

    pub(crate) fn emits(&mut self, host: &str, event: Event) -> &mut Self {
        let (at_ns, sequence) = (self.at_ns(), self.records);
        self.records += 1;
        self.sees(&Sight::Event(&Record { at_ns, sequence, host: Arc::from(host), event }));
        self
    }

    pub(crate) fn hears(&mut self, host: &str, from: Actor, message: Message) -> &mut Self {
        self.sees(&Sight::Shown { at_ns: self.at_ns(), host, what: &(from, message) });
        self
    }

    pub(crate) fn strikes(&mut self, fault: &Fault) -> &mut Self {
        self.sees(&Sight::Struck { at_ns: self.at_ns(), fault });
        self
    }

    pub(crate) fn ends(&mut self, fault: &Fault) -> &mut Self {
        self.sees(&Sight::Ended { at_ns: self.at_ns(), fault });
        self
    }

    pub(crate) fn freezes(&mut self, host: &str) -> &mut Self {
        self.sees(&Sight::Frozen { at_ns: self.at_ns(), host });
        self
    }

    pub(crate) fn thaws(&mut self, host: &str) -> &mut Self {
        self.sees(&Sight::Thawed { at_ns: self.at_ns(), host });
        self
    }

    pub(crate) fn is_held(&mut self, host: &str, point: &str, is_alone: bool) -> &mut Self {
        self.sees(&Sight::Held { at_ns: self.at_ns(), host, point, is_alone });
        self
    }

    pub(crate) fn passes(&mut self, host: &str, name: &str) -> &mut Self {
        self.sees(&Sight::Point { at_ns: self.at_ns(), host, name });
        self
    }

    pub(crate) fn goes_down(&mut self, host: &str) -> &mut Self {
        self.sees(&Sight::Down { at_ns: self.at_ns(), host });
        self
    }

    pub(crate) fn comes_up(&mut self, host: &str) -> &mut Self {
        self.sees(&Sight::Up { at_ns: self.at_ns(), host });
        self
    }

    // What the roles do, as far as a detector can tell.

    /// A lease is granted, and its holder is ready.
    pub(crate) fn ready(&mut self, letter: &str, epoch: u64) -> &mut Self {
        let Holder { worker, epoch } = holder(letter, epoch);
        let expires_at = Timestamp { unix_ns: u64::MAX };
        let lease = Lease { resource: rule(), worker, epoch, expires_at };
        let granted_at = Timestamp::default();
        self.emits("authority", Event::LeaseGranted { lease: lease.clone(), granted_at });
        let holder = lease.holder();
        self.emits("authority", Event::TakeoverComplete { resource: rule(), holder })
    }

    pub(crate) fn lease_ends(&mut self, letter: &str, epoch: u64, cause: LeaseEnd) -> &mut Self {
        let holder = holder(letter, epoch);
        let (asked_for, lapsed_at) = (None, None);
        let event = Event::LeaseEnded { resource: rule(), holder, cause, asked_for, lapsed_at };
        self.emits("authority", event)
    }

    pub(crate) fn dispatches(&mut self, letter: &str, epoch: u64, attempt: u32) -> &mut Self {
        let (envelope, holder) = (envelope(attempt), holder(letter, epoch));
        let event = Event::Dispatched { envelope, resource: rule(), holder };
        self.emits(&format!("worker-{letter}"), event)
    }

    /// The write of a try arrives.
    pub(crate) fn arrives(&mut self, letter: &str, epoch: u64, attempt: u32) -> &mut Self {
        let apply = Message::Apply {
            envelope: envelope(attempt),
            resource: rule(),
            holder: holder(letter, epoch),
            expected: None,
            payload: Payload::new("any"),
        };
        self.hears("destination", worker(letter), apply)
    }

    pub(crate) fn commits(&mut self, letter: &str, epoch: u64, attempt: u32) -> &mut Self {
        let receipt = receipt(letter, epoch, attempt);
        self.emits("destination", Event::EffectCommitted { receipt, expected: None })
    }

    pub(crate) fn rejects(
        &mut self,
        letter: &str,
        epoch: u64,
        attempt: u32,
        reason: Rejection,
    ) -> &mut Self {
        let event = Event::EffectRejected {
            envelope: envelope(attempt),
            resource: rule(),
            holder: holder(letter, epoch),
            reason,
            version: ResourceVersion::default(),
            payload: None,
        };
        self.emits("destination", event)
    }

    pub(crate) fn fence_admits(&mut self, letter: &str, epoch: u64) -> &mut Self {
        let admits = Some(holder(letter, epoch));
        let epoch = Epoch(epoch);
        self.emits("destination", Event::FenceAdvanced { resource: rule(), admits, epoch })
    }

    pub(crate) fn is_unanswered(&mut self, attempt: u32) -> &mut Self {
        let (operation_id, attempt_id) = ("op_1".into(), AttemptId(attempt));
        self.emits("worker-A", Event::OutcomeUnknown { operation_id, attempt_id })
    }

    pub(crate) fn reconciles(&mut self, attempt: u32, committed: bool) -> &mut Self {
        let (operation_id, attempt_id) = ("op_1".into(), AttemptId(attempt));
        self.emits("destination", Event::Reconciled { operation_id, attempt_id, committed })
    }

    /// A claim arrives at the ledger.
    pub(crate) fn claims(&mut self, intent: &Intent, proposal: Option<&str>) -> &mut Self {
        let intent = sealed(intent);
        let consent = Consent {
            approval_id: intent.record().approval_id.clone(),
            intent_hash: intent.hash(),
            request_number: 1,
        };
        let proposal = proposal.map(Into::into);
        let claim = Message::Claim { intent, proposal, consent, request_number: 1 };
        self.hears("ledger", worker("A"), claim)
    }

    /// The ledger has given `op_1` to an intent.
    pub(crate) fn is_claimed(&mut self, intent: &Intent) -> &mut Self {
        let event = Event::OperationClaimed {
            operation_id: "op_1".into(),
            intent_hash: sealed(intent).hash(),
            resource: rule(),
        };
        self.emits("ledger", event)
    }

    pub(crate) fn is_marked(&mut self) -> &mut Self {
        let (from, to) = (OperationStatus::Prepared, OperationStatus::Dispatched);
        self.emits("ledger", Event::StatusChanged { operation_id: "op_1".into(), from, to })
    }
}

pub(crate) fn worker(letter: &str) -> Actor {
    Actor::Worker(format!("worker-{letter}").as_str().into())
}

pub(crate) fn holder(letter: &str, epoch: u64) -> Holder {
    Holder { worker: format!("worker-{letter}").as_str().into(), epoch: Epoch(epoch) }
}

fn rule() -> ResourceId {
    ResourceId::new("gateway/staging/rule")
}

/// What all stories are about, or a step like it.
pub(crate) fn intent(step: &str) -> Intent {
    Intent {
        run_id: "cc-9021".into(),
        step_id: step.into(),
        principal: "claude-code-release".into(),
        target: Target {
            system: "gateway".into(),
            environment: "staging".into(),
            resource: "rule".into(),
        },
        method: "update_rule".into(),
        payload_hash: PayloadHash::of(b"rule"),
        expected_version: Some(ResourceVersion::default()),
        approval_id: "approval-552".into(),
        policy_version: "policy-1".into(),
    }
}

pub(crate) fn sealed(intent: &Intent) -> SealedIntent {
    intent.clone().seal().unwrap()
}

pub(crate) fn envelope(attempt: u32) -> Envelope {
    Envelope {
        operation_id: "op_1".into(),
        intent_hash: sealed(&intent("one")).hash(),
        attempt_id: AttemptId(attempt),
        run_id: "cc-9021".into(),
        call_id: "call-44".into(),
        approval_id: "approval-552".into(),
    }
}

pub(crate) fn receipt(letter: &str, epoch: u64, attempt: u32) -> Receipt {
    Receipt {
        operation_id: "op_1".into(),
        intent_hash: sealed(&intent("one")).hash(),
        attempt_id: AttemptId(attempt),
        resource: rule(),
        holder: holder(letter, epoch),
        version_before: ResourceVersion::default(),
        version_after: ResourceVersion::default().next(),
        payload_hash: PayloadHash::of(b"rule"),
    }
}
