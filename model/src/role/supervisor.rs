//! The supervisor: suspects workers and asks for takeovers.
//!
//! Suspicion is not proof. The supervisor looks at what the suspect holds and asks the
//! authority to pass it on, naming the epoch it saw: if that is no longer the current one,
//! nothing happens.

use serde::{Deserialize, Serialize};

use crate::identity::WorkerId;
use crate::role::{Actor, Context, Message, Nothing, Output, Role, Signal};

/// The supervisor's state: whom it may appoint.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Supervisor {
    workers: Vec<WorkerId>,
}

impl Supervisor {
    /// A supervisor of these workers.
    pub fn new(workers: Vec<WorkerId>) -> Self {
        Self { workers }
    }

    /// The worker after the suspect in the list.
    fn successor(&self, suspect: &WorkerId) -> Option<WorkerId> {
        let position = self.workers.iter().position(|worker| worker == suspect)?;
        let successor = &self.workers[(position + 1) % self.workers.len()];
        (successor != suspect).then(|| successor.clone())
    }
}

impl Role for Supervisor {
    type Record = Nothing;

    fn load(&mut self, record: Nothing) {
        match record {}
    }

    fn resume(&mut self, _: Context<'_>, _: &mut Output<Nothing>) {}

    fn receive(
        &mut self,
        _: Context<'_>,
        from: Actor,
        message: Message,
        output: &mut Output<Nothing>,
    ) {
        let (Actor::Authority, Message::Holding { worker, leases }) = (from, message) else {
            return;
        };
        let Some(successor) = self.successor(&worker) else { return };
        for lease in leases {
            output.send(
                Actor::Authority,
                Message::TakeOver {
                    resource: lease.resource,
                    epoch: lease.epoch,
                    successor: successor.clone(),
                },
            );
        }
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, output: &mut Output<Nothing>) {
        if let Signal::Suspect(worker) = signal
            && context.design.takes_over_automatically()
        {
            output.send(Actor::Authority, Message::Inspect { worker });
        }
    }
}
