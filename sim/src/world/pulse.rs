//! A sign of life that can be seen from another thread.
//!
//! Code that never awaits keeps its thread, and with it the engine, for ever: nothing in this
//! thread can stop it or even say so. A watchdog on another thread sees that the pulse has
//! stopped, and at which host.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The pulse of a world. It beats each time a host or one of its tasks was run.
#[derive(Debug, Default)]
pub struct Pulse {
    beats: AtomicU64,
    host: AtomicUsize,
    hosts: Mutex<Vec<Arc<str>>>,
}

impl Pulse {
    /// How often it has beaten so far.
    pub fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// The host that was run last; `None` before the first run of any.
    pub fn host(&self) -> Option<Arc<str>> {
        let hosts = self.hosts.lock().expect("nobody panics while holding it");
        if self.beats() == 0 { None } else { hosts.get(self.host.load(Ordering::Relaxed)).cloned() }
    }

    pub(super) fn add_host(&self, name: Arc<str>) {
        self.hosts.lock().expect("nobody panics while holding it").push(name);
    }

    pub(super) fn enter(&self, host: usize) {
        self.host.store(host, Ordering::Relaxed);
        self.beat();
    }

    /// Only the world's own thread calls this, so no addition can get lost.
    pub(super) fn beat(&self) {
        self.beats.store(self.beats() + 1, Ordering::Relaxed);
    }
}
