//! Each packet's place among those that race with it.
//!
//! Yuan, Yang and Gu, *Partial Order Aware Concurrency Sampling* (CAV 2018): random priorities
//! for events instead of threads, drawn anew for those that raced with the event that was
//! executed, so that every order of racing events has a fair chance however often other
//! things happen in between.
//!
//! Two packets race if they are on their way to the same host from different ones. What is on its
//! way cannot be called back here, so the draw is made when a packet is sent: each place among
//! those that it races with is as likely as the others, as far as its link's order and the
//! latencies allow.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;

use super::{LinkProfile, Sent, Strategy};
use crate::random::{Seed, between};
use crate::world::link::Link;

pub(super) struct Race {
    random: ChaCha8Rng,
    /// When packets arrive that are on their way, and from whom, by receiver.
    under_way: BTreeMap<usize, Vec<(u64, usize)>>,
}

impl Race {
    pub(super) fn new(seed: Seed) -> Self {
        Self { random: seed.stream("order: race"), under_way: BTreeMap::new() }
    }
}

impl Strategy for Race {
    fn latency_ns(&mut self, sent: Sent, link: &mut Link, profile: LinkProfile) -> u64 {
        let earliest_ns = sent.at_ns + profile.latency_us_min.saturating_mul(1_000);
        let under_way = self.under_way.entry(sent.to).or_default();
        under_way.retain(|(at_ns, _)| *at_ns > sent.at_ns);
        let mut racing: Vec<_> = under_way
            .iter()
            .filter(|(at_ns, from)| *from != sent.from && *at_ns > earliest_ns)
            .map(|(at_ns, _)| *at_ns)
            .collect();
        racing.sort_unstable();
        let drawn_ns = sent.at_ns + profile.draw_ns(&mut self.random);
        let place = between(&mut self.random, 0, racing.len() as u64);
        let place = usize::try_from(place).expect("it is at most a length");
        let after_ns = place.checked_sub(1).map_or(earliest_ns, |before| racing[before] + 1);
        let at_ns = match racing.get(place) {
            Some(before_ns) if *before_ns <= after_ns => after_ns,
            Some(before_ns) => between(&mut self.random, after_ns, before_ns - 1),
            None => after_ns.max(drawn_ns),
        };
        let at_ns = link.in_order_ns(at_ns);
        under_way.push((at_ns, sent.from));
        at_ns - sent.at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three packets to one host, sent so far apart that uniform latencies would hardly ever let
    /// the last overtake the first: every order comes up, none of them rarely.
    #[test]
    fn every_order_of_racing_packets_comes_up() {
        let profile = LinkProfile { latency_us_min: 1_000, latency_us_max: 11_000 };
        let mut orders = BTreeMap::new();
        for seed in 0..600 {
            let mut order = Race::new(Seed(seed));
            let mut arrivals: Vec<_> = (0..3)
                .map(|from| {
                    let at_ns = from as u64 * 100_000;
                    let sent = Sent { at_ns, from, to: 9 };
                    (at_ns + order.latency_ns(sent, &mut Link::default(), profile), from)
                })
                .collect();
            assert!(
                arrivals.iter().all(|(at_ns, from)| at_ns - *from as u64 * 100_000 >= 1_000_000)
            );
            arrivals.sort_unstable();
            let order: Vec<_> = arrivals.into_iter().map(|(_, from)| from).collect();
            *orders.entry(order).or_insert(0) += 1;
        }
        assert_eq!(orders.len(), 6, "{orders:?}");
        assert!(orders.values().all(|count| *count > 40), "{orders:?}");
    }

    #[test]
    fn packets_of_one_link_do_not_race() {
        let profile = LinkProfile { latency_us_min: 1_000, latency_us_max: 11_000 };
        let mut order = Race::new(Seed(1));
        let mut link = Link::default();
        let mut last_ns = 0;
        for number in 0..100 {
            let sent = Sent { at_ns: number * 1_000, from: 0, to: 1 };
            let latency_ns = order.latency_ns(sent, &mut link, profile);
            let at_ns = link.arrive_in_order_ns(sent.at_ns, latency_ns);
            assert!(at_ns >= last_ns);
            last_ns = at_ns;
        }
    }
}
