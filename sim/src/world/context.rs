//! Which host of which world the running code belongs to.
//!
//! A thread runs one host at a time. For that time, and for that time only, a thread-local
//! names it; so code under test needs no handle to reach its clock, its points and its
//! evidence, and worlds on other threads stay apart.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Once;

pub(crate) use super::engine::Core;

thread_local! {
    static CURRENT: RefCell<Option<(Rc<RefCell<Core>>, usize)>> = const { RefCell::new(None) };
    /// Whether a world on this thread has started and not been dropped yet.
    static WORLD_LIVES: Cell<bool> = const { Cell::new(false) };
    /// The first panic inside a host since somebody asked.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `f` with the current world and host; `None` outside of a simulation.
pub(crate) fn with_current<R>(f: impl FnOnce(&mut Core, usize) -> R) -> Option<R> {
    CURRENT.with_borrow(|current| {
        let (core, host) = current.as_ref()?;
        let mut core = core.try_borrow_mut().expect(
            "an observer must not emit, wait or ask for the time: it looks on from outside, \
             and all that it may know is in the record",
        );
        Some(f(&mut core, *host))
    })
}

/// Whether the calling code runs on a simulated host.
pub(crate) fn is_simulated() -> bool {
    CURRENT.try_with(|current| current.borrow().is_some()).unwrap_or(false)
}

/// Makes a host the current one until the guard is dropped.
pub(super) fn enter(core: &Rc<RefCell<Core>>, host: usize) -> Entered {
    CURRENT.set(Some((Rc::clone(core), host)));
    Entered
}

/// See [`enter`].
pub(super) struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// The right to be the world of this thread.
pub(super) struct Lives;

impl Lives {
    pub(super) fn claim() -> Self {
        assert!(
            !WORLD_LIVES.replace(true),
            "another holdover world has started on this thread and still exists: \
             drop it first, or run each world on a thread of its own",
        );
        Self
    }
}

impl Drop for Lives {
    fn drop(&mut self) {
        WORLD_LIVES.set(false);
    }
}

/// Takes note of panics inside hosts.
///
/// A panic in a spawned task ends up in a `JoinHandle` that nobody may be waiting for, and
/// what would be seen of it is a system that hangs. Tokio's stable interface reports it
/// nowhere else, hence the process-wide hook. It leaves every panic outside of hosts to the
/// hook that was there before.
pub(super) fn watch_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_simulated() {
                return previous(info);
            }
            let payload = info.payload();
            let message = payload.downcast_ref::<&str>().copied();
            let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let message = message.unwrap_or("(a payload that is not text)");
            // Tokio's own words, and they do not say what to do here.
            let hint = if message.contains("IO is disabled") {
                "; this is a real socket: use holdover::net"
            } else {
                ""
            };
            let place = info.location().map(|at| format!(" ({at})")).unwrap_or_default();
            PANIC.with_borrow_mut(|first| {
                first.get_or_insert_with(|| format!("{message}{hint}{place}"));
            });
        }));
    });
}

/// The first panic inside a host since the last call.
pub(super) fn take_panic() -> Option<String> {
    PANIC.take()
}
