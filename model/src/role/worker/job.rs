//! How a job gets on.

use serde::{Deserialize, Serialize};

use super::{Out, Worker, may_leave};
use crate::design::destination::{Conditions, VersionCheck};
use crate::design::identity::{AllocatedBy, Claimed, Ingredients};
use crate::design::recovery::{OnTimeout, ReconcileBy, Resend, StoredOutcome};
use crate::event::{Event, OperationStatus};
use crate::identity::{AgentId, AttemptId, CallId, OperationId};
use crate::intent::{IntentHash, Payload, PayloadHash, SealedIntent};
use crate::lease::{Holder, Timestamp};
use crate::receipt::Receipt;
use crate::resource::{ResourceId, ResourceVersion};
use crate::role::{Actor, Answer, Consent, Context, Delay, EntryView, Message, Signal};

/// What a job is waiting for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Stage {
    /// The authority, to say that the worker is ready.
    Acquiring,
    /// The destination, to say which state the resource is in.
    Reading,
    /// The ledger, to say whether the intent is known, where a claim follows its effect.
    LookingUp,
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
    /// The ledger, to record that nothing leaves after this try.
    Closing(AttemptId),
}

/// One intent that the worker is busy with.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(in crate::role) struct Job {
    pub(super) agent: AgentId,
    pub(super) call_id: CallId,
    pub(super) request_number: u32,
    pub(super) asked_at: Timestamp,
    pub(super) consent: Consent,
    pub(super) intent: SealedIntent,
    pub(super) payload: Payload,
    pub(in crate::role) stage: Stage,
    /// The lease under which the job works, until that is refused. Each job has its own, as
    /// a task has that was handed a token: what another job hears of a lease does not
    /// reach it.
    pub(in crate::role) holder: Option<Holder>,
    /// Whether a refused acquisition is next time insisted on.
    pub(super) insists: bool,
    /// Whether the state that was approved for replacement was seen to be gone.
    pub(in crate::role) is_state_gone: bool,
    /// The id that the worker brings to its claim, where the ledger does not allocate.
    pub(super) proposal: Option<OperationId>,
    /// The operation, once claimed.
    pub(super) operation_id: Option<OperationId>,
    /// How often it was sent, where the ledger's count of tries begins anew in between.
    pub(super) tries: u32,
    /// Evidence of the effect, while it is being settled.
    pub(super) receipt: Option<Receipt>,
    /// Whether the latest try was refused because of the state the resource is in.
    pub(super) has_conflicted: bool,
}

/// Whether one entry of the ledger counts all tries of an intent.
fn ledger_counts_tries(context: Context<'_>) -> bool {
    let design = context.design;
    design.identity().allocated_by() != AllocatedBy::PerAttempt
        && design.identity().claimed() == Claimed::BeforeDispatch
        && design.recovery().stored_outcome() != StoredOutcome::SuccessOnly
}

impl Job {
    pub(super) fn new(
        agent: AgentId,
        (call_id, request_number): (CallId, u32),
        asked_at: Timestamp,
        consent: Consent,
        intent: SealedIntent,
        payload: Payload,
    ) -> Self {
        Self {
            agent,
            call_id,
            request_number,
            asked_at,
            consent,
            intent,
            payload,
            stage: Stage::Acquiring,
            holder: None,
            insists: false,
            is_state_gone: false,
            proposal: None,
            operation_id: None,
            tries: 0,
            receipt: None,
            has_conflicted: false,
        }
    }

    pub(super) fn resource(&self) -> ResourceId {
        self.intent.record().target.resource_id()
    }

    /// The resource was seen to be in this state.
    fn has_read(&mut self, context: Context<'_>, read: ResourceVersion) {
        let settings = context.design.destination();
        let is_gone = self.intent.record().expected_version.is_some_and(|expected| match settings
            .version()
        {
            VersionCheck::IncarnationAndVersion => expected != read,
            VersionCheck::VersionOnly => expected.version != read.version,
            VersionCheck::None => false,
        });
        self.is_state_gone = is_gone && settings.conditions() == Conditions::Honoured;
    }

    /// Whether the state that was approved for replacement is known to be gone.
    fn is_outdated(&self) -> bool {
        self.is_state_gone || self.has_conflicted
    }
}

impl Worker {
    pub(super) fn perform(&mut self, context: Context<'_>, job: Job, out: &mut Out) {
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

    /// Whether a job has a lease to work under: its own, or else the one that is held.
    fn find_lease(&mut self, key: IntentHash) -> bool {
        let Some(job) = self.jobs.get_mut(&key) else { return false };
        if job.holder.is_none() {
            job.holder = self.holdings.get(&job.resource()).map(|held| held.lease.holder());
        }
        job.holder.is_some()
    }

    /// A job begins, or begins anew: with the lease if there is one.
    fn begin(&mut self, context: Context<'_>, key: IntentHash, out: &mut Out) {
        let is_holding = self.find_lease(key);
        let stage = if is_holding { Stage::Reading } else { Stage::Acquiring };
        self.enter(context, key, stage, out);
    }

    /// Moves a job to a stage, says what has to be said there, and sets its timer.
    pub(super) fn enter(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        stage: Stage,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        job.stage = stage;
        if matches!(stage, Stage::InFlight(_)) && !ledger_counts_tries(context) {
            job.tries += 1;
        }
        let resource = job.resource();
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
        let (resource, stage) = (job.resource(), job.stage);
        let delay = match stage {
            Stage::InFlight(_) => Delay::AttemptTimeout,
            _ => Delay::Resend,
        };
        out.arm(delay, Signal::JobTimeout(key, stage));
        let operation_id = job.operation_id.clone();
        let known = || operation_id.clone().expect("a job past its claim has an operation");
        match stage {
            Stage::Acquiring => {
                let insists = job.insists;
                // The job asks for all that wait, so that the others need not ask too.
                for other in self.waiting(&resource, |stage| stage == Stage::Acquiring) {
                    if other != key {
                        out.arm(Delay::Resend, Signal::JobTimeout(other, stage));
                    }
                }
                let acquire = Message::Acquire { resource, at: context.now, insists };
                out.send(Actor::Authority, acquire);
            }
            Stage::Reading => {
                let intent_hash = Some(key);
                out.send(Actor::Destination, Message::Read { resource, intent_hash });
            }
            Stage::LookingUp => out.send(Actor::Ledger, Message::LookUp { intent_hash: key }),
            Stage::Claiming => self.claim(context, key, out),
            Stage::Marking(after) => out.send(
                Actor::Ledger,
                Message::Dispatch { operation_id: known(), intent_hash: key, after },
            ),
            Stage::Confirming(_) => {
                if let Some(holder) = job.holder.clone() {
                    out.send(Actor::Authority, Message::Confirm { resource, holder });
                }
            }
            Stage::InFlight(attempt_id) => self.dispatch(key, attempt_id, out),
            Stage::Reconciling(attempt_id) => match context.design.recovery().reconcile_by() {
                ReconcileBy::OperationId => out.send(
                    Actor::Destination,
                    Message::Reconcile { operation_id: known(), intent_hash: key, attempt_id },
                ),
                ReconcileBy::ResourceState => {
                    let intent_hash = Some(key);
                    out.send(Actor::Destination, Message::Read { resource, intent_hash });
                }
            },
            Stage::Closing(attempt_id) => out.send(
                Actor::Ledger,
                Message::Close { operation_id: known(), intent_hash: key, attempt_id },
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

    fn claim(&mut self, context: Context<'_>, key: IntentHash, out: &mut Out) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        if job.proposal.is_none() {
            job.proposal = context.design.identity().allocated_by().proposal(Ingredients {
                intent: &job.intent,
                asked_at: job.asked_at,
                request_number: job.request_number,
                minted: self.minted,
                entropy: context.entropy,
            });
            if context.design.identity().allocated_by() == AllocatedBy::ProcessCounter {
                self.minted += 1;
            }
        }
        out.send(
            Actor::Ledger,
            Message::Claim {
                intent: job.intent.clone(),
                proposal: job.proposal.clone(),
                consent: job.consent.clone(),
                request_number: job.request_number,
            },
        );
    }

    /// The resource's state is known to a job that has asked for it.
    pub(super) fn state(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        version: ResourceVersion,
        value: Option<PayloadHash>,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        match job.stage {
            Stage::Reading => {
                job.has_read(context, version);
                let stage = match context.design.identity().claimed() {
                    Claimed::BeforeDispatch => Stage::Claiming,
                    Claimed::AfterEffect => Stage::LookingUp,
                };
                self.enter(context, key, stage, out);
            }
            Stage::Reconciling(attempt_id)
                if context.design.recovery().reconcile_by() == ReconcileBy::ResourceState =>
            {
                self.judge_by_state(context, key, attempt_id, value, out);
            }
            _ => {}
        }
    }

    /// The ledger has shown an operation.
    pub(super) fn entry(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        entry: EntryView,
        out: &mut Out,
    ) {
        let is_asked = self.jobs.get(&key).is_some_and(|job| match job.stage {
            Stage::Claiming | Stage::LookingUp => true,
            // A late word about an earlier try would take the job back to where it was.
            Stage::Marking(known) | Stage::Settling(known, _) | Stage::Closing(known) => {
                job.operation_id.as_ref() == Some(&entry.operation_id) && entry.attempt_id >= known
            }
            _ => false,
        });
        if is_asked {
            self.consider(context, key, entry, out);
        }
    }

    /// Whatever the ledger says of the operation decides what comes next.
    fn consider(&mut self, context: Context<'_>, key: IntentHash, entry: EntryView, out: &mut Out) {
        let design = context.design;
        let Some(job) = self.jobs.get_mut(&key) else { return };
        if entry.intent_hash != key && design.identity().compares_hashes() {
            return self.finish(context, key, Answer::Blocked, out);
        }
        job.operation_id = Some(entry.operation_id.clone());
        let attempt_id = entry.attempt_id;
        let (is_outdated, has_receipt) = (job.is_outdated(), job.receipt.is_some());
        let is_given_up =
            self.attempts_max.is_some_and(|max| attempt_id.0 >= max || job.tries >= max);
        let is_replayed = design.recovery().stored_outcome() == StoredOutcome::EveryStatus;
        match entry.status {
            OperationStatus::Committed => self.complete(context, key, entry.receipt, out),
            OperationStatus::Blocked => self.finish(context, key, Answer::Blocked, out),
            OperationStatus::NeverSent => self.finish(context, key, Answer::Failed, out),
            OperationStatus::Prepared
                if has_receipt && design.identity().claimed() == Claimed::AfterEffect =>
            {
                let receipt = job.receipt.clone();
                self.settle(context, key, attempt_id, OperationStatus::Committed, receipt, out);
            }
            OperationStatus::FailedBeforeEffect if entry.is_closed => {
                self.finish(context, key, Answer::Failed, out);
            }
            OperationStatus::Prepared if is_outdated => {
                self.enter(context, key, Stage::Closing(attempt_id), out);
            }
            OperationStatus::FailedBeforeEffect if is_outdated || is_given_up || is_replayed => {
                self.enter(context, key, Stage::Closing(attempt_id), out);
            }
            OperationStatus::FailedBeforeEffect
                if design.identity().allocated_by() == AllocatedBy::PerAttempt
                    && job.stage != Stage::Claiming =>
            {
                job.proposal = None;
                self.enter(context, key, Stage::Claiming, out);
            }
            OperationStatus::Unknown if is_replayed => {
                self.finish(context, key, Answer::Failed, out);
            }
            status if may_leave(status) => self.leave(context, key, attempt_id, out),
            _ => match design.recovery().on_timeout() {
                OnTimeout::Reconcile => {
                    let before = out.sends.len();
                    self.enter(context, key, Stage::Reconciling(attempt_id), out);
                    if entry.status == OperationStatus::Dispatched && attempt_id > AttemptId(1) {
                        // Several are busy with it. The question aborts what is inside, and two
                        // workers that ask at once would abort each other's tries for ever.
                        out.hold_back(before, Delay::Poll);
                    }
                }
                OnTimeout::RetryBlindly if is_given_up => {
                    self.finish(context, key, Answer::Failed, out);
                }
                OnTimeout::RetryBlindly => self.leave(context, key, attempt_id, out),
                OnTimeout::AssumeFailed => {
                    let status = OperationStatus::FailedBeforeEffect;
                    self.settle(context, key, attempt_id, status, None, out);
                }
                OnTimeout::AssumeSucceeded => {
                    let status = OperationStatus::Committed;
                    self.settle(context, key, attempt_id, status, None, out);
                }
            },
        }
    }

    /// The next try may leave, once the ledger has recorded it; with a lease.
    pub(super) fn leave(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        after: AttemptId,
        out: &mut Out,
    ) {
        let stage = if self.find_lease(key) { Stage::Marking(after) } else { Stage::Acquiring };
        self.enter(context, key, stage, out);
    }

    /// The ledger does not know what the job was about.
    pub(super) fn not_found(&mut self, context: Context<'_>, key: IntentHash, out: &mut Out) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        match job.stage {
            Stage::LookingUp => {
                job.operation_id = Some(OperationId::new(format!("op_{:016x}", context.entropy)));
                self.send_off(context, key, AttemptId(1), out);
            }
            // The ledger has forgotten the operation: as if nothing had been tried.
            Stage::Marking(_) | Stage::Settling(..) | Stage::Closing(_) => {
                let is_given_up = self.attempts_max.is_some_and(|max| job.tries >= max);
                if job.has_conflicted || is_given_up {
                    return self.finish(context, key, Answer::Failed, out);
                }
                job.operation_id = None;
                job.proposal = None;
                self.begin(context, key, out);
            }
            _ => {}
        }
    }

    /// Has the ledger record what became of a try.
    pub(super) fn settle(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        status: OperationStatus,
        receipt: Option<Receipt>,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        job.receipt = receipt;
        let follows_effect = context.design.identity().claimed() == Claimed::AfterEffect;
        match status {
            OperationStatus::Committed if follows_effect && job.proposal.is_none() => {
                // Only now is the operation written down, under the id that it had on the way.
                job.proposal = job.operation_id.clone();
                self.enter(context, key, Stage::Claiming, out);
            }
            OperationStatus::Unknown if follows_effect => {
                self.enter(context, key, Stage::Reconciling(attempt_id), out);
            }
            OperationStatus::FailedBeforeEffect if follows_effect => {
                let is_given_up = self.attempts_max.is_some_and(|max| job.tries >= max);
                if job.is_outdated() || is_given_up {
                    self.finish(context, key, Answer::Failed, out);
                } else {
                    self.begin(context, key, out);
                }
            }
            OperationStatus::Blocked if follows_effect => {
                self.finish(context, key, Answer::Blocked, out);
            }
            status => self.enter(context, key, Stage::Settling(attempt_id, status), out),
        }
    }

    /// The operation is recorded as committed: the agent may know.
    fn complete(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        receipt: Option<Receipt>,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get(&key) else { return };
        out.events.push(Event::OperationCompleted {
            operation_id: job.operation_id.clone().expect("only operations are committed"),
            intent_hash: key,
            resource: job.resource(),
            worker: self.id.clone(),
            receipt: receipt.clone(),
        });
        self.finish(context, key, Answer::Committed(receipt), out);
    }

    /// Answers the agent, and gives the lease back if nobody needs it.
    pub(super) fn finish(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        answer: Answer,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.remove(&key) else { return };
        let resource = job.resource();
        out.send(Actor::Agent(job.agent), Message::Answered { intent_hash: key, answer });
        self.release_if_unused(context, &resource, out);
    }

    pub(super) fn job_timeout(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        stage: Stage,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get(&key).filter(|job| job.stage == stage) else { return };
        match stage {
            Stage::InFlight(attempt_id) => {
                let operation_id = job.operation_id.clone().expect("only operations leave");
                out.events.push(Event::OutcomeUnknown { operation_id, attempt_id });
                if context.design.recovery().resend() == Resend::SecondPath {
                    self.dispatch_again(key, out);
                }
                self.unanswered(context, key, attempt_id, out);
            }
            // The lease that was to be confirmed is gone: the try never left.
            Stage::Confirming(attempt_id) if job.holder.is_none() => {
                self.never_left(context, key, attempt_id, out);
            }
            _ => self.ask(context, key, out),
        }
    }
}
