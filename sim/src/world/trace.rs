//! A run moment by moment, for the comparison of two runs that should have been the same.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use holdover_model::event::Event;
use turmoil_net::{Packet, Transport};

use crate::fault::Fault;

/// One thing that went into the digest of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// When, in simulated time since the start of the run; of a packet, when it arrives.
    pub at: Duration,
    /// Whose doing it was; `None` for a fault, which is the plan's.
    pub host: Option<Arc<str>>,
    /// What it was.
    pub what: What,
}

/// See [`Moment`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// It emitted an event.
    Event(Event),
    /// A fault struck.
    Fault(Fault),
    /// It sent a packet.
    Packet {
        /// To whom.
        to: Arc<str>,
        /// What kind of packet, and its place in the stream.
        head: String,
        /// The data in it.
        payload: Bytes,
    },
}

impl Moment {
    /// What differs between two moments that should have been the same, in a few words.
    pub fn difference(&self, other: &Self) -> String {
        let (one, another) = (self.to_string(), other.to_string());
        let mut text =
            if one == another { one } else { format!("{one}; the other time: {another}") };
        if let (What::Packet { payload: a, .. }, What::Packet { payload: b, .. }) =
            (&self.what, &other.what)
            && a != b
        {
            let equal = a.iter().zip(b).take_while(|(a, b)| a == b).count();
            let excerpt = |payload: &[u8]| {
                let start = equal.saturating_sub(EXCERPT / 2);
                let end = payload.len().min(equal + EXCERPT / 2);
                payload[start..end].escape_ascii().to_string()
            };
            let (a, b) = (excerpt(a), excerpt(b));
            let _ = write!(
                text,
                "; its data differ from byte {equal} on: \"{a}\", the other time \"{b}\""
            );
        }
        text
    }
}

/// How much of a payload is shown around the first difference.
const EXCERPT: usize = 32;

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.as_deref().unwrap_or("the plan");
        write!(f, "{:.6} ms, {host}: ", self.at.as_secs_f64() * 1e3)?;
        match &self.what {
            What::Event(event) => write!(f, "event: {event}"),
            What::Fault(fault) => write!(f, "fault: {fault}"),
            What::Packet { to, head, payload } => {
                write!(f, "packet to {to}: {head}, {} bytes", payload.len())
            }
        }
    }
}

/// What is kept of a moment while the run goes on.
#[derive(Clone)]
pub(super) struct Traced {
    pub(super) at_ns: u64,
    pub(super) host: Option<usize>,
    pub(super) what: Kept,
}

#[derive(Clone)]
pub(super) enum Kept {
    Event(Event),
    Fault(Fault),
    Packet { to: usize, packet: Packet },
}

impl Traced {
    pub(super) fn moment(&self, name: impl Fn(usize) -> Arc<str>) -> Moment {
        let what = match &self.what {
            Kept::Event(event) => What::Event(event.clone()),
            Kept::Fault(fault) => What::Fault(fault.clone()),
            Kept::Packet { to, packet } => packet_of(name(*to), packet),
        };
        Moment { at: Duration::from_nanos(self.at_ns), host: self.host.map(name), what }
    }
}

fn packet_of(to: Arc<str>, packet: &Packet) -> What {
    match &packet.payload {
        Transport::Tcp(segment) => {
            let flags = segment.flags;
            let set = [
                (flags.syn, "SYN "),
                (flags.ack, "ACK "),
                (flags.fin, "FIN "),
                (flags.rst, "RST "),
            ];
            let flags: String =
                set.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect();
            let (seq, ack) = (segment.seq, segment.ack);
            let head = format!("TCP {flags}seq {seq} ack {ack}");
            What::Packet { to, head, payload: segment.payload.clone() }
        }
        Transport::Udp(datagram) => {
            What::Packet { to, head: "UDP".into(), payload: datagram.payload.clone() }
        }
    }
}
