//! Clocks that are set.

use holdover_model::event::{Event, EventKind};

use super::{Detector, Situation};
use crate::fault::Fault;
use crate::stack::{AGENTS, WORKERS};
use crate::world::{Sight, SightKind};

pub(super) fn situations() -> [Situation; 6] {
    let roles: [(&str, &'static [&'static str]); 6] = [
        ("authority", &["authority"]),
        ("ledger", &["ledger"]),
        ("destination", &["destination"]),
        ("worker", &WORKERS),
        ("supervisor", &["supervisor"]),
        ("agent", &AGENTS),
    ];
    roles.map(|(role, hosts)| {
        Situation::new(
            &format!("clock-step-on-{role}"),
            &format!("The wall clock of the {role} is set while an agent waits for an answer."),
            move || Stepped { hosts, waiting: 0 },
        )
        .from("twitter-archive/snowflake#6; lukas-krecan/ShedLock#132")
        .watching(&[
            SightKind::Event(EventKind::IntentRequested),
            SightKind::Event(EventKind::IntentAnswered),
            SightKind::Struck,
        ])
    })
}

struct Stepped {
    hosts: &'static [&'static str],
    /// How many requests wait for their answer.
    waiting: usize,
}

impl Detector for Stepped {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match sight {
            Sight::Event(record) => {
                match record.event {
                    Event::IntentRequested { .. } => self.waiting += 1,
                    Event::IntentAnswered { .. } => {
                        self.waiting = self.waiting.saturating_sub(1);
                    }
                    _ => {}
                }
                false
            }
            Sight::Struck { fault: Fault::ClockStep { host, by_us }, .. } => {
                *by_us != 0 && self.waiting > 0 && self.hosts.contains(&host.as_str())
            }
            _ => false,
        }
    }
}
