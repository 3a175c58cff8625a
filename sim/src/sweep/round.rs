//! Runs on several threads, watched.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use super::collector::{Collector, Summary};
use super::watchdog::{self, Busy, Watchdog};
use super::{Divergence, Progress, Sweep, divergence};
use crate::plan::Plan;
use crate::search::{self, Origin, Search};

/// A thread, and what watches it.
struct Worker {
    busy: Arc<Busy<u64>>,
    watchdog: Watchdog,
    thread: thread::JoinHandle<()>,
}

/// Does these runs, and puts them together; `false` if one hung, and others were left out.
pub(super) fn run(
    sweep: &Sweep,
    search: &Arc<Search>,
    runs: Range<u64>,
    collector: &mut Collector,
    progress: &mut dyn FnMut(Progress),
) -> bool {
    let before = (collector.runs(), collector.failures());
    let shared = Arc::new(Shared {
        sweep: sweep.clone(),
        search: Arc::clone(search),
        next: AtomicU64::new(runs.start),
        end: runs.end,
        done: AtomicU64::new(0),
        failed: AtomicUsize::new(0),
    });
    let (sender, summaries) = mpsc::channel();
    // Not scoped: a thread that hangs is left behind.
    let mut workers: Vec<_> = (0..sweep.jobs)
        .map(|_| {
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            let busy = Arc::new(Busy::default());
            let job = Arc::clone(&busy);
            let thread = thread::spawn(move || shared.work(&job, &sender));
            Worker { busy, watchdog: Watchdog::new(sweep.hang_after), thread }
        })
        .collect();
    drop(sender);
    let mut is_whole = true;
    loop {
        // At once when all threads have ended.
        match summaries.recv_timeout(watchdog::LOOKS_EVERY) {
            Ok((run, summary)) => {
                collector.add(run, summary);
                collector.extend(summaries.try_iter());
            }
            Err(_) if workers.iter().all(|worker| worker.thread.is_finished()) => break,
            Err(_) => {}
        }
        workers.retain_mut(|worker| match worker.watchdog.look(&worker.busy) {
            None => true,
            Some(found) => {
                // A second hang would only cost another core.
                shared.next.store(shared.end, Ordering::Relaxed);
                let (origin, plan) = search.plan(found.with);
                let hung = Summary::hung(origin, plan, found.host, sweep.hang_after);
                collector.add(found.with, hung);
                is_whole = false;
                false
            }
        });
        progress(Progress {
            runs: before.0 + shared.done.load(Ordering::Relaxed),
            failures: before.1 + shared.failed.load(Ordering::Relaxed),
        });
    }
    for worker in workers {
        // A run's panics are findings, so this is one of the sweep itself.
        worker.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
    collector.extend(summaries.try_iter());
    is_whole
}

/// What the threads share.
struct Shared {
    sweep: Sweep,
    search: Arc<Search>,
    next: AtomicU64,
    end: u64,
    done: AtomicU64,
    failed: AtomicUsize,
}

impl Shared {
    /// Does one run after the other until there are no more.
    fn work(&self, busy: &Busy<u64>, done: &mpsc::Sender<(u64, Summary)>) {
        loop {
            let run = self.next.fetch_add(1, Ordering::Relaxed);
            if run >= self.end {
                return;
            }
            let (origin, plan) = self.search.plan(run);
            let summary = self.run(run, origin, plan, busy);
            busy.end();
            self.failed.fetch_add(usize::from(summary.is_failure()), Ordering::Relaxed);
            self.done.fetch_add(1, Ordering::Relaxed);
            if done.send((run, summary)).is_err() {
                return; // The sweep was given up.
            }
        }
    }

    fn run(&self, number: u64, origin: Origin, plan: Plan, busy: &Busy<u64>) -> Summary {
        let sweep = &self.sweep;
        let watched = || sweep.run_plan(&plan, |world| busy.begin(number, world.pulse()));
        let (run, reached) = watched();
        let diverges = sweep.checks_determinism && !divergence::are_same(&run, &watched().0);
        let divergence = diverges.then(|| {
            Divergence::locate(&plan, |world| {
                busy.begin(number, world.pulse());
                (sweep.hosts)(world, &plan);
            })
        });
        let features = if self.search.is_learning() { search::features(&run) } else { Vec::new() };
        Summary::new(origin, plan, run, reached, divergence).with_features(features)
    }
}
