//! The agent: wants effects and waits for answers.
//!
//! An intent is written down once, with the state it is meant to replace, and never
//! changes: every later request for it is a new call for the same intent, to the next
//! worker in line.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Outcome};
use crate::identity::{AgentId, ApprovalId, CallId, RunId, StepId, WorkerId};
use crate::intent::{Intent, Payload, SealedIntent, Target};
use crate::lease::Timestamp;
use crate::resource::ResourceVersion;
use crate::role::{Actor, Answer, Consent, Context, Delay, Message, Output, Role, Signal};

/// One effect that an agent is to bring about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Which step of the run it is.
    pub step_id: StepId,
    /// What is to change.
    pub target: Target,
    /// How.
    pub method: String,
    /// What to write.
    pub payload: Payload,
    /// The consent that covers it.
    pub approval_id: ApprovalId,
    /// Whether it replaces the state that the agent saw, or depends on none.
    pub is_conditional: bool,
    /// Whether the consent was given for this effect, or for another one.
    pub is_approved: bool,
}

/// What an agent keeps of one of its tasks.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Progress {
    /// The intent.
    pub intent: SealedIntent,
    /// When the agent began with it.
    pub asked_at: Timestamp,
    /// How many calls it has made for it.
    pub requests: u32,
    /// How it ended.
    pub outcome: Option<Outcome>,
}

/// What an agent keeps: the progress of its n-th task.
pub type Record = (usize, Progress);

/// Who an agent is and what it has to do.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Brief {
    /// The agent.
    pub id: AgentId,
    /// Its run.
    pub run_id: RunId,
    /// On whose behalf it acts.
    pub principal: String,
    /// The edition of the policy under which it acts.
    pub policy_version: String,
    /// The workers it may ask, in the order in which it asks them.
    pub workers: Vec<WorkerId>,
    /// What it has to do.
    pub tasks: Vec<Task>,
    /// After how many calls for one task it stops asking; never, if `None`.
    pub requests_max: Option<u32>,
}

/// The agent's state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Agent {
    brief: Brief,
    /// When each task was begun that has no intent yet.
    pub(super) begun: Vec<Option<Timestamp>>,
    pub(super) progress: Vec<Option<Progress>>,
}

type Out = Output<Record>;

impl Agent {
    /// An agent that has not begun.
    pub fn new(brief: Brief) -> Self {
        let (begun, progress) = (vec![None; brief.tasks.len()], vec![None; brief.tasks.len()]);
        Self { brief, begun, progress }
    }

    /// How each task ended, for those that have.
    pub fn outcomes(&self) -> impl Iterator<Item = Option<Outcome>> {
        self.progress.iter().map(|progress| progress.as_ref().and_then(|progress| progress.outcome))
    }

    fn keep(&mut self, index: usize, progress: Progress, out: &mut Out) {
        out.records.push((index, progress.clone()));
        self.progress[index] = Some(progress);
    }

    /// Writes the intent down; from here on it never changes.
    fn intend(
        &mut self,
        index: usize,
        asked_at: Timestamp,
        expected: Option<ResourceVersion>,
        out: &mut Out,
    ) {
        let task = &self.brief.tasks[index];
        let intent = Intent {
            run_id: self.brief.run_id.clone(),
            step_id: task.step_id.clone(),
            principal: self.brief.principal.clone(),
            target: task.target.clone(),
            method: task.method.clone(),
            payload_hash: task.payload.hash(),
            expected_version: expected,
            approval_id: task.approval_id.clone(),
            policy_version: self.brief.policy_version.clone(),
        };
        let intent = intent.seal().expect("the destination's versions are below 2^53");
        if task.is_approved {
            out.events.push(Event::ApprovalGranted {
                approval_id: task.approval_id.clone(),
                intent_hash: intent.hash(),
            });
        }
        out.events.push(Event::IntentRequested {
            intent_hash: intent.hash(),
            resource: intent.record().target.resource_id(),
        });
        self.call(index, Progress { intent, asked_at, requests: 0, outcome: None }, out);
    }

    /// Makes one more call for a task, to the next worker in line.
    fn call(&mut self, index: usize, mut progress: Progress, out: &mut Out) {
        if self.brief.requests_max.is_some_and(|max| progress.requests >= max) {
            return;
        }
        let workers = &self.brief.workers;
        let worker = workers[progress.requests as usize % workers.len()].clone();
        progress.requests += 1;
        out.send(
            Actor::Worker(worker),
            Message::Perform {
                call_id: CallId::new(format!(
                    "{}-call-{index}-{}",
                    self.brief.id, progress.requests
                )),
                request_number: progress.requests,
                asked_at: progress.asked_at,
                consent: self.consent(index, &progress.intent),
                intent: progress.intent.clone(),
                payload: self.brief.tasks[index].payload.clone(),
            },
        );
        out.arm(Delay::AgentTimeout, Signal::TaskTimeout(index, progress.requests));
        self.keep(index, progress, out);
    }

    /// The consent that the agent shows: the one that it was given, or one that somebody was
    /// given for another effect.
    fn consent(&self, index: usize, intent: &SealedIntent) -> Consent {
        let task = &self.brief.tasks[index];
        let mut given_for = intent.record().clone();
        if !task.is_approved {
            given_for.method.push_str(", as approved");
        }
        let given_for = given_for.seal().expect("the intent could be sealed");
        Consent {
            approval_id: task.approval_id.clone(),
            intent_hash: given_for.hash(),
            request_number: 1,
        }
    }

    fn read(&self, index: usize, out: &mut Out) {
        let resource = self.brief.tasks[index].target.resource_id();
        out.send(Actor::Destination, Message::Read { resource, intent_hash: None });
        out.arm(Delay::Resend, Signal::TaskTimeout(index, 0));
    }
}

impl Role for Agent {
    type Record = Record;

    fn load(&mut self, (index, progress): Record) {
        if let Some(slot) = self.progress.get_mut(index) {
            *slot = Some(progress);
        }
    }

    fn resume(&mut self, _: Context<'_>, out: &mut Out) {
        for index in 0..self.progress.len() {
            if let Some(progress) = self.progress[index].clone().filter(|p| p.outcome.is_none()) {
                self.call(index, progress, out);
            }
        }
    }

    fn receive(&mut self, context: Context<'_>, from: Actor, message: Message, out: &mut Out) {
        match (from, message) {
            (Actor::Destination, Message::State { resource, version, .. }) => {
                for index in 0..self.brief.tasks.len() {
                    let is_waiting = self.progress[index].is_none()
                        && self.brief.tasks[index].target.resource_id() == resource;
                    if let (true, Some(asked_at)) = (is_waiting, self.begun[index]) {
                        self.intend(index, asked_at, Some(version), out);
                    }
                }
            }
            (Actor::Worker(_), Message::Answered { intent_hash, answer }) => {
                let found = self.progress.iter().position(|progress| {
                    progress.as_ref().is_some_and(|p| p.intent.hash() == intent_hash)
                });
                let Some(index) = found else { return };
                let Some(mut progress) = self.progress[index].clone() else { return };
                let is_evident = match &answer {
                    Answer::Committed(Some(receipt)) => {
                        receipt.intent_hash == intent_hash
                            || !context.design.identity().compares_hashes()
                    }
                    Answer::Committed(None) => context.design.completes_without_receipt(),
                    Answer::Failed | Answer::Blocked => true,
                };
                if progress.outcome.is_some() || !is_evident {
                    return;
                }
                let outcome = answer.outcome();
                progress.outcome = Some(outcome);
                out.events.push(Event::IntentAnswered { intent_hash, outcome });
                self.keep(index, progress, out);
            }
            _ => {}
        }
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, out: &mut Out) {
        match signal {
            Signal::Begin(index)
                if self.begun[index].is_none() && self.progress[index].is_none() =>
            {
                self.begun[index] = Some(context.now);
                if self.brief.tasks[index].is_conditional {
                    self.read(index, out);
                } else {
                    self.intend(index, context.now, None, out);
                }
            }
            Signal::TaskTimeout(index, requests) => match self.progress[index].clone() {
                None => self.read(index, out),
                Some(progress) if progress.outcome.is_none() && progress.requests == requests => {
                    self.call(index, progress, out);
                }
                Some(_) => {}
            },
            _ => {}
        }
    }
}
