//! The destination: owns the resources, and decides and mutates in one step.
//!
//! The order of its checks is part of the protocol: a known operation is answered from its
//! receipt before anything else, so that a retry under newer authority finds the effect
//! that an older attempt had.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::design::fence::Fence;
use crate::envelope::Envelope;
use crate::event::{Event, Rejection};
use crate::identity::{AttemptId, OperationId};
use crate::intent::{Payload, PayloadHash};
use crate::lease::Holder;
use crate::receipt::Receipt;
use crate::resource::{ResourceId, ResourceVersion};
use crate::role::{Actor, Context, Message, Output, Role, Signal};

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
}

/// What the destination keeps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Record {
    /// A resource's new state.
    Cell(ResourceId, Cell),
    /// An operation's new trace.
    Trace(OperationId, Trace),
    /// A resource's new state together with the trace of the operation that made it.
    Effect(ResourceId, Cell, OperationId, Trace),
}

/// The destination's state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Destination {
    cells: BTreeMap<ResourceId, Cell>,
    pub(super) traces: BTreeMap<OperationId, Trace>,
}

/// A mutation as it arrives.
struct Mutation {
    envelope: Envelope,
    resource: ResourceId,
    holder: Holder,
    expected: Option<ResourceVersion>,
    payload: Payload,
}

/// What the destination decides about a mutation.
enum Decision {
    Replay(Receipt),
    Commit(Fence),
    Reject(Rejection),
}

impl Destination {
    /// A destination that owns these resources, each in its state.
    pub fn new(resources: impl IntoIterator<Item = (ResourceId, ResourceVersion)>) -> Self {
        let cells = resources
            .into_iter()
            .map(|(resource, version)| (resource, Cell { version, ..Cell::default() }))
            .collect();
        Self { cells, traces: BTreeMap::new() }
    }

    /// The resource as it is.
    pub fn cell(&self, resource: &ResourceId) -> Cell {
        self.cells.get(resource).cloned().unwrap_or_default()
    }

    fn decide(&self, context: Context<'_>, mutation: &Mutation) -> Decision {
        let Mutation { envelope, resource, holder, expected, .. } = mutation;
        let cell = self.cell(resource);
        if let Some(trace) = self.traces.get(&envelope.operation_id) {
            if let Some(receipt) = &trace.receipt {
                let is_same = receipt.binds(&envelope.operation_id, envelope.intent_hash);
                return if is_same || !context.design.identity.on_mismatch.compares() {
                    Decision::Replay(receipt.clone())
                } else {
                    Decision::Reject(Rejection::IdentityCollision)
                };
            }
            if envelope.attempt_id <= trace.closed {
                return Decision::Reject(Rejection::AttemptClosed);
            }
        }
        match context.design.admit(&cell.fence, holder) {
            Err(reason) => Decision::Reject(reason),
            Ok(_) if expected.is_some_and(|expected| expected != cell.version) => {
                Decision::Reject(Rejection::VersionConflict)
            }
            Ok(fence) => Decision::Commit(fence),
        }
    }

    fn apply(
        &mut self,
        context: Context<'_>,
        from: Actor,
        mutation: Mutation,
        output: &mut Output<Record>,
    ) {
        let decision = self.decide(context, &mutation);
        let Mutation { envelope, resource, holder, payload, .. } = mutation;
        let intent_hash = envelope.intent_hash;
        match decision {
            Decision::Replay(receipt) => {
                let attempt_id = envelope.attempt_id;
                output.events.push(Event::EffectReplayed { receipt: receipt.clone(), attempt_id });
                output.send(from, Message::Applied { intent_hash, receipt });
            }
            Decision::Commit(fence) => {
                let before = self.cell(&resource);
                let receipt = Receipt {
                    operation_id: envelope.operation_id.clone(),
                    intent_hash,
                    attempt_id: envelope.attempt_id,
                    resource: resource.clone(),
                    holder,
                    version_before: before.version,
                    version_after: before.version.next(),
                    payload_hash: payload.hash(),
                };
                if fence != before.fence {
                    output.events.push(fence_advanced(&resource, &fence));
                }
                output.events.push(Event::EffectCommitted { receipt: receipt.clone() });
                output.send(from, Message::Applied { intent_hash, receipt: receipt.clone() });
                let cell = Cell {
                    version: receipt.version_after,
                    value: Some(receipt.payload_hash),
                    fence,
                };
                let trace = Trace { closed: envelope.attempt_id, receipt: Some(receipt) };
                self.keep(Record::Effect(resource, cell, envelope.operation_id, trace), output);
            }
            Decision::Reject(reason) => {
                output.send(
                    from,
                    Message::Rejected {
                        operation_id: envelope.operation_id.clone(),
                        intent_hash,
                        attempt_id: envelope.attempt_id,
                        reason,
                    },
                );
                let mut trace =
                    self.traces.get(&envelope.operation_id).cloned().unwrap_or_default();
                // A try that was refused once stays refused, or the refusal would be no
                // evidence: a second copy of it could still arrive.
                if trace.closed < envelope.attempt_id && trace.receipt.is_none() {
                    trace.closed = envelope.attempt_id;
                    self.keep(Record::Trace(envelope.operation_id.clone(), trace), output);
                }
                output.events.push(Event::EffectRejected { envelope, resource, holder, reason });
            }
        }
    }

    fn keep(&mut self, record: Record, output: &mut Output<Record>) {
        output.records.push(record.clone());
        self.load(record);
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
            Record::Trace(operation_id, trace) => {
                self.traces.insert(operation_id, trace);
            }
            Record::Effect(resource, cell, operation_id, trace) => {
                self.cells.insert(resource, cell);
                self.traces.insert(operation_id, trace);
            }
        }
    }

    fn resume(&mut self, _: Context<'_>, _: &mut Output<Record>) {}

    fn receive(
        &mut self,
        context: Context<'_>,
        from: Actor,
        message: Message,
        output: &mut Output<Record>,
    ) {
        match message {
            Message::Read { resource } => {
                let version = self.cell(&resource).version;
                output.send(from, Message::State { resource, version });
            }
            Message::Admit { resource, epoch, holder } if from == Actor::Authority => {
                let mut cell = self.cell(&resource);
                let fence = cell.fence.told(epoch, holder);
                output.send(
                    from,
                    Message::Admitted {
                        resource: resource.clone(),
                        epoch: fence.epoch,
                        sealed: fence.admits.is_none(),
                    },
                );
                if fence != cell.fence {
                    output.events.push(fence_advanced(&resource, &fence));
                    cell.fence = fence;
                    self.keep(Record::Cell(resource, cell), output);
                }
            }
            Message::Apply { envelope, resource, holder, expected, payload } => {
                let mutation = Mutation { envelope, resource, holder, expected, payload };
                self.apply(context, from, mutation, output);
            }
            Message::Reconcile { operation_id, intent_hash, attempt_id } => {
                let mut trace = self.traces.get(&operation_id).cloned().unwrap_or_default();
                let receipt = trace.receipt.clone().filter(|receipt| {
                    !context.design.identity.on_mismatch.compares()
                        || receipt.binds(&operation_id, intent_hash)
                });
                output.events.push(Event::Reconciled {
                    operation_id: operation_id.clone(),
                    attempt_id,
                    committed: receipt.is_some(),
                });
                output.send(
                    from,
                    Message::Reconciled {
                        operation_id: operation_id.clone(),
                        intent_hash,
                        attempt_id,
                        receipt,
                    },
                );
                if trace.closed < attempt_id && trace.receipt.is_none() {
                    trace.closed = attempt_id;
                    self.keep(Record::Trace(operation_id, trace), output);
                }
            }
            _ => {}
        }
    }

    fn signal(&mut self, _: Context<'_>, _: Signal, _: &mut Output<Record>) {}
}
