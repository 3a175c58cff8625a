//! In which order packets arrive that could arrive in any.
//!
//! Between two packets from different hosts to the same one the network makes no promise, and
//! many bugs are one such order. Drawing every latency on its own reaches the common orders
//! again and again and the rare ones hardly ever; so a plan says how its latencies are drawn.
//! On one link, packets keep their order whatever is drawn.

mod priority;
mod race;
mod uniform;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::link::Link;
use super::network::LinkProfile;
use crate::random::Seed;

/// How the order of packets is drawn that could arrive in any.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// Each packet's latency is drawn on its own.
    #[default]
    Uniform,
    /// Some links are fast for the whole run and others slow, but for a few moments at which a
    /// link falls behind all others: probabilistic concurrency testing, PCT (Burckhardt et al.,
    /// ASPLOS 2010), with a network's links for threads (Ozkan et al., OOPSLA 2018).
    Priority {
        /// How many ordering decisions a bug may need: one more than there are such moments.
        depth: u32,
    },
    /// Each packet's place among those that race with it, because they are on their way to the
    /// same host, is drawn: partial order sampling, POS (Yuan et al., CAV 2018).
    Race,
}

impl Order {
    /// Whether it is the one that plans have if they say nothing.
    pub fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }

    pub(super) fn strategy(self, seed: Seed) -> Box<dyn Strategy> {
        match self {
            Self::Uniform => Box::new(uniform::Uniform::new(seed)),
            Self::Priority { depth } => Box::new(priority::Priority::new(seed, depth)),
            Self::Race => Box::new(race::Race::new(seed)),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("each latency on its own"),
            Self::Priority { depth } => write!(f, "latencies by priority, depth {depth}"),
            Self::Race => f.write_str("latencies by place in the race"),
        }
    }
}

/// A packet that is sent on its way.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) at_ns: u64,
    /// The places of the two hosts.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Draws how long packets travel.
pub(super) trait Strategy {
    /// How long this packet travels.
    fn latency_ns(&mut self, sent: Sent, link: &mut Link, profile: LinkProfile) -> u64;
}
