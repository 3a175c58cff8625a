//! The states that were seen: 64 bits of each, and 64 bits of the state before it.
//!
//! Two states with the same 64 bits would be taken for one. Among n states that happens
//! with probability n^2 / 2^65: for a hundred million, less than one in three thousand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const SHARDS: usize = 256;
/// A shard grows when more than this part of it is in use.
const LOAD_MAX: (usize, usize) = (3, 4);

/// Fingerprints of states, each with the fingerprint of a state one step before it.
pub(crate) struct Visited {
    shards: Vec<Mutex<Shard>>,
    bytes: AtomicUsize,
}

/// Linear probing from a place that the fingerprint's upper bits give; 0 is empty.
#[derive(Default)]
struct Shard {
    entries: Vec<(u64, u64)>,
    used: usize,
}

impl Shard {
    fn place(&self, fingerprint: u64) -> usize {
        let length = self.entries.len();
        let product = u128::from(fingerprint) * length as u128;
        let mut place = usize::try_from(product >> 64).expect("less than the length");
        while self.entries[place].0 != 0 && self.entries[place].0 != fingerprint {
            place = if place + 1 == length { 0 } else { place + 1 };
        }
        place
    }

    fn grow(&mut self) -> usize {
        // By half only, so that little of the memory is ever empty.
        let length = (self.entries.len() * 3 / 2).max(64);
        let added = (length - self.entries.len()) * size_of::<(u64, u64)>();
        let old = std::mem::replace(&mut self.entries, vec![(0, 0); length]);
        for entry in old.into_iter().filter(|(fingerprint, _)| *fingerprint != 0) {
            let place = self.place(entry.0);
            self.entries[place] = entry;
        }
        added
    }
}

impl Visited {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), bytes: AtomicUsize::new(0) }
    }

    fn shard(&self, fingerprint: u64) -> &Mutex<Shard> {
        let shard = usize::try_from(fingerprint % SHARDS as u64).expect("there are few shards");
        &self.shards[shard]
    }

    /// Adds a state; false if it was there.
    pub(crate) fn insert(&self, fingerprint: u64, parent: u64) -> bool {
        let mut shard = self.shard(fingerprint).lock().expect("no thread panics");
        if shard.used * LOAD_MAX.1 >= shard.entries.len() * LOAD_MAX.0 {
            let added = shard.grow();
            self.bytes.fetch_add(added, Ordering::Relaxed);
        }
        let place = shard.place(fingerprint);
        if shard.entries[place].0 == fingerprint {
            return false;
        }
        shard.entries[place] = (fingerprint, parent);
        shard.used += 1;
        true
    }

    /// The state before a state that is there.
    pub(crate) fn parent(&self, fingerprint: u64) -> Option<u64> {
        let shard = self.shard(fingerprint).lock().expect("no thread panics");
        if shard.entries.is_empty() {
            return None;
        }
        let (found, parent) = shard.entries[shard.place(fingerprint)];
        (found == fingerprint).then_some(parent)
    }

    /// Whether a state is there.
    pub(crate) fn contains(&self, fingerprint: u64) -> bool {
        self.parent(fingerprint).is_some()
    }

    /// What it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}
