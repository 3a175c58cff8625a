//! What time it is on a host, as opposed to in the world.
//!
//! A host sees time in two ways: through its runtime's monotonic clock (`Instant`), which is
//! paused and moved by the engine only, and through its wall clock. Both are derived from
//! world time here, so this is the one place where a clock can be made to lie.

use std::time::Duration;

use holdover_model::lease::Timestamp;
use tokio::time::Instant;

/// The wall clock of every host at the start of a run: 2026-01-01T00:00:00Z.
pub const START_UNIX_NS: u64 = 1_767_225_600_000_000_000;

/// The clocks of one boot of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostClock {
    /// What the runtime's clock showed when it was made ...
    started: Instant,
    /// ... and the world's time then.
    started_at_ns: u64,
    /// How far the runtime's clock was moved since then.
    shown_ns: u64,
}

impl HostClock {
    pub(super) fn new(started: Instant, now_ns: u64) -> Self {
        Self { started, started_at_ns: now_ns, shown_ns: now_ns }
    }

    /// By how much the runtime's clock must be moved to show `now_ns`.
    pub(super) fn advance_to(&mut self, now_ns: u64) -> Duration {
        let behind_ns = now_ns - self.shown_ns;
        self.shown_ns = now_ns;
        Duration::from_nanos(behind_ns)
    }

    /// The world's time when this host's monotonic clock shows `instant`.
    pub(super) fn world_ns(&self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.started).as_nanos();
        self.started_at_ns.saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}

/// What a wall clock shows at a world time, if it is off by `offset_ns`.
pub(super) fn wall(now_ns: u64, offset_ns: i64) -> Timestamp {
    let unix_ns = START_UNIX_NS.saturating_add(now_ns).saturating_add_signed(offset_ns);
    Timestamp { unix_ns }
}
