//! The destination: owns the resources, and decides about every mutation.
//!
//! A mutation is let in, and a step later it has its effect. It is let in if its operation
//! is not known, its try not closed, and its holder admitted by the fence; a known
//! operation is answered from its receipt before anything else, so that a retry under newer
//! authority finds the effect that an older try had. A fence that advances aborts what was
//! let in under an older epoch. The effect compares the expected state, changes the resource
//! and keeps the receipt in one step.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::design::destination::{Conditions, Dedupe, ReceiptKept, RejectedWrite, VersionCheck};
use crate::design::fence::{Fence, Misconfigured};
use crate::design::identity::{Carried, Retention};
use crate::envelope::Envelope;
use crate::event::{Event, Rejection};
use crate::identity::{AttemptId, OperationId};
use crate::intent::{IntentHash, Payload, PayloadHash};
use crate::lease::Holder;
use crate::receipt::Receipt;
use crate::resource::{Incarnation, ResourceId, ResourceVersion, Version};
use crate::role::{Actor, Context, Delay, Message, Output, Role, Signal};

/// One resource as the destination keeps it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Cell {
    /// Its state.
    pub version: ResourceVersion,
    /// What was written last, by hash.
    pub value: Option<PayloadHash>,
    /// Whom it admits.
    pub fence: Fence,
}

/// What the destination remembers of one operation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Trace {
    /// The evidence of its effect, if it had one.
    pub receipt: Option<Receipt>,
    /// The tries up to this one can have no effect any more.
    pub closed: AttemptId,
    /// Whether the operation is older than what is remembered, and refused for that.
    pub is_expired: bool,
}

/// What the destination keeps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Record {
    /// A resource's new state.
    Cell(ResourceId, Cell),
    /// An operation's new trace; `None` once it is forgotten.
    Trace(OperationId, Option<Trace>),
    /// A resource's new state together with the trace of the operation that made it.
    Effect(ResourceId, Cell, OperationId, Trace),
    /// The fence is misconfigured.
    Misconfigured,
}

/// A mutation on its way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Mutation {
    from: Actor,
    envelope: Envelope,
    resource: ResourceId,
    holder: Holder,
    expected: Option<ResourceVersion>,
    payload: Payload,
}

/// Where a mutation is that was not decided at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Inside {
    /// The authority is being asked about its holder.
    Consulting,
    /// It was let in; its effect comes next.
    Admitted,
}

/// The destination's state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Destination {
    cells: BTreeMap<ResourceId, Cell>,
    traces: BTreeMap<OperationId, Trace>,
    is_misconfigured: bool,
    /// Mutations inside. They are not durable: a crash aborts them.
    inside: BTreeMap<(OperationId, AttemptId), (Inside, Mutation)>,
}

type Out = Output<Record>;

impl Destination {
    /// A destination that owns these resources, each in its state.
    pub fn new(resources: impl IntoIterator<Item = (ResourceId, ResourceVersion)>) -> Self {
        let cells = resources
            .into_iter()
            .map(|(resource, version)| (resource, Cell { version, ..Cell::default() }))
            .collect();
        Self { cells, ..Self::default() }
    }

    /// The resource as it is.
    pub fn cell(&self, resource: &ResourceId) -> Cell {
        self.cells.get(resource).cloned().unwrap_or_default()
    }

    /// What is remembered of an operation.
    pub fn remembered(&self, operation_id: &OperationId) -> Option<&Trace> {
        self.traces.get(operation_id)
    }

    /// The intents of the mutations that are inside.
    pub(in crate::role) fn inside_intents(&self) -> impl Iterator<Item = IntentHash> {
        self.inside.values().map(|(_, mutation)| mutation.envelope.intent_hash)
    }

    /// Whether a mutation of this try is inside.
    pub fn is_inside(&self, operation_id: &OperationId, attempt_id: AttemptId) -> bool {
        self.inside.contains_key(&(operation_id.clone(), attempt_id))
    }

    /// What the mutation of this try is to change, if it is inside.
    pub(super) fn target(
        &self,
        operation_id: &OperationId,
        attempt_id: AttemptId,
    ) -> Option<&ResourceId> {
        let (_, mutation) = self.inside.get(&(operation_id.clone(), attempt_id))?;
        Some(&mutation.resource)
    }

    fn keep(&mut self, record: Record, out: &mut Out) {
        out.records.push(record.clone());
        self.load(record);
    }

    /// Whether operations can be recognised here at all.
    fn knows_operations(context: Context<'_>) -> bool {
        context.design.identity().carried() == Carried::ToDestination
    }

    /// What is remembered of an operation, where that is used.
    fn trace(&self, context: Context<'_>, operation_id: &OperationId) -> Option<&Trace> {
        if Self::knows_operations(context) { self.traces.get(operation_id) } else { None }
    }

    /// The stored receipt that answers a mutation, or the reason to refuse it for what is
    /// known of its operation.
    fn known(
        &self,
        context: Context<'_>,
        envelope: &Envelope,
    ) -> Option<Result<Receipt, Rejection>> {
        let trace = self.trace(context, &envelope.operation_id)?;
        let dedupes = context.design.destination().dedupe() == Dedupe::OperationId;
        match &trace.receipt {
            Some(_) if trace.is_expired => Some(Err(Rejection::AttemptClosed)),
            Some(receipt) if dedupes => {
                let is_same = receipt.binds(&envelope.operation_id, envelope.intent_hash)
                    || !context.design.identity().compares_hashes();
                Some(if is_same { Ok(receipt.clone()) } else { Err(Rejection::IdentityCollision) })
            }
            _ if envelope.attempt_id <= trace.closed && (dedupes || trace.receipt.is_none()) => {
                Some(Err(Rejection::AttemptClosed))
            }
            _ => None,
        }
    }

    /// What to refuse a mutation for. Where its try was closed before it had an effect and its
    /// holder is not admitted either, it is told the latter: a worker that hears only of closed
    /// tries goes on under a lease that it has lost, and closes those of its successor for ever.
    fn refusal(&self, context: Context<'_>, mutation: &Mutation, reason: Rejection) -> Rejection {
        let trace = self.trace(context, &mutation.envelope.operation_id);
        let is_only_closed = reason == Rejection::AttemptClosed
            && trace.is_some_and(|trace| trace.receipt.is_none())
            && !self.is_misconfigured
            && !context.design.fence().is_consulted();
        if !is_only_closed {
            return reason;
        }
        let fence = self.cell(&mutation.resource).fence;
        context.design.admit(&fence, &mutation.holder).err().unwrap_or(reason)
    }

    /// Whether the resource is in the state that a mutation is to replace.
    fn is_expected(context: Context<'_>, cell: &Cell, expected: Option<ResourceVersion>) -> bool {
        let settings = context.design.destination();
        let Some(expected) = expected else { return true };
        if settings.conditions() == Conditions::AcceptedAndIgnored {
            return true;
        }
        match settings.version() {
            VersionCheck::IncarnationAndVersion => expected == cell.version,
            VersionCheck::VersionOnly => expected.version == cell.version.version,
            VersionCheck::None => true,
        }
    }

    /// A mutation arrives.
    fn arrive(&mut self, context: Context<'_>, mutation: Mutation, out: &mut Out) {
        let envelope = &mutation.envelope;
        let key = (envelope.operation_id.clone(), envelope.attempt_id);
        if self.inside.contains_key(&key) {
            // A second copy; the first will be answered.
            return;
        }
        match self.known(context, envelope) {
            Some(Ok(receipt)) => return Self::replay(&mutation, receipt, out),
            Some(Err(reason)) => {
                let reason = self.refusal(context, &mutation, reason);
                return self.reject(context, mutation, reason, out);
            }
            None => {}
        }
        if self.is_misconfigured {
            match context.design.fence().misconfigured() {
                Misconfigured::FailClosed => {
                    return self.reject(context, mutation, Rejection::Misconfigured, out);
                }
                Misconfigured::SilentlyOff => return self.let_in(mutation, out),
            }
        }
        if context.design.fence().is_consulted() {
            let (resource, holder) = (mutation.resource.clone(), mutation.holder.clone());
            out.send(Actor::Authority, Message::Confirm { resource, holder });
            self.inside.insert(key, (Inside::Consulting, mutation));
            return;
        }
        match context.design.admit(&self.cell(&mutation.resource).fence, &mutation.holder) {
            Ok(_) => self.let_in(mutation, out),
            Err(reason) => self.reject(context, mutation, reason, out),
        }
    }

    fn let_in(&mut self, mutation: Mutation, out: &mut Out) {
        let Envelope { operation_id, attempt_id, .. } = mutation.envelope.clone();
        out.arm(Delay::Effect, Signal::Effect(operation_id.clone(), attempt_id));
        self.inside.insert((operation_id, attempt_id), (Inside::Admitted, mutation));
    }

    /// A mutation that was let in has its effect. Its holder is not compared again.
    fn effect(&mut self, context: Context<'_>, mutation: Mutation, out: &mut Out) {
        match self.known(context, &mutation.envelope) {
            Some(Ok(receipt)) => return Self::replay(&mutation, receipt, out),
            Some(Err(reason)) => return self.reject(context, mutation, reason, out),
            None => {}
        }
        let before = self.cell(&mutation.resource);
        if !Self::is_expected(context, &before, mutation.expected) {
            return self.reject(context, mutation, Rejection::VersionConflict, out);
        }
        let Mutation { from, envelope, resource, holder, expected, payload } = mutation;
        let fence =
            context.design.admit(&before.fence, &holder).unwrap_or_else(|_| before.fence.clone());
        if fence != before.fence {
            out.events.push(fence_advanced(&resource, &fence));
        }
        let receipt = Receipt {
            operation_id: envelope.operation_id.clone(),
            intent_hash: envelope.intent_hash,
            attempt_id: envelope.attempt_id,
            resource: resource.clone(),
            holder,
            version_before: before.version,
            version_after: before.version.next(),
            payload_hash: payload.hash(),
        };
        out.events.push(Event::EffectCommitted { receipt: receipt.clone(), expected });
        out.send(
            from,
            Message::Applied {
                intent_hash: envelope.intent_hash,
                attempt_id: envelope.attempt_id,
                receipt: receipt.clone(),
            },
        );
        let value = Some(receipt.payload_hash);
        let has_moved = fence != before.fence;
        let cell = Cell { version: receipt.version_after, value, fence: fence.clone() };
        let operation_id = envelope.operation_id;
        let trace =
            Trace { closed: envelope.attempt_id, receipt: Some(receipt), is_expired: false };
        match context.design.destination().receipt() {
            _ if !Self::knows_operations(context) => {
                self.keep(Record::Cell(resource.clone(), cell), out);
            }
            ReceiptKept::WithEffect => {
                self.keep(Record::Effect(resource.clone(), cell, operation_id, trace), out);
            }
            ReceiptKept::AfterEffect => {
                self.keep(Record::Cell(resource.clone(), cell), out);
                let late = Record::Trace(operation_id, Some(trace));
                out.late_records.push(late.clone());
                self.load(late);
            }
        }
        if has_moved {
            self.drain(context, &resource, &fence, out);
        }
    }

    fn replay(mutation: &Mutation, receipt: Receipt, out: &mut Out) {
        let attempt_id = mutation.envelope.attempt_id;
        out.events.push(Event::EffectReplayed { receipt: receipt.clone(), attempt_id });
        let intent_hash = mutation.envelope.intent_hash;
        out.send(mutation.from.clone(), Message::Applied { intent_hash, attempt_id, receipt });
    }

    fn reject(
        &mut self,
        context: Context<'_>,
        mutation: Mutation,
        reason: Rejection,
        out: &mut Out,
    ) {
        let Mutation { from, envelope, resource, holder, payload, .. } = mutation;
        out.send(
            from,
            Message::Rejected {
                operation_id: envelope.operation_id.clone(),
                intent_hash: envelope.intent_hash,
                attempt_id: envelope.attempt_id,
                reason,
            },
        );
        // A try that was refused once stays refused, or the refusal would be no evidence: a
        // second copy of it could still arrive.
        self.close(context, &envelope.operation_id, envelope.attempt_id, out);
        let rejected_write = context.design.destination().rejected_write();
        if rejected_write == RejectedWrite::LeavesItsValue {
            let mut cell = self.cell(&resource);
            cell.version = cell.version.next();
            cell.value = Some(payload.hash());
            self.keep(Record::Cell(resource.clone(), cell), out);
        }
        let is_logged = rejected_write == RejectedWrite::LeavesItsPayloadInTheLog;
        out.events.push(Event::EffectRejected {
            version: self.cell(&resource).version,
            envelope,
            resource,
            holder,
            reason,
            payload: is_logged.then_some(payload),
        });
    }

    /// The tries up to this one can have no effect any more.
    fn close(
        &mut self,
        context: Context<'_>,
        operation_id: &OperationId,
        attempt_id: AttemptId,
        out: &mut Out,
    ) {
        if !Self::knows_operations(context) {
            return;
        }
        let mut trace = self.traces.get(operation_id).cloned().unwrap_or_default();
        if trace.closed < attempt_id && trace.receipt.is_none() {
            trace.closed = attempt_id;
            self.keep(Record::Trace(operation_id.clone(), Some(trace)), out);
        }
    }

    /// The authority's word about whom to admit.
    fn admit(&mut self, context: Context<'_>, resource: ResourceId, fence: &Fence, out: &mut Out) {
        let mut cell = self.cell(&resource);
        if *fence != cell.fence {
            out.events.push(fence_advanced(&resource, fence));
            cell.fence = fence.clone();
            self.keep(Record::Cell(resource.clone(), cell), out);
        }
        self.drain(context, &resource, fence, out);
        out.send(
            Actor::Authority,
            Message::Admitted { resource, epoch: fence.epoch, sealed: fence.admits.is_none() },
        );
    }

    /// A fence that has moved aborts what was let in before and would not be now.
    fn drain(&mut self, context: Context<'_>, resource: &ResourceId, fence: &Fence, out: &mut Out) {
        if !context.design.fence().drains() {
            return;
        }
        let stale: Vec<_> = self
            .inside
            .iter()
            .filter(|(_, (_, mutation))| mutation.resource == *resource)
            .filter_map(|(key, (_, mutation))| {
                let reason = context.design.admit(fence, &mutation.holder).err()?;
                Some((key.clone(), reason))
            })
            .collect();
        for (key, reason) in stale {
            if let Some((_, mutation)) = self.inside.remove(&key) {
                self.reject(context, mutation, reason, out);
            }
        }
    }

    fn confirmed(
        &mut self,
        context: Context<'_>,
        (resource, holder): (&ResourceId, &Holder),
        is_current: bool,
        out: &mut Out,
    ) {
        let answered: Vec<_> = self
            .inside
            .iter()
            .filter(|(_, (stage, mutation))| {
                *stage == Inside::Consulting
                    && mutation.resource == *resource
                    && mutation.holder == *holder
            })
            .map(|(key, _)| key.clone())
            .collect();
        for key in answered {
            let Some((_, mutation)) = self.inside.remove(&key) else { continue };
            if is_current {
                self.let_in(mutation, out);
            } else {
                self.reject(context, mutation, Rejection::StaleEpoch, out);
            }
        }
    }

    fn reconcile(
        &mut self,
        context: Context<'_>,
        from: Actor,
        (operation_id, intent_hash): (OperationId, crate::intent::IntentHash),
        attempt_id: AttemptId,
        out: &mut Out,
    ) {
        let receipt = self
            .trace(context, &operation_id)
            .and_then(|trace| trace.receipt.clone())
            .filter(|receipt| {
                !context.design.identity().compares_hashes()
                    || receipt.binds(&operation_id, intent_hash)
            });
        if receipt.is_none() {
            // What is inside is aborted: "no effect" has to stay true.
            let is_asked_for = |(inside, attempt): &&(OperationId, AttemptId)| {
                *inside == operation_id && *attempt <= attempt_id
            };
            for key in self.inside.keys().filter(is_asked_for).cloned().collect::<Vec<_>>() {
                if let Some((_, mutation)) = self.inside.remove(&key) {
                    self.reject(context, mutation, Rejection::AttemptClosed, out);
                }
            }
            self.close(context, &operation_id, attempt_id, out);
        }
        out.events.push(Event::Reconciled {
            operation_id: operation_id.clone(),
            attempt_id,
            committed: receipt.is_some(),
        });
        out.send(from, Message::Reconciled { operation_id, intent_hash, attempt_id, receipt });
    }

    fn recreate(&mut self, resource: ResourceId, out: &mut Out) {
        let mut cell = self.cell(&resource);
        let incarnation = Incarnation(cell.version.incarnation.0 + 1);
        cell.version = ResourceVersion { incarnation, version: Version::default() };
        cell.value = None;
        let version = cell.version;
        out.events.push(Event::ResourceRecreated { resource: resource.clone(), version });
        self.keep(Record::Cell(resource, cell), out);
    }

    fn forget(&mut self, context: Context<'_>, operation_id: OperationId, out: &mut Out) {
        let Some(mut trace) = self.traces.get(&operation_id).cloned() else { return };
        match context.design.identity().retention() {
            Retention::LongerThanRetries => {}
            Retention::ShorterThenNew => self.keep(Record::Trace(operation_id, None), out),
            Retention::ShorterThenRefuse => {
                trace.is_expired = true;
                self.keep(Record::Trace(operation_id, Some(trace)), out);
            }
        }
    }
}

fn fence_advanced(resource: &ResourceId, fence: &Fence) -> Event {
    Event::FenceAdvanced {
        resource: resource.clone(),
        admits: fence.admits.clone(),
        epoch: fence.epoch,
    }
}

impl Role for Destination {
    type Record = Record;

    fn load(&mut self, record: Record) {
        match record {
            Record::Cell(resource, cell) => {
                self.cells.insert(resource, cell);
            }
            Record::Trace(operation_id, Some(trace)) => {
                self.traces.insert(operation_id, trace);
            }
            Record::Trace(operation_id, None) => {
                self.traces.remove(&operation_id);
            }
            Record::Effect(resource, cell, operation_id, trace) => {
                self.cells.insert(resource, cell);
                self.traces.insert(operation_id, trace);
            }
            Record::Misconfigured => self.is_misconfigured = true,
        }
    }

    fn resume(&mut self, _: Context<'_>, _: &mut Out) {}

    fn receive(&mut self, context: Context<'_>, from: Actor, message: Message, out: &mut Out) {
        match message {
            Message::Read { resource, intent_hash } => {
                let Cell { version, value, .. } = self.cell(&resource);
                out.send(from, Message::State { resource, version, value, intent_hash });
            }
            Message::Admit { resource, epoch, holder } if from == Actor::Authority => {
                let fence = self.cell(&resource).fence.told(epoch, holder);
                self.admit(context, resource, &fence, out);
            }
            Message::Confirmed { resource, holder, is_current } if from == Actor::Authority => {
                self.confirmed(context, (&resource, &holder), is_current, out);
            }
            Message::Apply { envelope, resource, holder, expected, payload } => {
                let mutation = Mutation { from, envelope, resource, holder, expected, payload };
                self.arrive(context, mutation, out);
            }
            Message::Reconcile { operation_id, intent_hash, attempt_id } => {
                self.reconcile(context, from, (operation_id, intent_hash), attempt_id, out);
            }
            _ => {}
        }
    }

    fn signal(&mut self, context: Context<'_>, signal: Signal, out: &mut Out) {
        match signal {
            Signal::Effect(operation_id, attempt_id) => {
                let key = (operation_id, attempt_id);
                if self.inside.get(&key).is_some_and(|(stage, _)| *stage == Inside::Admitted)
                    && let Some((_, mutation)) = self.inside.remove(&key)
                {
                    self.effect(context, mutation, out);
                }
            }
            Signal::Recreate(resource) => self.recreate(resource, out),
            Signal::Misconfigure => self.keep(Record::Misconfigured, out),
            Signal::Forget(operation_id) => self.forget(context, operation_id, out),
            _ => {}
        }
    }
}
