//! Priorities that hold for a whole run, and a few moments at which one falls.
//!
//! Burckhardt, Kothari, Musuvathi and Nagarakatte, *A Randomized Scheduler with Probabilistic
//! Guarantees of Finding Bugs* (ASPLOS 2010): give every thread a random priority, always run
//! the highest, and lower a priority at d - 1 random moments; a bug that needs d ordering
//! decisions is then found with a probability that has a lower bound. Ozkan et al., *Randomized
//! Testing of Distributed Systems with Probabilistic Guarantees* (OOPSLA 2018), do this with
//! chains of messages.
//!
//! Here the chains are links. A simulated network cannot hold a message back for as long as there
//! are others, so a priority is a latency: the lower, the longer. The bound of the papers
//! does not carry over to that; what does is that one run has few, consistent orders.

use rand_chacha::ChaCha8Rng;

use super::{LinkProfile, Sent, Strategy};
use crate::random::{Seed, between};
use crate::world::link::Link;

/// Over how many packets the moments are spread at which a link falls behind: about as many as
/// the reference system sends in a run until its tasks are done.
const PACKETS: u64 = 400;

/// What has fallen behind takes longer than the slowest link by one in so many parts for each
/// that fell before it. Much more would be another fault: waiting times are made for a profile.
const BEHIND: u64 = 8;

pub(super) struct Priority {
    random: ChaCha8Rng,
    seed: Seed,
    sent: u64,
    /// Before which packets the link that sends them falls behind, the last one first.
    falls: Vec<u64>,
    /// Links that have fallen behind all that have not, and each other.
    behind: Vec<(usize, usize)>,
}

impl Priority {
    pub(super) fn new(seed: Seed, depth: u32) -> Self {
        let mut random = seed.stream("order: priority");
        let mut falls: Vec<_> = (1..depth).map(|_| between(&mut random, 1, PACKETS)).collect();
        falls.sort_unstable_by(|a, b| b.cmp(a));
        Self { random, seed, sent: 0, falls, behind: Vec::new() }
    }
}

impl Strategy for Priority {
    fn latency_ns(&mut self, sent: Sent, link: &mut Link, profile: LinkProfile) -> u64 {
        let ends = (sent.from, sent.to);
        self.sent += 1;
        while self.falls.last().is_some_and(|fall| *fall <= self.sent) {
            self.falls.pop();
            self.behind.retain(|behind| *behind != ends);
            self.behind.push(ends);
        }
        let slowest_ns = profile.latency_us_max.saturating_mul(1_000);
        if let Some(place) = self.behind.iter().position(|behind| *behind == ends) {
            return slowest_ns.saturating_add(slowest_ns / BEHIND * (1 + place as u64));
        }
        // A link's own stream, whose first draw is its priority for the whole run.
        let stream = || self.seed.stream(&format!("order: priority {ends:?}"));
        let mut of_link = link.latencies.get_or_insert_with(stream).clone();
        // Not quite constant: two packets of one instant must not arrive at one instant.
        profile.draw_ns(&mut of_link) + between(&mut self.random, 0, 999)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: LinkProfile = LinkProfile { latency_us_min: 1_000, latency_us_max: 9_000 };

    fn latencies_us(seed: u64, depth: u32, links: &[(usize, usize)]) -> Vec<u64> {
        let mut order = Priority::new(Seed(seed), depth);
        let mut states: Vec<_> = links.iter().map(|_| Link::default()).collect();
        let mut latencies = Vec::new();
        for _ in 0..PACKETS {
            for ((from, to), link) in links.iter().zip(&mut states) {
                let sent = Sent { at_ns: 0, from: *from, to: *to };
                latencies.push(order.latency_ns(sent, link, PROFILE) / 1_000);
            }
        }
        latencies
    }

    #[test]
    fn with_depth_one_every_link_keeps_its_place() {
        for seed in 0..50 {
            let latencies = latencies_us(seed, 1, &[(0, 1), (1, 0), (2, 0)]);
            let first = latencies[..3].to_vec();
            assert!(latencies.chunks(3).all(|chunk| chunk == first), "seed {seed}");
            assert!(latencies.iter().all(|us| (1_000..=9_000).contains(us)));
        }
    }

    #[test]
    fn at_each_further_depth_a_link_falls_behind_all_others() {
        for seed in 0..50 {
            let latencies = latencies_us(seed, 3, &[(0, 1), (1, 0), (2, 0)]);
            let behind = latencies.iter().filter(|us| **us > 9_000).count();
            assert!(behind > 0, "seed {seed}");
            let slowest = latencies.iter().max().unwrap();
            assert!([10_125, 11_250].contains(slowest), "seed {seed}: {slowest}");
        }
    }
}
