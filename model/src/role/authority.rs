//! The authority: who may act on a resource, under which epoch, until when.
//!
//! One durable record per resource. Every acquisition gets a new epoch, also one by the
//! same owner. With a pushed fence, a grant is announced only after the destination has
//! installed its epoch, and a lease is declared over only after the destination has sealed
//! it; no clock has to be trusted for that order. An authority that stops in between takes
//! the step up again when it restarts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Event, LeaseEnd};
use crate::identity::WorkerId;
use crate::lease::{Epoch, Holder, Lease};
use crate::resource::ResourceId;
use crate::role::{Actor, Context, Delay, Message, Output, Role, Signal};

/// What the authority knows of one resource.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Tenure {
    /// The highest epoch ever issued.
    pub last_epoch: Epoch,
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
    Ending(Lease, LeaseEnd),
}

impl Phase {
    fn lease(&self) -> Option<&Lease> {
        match self {
            Self::Free => None,
            Self::Installing(lease) | Self::Held(lease) | Self::Ending(lease, _) => Some(lease),
        }
    }
}

/// What the authority keeps: the tenure of one resource.
pub type Record = (ResourceId, Tenure);

/// The authority's state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Authority {
    pub(super) tenures: BTreeMap<ResourceId, Tenure>,
}

impl Authority {
    /// An authority that has never granted anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is known of this resource.
    pub fn tenure(&self, resource: &ResourceId) -> Tenure {
        self.tenures.get(resource).cloned().unwrap_or_default()
    }

    fn keep(&mut self, resource: ResourceId, tenure: Tenure, output: &mut Output<Record>) {
        output.records.push((resource.clone(), tenure.clone()));
        self.tenures.insert(resource, tenure);
    }

    /// Gives the resource to `worker` under a new epoch. An earlier lease is over with it.
    fn grant(
        &mut self,
        context: Context<'_>,
        resource: ResourceId,
        worker: WorkerId,
        output: &mut Output<Record>,
    ) {
        let tenure = self.tenure(&resource);
        if let Some(previous) = tenure.phase.lease() {
            output.events.push(ended(previous, LeaseEnd::TakenOver));
        }
        let lease = Lease {
            resource: resource.clone(),
            worker,
            epoch: tenure.last_epoch.next(),
            expires_at: context.now.after(context.lease_term),
        };
        output.events.push(Event::LeaseGranted { lease: lease.clone() });
        output.arm(Delay::LeaseTerm, Signal::LeaseDeadline(resource.clone(), lease.epoch));
        if context.design.fence.is_pushed() {
            self.push_fence(resource, Phase::Installing(lease), output);
        } else {
            self.hold(resource, lease, output);
        }
    }

    /// Records the phase and tells the destination what follows from it, until it confirms.
    fn push_fence(&mut self, resource: ResourceId, phase: Phase, output: &mut Output<Record>) {
        let lease = phase.lease().expect("only a lease is installed or ended");
        let epoch = lease.epoch;
        let last_epoch = self.tenure(&resource).last_epoch.max(epoch);
        Self::send_fence(&phase, output);
        output.arm(Delay::Resend, Signal::FenceResend(resource.clone(), epoch));
        self.keep(resource, Tenure { last_epoch, phase }, output);
    }

    fn send_fence(phase: &Phase, output: &mut Output<Record>) {
        let (lease, holder) = match phase {
            Phase::Installing(lease) => (lease, Some(lease.holder())),
            Phase::Ending(lease, _) => (lease, None),
            Phase::Free | Phase::Held(_) => return,
        };
        let (resource, epoch) = (lease.resource.clone(), lease.epoch);
        output.send(Actor::Destination, Message::Admit { resource, epoch, holder });
    }

    /// The takeover is complete: the holder is told.
    fn hold(&mut self, resource: ResourceId, lease: Lease, output: &mut Output<Record>) {
        output
            .events
            .push(Event::TakeoverComplete { resource: resource.clone(), holder: lease.holder() });
        output.send(Actor::Worker(lease.worker.clone()), Message::Ready { lease: lease.clone() });
        let last_epoch = self.tenure(&resource).last_epoch.max(lease.epoch);
        self.keep(resource, Tenure { last_epoch, phase: Phase::Held(lease) }, output);
    }

    /// Ends a lease: at once where nobody has to be told, else after the seal.
    fn end(
        &mut self,
        context: Context<'_>,
        lease: Lease,
        cause: LeaseEnd,
        output: &mut Output<Record>,
    ) {
        let resource = lease.resource.clone();
        if context.design.fence.is_pushed() {
            self.push_fence(resource, Phase::Ending(lease, cause), output);
        } else {
            self.free(resource, &lease, cause, output);
        }
    }

    fn free(
        &mut self,
        resource: ResourceId,
        lease: &Lease,
        cause: LeaseEnd,
        output: &mut Output<Record>,
    ) {
        output.events.push(ended(lease, cause));
        let last_epoch = self.tenure(&resource).last_epoch;
        self.keep(resource, Tenure { last_epoch, phase: Phase::Free }, output);
    }

    /// The lease that is current under exactly this epoch, if it is held by that worker.
    fn current(&self, resource: &ResourceId, epoch: Epoch, worker: &Actor) -> Option<Lease> {
        match self.tenure(resource).phase {
            Phase::Installing(lease) | Phase::Held(lease)
                if lease.epoch == epoch && worker.name() == lease.worker.as_str() =>
            {
                Some(lease)
            }
            _ => None,
        }
    }

    fn acquire(
        &mut self,
        context: Context<'_>,
        worker: WorkerId,
        resource: ResourceId,
        output: &mut Output<Record>,
    ) {
        let is_available = match self.tenure(&resource).phase {
            Phase::Free => true,
            Phase::Installing(lease) | Phase::Held(lease) => lease.worker == worker,
            Phase::Ending(..) => false,
        };
        if is_available {
            self.grant(context, resource, worker, output);
        } else {
            output.send(Actor::Worker(worker), Message::Denied { resource });
        }
    }

    fn admitted(
        &mut self,
        context: Context<'_>,
        resource: ResourceId,
        epoch: Epoch,
        sealed: bool,
        output: &mut Output<Record>,
    ) {
        match self.tenure(&resource).phase {
            // A grant whose deadline has passed by the time it could be used is refused.
            Phase::Installing(lease) if lease.epoch == epoch && context.now >= lease.expires_at => {
                self.end(context, lease, LeaseEnd::Expired, output);
            }
            Phase::Installing(lease) if lease.epoch == epoch => self.hold(resource, lease, output),
            Phase::Ending(lease, cause) if (lease.epoch, true) <= (epoch, sealed) => {
                self.free(resource, &lease, cause, output);
            }
            _ => {}
        }
    }
}

fn ended(lease: &Lease, cause: LeaseEnd) -> Event {
    Event::LeaseEnded { resource: lease.resource.clone(), holder: lease.holder(), cause }
}

impl Role for Authority {
    type Record = Record;

    fn load(&mut self, (resource, tenure): Record) {
        self.tenures.insert(resource, tenure);
    }

    fn resume(&mut self, _: Context<'_>, output: &mut Output<Record>) {
        for (resource, tenure) in &self.tenures {
            let Some(lease) = tenure.phase.lease() else { continue };
            // Timers are not durable: the term is granted anew, and nobody is fenced early.
            output.arm(Delay::LeaseTerm, Signal::LeaseDeadline(resource.clone(), lease.epoch));
            output.arm(Delay::Resend, Signal::FenceResend(resource.clone(), lease.epoch));
            Self::send_fence(&tenure.phase, output);
        }
    }

    fn receive(
        &mut self,
        context: Context<'_>,
        from: Actor,
        message: Message,
        output: &mut Output<Record>,
    ) {
        match (&from, message) {
            (Actor::Worker(worker), Message::Acquire { resource }) => {
                self.acquire(context, worker.clone(), resource, output);
            }
            (Actor::Worker(_), Message::Renew { resource, epoch }) => {
                let Some(mut lease) = self.current(&resource, epoch, &from) else { return };
                let tenure = self.tenure(&resource);
                if !matches!(tenure.phase, Phase::Held(_)) {
                    return;
                }
                lease.expires_at = context.now.after(context.lease_term);
                output.events.push(Event::LeaseRenewed { lease: lease.clone() });
                output.arm(Delay::LeaseTerm, Signal::LeaseDeadline(resource.clone(), epoch));
                self.keep(resource, Tenure { phase: Phase::Held(lease), ..tenure }, output);
            }
            (Actor::Worker(_), Message::Release { resource, epoch }) => {
                if let Some(lease) = self.current(&resource, epoch, &from) {
                    self.end(context, lease, LeaseEnd::Released, output);
                }
            }
            (Actor::Worker(_), Message::Confirm { resource, epoch }) => {
                let is_current = self.current(&resource, epoch, &from).is_some();
                output.send(from, Message::Confirmed { resource, epoch, is_current });
            }
            (Actor::Supervisor, Message::Inspect { worker }) => {
                let leases = self
                    .tenures
                    .values()
                    .filter_map(|tenure| match &tenure.phase {
                        Phase::Installing(lease) | Phase::Held(lease) => Some(lease.clone()),
                        Phase::Free | Phase::Ending(..) => None,
                    })
                    .filter(|lease| lease.worker == worker)
                    .collect();
                output.send(from, Message::Holding { worker, leases });
            }
            (Actor::Supervisor, Message::TakeOver { resource, epoch, successor }) => {
                let phase = self.tenure(&resource).phase;
                let is_current = match &phase {
                    Phase::Installing(lease) | Phase::Held(lease) => lease.epoch == epoch,
                    Phase::Free | Phase::Ending(..) => false,
                };
                if is_current {
                    self.grant(context, resource, successor, output);
                }
            }
            (Actor::Destination, Message::Admitted { resource, epoch, sealed }) => {
                self.admitted(context, resource, epoch, sealed, output);
            }
            _ => {}
        }
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, output: &mut Output<Record>) {
        match signal {
            Signal::LeaseDeadline(resource, epoch) => match self.tenure(&resource).phase {
                Phase::Installing(lease) | Phase::Held(lease) if lease.epoch == epoch => {
                    if context.now >= lease.expires_at {
                        self.end(context, lease, LeaseEnd::Expired, output);
                    } else {
                        // By this clock the term is not over: it was renewed or set back.
                        output.arm(Delay::LeaseTerm, Signal::LeaseDeadline(resource, epoch));
                    }
                }
                _ => {}
            },
            Signal::FenceResend(resource, epoch) => {
                let phase = self.tenure(&resource).phase;
                if matches!(&phase, Phase::Installing(l) | Phase::Ending(l, _) if l.epoch == epoch)
                {
                    Self::send_fence(&phase, output);
                    output.arm(Delay::Resend, Signal::FenceResend(resource, epoch));
                }
            }
            Signal::Revoke(resource) => match self.tenure(&resource).phase {
                Phase::Installing(lease) | Phase::Held(lease) => {
                    self.end(context, lease, LeaseEnd::Revoked, output);
                }
                Phase::Free | Phase::Ending(..) => {}
            },
            _ => {}
        }
    }
}

impl Authority {
    /// The holder whom the authority would confirm, if any: for assertions in tests.
    pub fn holder(&self, resource: &ResourceId) -> Option<Holder> {
        match self.tenure(resource).phase {
            Phase::Held(lease) => Some(lease.holder()),
            _ => None,
        }
    }
}
