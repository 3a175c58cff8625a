//! What happened: the records of a run and the digest over them.

use std::sync::Arc;

use holdover_model::event::Event;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use turmoil_net::{Packet, Transport};

use super::trace::{Kept, Moment, Traced};
use crate::fault::Fault;

/// One evidence event, with where and when it was emitted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Record {
    /// When, in nanoseconds of simulated time since the start of the run.
    pub at_ns: u64,
    /// Its place among all records of the run, from 0.
    pub sequence: u64,
    /// Who emitted it.
    pub host: Arc<str>,
    /// What happened.
    pub event: Event,
}

/// A planned fault that has struck.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FiredFault {
    /// When, in nanoseconds of simulated time since the start of the run.
    pub at_ns: u64,
    /// Which one: its place in the order in which the faults were planned, from 0.
    pub plan_index: usize,
    /// What it does. Its `Display` is made for timelines.
    pub fault: Fault,
}

/// SHA-256 over everything that can be observed: events, faults and packets, with their
/// times. Binary, so no formatting change can alter it.
#[derive(Clone, Default)]
pub(super) struct RunDigest {
    hash: Sha256,
    buffer: Vec<u8>,
    trace: Option<Vec<Traced>>,
}

impl RunDigest {
    /// The hash is fed in pieces of about this size.
    const FULL: usize = 4096;

    /// Gives how many bytes the event takes.
    pub(super) fn event(&mut self, host: usize, record: &Record) -> usize {
        self.head(b'e', record.at_ns, host, 0);
        let buffer = std::mem::take(&mut self.buffer);
        let before = buffer.len();
        self.buffer = postcard::to_extend(&record.event, buffer)
            .expect("an event is plain data, which postcard can write");
        let written = self.buffer.len() - before;
        self.trace(record.at_ns, Some(host), || Kept::Event(record.event.clone()));
        self.flush_if_full();
        written
    }

    pub(super) fn fault(&mut self, fired: &FiredFault) {
        self.head(b'f', fired.at_ns, fired.plan_index, 0);
        self.trace(fired.at_ns, None, || Kept::Fault(fired.fault.clone()));
        self.flush_if_full();
    }

    pub(super) fn packet(&mut self, at_ns: u64, from: usize, to: usize, packet: &Packet) {
        self.head(b'p', at_ns, from, to);
        let payload = match &packet.payload {
            Transport::Tcp(segment) => {
                let flags = segment.flags;
                let bits = [flags.syn, flags.ack, flags.fin, flags.rst];
                self.buffer.extend(bits.map(u8::from));
                self.buffer.extend(segment.seq.to_le_bytes());
                self.buffer.extend(segment.ack.to_le_bytes());
                &segment.payload
            }
            Transport::Udp(datagram) => &datagram.payload,
        };
        self.buffer.extend((payload.len() as u64).to_le_bytes());
        self.buffer.extend_from_slice(payload);
        self.flush_if_full();
        self.trace(at_ns, Some(from), || Kept::Packet { to, packet: packet.clone() });
    }

    pub(super) fn record_trace(&mut self) {
        self.trace.get_or_insert_default();
    }

    pub(super) fn trace_of(&self, name: impl Fn(usize) -> Arc<str>) -> Vec<Moment> {
        self.trace.iter().flatten().map(|traced| traced.moment(&name)).collect()
    }

    fn trace(&mut self, at_ns: u64, host: Option<usize>, what: impl FnOnce() -> Kept) {
        if let Some(trace) = &mut self.trace {
            trace.push(Traced { at_ns, host, what: what() });
        }
    }

    pub(super) fn value(&self) -> [u8; 32] {
        self.hash.clone().chain_update(&self.buffer).finalize().into()
    }

    fn head(&mut self, tag: u8, at_ns: u64, a: usize, b: usize) {
        self.buffer.push(tag);
        self.buffer.extend(at_ns.to_le_bytes());
        self.buffer.extend((a as u64).to_le_bytes());
        self.buffer.extend((b as u64).to_le_bytes());
    }

    fn flush_if_full(&mut self) {
        if self.buffer.len() >= Self::FULL {
            self.hash.update(&self.buffer);
            self.buffer.clear();
        }
    }
}
