//! A worker that looks alive.

use std::collections::BTreeMap;

use super::{Detector, Situation};
use crate::fault::Fault;
use crate::world::{Sight, SightKind};

/// The point that a worker passes whenever it answers its supervisor.
const HEARTBEAT: &str = "heartbeat";

/// After how many heartbeats the work counts as stuck: as many as the supervisor would have to
/// miss for a suspicion.
const BEATS: u32 = 3;

pub(super) fn situations() -> [Situation; 1] {
    [Situation::new(
        "heartbeat-alive-while-stuck",
        "A worker answers its supervisor three times while the task that does its work is stopped.",
        Stuck::default,
    )
    .from("OptimalBits/bull#308; langchain-ai/langgraph#7213: \"distinguish runner liveness from work progress\"")
    .watching(&[SightKind::Point, SightKind::Held, SightKind::Ended, SightKind::Down])]
}

#[derive(Default)]
struct Stuck {
    /// Stalled workers, and how often each has answered since.
    beats: BTreeMap<String, u32>,
}

impl Detector for Stuck {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Held { host, point, is_alone: true, .. } if point != HEARTBEAT => {
                self.beats.insert(host.to_owned(), 0);
            }
            Sight::Ended { fault: Fault::Stall { host, .. }, .. } => {
                self.beats.remove(host);
            }
            Sight::Down { host, .. } => {
                self.beats.remove(host);
            }
            Sight::Point { host, name: HEARTBEAT, .. } => {
                if let Some(beats) = self.beats.get_mut(host) {
                    *beats += 1;
                    return *beats >= BEATS;
                }
            }
            _ => {}
        }
        false
    }
}
