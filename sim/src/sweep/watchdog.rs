//! Notices runs that never come back.
//!
//! Code that neither ends nor awaits cannot be interrupted from within its process, and its
//! thread cannot be stopped from outside. What can be done is to notice it, to say at which
//! seed and host it happened, and to go on without that thread. The thread itself goes on,
//! too, until the process ends.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::plan::{Plan, PlanError};
use crate::stack::{self, Run};
use crate::world::{Pulse, World};

/// How often the watchdog looks.
pub(super) const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// How long a pulse may pause in real time. Between two beats lies one poll of one task, so
/// this is generous even on a machine that has much else to do.
pub(super) const HANG_AFTER: Duration = Duration::from_secs(30);

/// What a thread is busy with, for the watchdog to see.
#[derive(Debug)]
pub(super) struct Busy<T>(Mutex<Option<(T, Arc<Pulse>)>>);

/// A thread that did not come back.
pub(super) struct Hung<T> {
    /// What it was busy with.
    pub(super) with: T,
    /// The host whose code it was running.
    pub(super) host: String,
}

impl<T> Default for Busy<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Busy<T> {
    pub(super) fn begin(&self, with: T, pulse: Arc<Pulse>) {
        self.set(Some((with, pulse)));
    }

    pub(super) fn end(&self) {
        self.set(None);
    }

    fn set(&self, now: Option<(T, Arc<Pulse>)>) {
        *self.0.lock().expect("nobody panics while holding it") = now;
    }
}

/// Watches one thread.
pub(super) struct Watchdog {
    hang_after: Duration,
    pulse: Option<Arc<Pulse>>,
    beats: u64,
    since: Instant,
}

impl Watchdog {
    pub(super) fn new(hang_after: Duration) -> Self {
        Self { hang_after, pulse: None, beats: 0, since: Instant::now() }
    }

    /// Looks at the thread; tells if its pulse has stopped for too long.
    pub(super) fn look<T: Clone>(&mut self, busy: &Busy<T>) -> Option<Hung<T>> {
        let now = busy.0.lock().expect("nobody panics while holding it");
        let Some((with, pulse)) = &*now else {
            self.pulse = None;
            return None;
        };
        let is_same = self.pulse.as_ref().is_some_and(|known| Arc::ptr_eq(known, pulse));
        let beats = pulse.beats();
        if !is_same || beats != self.beats {
            self.pulse = Some(Arc::clone(pulse));
            self.beats = beats;
            self.since = Instant::now();
            return None;
        }
        (self.since.elapsed() >= self.hang_after).then(|| Hung {
            with: with.clone(),
            host: pulse.host().map_or_else(|| "(no host)".into(), |host| host.to_string()),
        })
    }
}

/// Runs a plan on a thread of its own, and gives up on it if it hangs.
pub(super) fn run(
    plan: &Plan,
    hang_after: Duration,
    prepare: impl FnOnce(&mut World) + Send + 'static,
) -> Result<Run, PlanError> {
    let busy = Arc::new(Busy::default());
    let runner = thread::spawn({
        let (busy, plan) = (Arc::clone(&busy), plan.clone());
        move || {
            stack::run_with(&plan, |world| {
                busy.begin((), world.pulse());
                prepare(world);
            })
        }
    });
    let mut watchdog = Watchdog::new(hang_after);
    let mut pause = Duration::from_micros(100);
    while !runner.is_finished() {
        thread::sleep(pause);
        pause = (pause * 2).min(LOOKS_EVERY);
        if let Some(Hung { host, .. }) = watchdog.look(&busy) {
            return Ok(Run::hung(host, hang_after));
        }
    }
    runner.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
