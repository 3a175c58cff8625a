//! What whoever watches a world gets to see while it runs.
//!
//! Evidence alone does not tell that a process was paused, that a machine went down, that a
//! message arrived. Situations are recognised by such moments.

use std::any::Any;

use holdover_model::event::EventKind;

use super::{Core, Record};
use crate::fault::Fault;

/// One thing that happens, shown at the moment when it does. Times are in nanoseconds of
/// simulated time since the start of the run.
#[derive(Clone, Copy, Debug)]
pub enum Sight<'a> {
    /// An evidence event is recorded.
    Event(&'a Record),
    /// A planned fault strikes and takes hold, or begins to wait for what it can take hold of.
    Struck {
        /// When.
        at_ns: u64,
        /// Which.
        fault: &'a Fault,
    },
    /// A fault that lasts is over; also one that follows from another, such as the pause of a
    /// process on a slow disk. Not shown of what a crash ends.
    Ended {
        /// When.
        at_ns: u64,
        /// Which.
        fault: &'a Fault,
    },
    /// A process stops as a whole.
    Frozen {
        /// When.
        at_ns: u64,
        /// On which host.
        host: &'a str,
    },
    /// It goes on.
    Thawed {
        /// When.
        at_ns: u64,
        /// On which host.
        host: &'a str,
    },
    /// A machine goes down; its memory is gone.
    Down {
        /// When.
        at_ns: u64,
        /// Which.
        host: &'a str,
    },
    /// It boots again.
    Up {
        /// When.
        at_ns: u64,
        /// Which.
        host: &'a str,
    },
    /// A task reaches a named point.
    Point {
        /// When.
        at_ns: u64,
        /// On which host.
        host: &'a str,
        /// Which point.
        name: &'a str,
    },
    /// A task is stopped at the named point that it has just reached.
    Held {
        /// When.
        at_ns: u64,
        /// On which host.
        host: &'a str,
        /// At which point.
        point: &'a str,
        /// Whether it is the task alone that stops, by a stall, while its process lives on.
        is_alone: bool,
    },
    /// Code on a host is about to send a [message](crate::message) of a kind.
    Sends {
        /// When.
        at_ns: u64,
        /// On which host.
        host: &'a str,
        /// To which host.
        to: &'a str,
        /// What kind of message.
        kind: &'a str,
    },
    /// Code on a host [shows](super::show) something.
    Shown {
        /// When.
        at_ns: u64,
        /// On which host.
        host: &'a str,
        /// What.
        what: &'a dyn Any,
    },
}

/// What kind of sight it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SightKind {
    /// [`Sight::Event`] of this kind.
    Event(EventKind),
    /// [`Sight::Struck`].
    Struck,
    /// [`Sight::Ended`].
    Ended,
    /// [`Sight::Frozen`].
    Frozen,
    /// [`Sight::Thawed`].
    Thawed,
    /// [`Sight::Down`].
    Down,
    /// [`Sight::Up`].
    Up,
    /// [`Sight::Point`].
    Point,
    /// [`Sight::Held`].
    Held,
    /// [`Sight::Sends`].
    Sends,
    /// [`Sight::Shown`].
    Shown,
}

impl Sight<'_> {
    /// What kind of sight it is.
    pub fn kind(&self) -> SightKind {
        match self {
            Self::Event(record) => SightKind::Event(record.event.kind()),
            Self::Struck { .. } => SightKind::Struck,
            Self::Ended { .. } => SightKind::Ended,
            Self::Frozen { .. } => SightKind::Frozen,
            Self::Thawed { .. } => SightKind::Thawed,
            Self::Down { .. } => SightKind::Down,
            Self::Up { .. } => SightKind::Up,
            Self::Point { .. } => SightKind::Point,
            Self::Held { .. } => SightKind::Held,
            Self::Sends { .. } => SightKind::Sends,
            Self::Shown { .. } => SightKind::Shown,
        }
    }
}

/// Looks at every sight.
pub(super) type Watcher = Box<dyn FnMut(&Sight<'_>)>;

/// Shows one thing that concerns a host to whoever watches. Free if nobody does.
macro_rules! see {
    ($core:expr, $host:expr, $kind:ident $(, $field:ident: $value:expr)*) => {
        if !$core.watchers.is_empty() {
            let host: &str = &$core.hosts[$host].name.clone();
            let at_ns = $core.now_ns;
            $core.see(&$crate::world::sight::Sight::$kind { at_ns, host $(, $field: $value)* });
        }
    };
}
pub(super) use see;

impl Core {
    pub(super) fn see(&mut self, sight: &Sight<'_>) {
        for watcher in &mut self.watchers {
            watcher(sight);
        }
    }
}
