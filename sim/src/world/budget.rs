//! What a run may use up, and who is to blame when it has.

use std::mem::size_of;

use turmoil_net::{Packet, Transport};

use super::WorldConfig;
use super::engine::{Core, Happening};
use super::record::Record;

/// The memory is counted once in so many steps.
const STEPS_BETWEEN_COUNTS: u64 = 1 << 12;

/// A budget that is used up, and the host that used up most of it.
pub(super) enum Exceeded {
    Steps { host: usize },
    Memory { host: usize },
}

impl Core {
    /// Whether the run may go on.
    pub(super) fn check_budgets(&mut self, config: &WorldConfig) -> Option<Exceeded> {
        if self.steps >= config.steps_max {
            let host = greatest(self.hosts.iter().map(|host| host.effort.polls));
            return Some(Exceeded::Steps { host });
        }
        if self.steps >= self.memory_counted_at {
            self.memory_counted_at = self.steps + STEPS_BETWEEN_COUNTS;
            let memory = self.memory();
            if memory.iter().sum::<u64>() > config.memory_max_bytes {
                return Some(Exceeded::Memory { host: greatest(memory.into_iter()) });
            }
        }
        None
    }

    /// How many bytes the world keeps because of each host: its events, and the packets that
    /// it has sent and that have not arrived.
    fn memory(&self) -> Vec<u64> {
        let mut memory: Vec<_> = self.hosts.iter().map(|host| host.record_bytes).collect();
        for what in self.queue.iter() {
            if let Happening::Arrival { from, packet, .. } = what {
                memory[*from] += packet_bytes(packet);
            }
        }
        for (from, packet) in self.network.held() {
            memory[from] += packet_bytes(packet);
        }
        for (index, host) in self.hosts.iter().enumerate() {
            memory[index] +=
                host.outbox.iter().map(|(_, packet)| packet_bytes(packet)).sum::<u64>();
            for (from, packet) in &host.inbox {
                memory[*from] += packet_bytes(packet);
            }
        }
        memory
    }
}

/// How many bytes a record takes, if its event takes so many when it is written down.
pub(super) fn record_bytes(written: usize) -> u64 {
    (size_of::<Record>() + written) as u64
}

fn packet_bytes(packet: &Packet) -> u64 {
    let payload = match &packet.payload {
        Transport::Tcp(segment) => segment.payload.len(),
        Transport::Udp(datagram) => datagram.payload.len(),
    };
    (size_of::<Packet>() + payload) as u64
}

/// The first of the hosts with the greatest share.
fn greatest(shares: impl Iterator<Item = u64>) -> usize {
    let shares = shares.enumerate();
    shares.max_by_key(|(host, share)| (*share, usize::MAX - host)).map_or(0, |(host, _)| host)
}
