//! What can still matter to a role: which signals are out of date for good.
//!
//! The drivers may drop such signals. Each predicate is true only if the role would do
//! nothing now, and arms the signal anew whenever it would do something again; so a
//! signal that is dropped here is one that changes nothing, whenever it fires.

use crate::role::agent::Agent;
use crate::role::authority::{Authority, Phase};
use crate::role::destination::Destination;
use crate::role::ledger::Ledger;
use crate::role::supervisor::Supervisor;
use crate::role::worker::Worker;
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
            // Taking a lease up arms both.
            Signal::RenewalDue(resource, epoch) | Signal::LeaseIdle(resource, epoch) => {
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
            Signal::FenceResend(resource, epoch) => !matches!(
                self.tenure(resource).phase,
                Phase::Installing(lease) | Phase::Ending(lease, _) if lease.epoch == *epoch
            ),
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
    fn is_out_of_date(&self, _: &Signal) -> bool {
        true
    }
}

impl Relevance for Destination {
    fn is_out_of_date(&self, _: &Signal) -> bool {
        true
    }
}
