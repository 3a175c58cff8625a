//! Timers whose deadlines the engine knows, so that idle time costs nothing.
//!
//! The same functions as in `tokio::time`, and outside of a simulation they are tokio's own
//! timers. Inside, a deadline is kept to the nanosecond; tokio's own timers are rounded up to
//! the next millisecond.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holdover_model::lease::Timestamp;
use tokio::task::coop;
pub use tokio::time::Instant;

use crate::world::{TimerId, context};

/// As good as never, and still far from what an [`Instant`] can hold.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

/// Waits for a time.
pub fn sleep(duration: Duration) -> Sleep {
    let now = Instant::now();
    sleep_until(now.checked_add(duration).unwrap_or(now + FAR))
}

/// Waits until the monotonic clock of this host shows `deadline`.
pub fn sleep_until(deadline: Instant) -> Sleep {
    let timer = if context::is_simulated() {
        Timer::Simulated(None)
    } else {
        Timer::Tokio(Box::pin(tokio::time::sleep_until(deadline)))
    };
    Sleep { deadline, timer }
}

/// The future of [`sleep`] and [`sleep_until`].
#[derive(Debug)]
#[must_use = "nothing waits until this is awaited"]
pub struct Sleep {
    deadline: Instant,
    timer: Timer,
}

#[derive(Debug)]
enum Timer {
    /// Registered with the world, once it was polled.
    Simulated(Option<TimerId>),
    Tokio(Pin<Box<tokio::time::Sleep>>),
}

impl Sleep {
    /// When it ends.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let waits = match &mut self.timer {
            Timer::Tokio(sleep) => return sleep.as_mut().poll(cx),
            Timer::Simulated(Some(id)) => {
                context::with_current(|core, host| core.keep_timer(host, *id, cx.waker()))
            }
            Timer::Simulated(id) => context::with_current(|core, host| {
                *id = core.register_timer(host, deadline, cx.waker());
                id.is_some()
            }),
        };
        if waits == Some(true) { Poll::Pending } else { ready_in_turn(cx) }
    }
}

/// Ready, but not for ever without a break: a task that waits only for what has come already
/// would otherwise never give way, and nobody could tell that it makes no progress.
pub(crate) fn ready_in_turn(cx: &mut Context<'_>) -> Poll<()> {
    coop::poll_proceed(cx).map(|turn| turn.made_progress())
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Timer::Simulated(Some(id)) = self.timer {
            context::with_current(|core, host| core.cancel_timer(host, id));
        }
    }
}

/// Gives up on a future after a time. The time runs from this call, not from the first poll.
///
/// # Errors
///
/// [`Elapsed`] when the time is up first.
pub fn timeout<F: IntoFuture>(
    duration: Duration,
    future: F,
) -> impl Future<Output = Result<F::Output, Elapsed>> {
    let limit = sleep(duration);
    let future = future.into_future();
    async move {
        tokio::select! {
            biased;
            output = future => Ok(output),
            () = limit => Err(Elapsed),
        }
    }
}

/// The time was up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the time was up")]
pub struct Elapsed;

/// Ticks at once and then once per period. Ticks that were missed follow without a pause.
pub fn interval(period: Duration) -> Interval {
    Interval { next: Instant::now(), period }
}

/// See [`interval`].
#[derive(Debug)]
pub struct Interval {
    next: Instant,
    period: Duration,
}

impl Interval {
    /// Waits for the next tick; gives the time for which it was due.
    pub async fn tick(&mut self) -> Instant {
        let due = self.next;
        sleep_until(due).await;
        self.next = due + self.period;
        due
    }
}

/// What the wall clock of this host shows.
pub fn unix_now() -> Timestamp {
    context::with_current(|core, host| core.wall_clock(host)).unwrap_or_else(|| {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ns = u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX);
        Timestamp { unix_ns }
    })
}
