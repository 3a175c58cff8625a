//! The network between hosts: when a packet arrives, and which packets are held or lost.
//!
//! The sockets of the hosts expect a network that keeps the order of each direction, and
//! they do not retransmit. Loss of a TCP segment is therefore modelled by its effect: the
//! segment is late. A partition holds segments until it ends; a datagram is really lost.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use rand_chacha::ChaCha8Rng;
use turmoil_net::{Packet, TcpFlags, TcpSegment, Transport};

use super::link::{DatagramFate, Link};
use super::order::{Order, Sent, Strategy};
use crate::random::{Seed, between};

/// The smallest and largest time that a packet travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkProfile {
    /// The smallest.
    pub latency_us_min: u64,
    /// The largest.
    pub latency_us_max: u64,
}

impl LinkProfile {
    /// How long the next packet travels.
    pub(super) fn draw_ns(self, random: &mut ChaCha8Rng) -> u64 {
        between(random, self.latency_us_min, self.latency_us_max).saturating_mul(1_000)
    }
}

/// All links, and what the network remembers of the connections over them.
pub(super) struct Network {
    seed: Seed,
    profile: LinkProfile,
    order: Box<dyn Strategy>,
    hosts: BTreeMap<IpAddr, usize>,
    /// By sender, then by receiver.
    links: Vec<Vec<Link>>,
    /// Open connections, as (who opened it, to whom).
    connections: BTreeMap<(End, End), Connection>,
    /// Exchanges of which one half will be lost.
    pub(super) losses: Vec<Loss>,
    /// Links whose next packet with data will be late, and by how much.
    pub(super) late: Vec<(usize, usize, u64)>,
    /// Until when a late segment holds up what follows on its connection, by who sends and
    /// who receives.
    held_up: BTreeMap<(End, End), u64>,
}

/// One end of a connection: a host and a port.
pub(super) type End = (usize, u16);

/// How far a connection is, as seen from the network.
#[derive(Default)]
struct Connection {
    /// Its opener has confirmed it.
    confirmed: bool,
    /// How many of its ends are closed.
    closed: u8,
}

/// Half of an exchange that will be lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Loss {
    pub(super) client: usize,
    pub(super) server: usize,
    pub(super) half: Half,
}

/// Which half of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Half {
    Request,
    Response,
}

/// What becomes of a packet.
pub(super) enum Fate {
    Arrives {
        at_ns: u64,
        /// When it arrives once more.
        again_at_ns: Option<u64>,
        packet: Packet,
    },
    Held,
    Lost,
}

impl Network {
    pub(super) fn new(seed: Seed, profile: LinkProfile, order: Order) -> Self {
        Self {
            seed,
            profile,
            order: order.strategy(seed),
            hosts: BTreeMap::new(),
            links: Vec::new(),
            connections: BTreeMap::new(),
            losses: Vec::new(),
            late: Vec::new(),
            held_up: BTreeMap::new(),
        }
    }

    pub(super) fn add_host(&mut self, address: IpAddr) {
        self.hosts.insert(address, self.links.len());
        for links in &mut self.links {
            links.push(Link::default());
        }
        self.links.push(std::iter::repeat_with(Link::default).take(self.hosts.len()).collect());
    }

    /// The hosts at both ends; `None` if there is no host at an address.
    pub(super) fn ends(&self, packet: &Packet) -> Option<(usize, usize)> {
        Some((*self.hosts.get(&packet.src)?, *self.hosts.get(&packet.dst)?))
    }

    pub(super) fn link(&mut self, from: usize, to: usize) -> &mut Link {
        &mut self.links[from][to]
    }

    /// Sends a packet on its way.
    pub(super) fn transmit(
        &mut self,
        now_ns: u64,
        (from, to): (usize, usize),
        packet: Packet,
    ) -> Fate {
        let (seed, profile) = (self.seed, self.profile);
        let link = self.link(from, to);
        if link.cuts > 0 {
            return match packet.payload {
                Transport::Tcp(_) => {
                    link.held.push_back(packet);
                    Fate::Held
                }
                Transport::Udp(_) => Fate::Lost,
            };
        }
        let fate = match packet.payload {
            Transport::Udp(_) if link.datagrams.are_on() => {
                link.datagrams.draw(profile, || seed.stream(&format!("datagrams {from} -> {to}")))
            }
            _ => DatagramFate::default(),
        };
        if fate.is_lost {
            return Fate::Lost;
        }
        let sent = Sent { at_ns: now_ns, from, to };
        let latency_ns = self.order.latency_ns(sent, &mut self.links[from][to], profile);
        let link = self.link(from, to);
        let depart_ns = link.depart_ns(now_ns, packet.size());
        let again_at_ns = fate.copy_ns.map(|copy_ns| link.arrive_ns(depart_ns, copy_ns));
        let strays_ns = self.take_late((from, to), &packet).or(fate.strays_ns);
        let link = self.link(from, to);
        let at_ns = match (&packet.payload, strays_ns) {
            (Transport::Udp(_), Some(extra_ns)) => {
                link.arrive_ns(depart_ns, latency_ns.saturating_add(extra_ns))
            }
            (Transport::Udp(_), None) => link.arrive_in_order_ns(depart_ns, latency_ns),
            (Transport::Tcp(segment), extra_ns) => {
                let connection = ((from, segment.src_port), (to, segment.dst_port));
                let at_ns = link.arrive_in_order_ns(depart_ns, latency_ns);
                self.hold_up(connection, at_ns, extra_ns)
            }
        };
        Fate::Arrives { at_ns, again_at_ns, packet }
    }

    /// By how much this packet is late, if it is the one that was to be.
    fn take_late(&mut self, (from, to): (usize, usize), packet: &Packet) -> Option<u64> {
        if self.late.is_empty() || !carries_data(packet) {
            return None;
        }
        let index = self.late.iter().position(|late| (late.0, late.1) == (from, to))?;
        Some(self.late.remove(index).2)
    }

    /// When a segment arrives that would arrive then, if it is late itself or follows one
    /// that is.
    fn hold_up(&mut self, connection: (End, End), at_ns: u64, extra_ns: Option<u64>) -> u64 {
        if let Some(extra_ns) = extra_ns {
            let until_ns = self.held_up.entry(connection).or_default();
            *until_ns = (*until_ns).max(at_ns.saturating_add(extra_ns));
        }
        match self.held_up.get(&connection) {
            Some(until_ns) if *until_ns > at_ns => *until_ns,
            Some(_) => {
                self.held_up.remove(&connection);
                at_ns
            }
            None => at_ns,
        }
    }

    /// The established connections between two hosts, as (who opened it, to whom).
    pub(super) fn between(&self, a: usize, b: usize) -> Vec<(End, End)> {
        let is_between = |(source, target): &(End, End)| {
            [(source.0, target.0), (target.0, source.0)].contains(&(a, b))
        };
        let established = self.connections.iter().filter(|(_, connection)| connection.confirmed);
        established.map(|(ends, _)| *ends).filter(is_between).collect()
    }

    /// What a link that is no longer cut has held back, in order.
    pub(super) fn release(&mut self, from: usize, to: usize) -> VecDeque<Packet> {
        let link = self.link(from, to);
        if link.cuts == 0 { std::mem::take(&mut link.held) } else { VecDeque::new() }
    }

    /// What partitions hold back, each packet with its sender.
    pub(super) fn held(&self) -> impl Iterator<Item = (usize, &Packet)> {
        let from_each = self.links.iter().enumerate();
        from_each.flat_map(|(from, links)| {
            links.iter().flat_map(move |link| link.held.iter().map(move |packet| (from, packet)))
        })
    }

    /// Keeps track of connections; tells whether this packet may be sent at all.
    ///
    /// A reset by an opener that never confirmed may not: the socket at the other end is
    /// half open, and reset in that state it would never be removed. It would hold its port
    /// beyond the restart of its host. Left half open, it goes with its listener.
    pub(super) fn follow(&mut self, (from, to): (usize, usize), packet: &Packet) -> bool {
        let Transport::Tcp(segment) = &packet.payload else { return true };
        let TcpFlags { syn, ack, fin, rst, .. } = segment.flags;
        let (source, target) = ((from, segment.src_port), (to, segment.dst_port));
        if syn && !ack {
            self.connections.insert((source, target), Connection::default());
        } else if rst {
            self.connections.remove(&(target, source));
            let opened = self.connections.remove(&(source, target));
            return opened.is_none_or(|connection| connection.confirmed);
        } else if fin {
            for key in [(source, target), (target, source)] {
                if let Some(connection) = self.connections.get_mut(&key) {
                    connection.closed += 1;
                    if connection.closed == 2 {
                        self.connections.remove(&key);
                    }
                }
            }
        } else if let Some(connection) = self.connections.get_mut(&(source, target)) {
            connection.confirmed = true;
        }
        true
    }

    /// Whether this packet is the one that a planned loss was waiting for.
    pub(super) fn take_loss(&mut self, (from, to): (usize, usize), packet: &Packet) -> bool {
        if self.losses.is_empty() || !carries_data(packet) {
            return false;
        }
        let Transport::Tcp(segment) = &packet.payload else { return false };
        let (source, target) = ((from, segment.src_port), (to, segment.dst_port));
        let met = if self.connections.contains_key(&(source, target)) {
            Loss { client: from, server: to, half: Half::Request }
        } else if self.connections.contains_key(&(target, source)) {
            Loss { client: to, server: from, half: Half::Response }
        } else {
            return false;
        };
        match self.losses.iter().position(|loss| *loss == met) {
            Some(index) => {
                self.losses.remove(index);
                true
            }
            None => false,
        }
    }
}

/// Whether application data is in it.
pub(super) fn carries_data(packet: &Packet) -> bool {
    match &packet.payload {
        Transport::Tcp(segment) => !segment.payload.is_empty(),
        Transport::Udp(_) => true,
    }
}

/// Whether it follows from something that the process did, not just from what arrived.
pub(super) fn is_from_process(packet: &Packet) -> bool {
    match &packet.payload {
        Transport::Tcp(segment) => {
            let TcpFlags { syn, ack, fin, .. } = segment.flags;
            !segment.payload.is_empty() || fin || (syn && !ack)
        }
        Transport::Udp(_) => true,
    }
}

/// A reset of the connection that a segment belongs to: as if its sender had sent it, and
/// as if its receiver had.
pub(super) fn resets(packet: &Packet) -> Option<(Packet, Packet)> {
    let Transport::Tcp(segment) = &packet.payload else { return None };
    let (source, target) = endpoints(packet, segment);
    Some((reset(source, target), reset(target, source)))
}

/// A segment that makes `target` give up its connection with `source`.
pub(super) fn reset(source: SocketAddr, target: SocketAddr) -> Packet {
    Packet {
        src: source.ip(),
        dst: target.ip(),
        ttl: 64,
        payload: Transport::Tcp(TcpSegment {
            src_port: source.port(),
            dst_port: target.port(),
            seq: 0,
            ack: 0,
            flags: TcpFlags { rst: true, ..TcpFlags::default() },
            window: 0,
            payload: bytes::Bytes::new(),
        }),
    }
}

fn endpoints(packet: &Packet, segment: &TcpSegment) -> (SocketAddr, SocketAddr) {
    (SocketAddr::new(packet.src, segment.src_port), SocketAddr::new(packet.dst, segment.dst_port))
}
