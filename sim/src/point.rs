//! Named points in the code under test, where a fault can strike exactly.
//!
//! A freeze at a point stops the task right there, along with its host; a stall stops the
//! task alone; after a crash the task never gets past it. Outside a simulation a point is always passed at once and costs nearly nothing.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::time::ready_in_turn;
use crate::world::{StallId, context};

/// Marks a moment that a plan can name, for example `point("before-effect").await`.
pub fn point(name: &str) -> Point<'_> {
    Point { name, reached: false, stall: None }
}

/// The future of [`point`].
#[derive(Debug)]
#[must_use = "a point is only reached when it is awaited"]
pub struct Point<'a> {
    name: &'a str,
    reached: bool,
    stall: Option<StallId>,
}

impl Future for Point<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        context::with_current(|core, host| {
            if !self.reached {
                self.reached = true;
                self.stall = core.reach_point(host, self.name);
            }
            if core.is_halted(host) {
                core.wake_at_thaw(host, cx.waker());
                Poll::Pending
            } else if self.stall.is_some_and(|id| core.is_stalled(id, cx.waker())) {
                Poll::Pending
            } else {
                ready_in_turn(cx)
            }
        })
        .unwrap_or(Poll::Ready(()))
    }
}
