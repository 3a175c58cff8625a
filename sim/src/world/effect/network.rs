//! Partitions into many parts, and connections that are reset.

use std::net::SocketAddr;

use super::Core;
use crate::world::link::Link;
use crate::world::network::{self, End};

impl Core {
    pub(super) fn link_between(&mut self, from: &str, to: &str) -> &mut Link {
        let (from, to) = (self.host_of(from), self.host_of(to));
        self.network.link(from, to)
    }

    /// Cuts every link between hosts of different groups.
    pub(super) fn part(&mut self, groups: &[Vec<String>]) {
        for (from, to) in self.across(groups) {
            self.network.link(from, to).cuts += 1;
        }
    }

    /// The end of [`part`](Self::part).
    pub(super) fn join(&mut self, groups: &[Vec<String>]) {
        for (from, to) in self.across(groups) {
            self.rejoin(from, to);
        }
    }

    /// Every ordered pair of hosts of different groups.
    fn across(&self, groups: &[Vec<String>]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            for other in &groups[index + 1..] {
                for (a, b) in self.pairs(group, other) {
                    pairs.extend([(a, b), (b, a)]);
                }
            }
        }
        pairs
    }

    /// Resets every established connection between two hosts, as a middlebox does that has
    /// forgotten them.
    pub(super) fn reset_connections(&mut self, a: usize, b: usize) {
        for (opener, target) in self.network.between(a, b) {
            let address = |(host, port): End| SocketAddr::new(self.hosts[host].address, port);
            let (from, to) = (address(opener), address(target));
            let to_target = network::reset(from, to);
            let to_opener = network::reset(to, from);
            self.network.follow((opener.0, target.0), &to_target);
            self.transmit((opener.0, target.0), to_target);
            self.transmit((target.0, opener.0), to_opener);
        }
    }
}
