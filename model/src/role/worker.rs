//! The worker: performs operations for agents.
//!
//! A job goes acquire, read, claim, mark dispatched, send, settle, answer. Whatever the
//! ledger says of the operation decides the next step, wherever the job stands: so a job
//! that another worker began, or that this worker began before it crashed, needs no code
//! of its own. A mutation that is not answered in time has an unknown outcome.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::design::fence::EnforcedAt;
use crate::design::identity::AllocatedBy;
use crate::design::recovery::OnTimeout;
use crate::envelope::Envelope;
use crate::event::{Event, OperationStatus, Rejection};
use crate::identity::{AgentId, AttemptId, CallId, OperationId, WorkerId};
use crate::intent::{IntentHash, Payload, SealedIntent};
use crate::lease::{Lease, Timestamp};
use crate::receipt::Receipt;
use crate::resource::{ResourceId, ResourceVersion};
use crate::role::{
    Actor, Answer, Context, Delay, EntryView, Message, Nothing, Output, Role, Signal,
};

/// What a job is waiting for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Stage {
    /// The authority, to say that the worker is ready.
    Acquiring,
    /// The destination, to say which state the resource is in.
    Reading,
    /// The ledger, to say which operation this is.
    Claiming,
    /// The ledger, to record that the try after this one is about to leave.
    Marking(AttemptId),
    /// The authority, to say whether the lease is still current.
    Confirming(AttemptId),
    /// The destination, to say what became of this try.
    InFlight(AttemptId),
    /// The destination, to say what became of the operation up to this try.
    Reconciling(AttemptId),
    /// The ledger, to record what became of this try.
    Settling(AttemptId, OperationStatus),
}

/// One intent that the worker is busy with.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Job {
    agent: AgentId,
    call_id: CallId,
    asked_at: Timestamp,
    intent: SealedIntent,
    payload: Payload,
    pub(super) stage: Stage,
    /// The state the resource was in when it was last read.
    read: Option<ResourceVersion>,
    /// The id that the worker brings to its claim, where the ledger does not allocate.
    proposal: Option<OperationId>,
    /// How many tries were made under ids that were given up for new ones.
    earlier_attempts: u32,
    /// The operation, once claimed.
    operation_id: Option<OperationId>,
    /// Evidence of the effect, while it is being settled.
    receipt: Option<Receipt>,
    /// Why the latest try was refused.
    refusal: Option<Rejection>,
}

/// A lease, and whether any job has got on since it was granted or renewed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Holding {
    pub(super) lease: Lease,
    has_progressed: bool,
}

/// The worker's state. Nothing of it is durable: what has to survive is in the ledger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Worker {
    id: WorkerId,
    attempts_max: Option<u32>,
    pub(super) holdings: BTreeMap<ResourceId, Holding>,
    pub(super) jobs: BTreeMap<IntentHash, Job>,
}

type Out = Output<Nothing>;

impl Worker {
    /// A worker that has nothing to do. It gives an operation up after `attempts_max` tries;
    /// with `None` it never does.
    pub fn new(id: WorkerId, attempts_max: Option<u32>) -> Self {
        Self { id, attempts_max, holdings: BTreeMap::new(), jobs: BTreeMap::new() }
    }

    /// Whether the worker is busy with anything.
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Moves a job to a stage, says what has to be said there, and sets its timer.
    fn enter(&mut self, context: Context<'_>, key: IntentHash, stage: Stage, out: &mut Out) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        job.stage = stage;
        let resource = job.intent.record().target.resource_id();
        if let Some(holding) = self.holdings.get_mut(&resource) {
            holding.has_progressed = true;
        }
        let is_acquiring = |stage| stage == Stage::Acquiring;
        if is_acquiring(stage) && self.waiting(&resource, is_acquiring).len() > 1 {
            // One acquisition serves all jobs on the resource; a second one would take the
            // lease from this very worker, and its writes under the first would be refused.
            out.arm(Delay::Resend, Signal::JobTimeout(key, stage));
            return;
        }
        self.ask(context, key, out);
    }

    /// Says what a job's stage has to say: once on entry, and again when no answer came.
    fn ask(&mut self, context: Context<'_>, key: IntentHash, out: &mut Out) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        let resource = job.intent.record().target.resource_id();
        let stage = job.stage;
        let delay = match stage {
            Stage::InFlight(_) => Delay::AttemptTimeout,
            _ => Delay::Resend,
        };
        out.arm(delay, Signal::JobTimeout(key, stage));
        let operation_id = job.operation_id.clone();
        let known = || operation_id.clone().expect("a job past its claim has an operation");
        match stage {
            Stage::Acquiring => {
                // The job asks for all that wait, so that the others need not ask too.
                for other in self.waiting(&resource, |stage| stage == Stage::Acquiring) {
                    if other != key {
                        out.arm(Delay::Resend, Signal::JobTimeout(other, stage));
                    }
                }
                out.send(Actor::Authority, Message::Acquire { resource });
            }
            Stage::Reading => out.send(Actor::Destination, Message::Read { resource }),
            Stage::Claiming => {
                if job.proposal.is_none() {
                    job.proposal = context.design.identity.allocated_by.proposal(
                        &job.intent.record().run_id,
                        job.asked_at,
                        context.entropy,
                    );
                }
                let (intent, proposal) = (job.intent.clone(), job.proposal.clone());
                out.send(Actor::Ledger, Message::Claim { intent, proposal });
            }
            Stage::Marking(after) => out.send(
                Actor::Ledger,
                Message::Dispatch { operation_id: known(), intent_hash: key, after },
            ),
            Stage::Confirming(_) => {
                if let Some(holding) = self.holdings.get(&resource) {
                    let epoch = holding.lease.epoch;
                    out.send(Actor::Authority, Message::Confirm { resource, epoch });
                }
            }
            Stage::InFlight(attempt_id) => self.dispatch(key, attempt_id, out),
            Stage::Reconciling(attempt_id) => out.send(
                Actor::Destination,
                Message::Reconcile { operation_id: known(), intent_hash: key, attempt_id },
            ),
            Stage::Settling(attempt_id, status) => out.send(
                Actor::Ledger,
                Message::Settle {
                    operation_id: known(),
                    intent_hash: key,
                    attempt_id,
                    status,
                    receipt: job.receipt.clone(),
                },
            ),
        }
    }

    /// Sends the mutation. This is the only place that does.
    fn dispatch(&self, key: IntentHash, attempt_id: AttemptId, out: &mut Out) {
        let job = &self.jobs[&key];
        let record = job.intent.record();
        let resource = record.target.resource_id();
        let Some(holding) = self.holdings.get(&resource) else { return };
        let holder = holding.lease.holder();
        let envelope = Envelope {
            operation_id: job.operation_id.clone().expect("only claimed operations leave"),
            intent_hash: key,
            attempt_id,
            run_id: record.run_id.clone(),
            call_id: job.call_id.clone(),
            approval_id: record.approval_id.clone(),
        };
        out.events.push(Event::Dispatched {
            envelope: envelope.clone(),
            resource: resource.clone(),
            holder: holder.clone(),
        });
        let (expected, payload) = (record.expected_version, job.payload.clone());
        out.send(
            Actor::Destination,
            Message::Apply { envelope, resource, holder, expected, payload },
        );
    }

    /// A job begins, or begins anew: with the lease if there is one.
    fn begin(&mut self, context: Context<'_>, key: IntentHash, out: &mut Out) {
        let Some(job) = self.jobs.get(&key) else { return };
        let is_holding = self.holdings.contains_key(&job.intent.record().target.resource_id());
        let stage = if is_holding { Stage::Reading } else { Stage::Acquiring };
        self.enter(context, key, stage, out);
    }

    /// Whatever the ledger says of the operation decides what comes next.
    fn consider(&mut self, context: Context<'_>, key: IntentHash, entry: EntryView, out: &mut Out) {
        let identity = context.design.identity;
        let Some(job) = self.jobs.get_mut(&key) else { return };
        if entry.intent_hash != key && identity.on_mismatch.compares() {
            return self.finish(key, Answer::Blocked, out);
        }
        job.operation_id = Some(entry.operation_id.clone());
        let (attempt_id, record) = (entry.attempt_id, job.intent.record());
        let is_outdated = record.expected_version.is_some() && record.expected_version != job.read
            || job.refusal == Some(Rejection::VersionConflict);
        match entry.status {
            OperationStatus::Committed => {
                if let Some(receipt) = entry.receipt {
                    self.complete(key, receipt, out);
                }
            }
            OperationStatus::Blocked => self.finish(key, Answer::Blocked, out),
            OperationStatus::NeverSent => self.finish(key, Answer::Failed, out),
            OperationStatus::Prepared if is_outdated => {
                self.settle(context, key, attempt_id, OperationStatus::NeverSent, None, out);
            }
            OperationStatus::FailedBeforeEffect
                if is_outdated
                    || self
                        .attempts_max
                        .is_some_and(|max| job.earlier_attempts + attempt_id.0 >= max) =>
            {
                self.finish(key, Answer::Failed, out);
            }
            OperationStatus::FailedBeforeEffect
                if identity.allocated_by == AllocatedBy::PerAttempt
                    && job.stage != Stage::Claiming =>
            {
                job.proposal = None;
                job.earlier_attempts += attempt_id.0;
                self.enter(context, key, Stage::Claiming, out);
            }
            OperationStatus::Prepared | OperationStatus::FailedBeforeEffect => {
                if self.holdings.contains_key(&record.target.resource_id()) {
                    self.enter(context, key, Stage::Marking(attempt_id), out);
                } else {
                    self.enter(context, key, Stage::Acquiring, out);
                }
            }
            OperationStatus::Dispatched | OperationStatus::Unknown => {
                match context.design.recovery.on_timeout {
                    OnTimeout::Reconcile => {
                        self.enter(context, key, Stage::Reconciling(attempt_id), out);
                    }
                    OnTimeout::AssumeFailed => self.settle(
                        context,
                        key,
                        attempt_id,
                        OperationStatus::FailedBeforeEffect,
                        None,
                        out,
                    ),
                }
            }
        }
    }

    /// Has the ledger record what became of a try.
    fn settle(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        status: OperationStatus,
        receipt: Option<Receipt>,
        out: &mut Out,
    ) {
        if let Some(job) = self.jobs.get_mut(&key) {
            job.receipt = receipt;
            self.enter(context, key, Stage::Settling(attempt_id, status), out);
        }
    }

    /// The receipt is recorded: the agent may have it.
    fn complete(&mut self, key: IntentHash, receipt: Receipt, out: &mut Out) {
        let Some(job) = self.jobs.get(&key) else { return };
        out.events.push(Event::OperationCompleted {
            operation_id: receipt.operation_id.clone(),
            intent_hash: key,
            resource: job.intent.record().target.resource_id(),
            worker: self.id.clone(),
            receipt: receipt.clone(),
        });
        self.finish(key, Answer::Committed(receipt), out);
    }

    /// Answers the agent, and gives the lease back if nobody needs it.
    fn finish(&mut self, key: IntentHash, answer: Answer, out: &mut Out) {
        let Some(job) = self.jobs.remove(&key) else { return };
        out.send(Actor::Agent(job.agent), Message::Answered { intent_hash: key, answer });
        self.release_if_unused(&job.intent.record().target.resource_id(), out);
    }

    fn release_if_unused(&mut self, resource: &ResourceId, out: &mut Out) {
        if self.jobs_on(resource).next().is_some() {
            return;
        }
        if let Some(holding) = self.holdings.remove(resource) {
            let epoch = holding.lease.epoch;
            out.send(Actor::Authority, Message::Release { resource: resource.clone(), epoch });
        }
    }

    fn jobs_on(&self, resource: &ResourceId) -> impl Iterator<Item = (&IntentHash, &Job)> {
        self.jobs
            .iter()
            .filter(move |(_, job)| job.intent.record().target.resource_id() == *resource)
    }

    /// The jobs on a resource that wait at one stage.
    fn waiting(&self, resource: &ResourceId, is_stage: impl Fn(Stage) -> bool) -> Vec<IntentHash> {
        self.jobs_on(resource).filter(|(_, job)| is_stage(job.stage)).map(|(key, _)| *key).collect()
    }

    fn perform(&mut self, context: Context<'_>, job: Job, out: &mut Out) {
        let key = job.intent.hash();
        if let Some(running) = self.jobs.get_mut(&key) {
            // A repeated request joins the job that is running for the same intent.
            running.agent = job.agent;
            running.call_id = job.call_id;
        } else {
            self.jobs.insert(key, job);
            self.begin(context, key, out);
        }
    }

    fn ready(&mut self, context: Context<'_>, lease: Lease, out: &mut Out) {
        let resource = lease.resource.clone();
        let is_news =
            self.holdings.get(&resource).is_none_or(|held| held.lease.epoch < lease.epoch);
        if lease.worker != self.id || !is_news {
            return;
        }
        out.arm(Delay::Renewal, Signal::RenewalDue(resource.clone(), lease.epoch));
        out.arm(Delay::Idle, Signal::LeaseIdle(resource.clone(), lease.epoch));
        self.holdings.insert(resource.clone(), Holding { lease, has_progressed: true });
        for key in self.waiting(&resource, |stage| stage == Stage::Acquiring) {
            self.enter(context, key, Stage::Reading, out);
        }
    }

    fn may_dispatch(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        operation_id: &OperationId,
        attempt_id: AttemptId,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        let is_expected = matches!(job.stage, Stage::Marking(after) if after.next() == attempt_id)
            && job.operation_id.as_ref() == Some(operation_id);
        if !is_expected {
            return;
        }
        job.refusal = None;
        if !self.holdings.contains_key(&job.intent.record().target.resource_id()) {
            // Nothing has left under this attempt, so it is known to have failed.
            let status = OperationStatus::FailedBeforeEffect;
            self.settle(context, key, attempt_id, status, None, out);
        } else if context.design.fence.enforced_at == EnforcedAt::Adapter {
            self.enter(context, key, Stage::Confirming(attempt_id), out);
        } else {
            self.enter(context, key, Stage::InFlight(attempt_id), out);
        }
    }

    fn confirmed(
        &mut self,
        context: Context<'_>,
        lease: (&ResourceId, crate::lease::Epoch),
        is_current: bool,
        out: &mut Out,
    ) {
        let (resource, epoch) = lease;
        if self.holdings.get(resource).is_none_or(|held| held.lease.epoch != epoch) {
            return;
        }
        if !is_current {
            self.holdings.remove(resource);
        }
        for key in self.waiting(resource, |stage| matches!(stage, Stage::Confirming(_))) {
            let Stage::Confirming(attempt_id) = self.jobs[&key].stage else { continue };
            if is_current {
                self.enter(context, key, Stage::InFlight(attempt_id), out);
            } else {
                let status = OperationStatus::FailedBeforeEffect;
                self.settle(context, key, attempt_id, status, None, out);
            }
        }
    }

    /// The try that a job has under way, if it is this one.
    fn is_under_way(&self, key: IntentHash, attempt_id: AttemptId) -> bool {
        self.jobs.get(&key).is_some_and(|job| {
            matches!(job.stage,
                Stage::InFlight(current) | Stage::Reconciling(current) if current == attempt_id)
        })
    }

    fn applied(&mut self, context: Context<'_>, key: IntentHash, receipt: Receipt, out: &mut Out) {
        let Some(job) = self.jobs.get(&key) else { return };
        let (Stage::InFlight(attempt_id) | Stage::Reconciling(attempt_id)) = job.stage else {
            return;
        };
        let is_mine = job.operation_id.as_ref().is_some_and(|id| receipt.binds(id, key));
        if is_mine || !context.design.identity.on_mismatch.compares() {
            let status = OperationStatus::Committed;
            self.settle(context, key, attempt_id, status, Some(receipt), out);
        }
    }

    fn rejected(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        reason: Rejection,
        out: &mut Out,
    ) {
        if !self.is_under_way(key, attempt_id) {
            return;
        }
        let Some(job) = self.jobs.get_mut(&key) else { return };
        job.refusal = Some(reason);
        let status = match reason {
            Rejection::StaleEpoch
            | Rejection::UnknownEpoch
            | Rejection::OtherWorker
            | Rejection::Sealed => {
                self.holdings.remove(&job.intent.record().target.resource_id());
                OperationStatus::FailedBeforeEffect
            }
            Rejection::VersionConflict => OperationStatus::FailedBeforeEffect,
            Rejection::IdentityCollision => OperationStatus::Blocked,
            // Somebody else has asked about this try: the ledger knows the rest.
            Rejection::AttemptClosed => return self.enter(context, key, Stage::Claiming, out),
        };
        self.settle(context, key, attempt_id, status, None, out);
    }

    fn job_timeout(&mut self, context: Context<'_>, key: IntentHash, stage: Stage, out: &mut Out) {
        let Some(job) = self.jobs.get(&key).filter(|job| job.stage == stage) else { return };
        match stage {
            Stage::InFlight(attempt_id) => {
                let operation_id = job.operation_id.clone().expect("only claimed operations leave");
                out.events.push(Event::OutcomeUnknown { operation_id, attempt_id });
                let status = match context.design.recovery.on_timeout {
                    OnTimeout::Reconcile => OperationStatus::Unknown,
                    OnTimeout::AssumeFailed => OperationStatus::FailedBeforeEffect,
                };
                self.settle(context, key, attempt_id, status, None, out);
            }
            // The lease that was to be confirmed is gone: the try never left.
            Stage::Confirming(attempt_id)
                if !self.holdings.contains_key(&job.intent.record().target.resource_id()) =>
            {
                let status = OperationStatus::FailedBeforeEffect;
                self.settle(context, key, attempt_id, status, None, out);
            }
            _ => self.ask(context, key, out),
        }
    }
}

impl Role for Worker {
    type Record = Nothing;

    fn load(&mut self, record: Nothing) {
        match record {}
    }

    fn resume(&mut self, _: Context<'_>, _: &mut Out) {}

    fn receive(&mut self, context: Context<'_>, from: Actor, message: Message, out: &mut Out) {
        match (from, message) {
            (Actor::Agent(agent), Message::Perform { call_id, asked_at, intent, payload }) => {
                let job = Job {
                    agent,
                    call_id,
                    asked_at,
                    intent,
                    payload,
                    stage: Stage::Acquiring,
                    read: None,
                    proposal: None,
                    earlier_attempts: 0,
                    operation_id: None,
                    receipt: None,
                    refusal: None,
                };
                self.perform(context, job, out);
            }
            (Actor::Authority, Message::Ready { lease }) => self.ready(context, lease, out),
            (Actor::Authority, Message::Denied { resource }) => {
                for key in self.waiting(&resource, |stage| stage == Stage::Acquiring) {
                    out.arm(Delay::Poll, Signal::JobTimeout(key, Stage::Acquiring));
                }
            }
            (Actor::Authority, Message::Confirmed { resource, epoch, is_current }) => {
                self.confirmed(context, (&resource, epoch), is_current, out);
            }
            (Actor::Destination, Message::State { resource, version }) => {
                for key in self.waiting(&resource, |stage| stage == Stage::Reading) {
                    if let Some(job) = self.jobs.get_mut(&key) {
                        job.read = Some(version);
                    }
                    self.enter(context, key, Stage::Claiming, out);
                }
            }
            (Actor::Ledger, Message::Entry { intent_hash, entry }) => {
                let is_asked = self.jobs.get(&intent_hash).is_some_and(|job| match job.stage {
                    Stage::Claiming => true,
                    Stage::Marking(_) | Stage::Settling(..) => {
                        job.operation_id.as_ref() == Some(&entry.operation_id)
                    }
                    _ => false,
                });
                if is_asked {
                    self.consider(context, intent_hash, entry, out);
                }
            }
            (Actor::Ledger, Message::MayDispatch { operation_id, intent_hash, attempt_id }) => {
                self.may_dispatch(context, intent_hash, &operation_id, attempt_id, out);
            }
            (Actor::Destination, Message::Applied { intent_hash, receipt }) => {
                self.applied(context, intent_hash, receipt, out);
            }
            (Actor::Destination, Message::Rejected { intent_hash, attempt_id, reason, .. }) => {
                self.rejected(context, intent_hash, attempt_id, reason, out);
            }
            (Actor::Destination, Message::Reconciled { intent_hash, attempt_id, receipt, .. }) => {
                let is_awaited = self
                    .jobs
                    .get(&intent_hash)
                    .is_some_and(|job| job.stage == Stage::Reconciling(attempt_id));
                if is_awaited {
                    let status = match receipt {
                        Some(_) => OperationStatus::Committed,
                        None => OperationStatus::FailedBeforeEffect,
                    };
                    self.settle(context, intent_hash, attempt_id, status, receipt, out);
                }
            }
            _ => {}
        }
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, out: &mut Out) {
        match signal {
            Signal::JobTimeout(key, stage) => self.job_timeout(context, key, stage, out),
            Signal::RenewalDue(resource, epoch) => {
                let Some(holding) = self.holdings.get_mut(&resource) else { return };
                if holding.lease.epoch != epoch {
                    return;
                }
                out.arm(Delay::Renewal, Signal::RenewalDue(resource.clone(), epoch));
                // A worker that is stuck must not keep its lease alive.
                if std::mem::take(&mut holding.has_progressed) {
                    out.send(Actor::Authority, Message::Renew { resource, epoch });
                }
            }
            Signal::LeaseIdle(resource, epoch) => {
                if self.holdings.get(&resource).is_some_and(|held| held.lease.epoch == epoch) {
                    self.release_if_unused(&resource, out);
                }
            }
            _ => {}
        }
    }
}
