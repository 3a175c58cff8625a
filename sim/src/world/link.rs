//! One direction between two hosts: when what is sent there arrives.
//!
//! A link keeps its order, because the sockets expect that of TCP segments. Datagrams are
//! promised nothing: with the faults that are on they are lost, doubled or overtaken.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use turmoil_net::Packet;

use super::network::LinkProfile;
use crate::random::between;

/// One direction between two hosts.
#[derive(Default)]
pub(super) struct Link {
    /// How long its packets travel: a random stream of its own, once one was sent.
    pub(super) latencies: Option<ChaCha8Rng>,
    last_arrival_ns: u64,
    /// How many partitions cut it.
    pub(super) cuts: u32,
    /// How much the delays that are on add.
    pub(super) extra_ns: u64,
    /// What waits for the end of a partition.
    pub(super) held: VecDeque<Packet>,
    /// To how many bytes in a second the faults that are on slow it down.
    pub(super) bytes_per_s: Vec<u64>,
    /// Until when earlier packets occupy it.
    busy_until_ns: u64,
    pub(super) datagrams: DatagramFaults,
}

impl Link {
    /// When a packet of this size has left, if it is sent now.
    pub(super) fn depart_ns(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let Some(bytes_per_s) = self.bytes_per_s.iter().min() else { return now_ns };
        let takes_ns = u64::from(bytes) * 1_000_000_000 / (*bytes_per_s).max(1);
        self.busy_until_ns = self.busy_until_ns.max(now_ns).saturating_add(takes_ns);
        self.busy_until_ns
    }

    /// When a packet that leaves then and travels so long arrives, behind all before it.
    pub(super) fn arrive_in_order_ns(&mut self, depart_ns: u64, latency_ns: u64) -> u64 {
        let at_ns = self.arrive_ns(depart_ns, latency_ns);
        self.last_arrival_ns = self.last_arrival_ns.max(at_ns);
        self.last_arrival_ns
    }

    /// When what would arrive then arrives behind all before it.
    pub(super) fn in_order_ns(&self, at_ns: u64) -> u64 {
        self.last_arrival_ns.max(at_ns)
    }

    /// When it arrives if it may overtake others.
    pub(super) fn arrive_ns(&self, depart_ns: u64, latency_ns: u64) -> u64 {
        depart_ns.saturating_add(latency_ns.saturating_add(self.extra_ns))
    }
}

/// What is going wrong with the datagrams on a link, each as often as it is on.
#[derive(Default)]
pub(super) struct DatagramFaults {
    /// Draws for all of these, once a fault was on.
    pub(super) random: Option<ChaCha8Rng>,
    /// How many in a hundred are lost.
    pub(super) loss: Vec<u64>,
    /// How many in a hundred arrive twice.
    pub(super) duplication: Vec<u64>,
    /// How many in a hundred take longer, and by how many nanoseconds at most.
    pub(super) reordering: Vec<(u64, u64)>,
}

/// What becomes of one datagram.
#[derive(Clone, Copy, Default)]
pub(super) struct DatagramFate {
    pub(super) is_lost: bool,
    /// How long a second copy of it travels, if there is one.
    pub(super) copy_ns: Option<u64>,
    /// How much longer it takes, if it leaves the order.
    pub(super) strays_ns: Option<u64>,
}

impl DatagramFaults {
    pub(super) fn are_on(&self) -> bool {
        !(self.loss.is_empty() && self.duplication.is_empty() && self.reordering.is_empty())
    }

    /// Draws what becomes of the next datagram.
    pub(super) fn draw(
        &mut self,
        profile: LinkProfile,
        stream: impl FnOnce() -> ChaCha8Rng,
    ) -> DatagramFate {
        let random = self.random.get_or_insert_with(stream);
        let is_hit = |random: &mut _, percent| between(random, 1, 100) <= percent;
        let mut fate = DatagramFate::default();
        for percent in &self.loss {
            fate.is_lost |= is_hit(random, *percent);
        }
        for percent in &self.duplication {
            if is_hit(random, *percent) {
                fate.copy_ns = Some(profile.draw_ns(random));
            }
        }
        for (percent, extra_ns) in &self.reordering {
            if is_hit(random, *percent) {
                let strays_ns = fate.strays_ns.unwrap_or(0);
                fate.strays_ns = Some(strays_ns.saturating_add(between(random, 1, *extra_ns)));
            }
        }
        fate
    }
}

/// Takes one of a kind out of what is on.
pub(super) fn remove_one<T: PartialEq>(on: &mut Vec<T>, what: &T) {
    let index = on.iter().position(|one| one == what);
    on.remove(index.expect("what ends has begun"));
}
