//! What happens in a run: the moments at which something could go wrong.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use holdover_model::event::EventKind;

use crate::fault::Trigger;
use crate::plan::Plan;
use crate::stack::{self, role_of};
use crate::world::Sight;

/// A moment that a trigger can name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Moment {
    /// A host is about to send a message: it is at a named point.
    Message { from: String, to: String, kind: String, nth: u64 },
    /// A host reaches a named point that is not one of those.
    Point { host: String, name: String, nth: u64 },
    /// An event is recorded on a host.
    Event { host: String, kind: EventKind, nth: u64 },
}

impl Moment {
    /// Whether it is the same thing once more, or on another host of the same role.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Message { from, to, kind, .. },
                Self::Message { from: f, to: t, kind: k, .. },
            ) => kind == k && role_of(from) == role_of(f) && role_of(to) == role_of(t),
            (Self::Point { host, name, .. }, Self::Point { host: h, name: n, .. }) => {
                name == n && role_of(host) == role_of(h)
            }
            (Self::Event { kind, .. }, Self::Event { kind: k, .. }) => kind == k,
            _ => false,
        }
    }

    /// Whether the sender of a message has opened the connection: it spoke first.
    pub(super) fn opens(&self, before: &[Self]) -> bool {
        let Self::Message { from, to, .. } = self else { return false };
        let first = before.iter().find_map(|moment| match moment {
            Self::Message { from: f, to: t, .. } if [(f, t), (t, f)].contains(&(from, to)) => {
                Some(f)
            }
            _ => None,
        });
        first.is_none_or(|first| first == from)
    }

    /// What waits for it.
    pub(super) fn trigger(&self) -> Trigger {
        match self.clone() {
            Self::Message { from, kind, nth, .. } => {
                Trigger::Point { host: from, name: format!("before-{kind}"), nth }
            }
            Self::Point { host, name, nth } => Trigger::Point { host, name, nth },
            Self::Event { host, kind, nth } => Trigger::Event { kind, nth, host: Some(host) },
        }
    }
}

/// Every moment of a run, in order.
pub(super) fn take(plan: &Plan) -> Vec<Moment> {
    let census = Rc::new(RefCell::new(Census::default()));
    let watcher = Rc::clone(&census);
    let run = stack::run_with(plan, |world| {
        world.watch(move |sight| watcher.borrow_mut().sees(sight));
    });
    run.expect("it names no host that does not exist");
    census.take().moments
}

#[derive(Default)]
struct Census {
    moments: Vec<Moment>,
    counts: BTreeMap<(String, String), u64>,
}

impl Census {
    fn sees(&mut self, sight: &Sight<'_>) {
        match *sight {
            Sight::Point { host, name, .. } => {
                let nth = self.count(host, name);
                let (host, name) = (host.to_owned(), name.to_owned());
                self.moments.push(Moment::Point { host, name, nth });
            }
            Sight::Sends { host, to, kind, .. } => {
                // It has just passed the point before.
                if let Some(Moment::Point { host: at, name, nth }) = self.moments.last()
                    && at == host
                    && name.strip_prefix("before-") == Some(kind)
                {
                    let (from, to, kind, nth) = (host.into(), to.into(), kind.into(), *nth);
                    self.moments.pop();
                    self.moments.push(Moment::Message { from, to, kind, nth });
                }
            }
            Sight::Event(record) => {
                let (host, kind) = (record.host.to_string(), record.event.kind());
                let nth = self.count(&host, kind.as_str());
                self.moments.push(Moment::Event { host, kind, nth });
            }
            _ => {}
        }
    }

    fn count(&mut self, host: &str, what: &str) -> u64 {
        let count = self.counts.entry((host.to_owned(), what.to_owned())).or_default();
        *count += 1;
        *count
    }
}
