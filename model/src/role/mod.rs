//! The protocol's roles as pure state machines.
//!
//! A role takes a message or a signal and returns messages, timers, records to keep and
//! events. It knows nothing of sockets, files, clocks or threads, and asks the
//! [`Design`] for every decision that is a setting. The same
//! machines run under the simulated world and under the exhaustive checker: what is
//! checked is the code that runs.
//!
//! * [`authority`]: who may act on a resource, under which epoch, until when.
//! * [`co_located`]: authority and destination in one store.
//! * [`destination`]: owns the resources; decides and mutates in one step.
//! * [`ledger`]: which operation id names which intent, and what became of it.
//! * [`worker`]: performs operations for agents.
//! * [`supervisor`]: suspects workers and asks for takeovers.
//! * [`agent`]: wants effects and waits for answers.
//! * [`relevance`]: what can still matter to a role.

pub mod agent;
pub mod authority;
pub mod co_located;
pub mod destination;
pub mod ledger;
pub mod message;
pub mod relevance;
pub mod supervisor;
pub mod worker;

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use message::{Actor, Answer, Consent, EntryView, Message};

use crate::design::Design;
use crate::design::asked::Asked;
use crate::event::Event;
use crate::identity::{AttemptId, OperationId, WorkerId};
use crate::intent::IntentHash;
use crate::lease::{Epoch, Timestamp};
use crate::resource::ResourceId;

/// What a role may consult while it decides.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The design that is being run.
    pub design: Asked<'a, Design>,
    /// What time it is where the role runs.
    pub now: Timestamp,
    /// How long a lease lasts.
    pub lease_term: Duration,
    /// A random number that no other step was given; for ids that only have to differ.
    pub entropy: u64,
}

/// What a role wants done after a step: first the records are kept, then the events are
/// public, then the messages leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output<R> {
    /// Records to keep durably before anything else happens.
    pub records: Vec<R>,
    /// Records to keep only after everything else has happened: a crash in between loses
    /// them.
    pub late_records: Vec<R>,
    /// Facts that are now true.
    pub events: Vec<Event>,
    /// Messages to send.
    pub sends: Vec<(Actor, Message)>,
    /// Messages to send after a delay, if the role lives so long. To the checker they are
    /// messages like others: there, each may take as long as it likes anyway.
    pub sends_later: Vec<(Delay, Actor, Message)>,
    /// Signals to give back to the role after a delay. Arming a signal that is armed
    /// already moves it.
    pub timers: Vec<(Delay, Signal)>,
}

impl<R> Default for Output<R> {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            late_records: Vec::new(),
            events: Vec::new(),
            sends: Vec::new(),
            sends_later: Vec::new(),
            timers: Vec::new(),
        }
    }
}

impl<R> Output<R> {
    fn send(&mut self, to: Actor, message: Message) {
        self.sends.push((to, message));
    }

    /// Has all messages wait that were sent since there were so many.
    fn hold_back(&mut self, since: usize, delay: Delay) {
        let held_back = self.sends.drain(since..);
        self.sends_later.extend(held_back.map(|(to, message)| (delay, to, message)));
    }

    fn arm(&mut self, delay: Delay, signal: Signal) {
        self.timers.push((delay, signal));
    }
}

/// How long to wait: the driver knows the durations, the model only what they are for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Delay {
    /// Until a lease's term is over, by the authority's clock.
    LeaseTerm,
    /// Until a lease should be renewed: well within its term.
    Renewal,
    /// Until an unanswered question is asked again.
    Resend,
    /// Until a dispatched mutation counts as unanswered.
    AttemptTimeout,
    /// Until a refused acquisition is tried again, or somebody is asked about another one's
    /// try.
    Poll,
    /// Until an agent asks again, elsewhere.
    AgentTimeout,
    /// Until a lease that nobody uses is given back.
    Idle,
    /// Until a mutation that was let in has its effect.
    Effect,
    /// Until a look-up that found nothing is followed by its insertion.
    Insertion,
}

/// What reaches a role beside messages: its own timers, and stimuli from outside.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Signal {
    /// To the authority: the term of this lease may be over.
    LeaseDeadline(ResourceId, Epoch),
    /// To the authority: the destination may not have heard.
    FenceResend(ResourceId, Epoch),
    /// To the authority: take this lease back, whoever holds it.
    Revoke(ResourceId),
    /// To the authority: you were restored from a backup, for the so-many-th time. The count
    /// is kept where no restore can reach it.
    Restored(u32),
    /// To the destination: let the mutation of this try have its effect.
    Effect(OperationId, AttemptId),
    /// To the destination: somebody has deleted this resource and made it anew.
    Recreate(ResourceId),
    /// To the destination: your fence is misconfigured from now on.
    Misconfigure,
    /// To ledger and destination: this operation is older than what is remembered.
    Forget(OperationId),
    /// To the ledger: insert what a look-up by this worker has not found.
    Insert(IntentHash, WorkerId),
    /// To a worker: claim a higher epoch than the one that you were given. No worker should;
    /// a destination has to see through it.
    InventEpoch(ResourceId),
    /// To a worker: by its own clock, the term of this lease is over.
    LeaseLapsed(ResourceId, Epoch),
    /// To a worker: this job may be stuck at this stage.
    JobTimeout(IntentHash, worker::Stage),
    /// To a worker: this lease should be renewed.
    RenewalDue(ResourceId, Epoch),
    /// To a worker: nobody may need this lease any more.
    LeaseIdle(ResourceId, Epoch),
    /// To the supervisor, from its failure detector: this worker does not answer.
    Suspect(WorkerId),
    /// To an agent: begin with the n-th of its tasks.
    Begin(usize),
    /// To an agent: the n-th task, after so many requests, may need another.
    TaskTimeout(usize, u32),
}

/// A protocol role: a pure state machine.
pub trait Role: Clone + Eq + std::hash::Hash + fmt::Debug {
    /// What the role keeps durably, one record per changed thing.
    type Record: Clone + Eq + fmt::Debug + Serialize + DeserializeOwned;

    /// Puts one kept record back, in the order in which they were kept.
    fn load(&mut self, record: Self::Record);

    /// Takes up what was left unfinished: called once after every start, when all records
    /// have been loaded.
    fn resume(&mut self, context: Context<'_>, output: &mut Output<Self::Record>);

    /// Takes a message. Messages that make no sense (late, repeated, meant for another
    /// role) change nothing.
    fn receive(
        &mut self,
        context: Context<'_>,
        from: Actor,
        message: Message,
        output: &mut Output<Self::Record>,
    );

    /// Takes a signal. Signals that are out of date change nothing.
    fn signal(&mut self, context: Context<'_>, signal: Signal, output: &mut Output<Self::Record>);
}

/// The records of a role that keeps nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Nothing {}
