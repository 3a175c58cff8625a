//! Authority and destination in one store: ownership and value change in one transaction.
//!
//! What the two say to each other is heard within the step in which it is said, and
//! everything that a step keeps is kept together. No message is lost or late between them,
//! so a handover cannot slip between check and mutation. A write is compared with the lease's
//! expiry, too: it does not take a deadline that fires in time.

use serde::{Deserialize, Serialize};

use crate::resource::ResourceId;
use crate::role::authority::{self, Authority};
use crate::role::destination::{self, Destination};
use crate::role::{Actor, Context, Message, Output, Role, Signal};

/// What the store keeps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Record {
    /// A record of the authority.
    Authority(authority::Record),
    /// A record of the destination.
    Destination(destination::Record),
}

/// The two roles.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CoLocated {
    /// The authority.
    pub authority: Authority,
    /// The destination.
    pub destination: Destination,
}

impl CoLocated {
    /// A store in which nothing has been granted.
    pub fn new(authority: Authority, destination: Destination) -> Self {
        Self { authority, destination }
    }

    /// Which of the two says a message.
    pub fn speaker(message: &Message) -> Actor {
        match message {
            Message::Ready { .. }
            | Message::Denied { .. }
            | Message::Confirmed { .. }
            | Message::Holding { .. }
            | Message::Admit { .. } => Actor::Authority,
            _ => Actor::Destination,
        }
    }

    /// Which of the two a message is for: each hears only what the other does not.
    fn is_for_authority(message: &Message) -> bool {
        matches!(
            message,
            Message::Acquire { .. }
                | Message::Renew { .. }
                | Message::Release { .. }
                | Message::Confirm { .. }
                | Message::Inspect { .. }
                | Message::TakeOver { .. }
                | Message::Admitted { .. }
        )
    }

    /// Ends the lease on a resource that is about to be written, if its term is over.
    fn expire(&mut self, context: Context<'_>, resource: &ResourceId, output: &mut Output<Record>) {
        let Some(lease) = self.authority.tenure(resource).phase.current().cloned() else { return };
        if context.now >= lease.expires_at {
            let deadline = Signal::LeaseDeadline(lease.resource, lease.epoch);
            self.authority_step(output, |role, out| role.signal(context, deadline, out));
            self.settle(context, output);
        }
    }

    /// Hands on what the two say to each other, until both are silent.
    fn settle(&mut self, context: Context<'_>, output: &mut Output<Record>) {
        let is_inner =
            |(to, _): &(Actor, Message)| matches!(to, Actor::Authority | Actor::Destination);
        while let Some(index) = output.sends.iter().position(is_inner) {
            let (to, message) = output.sends.remove(index);
            if to == Actor::Authority {
                self.authority_step(output, |role, out| {
                    role.receive(context, Actor::Destination, message, out);
                });
            } else {
                self.destination_step(output, |role, out| {
                    role.receive(context, Actor::Authority, message, out);
                });
            }
        }
    }

    fn authority_step(
        &mut self,
        output: &mut Output<Record>,
        act: impl FnOnce(&mut Authority, &mut Output<authority::Record>),
    ) {
        let mut inner = Output::default();
        act(&mut self.authority, &mut inner);
        append(output, inner, Record::Authority);
    }

    fn destination_step(
        &mut self,
        output: &mut Output<Record>,
        act: impl FnOnce(&mut Destination, &mut Output<destination::Record>),
    ) {
        let mut inner = Output::default();
        act(&mut self.destination, &mut inner);
        append(output, inner, Record::Destination);
    }
}

fn append<R>(output: &mut Output<Record>, inner: Output<R>, wrap: impl Fn(R) -> Record) {
    output.records.extend(inner.records.into_iter().map(&wrap));
    output.late_records.extend(inner.late_records.into_iter().map(&wrap));
    output.events.extend(inner.events);
    output.sends.extend(inner.sends);
    output.sends_later.extend(inner.sends_later);
    output.timers.extend(inner.timers);
}

impl Role for CoLocated {
    type Record = Record;

    fn load(&mut self, record: Record) {
        match record {
            Record::Authority(record) => self.authority.load(record),
            Record::Destination(record) => self.destination.load(record),
        }
    }

    fn resume(&mut self, context: Context<'_>, output: &mut Output<Record>) {
        self.authority_step(output, |role, out| role.resume(context, out));
        self.destination_step(output, |role, out| role.resume(context, out));
        self.settle(context, output);
    }

    fn receive(
        &mut self,
        context: Context<'_>,
        from: Actor,
        message: Message,
        output: &mut Output<Record>,
    ) {
        if let Message::Apply { resource, .. } = &message {
            self.expire(context, resource, output);
        }
        if Self::is_for_authority(&message) {
            self.authority_step(output, |role, out| role.receive(context, from, message, out));
        } else {
            self.destination_step(output, |role, out| role.receive(context, from, message, out));
        }
        self.settle(context, output);
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, output: &mut Output<Record>) {
        if let Signal::Effect(operation_id, attempt_id) = &signal
            && let Some(resource) = self.destination.target(operation_id, *attempt_id).cloned()
        {
            self.expire(context, &resource, output);
        }
        match signal {
            Signal::Effect(..) | Signal::Recreate(_) | Signal::Misconfigure | Signal::Forget(_) => {
                self.destination_step(output, |role, out| role.signal(context, signal, out));
            }
            signal => self.authority_step(output, |role, out| role.signal(context, signal, out)),
        }
        self.settle(context, output);
    }
}
