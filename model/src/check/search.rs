//! Breadth-first search by several threads, one level after another.
//!
//! A level is finished before the next one begins, also when it holds a violation. So the
//! counts do not depend on how the threads took turns.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::check::bounds::Bounds;
use crate::check::expand::Successors;
use crate::check::lens::Lens;
use crate::check::settle::Calm;
use crate::check::space::{Space, fingerprint};
use crate::check::visited::Visited;
use crate::design::setting::SettingSet;

/// How far a search may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    pub(crate) threads: usize,
    pub(crate) memory_bytes_max: usize,
    /// No state further away than this is expanded.
    pub(crate) depth_max: Option<usize>,
    pub(crate) checks_settling: bool,
    /// The search goes on where no invariant is broken.
    pub(crate) explores_past_violations: bool,
    /// Once this is true, the search ends.
    pub(crate) stop: Option<&'a AtomicBool>,
}

/// Where a search stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The bound that is explored.
    pub bounds: &'a Bounds,
    /// Different states so far.
    pub unique_states: u64,
    /// States so far, repetitions included.
    pub generated_states: u64,
    /// How many steps the states that are looked at are away from the start.
    pub depth: usize,
    /// How many states wait to be looked at.
    pub frontier_states: u64,
    /// How long this bound has taken so far.
    pub elapsed: Duration,
    /// What the search takes, in bytes.
    pub memory_bytes: usize,
}

impl Progress<'_> {
    /// Different states per second.
    pub fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a rate is an estimate")]
        let unique = self.unique_states as f64;
        unique / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// How a search ended. Paths are fingerprints from the first state on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Every state was looked at.
    Exhausted,
    /// Every state was looked at; from the last of these, nothing settles any more.
    Wedged(Vec<u64>),
    /// A step from the last of these breaks an invariant.
    Violated(Vec<u64>),
    /// The memory or the depth that was allowed did not suffice, or the search was told to end.
    Stopped,
    /// The operations are not symmetric.
    Asymmetric,
}

/// What a search found and what it took.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) end: End,
    pub(crate) unique_states: u64,
    pub(crate) generated_states: u64,
    pub(crate) depth: usize,
    pub(crate) peak_bytes: usize,
    /// The settings that had a say in any step.
    pub(crate) asked: SettingSet,
}

/// States of one level, in pieces of this many words; a state is its length and its words.
const CHUNK_WORDS: usize = 4096;

struct Shared<'a> {
    space: &'a Space,
    limits: Limits<'a>,
    visited: Visited,
    calm: Option<Calm>,
    level: Mutex<Vec<Vec<u32>>>,
    next: Mutex<Vec<Vec<u32>>>,
    unique: AtomicU64,
    generated: AtomicU64,
    /// States of this level that nobody has taken, and of the next level.
    waiting: AtomicU64,
    frontier_bytes: AtomicUsize,
    lens_bytes: Vec<AtomicUsize>,
    peak_bytes: AtomicUsize,
    asked: Mutex<SettingSet>,
    is_cut_short: AtomicBool,
    is_done: AtomicBool,
    has_panicked: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// A state of this level from which a step breaks an invariant.
    violating: Mutex<Option<u64>>,
    is_wedged: AtomicBool,
    wedged: Mutex<Option<u64>>,
}

/// Explores everything within the limits.
pub(crate) fn search(
    space: &Space,
    limits: Limits<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Found {
    search_through(&mut Lens::new(space), limits, progress)
}

/// The same through a lens that can be looked into afterwards; what other threads saw is not in
/// it.
pub(crate) fn search_through(
    lens: &mut Lens<'_>,
    limits: Limits<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Found {
    let space = lens.space;
    let began = Instant::now();
    let shared = Shared {
        space,
        limits,
        visited: Visited::new(),
        calm: limits.checks_settling.then(Calm::new),
        level: Mutex::default(),
        next: Mutex::default(),
        unique: AtomicU64::new(1),
        generated: AtomicU64::new(1),
        waiting: AtomicU64::new(1),
        frontier_bytes: AtomicUsize::new(0),
        lens_bytes: (0..limits.threads).map(|_| AtomicUsize::new(0)).collect(),
        peak_bytes: AtomicUsize::new(0),
        asked: Mutex::default(),
        is_cut_short: AtomicBool::new(false),
        is_done: AtomicBool::new(false),
        has_panicked: AtomicBool::new(false),
        panic: Mutex::default(),
        violating: Mutex::default(),
        is_wedged: AtomicBool::new(false),
        wedged: Mutex::default(),
    };
    let Ok(initial) = lens.initial() else {
        return shared.found(End::Violated(Vec::new()), 0);
    };
    shared.visited.insert(fingerprint(&initial), 0);
    let mut chunk = vec![u32::try_from(initial.len()).expect("a state is short")];
    chunk.extend(initial);
    shared.frontier_bytes.store(chunk.capacity() * size_of::<u32>(), Ordering::Relaxed);
    shared.level.lock().expect("no thread panics").push(chunk);

    let barrier = Barrier::new(limits.threads);
    let mut depth = 0;
    std::thread::scope(|scope| {
        for index in 1..limits.threads {
            let (shared, barrier) = (&shared, &barrier);
            scope.spawn(move || {
                let mut lens = Lens::new(shared.space);
                loop {
                    barrier.wait();
                    if shared.is_done.load(Ordering::Relaxed) {
                        return;
                    }
                    shared.work_guarded(index, &mut lens, &mut || ());
                    barrier.wait();
                }
            });
        }
        let mut reported = began;
        loop {
            barrier.wait();
            shared.work_guarded(0, lens, &mut || {
                if reported.elapsed() >= Duration::from_millis(200) {
                    reported = Instant::now();
                    progress(shared.progress(depth, began));
                }
            });
            barrier.wait();
            let is_last = shared.has_panicked.load(Ordering::Relaxed) || shared.turn_level();
            let is_deep = limits.depth_max.is_some_and(|max| depth >= max);
            if is_last || is_deep {
                if is_deep && !is_last {
                    shared.is_cut_short.store(true, Ordering::Relaxed);
                }
                shared.is_done.store(true, Ordering::Relaxed);
                barrier.wait();
                return;
            }
            depth += 1;
        }
    });
    if let Some(panic) = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
        resume_unwind(panic);
    }
    progress(shared.progress(depth, began));
    let end = shared.end();
    shared.found(end, depth)
}

impl Shared<'_> {
    /// Works, and stops all threads if a step panics: the others must not wait for ever.
    fn work_guarded(&self, index: usize, lens: &mut Lens<'_>, after_chunk: &mut dyn FnMut()) {
        let work = AssertUnwindSafe(|| self.work(index, lens, after_chunk));
        if let Err(panic) = catch_unwind(work) {
            self.has_panicked.store(true, Ordering::Relaxed);
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
    }

    /// Takes states of this level until there are none.
    fn work(&self, index: usize, lens: &mut Lens<'_>, after_chunk: &mut dyn FnMut()) {
        let mut successors = Successors::default();
        let mut fresh = Vec::with_capacity(CHUNK_WORDS);
        let mut fresh_states = 0;
        loop {
            let Some(chunk) = self.level.lock().expect("no thread panics").pop() else { break };
            if self.must_stop() {
                break;
            }
            let mut generated = 0;
            let mut taken = 0;
            let mut rest = &chunk[..];
            while let Some((length, words)) = rest.split_first() {
                let (state, others) = words.split_at(*length as usize);
                rest = others;
                taken += 1;
                lens.expand(state, &mut successors);
                let parent = fingerprint(state);
                generated += successors.len() as u64;
                for (_, successor) in successors.iter() {
                    let Some(successor) = successor else {
                        let mut violating = self.violating.lock().expect("no thread panics");
                        violating.get_or_insert(parent);
                        continue;
                    };
                    if !self.visited.insert(fingerprint(successor), parent) {
                        continue;
                    }
                    fresh_states += 1;
                    fresh.push(u32::try_from(successor.len()).expect("a state is short"));
                    fresh.extend_from_slice(successor);
                    if fresh.len() >= CHUNK_WORDS {
                        let full = std::mem::replace(&mut fresh, Vec::with_capacity(CHUNK_WORDS));
                        self.hand_on(full, std::mem::take(&mut fresh_states));
                    }
                }
                // One wedge is enough, and to find that there is no way out takes long.
                if let Some(calm) = &self.calm
                    && !self.is_wedged.load(Ordering::Relaxed)
                    && !calm.settles(lens, state)
                {
                    self.is_wedged.store(true, Ordering::Relaxed);
                    self.wedged.lock().expect("no thread panics").get_or_insert(parent);
                }
            }
            self.frontier_bytes.fetch_sub(chunk.capacity() * size_of::<u32>(), Ordering::Relaxed);
            self.generated.fetch_add(generated, Ordering::Relaxed);
            self.waiting.fetch_sub(taken, Ordering::Relaxed);
            self.lens_bytes[index].store(lens.bytes(), Ordering::Relaxed);
            self.measure();
            after_chunk();
        }
        self.hand_on(fresh, fresh_states);
        let mut asked = self.asked.lock().expect("no thread panics");
        *asked = asked.or(lens.asked);
    }

    fn hand_on(&self, mut chunk: Vec<u32>, states: u64) {
        if chunk.is_empty() {
            return;
        }
        chunk.shrink_to_fit();
        self.frontier_bytes.fetch_add(chunk.capacity() * size_of::<u32>(), Ordering::Relaxed);
        self.unique.fetch_add(states, Ordering::Relaxed);
        self.waiting.fetch_add(states, Ordering::Relaxed);
        self.next.lock().expect("no thread panics").push(chunk);
    }

    /// Makes the next level the current one; true if the search is over.
    fn turn_level(&self) -> bool {
        let next = std::mem::take(&mut *self.next.lock().expect("no thread panics"));
        let is_violated = self.violating.lock().expect("no thread panics").is_some();
        let is_over = next.is_empty()
            || self.must_stop()
            || is_violated && !self.limits.explores_past_violations;
        *self.level.lock().expect("no thread panics") = next;
        is_over
    }

    fn must_stop(&self) -> bool {
        if self.limits.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            self.is_cut_short.store(true, Ordering::Relaxed);
        }
        self.is_cut_short.load(Ordering::Relaxed)
            || self.space.is_asymmetric()
            || self.has_panicked.load(Ordering::Relaxed)
    }

    fn memory_bytes(&self) -> usize {
        let lenses: usize = self.lens_bytes.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        self.visited.bytes()
            + self.frontier_bytes.load(Ordering::Relaxed)
            + self.space.bytes()
            + self.calm.as_ref().map_or(0, Calm::bytes)
            + lenses
    }

    fn measure(&self) {
        let bytes = self.memory_bytes();
        self.peak_bytes.fetch_max(bytes, Ordering::Relaxed);
        if bytes > self.limits.memory_bytes_max {
            self.is_cut_short.store(true, Ordering::Relaxed);
        }
    }

    fn progress(&self, depth: usize, began: Instant) -> Progress<'_> {
        Progress {
            bounds: self.space.system.bounds(),
            unique_states: self.unique.load(Ordering::Relaxed),
            generated_states: self.generated.load(Ordering::Relaxed),
            depth,
            frontier_states: self.waiting.load(Ordering::Relaxed),
            elapsed: began.elapsed(),
            memory_bytes: self.memory_bytes(),
        }
    }

    fn end(&self) -> End {
        let violating = *self.violating.lock().expect("no thread panics");
        let wedged = *self.wedged.lock().expect("no thread panics");
        if self.space.is_asymmetric() {
            End::Asymmetric
        } else if let Some(fingerprint) = violating {
            End::Violated(self.path(fingerprint))
        } else if self.is_cut_short.load(Ordering::Relaxed) {
            End::Stopped
        } else if let Some(fingerprint) = wedged {
            End::Wedged(self.path(fingerprint))
        } else {
            End::Exhausted
        }
    }

    /// The fingerprints from the first state to this one.
    fn path(&self, last: u64) -> Vec<u64> {
        let mut path = vec![last];
        while let Some(parent) = self.visited.parent(path[path.len() - 1]).filter(|p| *p != 0) {
            path.push(parent);
        }
        path.reverse();
        path
    }

    fn found(&self, end: End, depth: usize) -> Found {
        Found {
            end,
            unique_states: self.unique.load(Ordering::Relaxed),
            generated_states: self.generated.load(Ordering::Relaxed),
            depth,
            peak_bytes: self.peak_bytes.load(Ordering::Relaxed),
            asked: *self.asked.lock().expect("no thread panics"),
        }
    }
}
