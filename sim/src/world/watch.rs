//! Planned faults that wait for their moment.

use std::sync::Arc;

use holdover_model::event::EventKind;

use crate::fault::{PlannedFault, Trigger};

/// The faults planned for a run, and which of them still wait.
#[derive(Default)]
pub(super) struct Plans {
    pub(super) planned: Vec<PlannedFault>,
    armed: Vec<Armed>,
}

/// A fault that waits for something that the system under test does.
struct Armed {
    plan_index: usize,
    moment: Moment,
    /// How many such moments there will be until it strikes.
    left: u64,
}

/// Something that a trigger can wait for.
#[derive(PartialEq, Eq)]
enum Moment {
    Point { host: usize, name: Arc<str> },
    Packet { from: usize, to: usize },
    Event { kind: EventKind, host: Option<usize> },
}

impl Plans {
    /// Adds a fault; gives its index, and its time in nanoseconds if it waits for a time.
    pub(super) fn add(
        &mut self,
        planned: PlannedFault,
        host_of: impl Fn(&str) -> usize,
    ) -> (usize, Option<u64>) {
        let plan_index = self.planned.len();
        let waits_for = match &planned.trigger {
            Trigger::At { at_us } => Err(at_us.saturating_mul(1_000)),
            Trigger::Point { host, name, nth } => {
                Ok((Moment::Point { host: host_of(host), name: name.as_str().into() }, *nth))
            }
            Trigger::BeforePacket { from, to, nth } => {
                Ok((Moment::Packet { from: host_of(from), to: host_of(to) }, *nth))
            }
            Trigger::Event { kind, nth, host } => {
                Ok((Moment::Event { kind: *kind, host: host.as_deref().map(host_of) }, *nth))
            }
        };
        self.planned.push(planned);
        match waits_for {
            Ok((moment, nth)) => {
                self.armed.push(Armed { plan_index, moment, left: nth.max(1) });
                (plan_index, None)
            }
            Err(due_ns) => (plan_index, Some(due_ns)),
        }
    }

    /// Forgets everything that still waits.
    pub(super) fn disarm(&mut self) {
        self.armed.clear();
    }

    /// Whose moment it is, now that a host has reached a point.
    pub(super) fn at_point(&mut self, at: usize, reached: &str) -> Vec<usize> {
        self.count(|moment| {
            matches!(moment, Moment::Point { host, name } if *host == at && **name == *reached)
        })
    }

    /// Whose moment it is, now that a packet with data is about to leave.
    pub(super) fn at_packet(&mut self, from: usize, to: usize) -> Vec<usize> {
        self.count(|moment| *moment == Moment::Packet { from, to })
    }

    /// Whose moment it is, now that an event was recorded.
    pub(super) fn at_event(&mut self, at: usize, emitted: EventKind) -> Vec<usize> {
        self.count(|moment| {
            matches!(moment, Moment::Event { kind, host }
                if *kind == emitted && host.is_none_or(|host| host == at))
        })
    }

    fn count(&mut self, mut is_it: impl FnMut(&Moment) -> bool) -> Vec<usize> {
        let mut due = Vec::new();
        self.armed.retain_mut(|armed| {
            if is_it(&armed.moment) {
                armed.left -= 1;
                if armed.left == 0 {
                    due.push(armed.plan_index);
                    return false;
                }
            }
            true
        });
        due
    }
}
