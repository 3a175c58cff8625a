//! What becomes of a job's tries: how they leave, and what is concluded from each answer and
//! from none.

use super::job::{Job, Stage};
use super::{Out, Worker};
use crate::design::fence::EnforcedAt;
use crate::design::identity::AnswersMatchedBy;
use crate::design::recovery::{ConflictAfterUnknown, OnTimeout};
use crate::envelope::Envelope;
use crate::event::{Event, OperationStatus, Rejection};
use crate::identity::{AttemptId, OperationId};
use crate::intent::{IntentHash, PayloadHash};
use crate::receipt::Receipt;
use crate::role::{Actor, Answer, Context, Message};

impl Worker {
    /// Sends the mutation.
    pub(super) fn dispatch(&self, key: IntentHash, attempt_id: AttemptId, out: &mut Out) {
        let job = &self.jobs[&key];
        let record = job.intent.record();
        let resource = job.resource();
        let Some(holder) = job.holder.clone() else { return };
        let envelope = Envelope {
            operation_id: job.operation_id.clone().expect("only operations leave"),
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

    /// The second path: what was not answered is sent again, below everything that decides.
    pub(super) fn dispatch_again(&self, key: IntentHash, out: &mut Out) {
        if let Stage::InFlight(attempt_id) = self.jobs[&key].stage {
            self.dispatch(key, attempt_id, out);
        }
    }

    /// The job that gets an answer of the destination to a try for this intent.
    pub(super) fn addressee(&self, context: Context<'_>, asked_for: IntentHash) -> IntentHash {
        let is_waiting =
            |job: &&Job| matches!(job.stage, Stage::InFlight(_) | Stage::Reconciling(_));
        match (context.design.identity().answers_matched_by(), self.jobs.get(&asked_for)) {
            (AnswersMatchedBy::RequestNumber, Some(asking)) => self
                .jobs
                .values()
                .filter(is_waiting)
                .find(|job| job.request_number == asking.request_number)
                .map_or(asked_for, |job| job.intent.hash()),
            _ => asked_for,
        }
    }

    pub(super) fn may_dispatch(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        operation_id: &OperationId,
        attempt_id: AttemptId,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get(&key) else { return };
        let is_expected = matches!(job.stage, Stage::Marking(after) if after.next() == attempt_id)
            && job.operation_id.as_ref() == Some(operation_id);
        if is_expected {
            self.send_off(context, key, attempt_id, out);
        }
    }

    /// A try leaves, if there is still a lease for it.
    pub(super) fn send_off(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        job.has_conflicted = false;
        if job.holder.is_none() {
            self.never_left(context, key, attempt_id, out);
        } else if context.design.fence().enforced_at() == EnforcedAt::Adapter {
            self.enter(context, key, Stage::Confirming(attempt_id), out);
        } else {
            self.enter(context, key, Stage::InFlight(attempt_id), out);
        }
    }

    /// Nothing has left under this attempt, so it is known to have failed.
    pub(super) fn never_left(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        out: &mut Out,
    ) {
        let status = OperationStatus::FailedBeforeEffect;
        self.settle(context, key, attempt_id, status, None, out);
    }

    pub(super) fn applied(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        receipt: Receipt,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get(&key) else { return };
        // Once the outcome counts as unknown, only a reconcile tells it.
        if job.stage != Stage::InFlight(attempt_id) {
            return;
        }
        let is_mine = job.operation_id.as_ref().is_some_and(|id| receipt.binds(id, key));
        if is_mine || !context.design.identity().compares_hashes() {
            let status = OperationStatus::Committed;
            self.settle(context, key, attempt_id, status, Some(receipt), out);
        }
    }

    pub(super) fn rejected(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        reason: Rejection,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get_mut(&key) else { return };
        if job.stage != Stage::InFlight(attempt_id) {
            return;
        }
        job.has_conflicted = reason == Rejection::VersionConflict;
        let status = match reason {
            Rejection::StaleEpoch
            | Rejection::UnknownEpoch
            | Rejection::OtherWorker
            | Rejection::Sealed => {
                let (resource, refused) = (job.resource(), job.holder.take());
                let held = self.holdings.get(&resource).map(|held| held.lease.holder());
                if held == refused {
                    self.drop_holding(context, &resource, out);
                }
                OperationStatus::FailedBeforeEffect
            }
            Rejection::VersionConflict
                if attempt_id > AttemptId(1)
                    && context.design.recovery().conflict_after_unknown()
                        == ConflictAfterUnknown::Reconcile =>
            {
                // Perhaps it is the earlier try that has changed the state.
                return self.enter(context, key, Stage::Reconciling(attempt_id), out);
            }
            Rejection::VersionConflict => OperationStatus::FailedBeforeEffect,
            Rejection::IdentityCollision | Rejection::Misconfigured => OperationStatus::Blocked,
            // Somebody else has asked about this try: the ledger knows the rest.
            Rejection::AttemptClosed => return self.enter(context, key, Stage::Claiming, out),
        };
        self.settle(context, key, attempt_id, status, None, out);
    }

    pub(super) fn reconciled(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        receipt: Option<Receipt>,
        out: &mut Out,
    ) {
        let is_awaited =
            self.jobs.get(&key).is_some_and(|job| job.stage == Stage::Reconciling(attempt_id));
        if is_awaited {
            let status = match receipt {
                Some(_) => OperationStatus::Committed,
                None => OperationStatus::FailedBeforeEffect,
            };
            self.settle(context, key, attempt_id, status, receipt, out);
        }
    }

    /// Concludes from what the resource looks like, without evidence, what became of a try.
    pub(super) fn judge_by_state(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        value: Option<PayloadHash>,
        out: &mut Out,
    ) {
        let Some(job) = self.jobs.get(&key) else { return };
        let status = if value == Some(job.payload.hash()) {
            OperationStatus::Committed
        } else {
            OperationStatus::FailedBeforeEffect
        };
        self.settle(context, key, attempt_id, status, None, out);
    }

    /// A mutation was not answered in time.
    pub(super) fn unanswered(
        &mut self,
        context: Context<'_>,
        key: IntentHash,
        attempt_id: AttemptId,
        out: &mut Out,
    ) {
        let status = match context.design.recovery().on_timeout() {
            OnTimeout::Reconcile => OperationStatus::Unknown,
            OnTimeout::RetryBlindly => {
                let tries = self.jobs[&key].tries;
                let is_given_up =
                    self.attempts_max.is_some_and(|max| attempt_id.0 >= max || tries >= max);
                return if is_given_up {
                    self.finish(context, key, Answer::Failed, out);
                } else {
                    self.leave(context, key, attempt_id, out);
                };
            }
            OnTimeout::AssumeFailed => OperationStatus::FailedBeforeEffect,
            OnTimeout::AssumeSucceeded => OperationStatus::Committed,
        };
        self.settle(context, key, attempt_id, status, None, out);
    }
}
