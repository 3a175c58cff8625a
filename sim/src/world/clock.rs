//! What time it is on a host, as opposed to in the world.
//!
//! A host sees time in two ways: through its runtime's monotonic clock (`Instant`), which is
//! paused and moved by the engine only, and through its wall clock. Both are derived from
//! world time here, so this is the one place where a clock can be made to lie.
//!
//! A drift is in the oscillator that both clocks count, so it shows in both. A step is what
//! somebody did to the wall clock. All of it is integer arithmetic: converted there and back,
//! a time is what it was.

use std::time::Duration;

use holdover_model::lease::Timestamp;
use tokio::time::Instant;

/// The wall clock of every host at the start of a run: 2026-01-01T00:00:00Z.
pub const START_UNIX_NS: u64 = 1_767_225_600_000_000_000;

/// A rate is given in millionths.
const MILLION: i64 = 1_000_000;

/// However many drifts are on, a clock goes on: at a tenth of its rate, or at ten times it.
const DRIFT_PPM: std::ops::RangeInclusive<i64> = -900_000..=9_000_000;

/// The clocks of a machine. They outlive its crashes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MachineClock {
    /// The world's time when the rate was last changed ...
    since_ns: u64,
    /// ... and what the monotonic clock showed then ...
    shown_ns: u64,
    /// ... and by how many millionths of a nanosecond it was beyond that.
    beyond: i64,
    /// The sum of all drifts that are on.
    drift_ppm: i64,
    /// How far the wall clock was stepped.
    stepped_ns: i64,
}

impl MachineClock {
    /// By how many millionths it is fast; negative if it is slow.
    fn rate_ppm(&self) -> i64 {
        self.drift_ppm.clamp(*DRIFT_PPM.start(), *DRIFT_PPM.end())
    }

    /// What the monotonic clock has gained on the world since the rate was changed, in
    /// millionths of a nanosecond.
    fn gained(&self, now_ns: u64) -> i128 {
        let elapsed_ns = now_ns - self.since_ns;
        i128::from(self.beyond) + i128::from(elapsed_ns) * i128::from(self.rate_ppm())
    }

    /// What the monotonic clock shows at a world time that is not before the last change.
    pub(super) fn monotonic_ns(&self, now_ns: u64) -> u64 {
        let true_ns = self.shown_ns + (now_ns - self.since_ns);
        if self.drift_ppm == 0 {
            return true_ns;
        }
        let gained_ns = self.gained(now_ns).div_euclid(i128::from(MILLION));
        u64::try_from(i128::from(true_ns) + gained_ns).unwrap_or(u64::MAX)
    }

    /// The first world time at which the monotonic clock shows `monotonic_ns` or more.
    pub(super) fn world_ns(&self, monotonic_ns: u64) -> u64 {
        let Some(ahead_ns) = monotonic_ns.checked_sub(self.shown_ns) else {
            return self.since_ns;
        };
        if self.drift_ppm == 0 {
            return self.since_ns.saturating_add(ahead_ns);
        }
        let ahead = i128::from(ahead_ns) * i128::from(MILLION) - i128::from(self.beyond);
        let rate = i128::from(MILLION + self.rate_ppm());
        // Rounded up: one nanosecond before, the clock shows less.
        let takes_ns = (ahead + rate - 1).div_euclid(rate).max(0);
        self.since_ns.saturating_add(u64::try_from(takes_ns).unwrap_or(u64::MAX))
    }

    /// What the wall clock shows at a world time.
    pub(super) fn wall(&self, now_ns: u64) -> Timestamp {
        let unix_ns = START_UNIX_NS
            .saturating_add(self.monotonic_ns(now_ns))
            .saturating_add_signed(self.stepped_ns);
        Timestamp { unix_ns }
    }

    /// Sets the wall clock forward, or back.
    pub(super) fn step(&mut self, by_us: i64) {
        self.stepped_ns = self.stepped_ns.saturating_add(by_us.saturating_mul(1_000));
    }

    /// From now on both clocks run faster by this much, or slower.
    pub(super) fn drift(&mut self, now_ns: u64, by_ppm: i64) {
        let shown_ns = self.monotonic_ns(now_ns);
        let beyond = self.gained(now_ns).rem_euclid(i128::from(MILLION));
        self.beyond = i64::try_from(beyond).expect("it is below a million");
        self.shown_ns = shown_ns;
        self.since_ns = now_ns;
        self.drift_ppm = self.drift_ppm.saturating_add(by_ppm);
    }
}

/// How the clock of a boot's runtime stands to the machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct BootClock {
    /// What the runtime's clock showed when it was made ...
    started: Instant,
    /// ... and the machine's then.
    started_at_ns: u64,
    /// What the machine's clock showed when the runtime's was moved last.
    shown_ns: u64,
}

impl BootClock {
    pub(super) fn new(started: Instant, monotonic_ns: u64) -> Self {
        Self { started, started_at_ns: monotonic_ns, shown_ns: monotonic_ns }
    }

    /// By how much the runtime's clock must be moved to show `monotonic_ns`.
    pub(super) fn advance_to(&mut self, monotonic_ns: u64) -> Duration {
        let behind_ns = monotonic_ns - self.shown_ns;
        self.shown_ns = monotonic_ns;
        Duration::from_nanos(behind_ns)
    }

    /// What the machine's clock shows when the runtime's shows `instant`.
    pub(super) fn monotonic_ns(&self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.started).as_nanos();
        self.started_at_ns.saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Seed, between};

    #[test]
    fn a_clock_that_is_left_alone_shows_the_worlds_time() {
        let clock = MachineClock::default();
        assert_eq!(clock.monotonic_ns(1_234_567), 1_234_567);
        assert_eq!(clock.world_ns(1_234_567), 1_234_567);
        assert_eq!(clock.wall(5).unix_ns, START_UNIX_NS + 5);
    }

    #[test]
    fn a_fast_clock_gains_and_a_slow_one_loses_its_millionths() {
        for (ppm, shown_ns) in [(200, 1_000_200_000), (-200, 999_800_000)] {
            let mut clock = MachineClock::default();
            clock.drift(0, ppm);
            assert_eq!(clock.monotonic_ns(1_000_000_000), shown_ns);
            clock.drift(1_000_000_000, -ppm);
            // The rate is right again, what was gained or lost stays.
            assert_eq!(clock.monotonic_ns(2_000_000_000), shown_ns + 1_000_000_000);
        }
    }

    #[test]
    fn however_often_the_rate_changes_no_time_is_lost() {
        let mut clock = MachineClock::default();
        for now_ns in (0..1_000_000).step_by(2) {
            clock.drift(now_ns, if now_ns % 4 == 0 { 300_000 } else { -300_000 });
        }
        assert_eq!(clock.drift_ppm, 0);
        // For half of the time it was fast by 300 000 millionths.
        assert_eq!(clock.monotonic_ns(1_000_000), 1_150_000);
    }

    /// The two conversions fit together at every time and under every history of drifts.
    #[test]
    fn a_deadline_comes_at_the_first_moment_at_which_the_clock_shows_it() {
        for seed in 0..300 {
            let mut random = Seed(seed).stream("clock");
            let mut draw = |min, max| between(&mut random, min, max);
            let (mut clock, mut now_ns) = (MachineClock::default(), 0);
            for _ in 0..20 {
                now_ns += draw(0, 10_000_000);
                let by_ppm = i64::try_from(draw(0, 2_000_000)).unwrap() - 1_000_000;
                let before_ns = clock.monotonic_ns(now_ns);
                clock.drift(now_ns, by_ppm);
                assert_eq!(clock.monotonic_ns(now_ns), before_ns, "seed {seed}");
                for _ in 0..20 {
                    let deadline_ns = before_ns + draw(1, 50_000_000);
                    let due_ns = clock.world_ns(deadline_ns);
                    assert!(clock.monotonic_ns(due_ns) >= deadline_ns, "seed {seed}");
                    assert!(clock.monotonic_ns(due_ns - 1) < deadline_ns, "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn a_step_moves_the_wall_clock_only() {
        let mut clock = MachineClock::default();
        clock.step(-5_000);
        clock.step(1_000);
        assert_eq!(clock.wall(0).unix_ns, START_UNIX_NS - 4_000_000);
        assert_eq!(clock.monotonic_ns(7), 7);
    }
}
