//! Every packet's latency on its own, from a stream of its link's.

use super::{LinkProfile, Sent, Strategy};
use crate::random::Seed;
use crate::world::link::Link;

pub(super) struct Uniform {
    seed: Seed,
}

impl Uniform {
    pub(super) fn new(seed: Seed) -> Self {
        Self { seed }
    }
}

impl Strategy for Uniform {
    fn latency_ns(&mut self, sent: Sent, link: &mut Link, profile: LinkProfile) -> u64 {
        let Sent { from, to, .. } = sent;
        let stream = || self.seed.stream(&format!("latency {from} -> {to}"));
        profile.draw_ns(link.latencies.get_or_insert_with(stream))
    }
}
