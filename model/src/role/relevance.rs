//! What can still matter to a role.
//!
//! The drivers may drop signals that are out of date. Each predicate is true only if the role would do
//! nothing now, and arms the signal anew whenever it would do something again; so a
//! signal that is dropped here is one that changes nothing, whenever it fires.

use crate::event::OperationStatus;
use crate::identity::{AttemptId, OperationId};
use crate::intent::IntentHash;
use crate::lease::Epoch;
use crate::resource::ResourceId;
use crate::role::agent::Agent;
use crate::role::authority::{Authority, Phase, Tenure};
use crate::role::co_located::CoLocated;
use crate::role::destination::Destination;
use crate::role::ledger::Ledger;
use crate::role::supervisor::Supervisor;
use crate::role::worker::{Stage, Worker};
use crate::role::{Role, Signal};

/// A role that can tell which of its signals cannot matter any more.
pub trait Relevance: Role {
    /// Whether this signal, armed by this role, will do nothing, whenever it fires.
    fn is_out_of_date(&self, signal: &Signal) -> bool;
}

impl Relevance for Worker {
    fn is_out_of_date(&self, signal: &Signal) -> bool {
        match signal {
            // Entering a stage arms its timeout, so one for another stage is never needed.
            Signal::JobTimeout(key, stage) => {
                self.jobs.get(key).is_none_or(|job| job.stage != *stage)
            }
            // Taking a lease up arms them.
            Signal::RenewalDue(resource, epoch)
            | Signal::LeaseLapsed(resource, epoch)
            | Signal::LeaseIdle(resource, epoch) => {
                self.holdings.get(resource).is_none_or(|holding| holding.lease.epoch != *epoch)
            }
            _ => true,
        }
    }
}

impl Relevance for Authority {
    fn is_out_of_date(&self, signal: &Signal) -> bool {
        match signal {
            // A lease enters these phases by a grant, which arms its deadline.
            Signal::LeaseDeadline(resource, epoch) => !matches!(
                self.tenure(resource).phase,
                Phase::Installing(lease) | Phase::Held(lease) if lease.epoch == *epoch
            ),
            // Pushing a fence arms the repetition.
            Signal::FenceResend(resource, epoch) => match self.tenure(resource).phase {
                Phase::Installing(lease) | Phase::Ending(lease, ..) => lease.epoch != *epoch,
                Phase::Voiding => false,
                Phase::Free | Phase::Held(_) => true,
            },
            _ => true,
        }
    }
}

impl Relevance for Agent {
    fn is_out_of_date(&self, signal: &Signal) -> bool {
        match signal {
            Signal::Begin(index) => self.begun[*index].is_some() || self.progress[*index].is_some(),
            // Reading and calling arm it.
            Signal::TaskTimeout(index, requests) => match &self.progress[*index] {
                None => *requests != 0,
                Some(progress) => progress.outcome.is_some() || progress.requests != *requests,
            },
            _ => true,
        }
    }
}

impl Agent {
    /// How many tasks the agent has.
    pub fn tasks(&self) -> usize {
        self.progress.len()
    }
}

impl Relevance for Supervisor {
    fn is_out_of_date(&self, _: &Signal) -> bool {
        true
    }
}

impl Relevance for Ledger {
    fn is_out_of_date(&self, signal: &Signal) -> bool {
        match signal {
            // A look-up that finds nothing arms it.
            Signal::Insert(intent_hash, worker) => !self.is_inserting(*intent_hash, worker),
            _ => true,
        }
    }
}

impl Relevance for Destination {
    fn is_out_of_date(&self, signal: &Signal) -> bool {
        match signal {
            // Letting a mutation in arms it.
            Signal::Effect(operation_id, attempt_id) => !self.is_inside(operation_id, *attempt_id),
            _ => true,
        }
    }
}

impl Relevance for CoLocated {
    fn is_out_of_date(&self, signal: &Signal) -> bool {
        self.authority.is_out_of_date(signal) && self.destination.is_out_of_date(signal)
    }
}

// What the exhaustive checker asks in order to tell which messages and orders of steps
// can make no difference. None of it decides anything in a role.

/// What the destination can say of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// What became of this try: heeded only while it is in flight.
    OfTry(AttemptId),
    /// What became of all tries up to this one: heeded only by who has asked.
    UpTo(AttemptId),
}

/// What of its worker a step of a job depends on, or touches, beside the job itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Nothing.
    Job,
    /// It loses its lease: no job begins under that any more.
    LosesLease,
    /// It looks for a lease that the worker holds.
    SeeksLease,
    /// It ends, and the lease is given back if no other job is left.
    Ends,
}

impl Worker {
    /// Whether the worker is busy with this intent.
    pub fn has_job(&self, key: IntentHash) -> bool {
        self.jobs.contains_key(&key)
    }

    /// Whether the worker does nothing and holds nothing.
    pub fn is_unoccupied(&self) -> bool {
        self.jobs.is_empty() && self.holdings.is_empty()
    }

    /// How many intents the worker is busy with.
    pub fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// Whether a job waits for a lease.
    pub fn awaits_lease(&self) -> bool {
        self.jobs.values().any(|job| job.stage == Stage::Acquiring)
    }

    /// How far a step of a job has reached that has made `after` of this worker; `None` if it
    /// was no step of this job.
    pub fn reach(&self, after: &Self, key: IntentHash) -> Option<Reach> {
        let before = self.jobs.get(&key)?;
        let Some(job) = after.jobs.get(&key) else { return Some(Reach::Ends) };
        let leaves = matches!(job.stage, Stage::Marking(_) | Stage::Acquiring);
        match (&before.holder, &job.holder) {
            _ if job == before => None,
            (Some(_), None) => Some(Reach::LosesLease),
            (None, _) if leaves => Some(Reach::SeeksLease),
            _ => Some(Reach::Job),
        }
    }

    /// Whether the job with this intent has seen that its effect is not wanted any more.
    pub fn finds_state_gone(&self, key: IntentHash) -> bool {
        self.jobs.get(&key).is_some_and(|job| job.is_state_gone)
    }

    /// Whether every job but this one has a lease to work under.
    pub fn others_have_leases(&self, key: IntentHash) -> bool {
        self.jobs.iter().all(|(other, job)| *other == key || job.holder.is_some())
    }

    /// What the job with this intent waits to hear from the destination.
    pub fn awaited_fate(&self, key: IntentHash) -> Option<Fate> {
        match self.jobs.get(&key)?.stage {
            Stage::Confirming(attempt) | Stage::InFlight(attempt) => Some(Fate::OfTry(attempt)),
            Stage::Reconciling(attempt) => Some(Fate::UpTo(attempt)),
            Stage::Acquiring
            | Stage::Reading
            | Stage::LookingUp
            | Stage::Claiming
            | Stage::Marking(_)
            | Stage::Closing(_)
            | Stage::Settling(..) => None,
        }
    }
}

impl Ledger {
    /// Whether nothing can change any more in what the ledger says of this intent.
    pub fn has_closed(&self, key: IntentHash) -> bool {
        self.entries().any(|(_, entry)| {
            entry.intent.hash() == key
                && (entry.is_closed
                    || matches!(
                        entry.status,
                        OperationStatus::Committed
                            | OperationStatus::Blocked
                            | OperationStatus::NeverSent
                    ))
        })
    }

    /// The first try of this intent whose fate can still matter to a worker that learns
    /// all it knows from now on from this ledger. `None` if no fate can; `AttemptId(0)` if
    /// the intent has no operation yet.
    pub fn first_open_attempt(&self, key: IntentHash, attempts_max: u32) -> Option<AttemptId> {
        let entry = self.entries().map(|(_, entry)| entry).find(|e| e.intent.hash() == key);
        let Some(entry) = entry else { return Some(AttemptId(0)) };
        match entry.status {
            OperationStatus::Committed | OperationStatus::Blocked | OperationStatus::NeverSent => {
                None
            }
            OperationStatus::FailedBeforeEffect
                if entry.is_closed || entry.attempt_id.0 >= attempts_max =>
            {
                None
            }
            OperationStatus::Prepared | OperationStatus::FailedBeforeEffect => {
                Some(entry.attempt_id.next())
            }
            OperationStatus::Dispatched | OperationStatus::Unknown => Some(entry.attempt_id),
        }
    }
}

impl Destination {
    /// Whether a mutation with this intent is inside.
    pub fn has_inside(&self, key: IntentHash) -> bool {
        self.inside_intents().any(|inside| inside == key)
    }

    /// Whether this operation has had its effect.
    pub fn has_effect(&self, operation_id: &OperationId) -> bool {
        self.remembered(operation_id).is_some_and(|trace| trace.receipt.is_some())
    }

    /// Whether this try can have no effect any more.
    pub fn has_closed(&self, operation_id: &OperationId, attempt_id: AttemptId) -> bool {
        self.remembered(operation_id).is_some_and(|trace| trace.closed >= attempt_id)
    }
}

impl Authority {
    /// The epoch of the lease that is granted and not about to end, and the highest epoch
    /// that was ever issued.
    pub fn epochs(&self, resource: &ResourceId) -> (Option<Epoch>, Epoch) {
        let Tenure { phase, last_epoch, .. } = self.tenure(resource);
        match phase {
            Phase::Installing(lease) | Phase::Held(lease) => (Some(lease.epoch), last_epoch),
            Phase::Free | Phase::Ending(..) | Phase::Voiding => (None, last_epoch),
        }
    }

    /// Whether a grant to this worker waits for the destination.
    pub fn is_installing_for(&self, worker: &str) -> bool {
        self.tenures.values().any(|tenure| {
            matches!(&tenure.phase, Phase::Installing(lease) if lease.worker.as_str() == worker)
        })
    }

    /// Whether the destination's word about its fence can have no consequence any more.
    pub fn has_done_with(&self, resource: &ResourceId, epoch: Epoch, sealed: bool) -> bool {
        let Tenure { phase, last_epoch, .. } = self.tenure(resource);
        let is_awaited = match phase {
            Phase::Installing(lease) => lease.epoch <= epoch,
            // It could be about to end.
            Phase::Held(lease) | Phase::Ending(lease, ..) => (lease.epoch, true) <= (epoch, sealed),
            Phase::Voiding => true,
            Phase::Free => false,
        };
        !is_awaited && epoch <= last_epoch
    }
}

impl Agent {
    /// Whether every task has its intent.
    pub fn has_asked(&self) -> bool {
        self.progress.iter().all(Option::is_some)
    }

    /// Whether the agent has its answer for this intent.
    pub fn has_answer(&self, key: IntentHash) -> bool {
        self.progress
            .iter()
            .flatten()
            .any(|progress| progress.intent.hash() == key && progress.outcome.is_some())
    }
}
