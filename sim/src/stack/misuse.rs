//! What careless callers do: claim one intent many times at once, use an operation id for
//! something else, show a consent twice, write under a lease that is not theirs.
//!
//! No role does so by itself, so without this no run would show what ledger and destination make
//! of it. A plan says which of its tasks is misused how. What happens on the way from a worker to
//! the ledger is done by [`Careless`], which stands around a worker and changes what it sends;
//! worker and ledger are none the wiser.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use holdover_model::identity::{StepId, WorkerId};
use holdover_model::intent::{Intent, IntentHash, PayloadHash};
use holdover_model::lease::Epoch;
use holdover_model::role::worker::{Record, Worker};
use holdover_model::role::{Actor, Context, Message, Output, Role, Signal};
use serde::{Deserialize, Serialize};

use super::{Effect, WORKERS};

/// What goes wrong with a task on the side of those who ask for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Misuse {
    /// A worker claims the intent so many times at once.
    ClaimedAtOnce {
        /// How many times.
        times: u32,
    },
    /// When the operation is about to leave, its id is claimed for a changed intent.
    IdReused {
        /// What is changed.
        changed: Change,
    },
    /// The first write that a worker sends for it shows another lease than the worker holds.
    Forged {
        /// Which.
        lease: Forgery,
    },
    /// The agent shows the consent that was given for another task of the plan.
    ApprovalReplayed {
        /// The place of the other task in the plan, from 0.
        of_task: usize,
    },
}

/// A lease that a worker does not hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forgery {
    /// A higher epoch than any that was issued.
    HigherEpoch,
    /// The epoch before the one that it holds.
    EarlierEpoch,
    /// The epoch that it holds, in the name of another worker.
    OtherWorker,
    /// The lease that it holds, for a write to another resource.
    OtherResource,
}

impl Forgery {
    /// Every one.
    pub const ALL: &'static [Self] =
        &[Self::HigherEpoch, Self::EarlierEpoch, Self::OtherWorker, Self::OtherResource];

    fn forge(self, message: &mut Message) {
        let Message::Apply { resource, holder, .. } = message else { return };
        match self {
            Self::HigherEpoch => holder.epoch = Epoch(holder.epoch.0 + 1_000),
            Self::EarlierEpoch => holder.epoch = Epoch(holder.epoch.0.saturating_sub(1)),
            Self::OtherWorker => {
                let other = WORKERS.into_iter().find(|name| *name != holder.worker.as_str());
                holder.worker = WorkerId::new(other.expect("there are two workers"));
            }
            Self::OtherResource => {
                let all = Effect::ALL.iter().map(|effect| effect.target().resource_id());
                let other = all.into_iter().find(|other| other != resource);
                *resource = other.expect("there are several resources");
            }
        }
    }
}

impl fmt::Display for Forgery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::HigherEpoch => "under a made-up higher epoch",
            Self::EarlierEpoch => "under the epoch before",
            Self::OtherWorker => "in the name of another worker",
            Self::OtherResource => "to another resource",
        })
    }
}

/// A field of an intent that changes its authority or its outcome.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// What is written.
    Payload,
    /// What it is written to.
    Target,
    /// The state that is replaced.
    Version,
    /// The consent.
    Approval,
    /// The edition of the policy.
    Policy,
}

impl Change {
    /// Every field.
    pub const ALL: &'static [Self] =
        &[Self::Payload, Self::Target, Self::Version, Self::Approval, Self::Policy];

    /// The same intent, with this field taken from another one.
    fn taken_from(self, other: &Intent, intent: &Intent) -> Intent {
        let (other, mut intent) = (other.clone(), intent.clone());
        match self {
            Self::Payload => intent.payload_hash = other.payload_hash,
            Self::Target => intent.target = other.target,
            Self::Version => intent.expected_version = other.expected_version,
            Self::Approval => intent.approval_id = other.approval_id,
            Self::Policy => intent.policy_version = other.policy_version,
        }
        intent
    }

    /// Whether two intents differ in this field and in nothing else.
    pub fn is_all_that_differs(self, one: &Intent, other: &Intent) -> bool {
        one != other && self.taken_from(other, one) == *other
    }

    /// The same intent with another value of this field.
    fn made_to(self, intent: &Intent) -> Intent {
        let mut other = intent.clone();
        other.payload_hash = PayloadHash::of(b"another payload");
        other.target.resource.push_str("/other");
        other.expected_version = Some(intent.expected_version.unwrap_or_default().next());
        other.approval_id = "another approval".into();
        other.policy_version.push_str(", amended");
        self.taken_from(&other, intent)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Payload => "payload",
            Self::Target => "target",
            Self::Version => "version",
            Self::Approval => "approval",
            Self::Policy => "policy",
        })
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClaimedAtOnce { times } => write!(f, "claimed {times} times at once"),
            Self::IdReused { changed } => {
                write!(f, "its operation id is claimed again with a changed {changed}")
            }
            Self::Forged { lease } => write!(f, "first written {lease}"),
            Self::ApprovalReplayed { of_task } => {
                write!(f, "with the consent that was given for task {of_task}")
            }
        }
    }
}

/// A worker whose callers are careless.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Careless {
    worker: Worker,
    /// Which steps of the agents' runs are misused.
    misuses: BTreeMap<StepId, Misuse>,
    /// Those that were, since this process started.
    done: BTreeSet<StepId>,
    /// The claims that were made for them.
    claims: BTreeMap<IntentHash, Message>,
}

impl Careless {
    pub(super) fn new(worker: Worker, misuses: BTreeMap<StepId, Misuse>) -> Self {
        Self { worker, misuses, done: BTreeSet::new(), claims: BTreeMap::new() }
    }

    fn misuse(&mut self, output: &mut Output<Record>) {
        if self.misuses.is_empty() {
            return;
        }
        for (to, mut message) in std::mem::take(&mut output.sends) {
            match &mut message {
                Message::Claim { intent, .. } => {
                    let step = &intent.record().step_id;
                    let Some(misuse) = self.misuses.get(step) else {
                        output.sends.push((to, message));
                        continue;
                    };
                    let (step, hash) = (step.clone(), intent.hash());
                    self.claims.insert(hash, message.clone());
                    if let Misuse::ClaimedAtOnce { times } = misuse
                        && self.done.insert(step)
                    {
                        let again = (to.clone(), message.clone());
                        output.sends.extend((1..*times).map(|_| again.clone()));
                    }
                }
                Message::Dispatch { intent_hash, operation_id, .. } => {
                    if let Some(Message::Claim { intent, consent, request_number, .. }) =
                        self.claims.get(intent_hash)
                        && let step = &intent.record().step_id
                        && let Some(Misuse::IdReused { changed }) = self.misuses.get(step)
                        && self.done.insert(step.clone())
                    {
                        let changed = changed.made_to(intent.record());
                        let claim = Message::Claim {
                            intent: changed.seal().expect("the intent could be sealed"),
                            proposal: Some(operation_id.clone()),
                            consent: consent.clone(),
                            request_number: *request_number,
                        };
                        output.sends.push((to.clone(), claim));
                    }
                }
                Message::Apply { envelope, .. } => {
                    if let Some(Message::Claim { intent, .. }) =
                        self.claims.get(&envelope.intent_hash)
                        && let step = &intent.record().step_id
                        && let Some(Misuse::Forged { lease }) = self.misuses.get(step)
                        && self.done.insert(step.clone())
                    {
                        lease.forge(&mut message);
                    }
                }
                _ => {}
            }
            output.sends.push((to, message));
        }
    }
}

impl Role for Careless {
    type Record = Record;

    fn load(&mut self, record: Record) {
        self.worker.load(record);
    }

    fn resume(&mut self, context: Context<'_>, output: &mut Output<Record>) {
        self.worker.resume(context, output);
        self.misuse(output);
    }

    fn receive(
        &mut self,
        context: Context<'_>,
        from: Actor,
        message: Message,
        output: &mut Output<Record>,
    ) {
        self.worker.receive(context, from, message, output);
        self.misuse(output);
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, output: &mut Output<Record>) {
        self.worker.signal(context, signal, output);
        self.misuse(output);
    }
}
