//! The authority: who may act on a resource, under which epoch, until when.
//!
//! One durable record per resource. Every acquisition gets a new epoch, also one by the
//! same owner. With a pushed fence, a grant is announced only after the destination has
//! installed its epoch, and a lease is declared over only after the destination has sealed
//! it; no clock has to be trusted for that order. An authority that stops in between takes
//! the step up again when it restarts. One that was restored from a backup issues epochs
//! beyond everything that can have been issued since.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::design::authority::{Durability, EpochIssue, Release, Restore, Takeover, Time};
use crate::design::lease::ExpiryJudgedBy;
use crate::event::{Event, LeaseEnd};
use crate::identity::WorkerId;
use crate::lease::{Epoch, Holder, Lease, Timestamp};
use crate::resource::ResourceId;
use crate::role::{Actor, Context, Delay, Message, Output, Role, Signal};

/// What the authority knows of one resource.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Tenure {
    /// The highest epoch ever issued.
    pub last_epoch: Epoch,
    /// To whom, where a design asks for it.
    pub last_worker: Option<WorkerId>,
    /// Who has it.
    pub phase: Phase,
}

/// Where a resource is between two owners.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Phase {
    /// Nobody has it.
    #[default]
    Free,
    /// Granted; the destination has not confirmed the new epoch yet.
    Installing(Lease),
    /// The holder has been told that it is ready.
    Held(Lease),
    /// To be over as soon as the destination has sealed it.
    Ending(Lease, LeaseEnd, Option<Holder>),
    /// Restored from a backup: free as soon as the destination has sealed everything before.
    Voiding,
}

impl Phase {
    /// The lease that counts, if one does.
    pub fn current(&self) -> Option<&Lease> {
        match self {
            Self::Installing(lease) | Self::Held(lease) => Some(lease),
            Self::Free | Self::Ending(..) | Self::Voiding => None,
        }
    }
}

/// What the authority keeps.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Record {
    /// The tenure of one resource.
    Tenure(ResourceId, Tenure),
    /// How often it was restored from a backup.
    Incarnation(u32),
}

/// The authority's state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Authority {
    incarnation: u32,
    pub(super) tenures: BTreeMap<ResourceId, Tenure>,
}

type Out = Output<Record>;

impl Authority {
    /// An authority that has never granted anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is known of this resource.
    pub fn tenure(&self, resource: &ResourceId) -> Tenure {
        self.tenures.get(resource).cloned().unwrap_or_default()
    }

    /// The holder whom the authority has told that it is ready, if there is one.
    pub fn holder(&self, resource: &ResourceId) -> Option<Holder> {
        match self.tenure(resource).phase {
            Phase::Held(lease) => Some(lease.holder()),
            _ => None,
        }
    }

    /// How often it was restored from a backup, as far as it knows.
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// The epoch before the first one of this incarnation.
    fn base(&self) -> Epoch {
        Epoch(u64::from(self.incarnation) << 32)
    }

    fn keep(context: Context<'_>, record: Record, out: &mut Out) {
        match context.design.authority().durability() {
            Durability::BeforeReply => out.records.push(record),
            Durability::AfterReply => out.late_records.push(record),
            Durability::Memory => {}
        }
    }

    fn set(&mut self, context: Context<'_>, resource: ResourceId, tenure: Tenure, out: &mut Out) {
        Self::keep(context, Record::Tenure(resource.clone(), tenure.clone()), out);
        self.tenures.insert(resource, tenure);
    }

    fn enter(&mut self, context: Context<'_>, resource: ResourceId, phase: Phase, out: &mut Out) {
        let tenure = Tenure { phase, ..self.tenure(&resource) };
        self.set(context, resource, tenure, out);
    }

    fn next_epoch(&self, context: Context<'_>, tenure: &Tenure, worker: &WorkerId) -> Epoch {
        let is_same_owner = context.design.authority().epoch() == EpochIssue::PerOwnerChange
            && tenure.last_worker.as_ref() == Some(worker);
        if is_same_owner && tenure.last_epoch > self.base() {
            tenure.last_epoch
        } else {
            tenure.last_epoch.max(self.base()).next()
        }
    }

    /// Gives the resource to `worker` under a new epoch. An earlier lease is over with it.
    fn grant(
        &mut self,
        context: Context<'_>,
        resource: ResourceId,
        worker: WorkerId,
        earlier: LeaseEnd,
        out: &mut Out,
    ) {
        let tenure = self.tenure(&resource);
        if let Some(previous) = tenure.phase.current() {
            out.events.push(Event::LeaseEnded {
                resource: resource.clone(),
                holder: previous.holder(),
                cause: earlier,
                asked_for: None,
                lapsed_at: None,
            });
        }
        if tenure.last_epoch < self.base() {
            // What was granted after the backup was taken is not known here.
            out.events.push(Event::LeasesVoided { resource: resource.clone(), below: self.base() });
        }
        let epoch = self.next_epoch(context, &tenure, &worker);
        let lease = Lease {
            resource: resource.clone(),
            worker: worker.clone(),
            epoch,
            expires_at: context.now.after(context.lease_term),
        };
        out.events.push(Event::LeaseGranted { lease: lease.clone(), granted_at: context.now });
        out.arm(Delay::LeaseTerm, Signal::LeaseDeadline(resource.clone(), epoch));
        let needs_owner = context.design.authority().epoch() == EpochIssue::PerOwnerChange;
        let last_worker = needs_owner.then_some(worker);
        if context.design.fence().is_pushed() {
            let phase = Phase::Installing(lease);
            self.push_fence(&resource, &phase, out);
            self.set(context, resource, Tenure { last_epoch: epoch, last_worker, phase }, out);
        } else {
            Self::announce(&lease, out);
            let phase = Phase::Held(lease);
            self.set(context, resource, Tenure { last_epoch: epoch, last_worker, phase }, out);
        }
    }

    /// Tells the destination what follows from a phase, until it confirms.
    fn push_fence(&self, resource: &ResourceId, phase: &Phase, out: &mut Out) {
        let (epoch, holder) = match phase {
            Phase::Installing(lease) => (lease.epoch, Some(lease.holder())),
            Phase::Ending(lease, ..) => (lease.epoch, None),
            Phase::Voiding => (self.base(), None),
            Phase::Free | Phase::Held(_) => return,
        };
        let resource = resource.clone();
        out.arm(Delay::Resend, Signal::FenceResend(resource.clone(), epoch));
        out.send(Actor::Destination, Message::Admit { resource, epoch, holder });
    }

    /// The takeover is complete: the holder is told.
    fn announce(lease: &Lease, out: &mut Out) {
        let resource = lease.resource.clone();
        out.events.push(Event::TakeoverComplete { resource, holder: lease.holder() });
        out.send(Actor::Worker(lease.worker.clone()), Message::Ready { lease: lease.clone() });
    }

    /// Ends a lease: after the seal where the fence is pushed, else at once.
    fn end(
        &mut self,
        context: Context<'_>,
        lease: Lease,
        cause: LeaseEnd,
        asked_for: Option<Holder>,
        out: &mut Out,
    ) {
        let resource = lease.resource.clone();
        let is_trusting = cause == LeaseEnd::Expired
            && context.design.lease().expiry_judged_by() != ExpiryJudgedBy::Authority;
        if context.design.fence().is_pushed() && !is_trusting {
            let phase = Phase::Ending(lease, cause, asked_for);
            self.push_fence(&resource, &phase, out);
            self.enter(context, resource, phase, out);
        } else {
            out.events.push(ended(&lease, cause, asked_for));
            self.enter(context, resource, Phase::Free, out);
        }
    }

    /// Whether this holder is the current one, as far as the design can tell.
    fn is_current(&self, context: Context<'_>, resource: &ResourceId, holder: &Holder) -> bool {
        let has_epochs = context.design.authority().epoch() != EpochIssue::None;
        self.tenure(resource).phase.current().is_some_and(|lease| {
            lease.worker == holder.worker && (!has_epochs || lease.epoch == holder.epoch)
        })
    }

    fn acquire(
        &mut self,
        context: Context<'_>,
        worker: WorkerId,
        resource: ResourceId,
        (at, insists): (Timestamp, bool),
        out: &mut Out,
    ) {
        let settings = context.design;
        let earlier = match self.tenure(&resource).phase {
            Phase::Free => Some(LeaseEnd::TakenOver),
            Phase::Ending(..) | Phase::Voiding => None,
            // It will hear as soon as the fence is installed. With a new epoch for each time that it
            // asks, that would never be, where this takes longer than a worker waits.
            Phase::Installing(lease) if lease.worker == worker => return,
            Phase::Installing(lease) | Phase::Held(lease) => {
                let is_over = settings.authority().time() == Time::CallerSupplied
                    && at >= lease.expires_at
                    || settings.lease().expiry_judged_by() == ExpiryJudgedBy::ChallengerSetting
                        && insists;
                if lease.worker == worker {
                    Some(LeaseEnd::TakenOver)
                } else {
                    is_over.then_some(LeaseEnd::Expired)
                }
            }
        };
        match earlier {
            Some(earlier) => self.grant(context, resource, worker, earlier, out),
            None => out.send(Actor::Worker(worker), Message::Denied { resource }),
        }
    }

    fn renew(
        &mut self,
        context: Context<'_>,
        resource: ResourceId,
        holder: &Holder,
        at: Timestamp,
        out: &mut Out,
    ) {
        if context.design.authority().takeover() == Takeover::AgeOnly
            || !self.is_current(context, &resource, holder)
        {
            return;
        }
        let Phase::Held(mut lease) = self.tenure(&resource).phase else { return };
        let now = match context.design.authority().time() {
            Time::AuthorityAtCommit => context.now,
            Time::CallerSupplied => at,
        };
        lease.expires_at = now.after(context.lease_term);
        out.events.push(Event::LeaseRenewed { lease: lease.clone() });
        out.arm(Delay::LeaseTerm, Signal::LeaseDeadline(resource.clone(), lease.epoch));
        self.enter(context, resource, Phase::Held(lease), out);
    }

    fn release(
        &mut self,
        context: Context<'_>,
        resource: &ResourceId,
        asked_for: Holder,
        out: &mut Out,
    ) {
        let Some(lease) = self.tenure(resource).phase.current().cloned() else { return };
        let is_heeded = match context.design.authority().release() {
            Release::CompareEpoch => lease.holder() == asked_for,
            Release::CompareOwner => lease.worker == asked_for.worker,
            Release::ByKey => true,
        };
        if is_heeded {
            self.end(context, lease, LeaseEnd::Released, Some(asked_for), out);
        }
    }

    fn take_over(
        &mut self,
        context: Context<'_>,
        resource: ResourceId,
        epoch: Epoch,
        successor: WorkerId,
        out: &mut Out,
    ) {
        let Some(lease) = self.tenure(&resource).phase.current().cloned() else { return };
        let is_heeded = match context.design.authority().takeover() {
            Takeover::CompareAndSet | Takeover::AgeOnly => lease.epoch == epoch,
            Takeover::StaleSnapshot => lease.worker != successor,
        };
        if is_heeded {
            self.grant(context, resource, successor, LeaseEnd::TakenOver, out);
        }
    }

    fn admitted(
        &mut self,
        context: Context<'_>,
        resource: ResourceId,
        epoch: Epoch,
        sealed: bool,
        out: &mut Out,
    ) {
        match self.tenure(&resource).phase {
            // A grant whose deadline has passed by the time it could be used is refused.
            Phase::Installing(lease)
                if lease.epoch == epoch
                    && context.now >= lease.expires_at
                    && context.design.authority().time() == Time::AuthorityAtCommit =>
            {
                self.end(context, lease, LeaseEnd::Expired, None, out);
            }
            Phase::Installing(lease) if lease.epoch == epoch => {
                Self::announce(&lease, out);
                self.enter(context, resource, Phase::Held(lease), out);
            }
            Phase::Ending(lease, cause, asked_for) if (lease.epoch, true) <= (epoch, sealed) => {
                out.events.push(ended(&lease, cause, asked_for));
                self.enter(context, resource, Phase::Free, out);
            }
            Phase::Voiding if (self.base(), true) <= (epoch, sealed) => {
                self.voided(context, resource, out);
            }
            _ => {}
        }
    }

    fn voided(&mut self, context: Context<'_>, resource: ResourceId, out: &mut Out) {
        let below = self.base();
        out.events.push(Event::LeasesVoided { resource: resource.clone(), below });
        let tenure = Tenure { last_epoch: below, last_worker: None, phase: Phase::Free };
        self.set(context, resource, tenure, out);
    }

    fn restored(&mut self, context: Context<'_>, times: u32, out: &mut Out) {
        let is_known = times <= self.incarnation;
        if context.design.authority().restore() == Restore::AsIs || is_known {
            return;
        }
        self.incarnation = times;
        Self::keep(context, Record::Incarnation(times), out);
        for resource in self.tenures.keys().cloned().collect::<Vec<_>>() {
            if context.design.fence().is_pushed() {
                self.push_fence(&resource, &Phase::Voiding, out);
                self.enter(context, resource, Phase::Voiding, out);
            } else {
                self.voided(context, resource, out);
            }
        }
    }

    fn deadline(
        &mut self,
        context: Context<'_>,
        resource: ResourceId,
        epoch: Epoch,
        out: &mut Out,
    ) {
        let Some(lease) = self.tenure(&resource).phase.current().cloned() else { return };
        let is_own_judgement = context.design.authority().time() == Time::AuthorityAtCommit
            && context.design.lease().expiry_judged_by() != ExpiryJudgedBy::ChallengerSetting;
        if lease.epoch != epoch || !is_own_judgement {
            return;
        }
        if context.now >= lease.expires_at {
            self.end(context, lease, LeaseEnd::Expired, None, out);
        } else {
            // By this clock the term is not over: it was renewed or set back.
            out.arm(Delay::LeaseTerm, Signal::LeaseDeadline(resource, epoch));
        }
    }
}

/// The end of a lease that the authority has ended itself. Where that is an expiry, its own
/// clock has shown the end of the term, even if it shows less by the time of the seal.
fn ended(lease: &Lease, cause: LeaseEnd, asked_for: Option<Holder>) -> Event {
    Event::LeaseEnded {
        resource: lease.resource.clone(),
        holder: lease.holder(),
        cause,
        asked_for,
        lapsed_at: (cause == LeaseEnd::Expired).then_some(lease.expires_at),
    }
}

impl Role for Authority {
    type Record = Record;

    fn load(&mut self, record: Record) {
        match record {
            Record::Tenure(resource, tenure) => {
                self.tenures.insert(resource, tenure);
            }
            Record::Incarnation(times) => self.incarnation = times,
        }
    }

    fn resume(&mut self, _: Context<'_>, out: &mut Out) {
        for (resource, tenure) in &self.tenures {
            if let Some(lease) = tenure.phase.current() {
                // Timers are not durable: the term is granted anew, and nobody is fenced early.
                out.arm(Delay::LeaseTerm, Signal::LeaseDeadline(resource.clone(), lease.epoch));
            }
            self.push_fence(resource, &tenure.phase, out);
        }
    }

    fn receive(&mut self, context: Context<'_>, from: Actor, message: Message, out: &mut Out) {
        match (from, message) {
            (Actor::Worker(worker), Message::Acquire { resource, at, insists }) => {
                self.acquire(context, worker, resource, (at, insists), out);
            }
            (Actor::Worker(worker), Message::Renew { resource, epoch, at }) => {
                self.renew(context, resource, &Holder { worker, epoch }, at, out);
            }
            (Actor::Worker(worker), Message::Release { resource, epoch }) => {
                self.release(context, &resource, Holder { worker, epoch }, out);
            }
            (
                from @ (Actor::Worker(_) | Actor::Destination),
                Message::Confirm { resource, holder },
            ) => {
                let is_current = self.is_current(context, &resource, &holder);
                out.send(from, Message::Confirmed { resource, holder, is_current });
            }
            (Actor::Supervisor, Message::Inspect { worker }) => {
                let current = self.tenures.values().filter_map(|tenure| tenure.phase.current());
                let leases = current.filter(|lease| lease.worker == worker).cloned().collect();
                out.send(Actor::Supervisor, Message::Holding { worker, leases });
            }
            (Actor::Supervisor, Message::TakeOver { resource, epoch, successor }) => {
                self.take_over(context, resource, epoch, successor, out);
            }
            (Actor::Destination, Message::Admitted { resource, epoch, sealed }) => {
                self.admitted(context, resource, epoch, sealed, out);
            }
            _ => {}
        }
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, out: &mut Out) {
        match signal {
            Signal::LeaseDeadline(resource, epoch) => self.deadline(context, resource, epoch, out),
            Signal::FenceResend(resource, epoch) => {
                let phase = self.tenure(&resource).phase;
                let pushed = match &phase {
                    Phase::Installing(lease) | Phase::Ending(lease, ..) => Some(lease.epoch),
                    Phase::Voiding => Some(self.base()),
                    Phase::Free | Phase::Held(_) => None,
                };
                if pushed == Some(epoch) {
                    self.push_fence(&resource, &phase, out);
                }
            }
            Signal::Revoke(resource) => {
                if let Some(lease) = self.tenure(&resource).phase.current().cloned() {
                    self.end(context, lease, LeaseEnd::Revoked, None, out);
                }
            }
            Signal::Restored(times) => self.restored(context, times, out),
            _ => {}
        }
    }
}
