//! The worker: performs operations for agents.
//!
//! A job goes acquire, read, claim, mark dispatched, send, settle, answer. Whatever the
//! ledger says of the operation decides the next step, wherever the job stands: so a job
//! that another worker began, or that this worker began before it crashed, needs no code
//! of its own. A mutation that is not answered in time has an unknown outcome.
//!
//! Here is what a worker knows and hears; `job` is how a job gets on, `attempt` what becomes
//! of its tries.

mod attempt;
mod job;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::design::lease::{ExpiryJudgedBy, ProofAfterReconnect, Renewal};
use crate::design::recovery::Resend;
use crate::event::OperationStatus;
use crate::identity::WorkerId;
use crate::intent::IntentHash;
use crate::lease::{Epoch, Holder, Lease};
use crate::resource::ResourceId;
use crate::role::{Actor, Context, Delay, Message, Output, Role, Signal};

pub(in crate::role) use job::Job;
pub use job::Stage;

/// A lease, and whether any job has got on since it was granted or renewed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(in crate::role) struct Holding {
    pub(in crate::role) lease: Lease,
    has_progressed: bool,
}

/// What a worker keeps, where its design lets it keep anything: the lease on a resource,
/// or that there is none any more.
pub type Record = (ResourceId, Option<Lease>);

/// The worker's state. What has to survive it is in the ledger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Worker {
    id: WorkerId,
    attempts_max: Option<u32>,
    /// How many operation ids it has made up since it started.
    minted: u32,
    pub(in crate::role) holdings: BTreeMap<ResourceId, Holding>,
    /// The highest epoch under which it has held each resource since it started: it does not
    /// go back to an earlier one, however late word of that comes.
    pub(in crate::role) heard: BTreeMap<ResourceId, Epoch>,
    pub(in crate::role) jobs: BTreeMap<IntentHash, Job>,
}

type Out = Output<Record>;

impl Worker {
    /// A worker that has nothing to do. It gives an operation up after `attempts_max` tries;
    /// with `None` it never does.
    pub fn new(id: WorkerId, attempts_max: Option<u32>) -> Self {
        Self {
            id,
            attempts_max,
            minted: 0,
            holdings: BTreeMap::new(),
            heard: BTreeMap::new(),
            jobs: BTreeMap::new(),
        }
    }

    /// Whether the worker is busy with anything.
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    fn jobs_on(&self, resource: &ResourceId) -> impl Iterator<Item = (&IntentHash, &Job)> {
        self.jobs.iter().filter(move |(_, job)| job.resource() == *resource)
    }

    /// The jobs on a resource that wait at one stage.
    fn waiting(&self, resource: &ResourceId, is_stage: impl Fn(Stage) -> bool) -> Vec<IntentHash> {
        self.jobs_on(resource).filter(|(_, job)| is_stage(job.stage)).map(|(key, _)| *key).collect()
    }

    fn take_up(&mut self, context: Context<'_>, lease: Lease, out: &mut Out) {
        let resource = lease.resource.clone();
        out.arm(Delay::Renewal, Signal::RenewalDue(resource.clone(), lease.epoch));
        out.arm(Delay::Idle, Signal::LeaseIdle(resource.clone(), lease.epoch));
        if context.design.lease().expiry_judged_by() == ExpiryJudgedBy::WorkerClock {
            out.arm(Delay::LeaseTerm, Signal::LeaseLapsed(resource.clone(), lease.epoch));
        }
        if context.design.lease().proof_after_reconnect() == ProofAfterReconnect::Kept {
            out.records.push((resource.clone(), Some(lease.clone())));
        }
        self.heard.insert(resource.clone(), lease.epoch);
        self.holdings.insert(resource, Holding { lease, has_progressed: true });
    }

    /// The lease is gone, or not to be relied on any more: no job begins under it.
    fn drop_holding(
        &mut self,
        context: Context<'_>,
        resource: &ResourceId,
        out: &mut Out,
    ) -> Option<Lease> {
        let holding = self.holdings.remove(resource)?;
        if context.design.lease().proof_after_reconnect() == ProofAfterReconnect::Kept {
            out.records.push((resource.clone(), None));
        }
        Some(holding.lease)
    }

    /// The lease is gone, and no job relies on it any more.
    fn let_go(&mut self, context: Context<'_>, resource: &ResourceId, out: &mut Out) {
        let Some(lease) = self.drop_holding(context, resource, out) else { return };
        self.rely_no_more(resource, &lease.holder());
    }

    /// No job relies on this lease any more.
    fn rely_no_more(&mut self, resource: &ResourceId, holder: &Holder) {
        for job in self.jobs.values_mut().filter(|job| job.resource() == *resource) {
            job.holder = job.holder.take().filter(|under| under != holder);
        }
    }

    /// The job goes on under this lease.
    fn works_under(&mut self, key: IntentHash, holder: &Holder) {
        if let Some(job) = self.jobs.get_mut(&key) {
            job.holder = Some(holder.clone());
        }
    }

    /// Whether the worker has held the resource under a later epoch than this, since it
    /// started: then it disregards this lease.
    pub fn has_moved_beyond(&self, lease: &Lease) -> bool {
        self.heard.get(&lease.resource).is_some_and(|heard| lease.epoch < *heard)
    }

    fn ready(&mut self, context: Context<'_>, lease: Lease, out: &mut Out) {
        let resource = lease.resource.clone();
        let is_news =
            self.holdings.get(&resource).is_none_or(|held| held.lease.epoch < lease.epoch);
        if lease.worker != self.id || !is_news || self.has_moved_beyond(&lease) {
            return;
        }
        let holder = lease.holder();
        self.take_up(context, lease, out);
        for key in self.waiting(&resource, |stage| stage == Stage::Acquiring) {
            self.works_under(key, &holder);
            self.enter(context, key, Stage::Reading, out);
        }
        if context.design.recovery().resend() == Resend::SecondPath {
            for key in self.waiting(&resource, |stage| matches!(stage, Stage::InFlight(_))) {
                self.works_under(key, &holder);
                self.dispatch_again(key, out);
            }
        }
    }

    fn denied(&mut self, context: Context<'_>, resource: &ResourceId, out: &mut Out) {
        let insists =
            context.design.lease().expiry_judged_by() == ExpiryJudgedBy::ChallengerSetting;
        for key in self.waiting(resource, |stage| stage == Stage::Acquiring) {
            out.arm(Delay::Poll, Signal::JobTimeout(key, Stage::Acquiring));
            if let Some(job) = self.jobs.get_mut(&key) {
                job.insists = insists;
            }
        }
    }

    fn release_if_unused(&mut self, context: Context<'_>, resource: &ResourceId, out: &mut Out) {
        if self.jobs_on(resource).next().is_none()
            && let Some(lease) = self.drop_holding(context, resource, out)
        {
            let epoch = lease.epoch;
            out.send(Actor::Authority, Message::Release { resource: resource.clone(), epoch });
        }
    }

    fn renewal_due(
        &mut self,
        context: Context<'_>,
        resource: ResourceId,
        epoch: Epoch,
        out: &mut Out,
    ) {
        let Some(holding) = self.holdings.get_mut(&resource) else { return };
        if holding.lease.epoch != epoch {
            return;
        }
        // A worker that is stuck must not keep its lease alive.
        let has_progressed = std::mem::take(&mut holding.has_progressed);
        let renews = match context.design.lease().renewal() {
            Renewal::ProgressCoupled => has_progressed,
            Renewal::Background => true,
            Renewal::None => return,
        };
        out.arm(Delay::Renewal, Signal::RenewalDue(resource.clone(), epoch));
        if renews {
            out.send(Actor::Authority, Message::Renew { resource, epoch, at: context.now });
        }
    }

    fn confirmed(
        &mut self,
        context: Context<'_>,
        (resource, holder): (&ResourceId, &Holder),
        is_current: bool,
        out: &mut Out,
    ) {
        let is_holding =
            self.holdings.get(resource).is_some_and(|held| held.lease.holder() == *holder);
        let mut asked = self.waiting(resource, |stage| matches!(stage, Stage::Confirming(_)));
        asked.retain(|key| self.jobs[key].holder.as_ref() == Some(holder));
        if !is_current {
            if is_holding {
                self.drop_holding(context, resource, out);
            }
            // Also where a later lease is held by now: a job that stuck to the earlier one
            // would ask about it for ever.
            self.rely_no_more(resource, holder);
        }
        for key in asked {
            let Stage::Confirming(attempt_id) = self.jobs[&key].stage else { continue };
            if is_current {
                self.enter(context, key, Stage::InFlight(attempt_id), out);
            } else {
                // Also where a newer lease is held by now, so that the next try is under that.
                if let Some(job) = self.jobs.get_mut(&key) {
                    job.holder = None;
                }
                self.never_left(context, key, attempt_id, out);
            }
        }
    }

    fn lease_lapsed(
        &mut self,
        context: Context<'_>,
        resource: &ResourceId,
        epoch: Epoch,
        out: &mut Out,
    ) {
        let Some(holding) = self.holdings.get(resource) else { return };
        if holding.lease.epoch != epoch {
            return;
        }
        if context.now >= holding.lease.expires_at {
            self.let_go(context, resource, out);
        } else {
            out.arm(Delay::LeaseTerm, Signal::LeaseLapsed(resource.clone(), epoch));
        }
    }
}

impl Role for Worker {
    type Record = Record;

    fn load(&mut self, (resource, lease): Record) {
        match lease {
            Some(lease) => {
                self.holdings.insert(resource, Holding { lease, has_progressed: true });
            }
            None => {
                self.holdings.remove(&resource);
            }
        }
    }

    fn resume(&mut self, context: Context<'_>, out: &mut Out) {
        for holding in std::mem::take(&mut self.holdings).into_values() {
            self.take_up(context, holding.lease, out);
        }
    }

    fn receive(&mut self, context: Context<'_>, from: Actor, message: Message, out: &mut Out) {
        match (from, message) {
            (
                Actor::Agent(agent),
                Message::Perform { call_id, request_number, asked_at, consent, intent, payload },
            ) => {
                let job =
                    Job::new(agent, (call_id, request_number), asked_at, consent, intent, payload);
                self.perform(context, job, out);
            }
            (Actor::Authority, Message::Ready { lease }) => self.ready(context, lease, out),
            (Actor::Authority, Message::Denied { resource }) => {
                self.denied(context, &resource, out);
            }
            (Actor::Authority, Message::Confirmed { resource, holder, is_current }) => {
                self.confirmed(context, (&resource, &holder), is_current, out);
            }
            (
                Actor::Destination,
                Message::State { version, value, intent_hash: Some(intent_hash), .. },
            ) => self.state(context, intent_hash, version, value, out),
            (Actor::Ledger, Message::Entry { intent_hash, entry }) => {
                self.entry(context, intent_hash, entry, out);
            }
            (Actor::Ledger, Message::NotFound { intent_hash }) => {
                self.not_found(context, intent_hash, out);
            }
            (Actor::Ledger, Message::MayDispatch { operation_id, intent_hash, attempt_id }) => {
                self.may_dispatch(context, intent_hash, &operation_id, attempt_id, out);
            }
            (Actor::Destination, Message::Applied { intent_hash, attempt_id, receipt }) => {
                let key = self.addressee(context, intent_hash);
                self.applied(context, key, attempt_id, receipt, out);
            }
            (Actor::Destination, Message::Rejected { intent_hash, attempt_id, reason, .. }) => {
                let key = self.addressee(context, intent_hash);
                self.rejected(context, key, attempt_id, reason, out);
            }
            (Actor::Destination, Message::Reconciled { intent_hash, attempt_id, receipt, .. }) => {
                let key = self.addressee(context, intent_hash);
                self.reconciled(context, key, attempt_id, receipt, out);
            }
            _ => {}
        }
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, out: &mut Out) {
        match signal {
            Signal::JobTimeout(key, stage) => self.job_timeout(context, key, stage, out),
            Signal::RenewalDue(resource, epoch) => self.renewal_due(context, resource, epoch, out),
            Signal::LeaseLapsed(resource, epoch) => {
                self.lease_lapsed(context, &resource, epoch, out);
            }
            Signal::InventEpoch(resource) => {
                if let Some(holding) = self.holdings.get_mut(&resource) {
                    holding.lease.epoch = holding.lease.epoch.next();
                    let holder = holding.lease.holder();
                    for job in self.jobs.values_mut().filter(|job| job.resource() == resource) {
                        job.holder = job.holder.as_ref().map(|_| holder.clone());
                    }
                }
            }
            Signal::LeaseIdle(resource, epoch) => {
                if self.holdings.get(&resource).is_some_and(|held| held.lease.epoch == epoch) {
                    self.release_if_unused(context, &resource, out);
                }
            }
            _ => {}
        }
    }
}

/// Whether an operation's status is one from which the ledger lets it leave.
fn may_leave(status: OperationStatus) -> bool {
    matches!(status, OperationStatus::Prepared | OperationStatus::FailedBeforeEffect)
}
