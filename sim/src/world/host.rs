//! A host: the process that runs on it, and what the world knows about it.
//!
//! Each boot of a host is a tokio runtime of its own whose clock is paused. The runtime is
//! only ever run "until idle": until none of its tasks can do anything at this instant.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::{Builder, LocalOptions, LocalRuntime, RuntimeMetrics};
use turmoil_net::{HostId, Packet};

use super::clock::{BootClock, MachineClock};
use super::disk::Disk;
use super::pulse::Pulse;

/// Makes the main task of a host.
pub(super) type Boot = Rc<dyn Fn() -> Pin<Box<dyn Future<Output = ()>>>>;

/// What the world knows about a host.
pub(super) struct Host {
    pub(super) name: Arc<str>,
    pub(super) id: HostId,
    pub(super) address: IpAddr,
    /// Its code uses tokio's timers directly, so it has to be run again and again.
    pub(super) plain_timers: bool,
    pub(super) disk: Disk,
    /// How many times it was started.
    pub(super) boots: u64,
    /// How much its tasks have done.
    pub(super) effort: Effort,
    /// How much memory its events take.
    pub(super) record_bytes: u64,
    /// How many crashes are on.
    pub(super) crashes: u32,
    /// How many freezes are on.
    pub(super) frozen: u32,
    /// It is in the list of those to be run at this instant.
    pub(super) ready: bool,
    /// It was frozen in the middle of a task, and all that its sockets emit next is the
    /// doing of the rest of that task.
    pub(super) cut_off: bool,
    /// What it wrote while frozen, and to whom.
    pub(super) outbox: VecDeque<(usize, Packet)>,
    /// What arrived for it while it was down, and from whom.
    pub(super) inbox: VecDeque<(usize, Packet)>,
    /// Who waits at a point for the end of a freeze.
    pub(super) thaw_wakers: Vec<Waker>,
    pub(super) timers: Timers,
    pub(super) clock: MachineClock,
    pub(super) process: Option<ProcessView>,
}

/// What the world needs of a running process without owning it.
pub(super) struct ProcessView {
    pub(super) clock: BootClock,
    pub(super) idle: Arc<Idle>,
    metrics: RuntimeMetrics,
}

impl Host {
    pub(super) fn new(
        name: &str,
        id: HostId,
        address: IpAddr,
        plain_timers: bool,
        disk_seed: u64,
    ) -> Self {
        Self {
            name: name.into(),
            id,
            address,
            plain_timers,
            disk: Disk::new(disk_seed),
            boots: 0,
            effort: Effort::default(),
            record_bytes: 0,
            crashes: 0,
            frozen: 0,
            ready: false,
            cut_off: false,
            outbox: VecDeque::new(),
            inbox: VecDeque::new(),
            thaw_wakers: Vec::new(),
            timers: Timers::default(),
            clock: MachineClock::default(),
            process: None,
        }
    }

    /// Whether there is no process and no kernel.
    pub(super) fn is_down(&self) -> bool {
        self.crashes > 0
    }

    /// Whether its code may run.
    pub(super) fn runs(&self) -> bool {
        !self.is_down() && self.frozen == 0
    }

    /// Whether a task was woken from outside since the process last ran.
    ///
    /// What wakes a task from outside of its runtime goes through the runtime's global
    /// queue, so its depth tells whether running the process could do anything. Most bare
    /// acknowledgements wake nobody, and then the run is saved.
    pub(super) fn was_woken(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.metrics.global_queue_depth() > 0)
    }
}

/// Identifies a registered deadline: when by the monotonic clock of its host, and a number
/// that makes it unique.
pub(crate) type TimerId = (u64, u64);

/// The deadlines that a host's code has registered, by its monotonic clock.
#[derive(Default)]
pub(super) struct Timers {
    waiting: BTreeMap<TimerId, Waker>,
    next: u64,
    /// The earliest time of the world at which it will look here anyway.
    pub(super) scheduled_ns: Option<u64>,
}

impl Timers {
    pub(super) fn insert(&mut self, monotonic_ns: u64, waker: Waker) -> TimerId {
        let id = (monotonic_ns, self.next);
        self.next += 1;
        self.waiting.insert(id, waker);
        id
    }

    pub(super) fn rewake(&mut self, id: TimerId, waker: &Waker) {
        if let Some(known) = self.waiting.get_mut(&id) {
            known.clone_from(waker);
        }
    }

    pub(super) fn remove(&mut self, id: TimerId) {
        self.waiting.remove(&id);
    }

    pub(super) fn earliest_ns(&self) -> Option<u64> {
        self.waiting.first_key_value().map(|((monotonic_ns, _), _)| *monotonic_ns)
    }

    /// Wakes everybody whose deadline has come, the earliest first.
    pub(super) fn fire(&mut self, monotonic_ns: u64) {
        while let Some(entry) = self.waiting.first_entry() {
            if entry.key().0 > monotonic_ns {
                break;
            }
            entry.remove().wake();
        }
    }

    /// Forgets all of them: nobody is left who could wait.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.scheduled_ns = None;
    }
}

/// How much the tasks of a host have done, in times that one of them was run.
#[derive(Clone, Copy, Default)]
pub(super) struct Effort {
    pub(super) polls: u64,
    /// At which instant it ran last ...
    instant_ns: u64,
    /// ... and how much of it was done at that instant.
    polls_at_instant: u64,
}

impl Effort {
    pub(super) fn add(&mut self, now_ns: u64, polls: u64) {
        if self.instant_ns != now_ns {
            self.instant_ns = now_ns;
            self.polls_at_instant = 0;
        }
        self.polls += polls;
        self.polls_at_instant += polls;
    }

    pub(super) fn at(&self, now_ns: u64) -> u64 {
        if self.instant_ns == now_ns { self.polls_at_instant } else { 0 }
    }
}

/// One boot of a host.
pub(super) struct Process {
    runtime: LocalRuntime,
    metrics: RuntimeMetrics,
    idle: Arc<Idle>,
}

impl Process {
    pub(super) fn start(pulse: Arc<Pulse>, select_seed: [u8; 8]) -> Self {
        let idle = Arc::new(Idle::new(pulse));
        let hook = Arc::clone(&idle);
        let mut builder = Builder::new_current_thread();
        builder
            .enable_time()
            .start_paused(true)
            // Look at the time driver and at the root after every task, so that a fault that
            // strikes in one task stops the host before the next task runs.
            .event_interval(1)
            .on_thread_park(move || hook.end_run())
            .thread_name_fn(refuse_thread);
        #[cfg(tokio_unstable)]
        {
            let count = Arc::clone(&idle);
            builder
                .on_before_task_poll(move |_| count.task_is_polled())
                .rng_seed(tokio::runtime::RngSeed::from_bytes(&select_seed));
        }
        #[cfg(not(tokio_unstable))]
        let _ = select_seed;
        let runtime = builder
            .build_local(LocalOptions::default())
            .expect("a runtime without I/O needs nothing that could be missing");
        let metrics = runtime.metrics();
        Self { runtime, metrics, idle }
    }

    pub(super) fn view(&self, monotonic_ns: u64) -> ProcessView {
        let _context = self.runtime.enter();
        ProcessView {
            clock: BootClock::new(tokio::time::Instant::now(), monotonic_ns),
            idle: Arc::clone(&self.idle),
            metrics: self.metrics.clone(),
        }
    }

    /// Moves the clock by `advance`, starts `boot` if there is one, and runs until idle, but
    /// no more than `polls_max` tasks. Gives how many it ran.
    ///
    /// Tokio tells of its tasks in its unstable interface only. Without it every run counts as
    /// one task, and one that never becomes idle is for a watchdog to find.
    pub(super) fn run(&self, advance: Duration, boot: Option<&Boot>, polls_max: u64) -> u64 {
        self.idle.over.store(false, Ordering::Relaxed);
        self.idle.polls.store(0, Ordering::Relaxed);
        self.idle.polls_max.store(polls_max, Ordering::Relaxed);
        self.runtime.block_on(async {
            if let Some(boot) = boot {
                let boot = Rc::clone(boot);
                // Called inside of the task, so that a panic in it is one of the task.
                tokio::task::spawn_local(async move { boot().await });
            }
            if !advance.is_zero() {
                // This yields to the time driver, which wakes the tasks of due timers.
                tokio::time::advance(advance).await;
                if self.is_known_to_be_idle() {
                    return;
                }
            }
            UntilOver(&self.idle).await;
        });
        let polls = self.idle.polls.load(Ordering::Relaxed);
        if cfg!(tokio_unstable) { polls } else { polls.max(1) }
    }

    /// Whether no task can run, as far as tokio tells, which it does in its unstable interface
    /// only. It saves half of what it costs to run a host for timers that it does not have.
    fn is_known_to_be_idle(&self) -> bool {
        #[cfg(tokio_unstable)]
        return self.metrics.worker_local_queue_depth(0) == 0
            && self.metrics.global_queue_depth() == 0;
        #[cfg(not(tokio_unstable))]
        false
    }
}

/// Refuses to start a thread of the runtime's blocking pool.
///
/// Tokio asks for the name of a thread where it is about to be started: in the very task
/// that wanted it. That makes this the one place where such a thread can be seen coming.
fn refuse_thread() -> String {
    panic!(
        "a task wants a real thread (`spawn_blocking`, `tokio::fs`, `tokio::net::lookup_host`, \
         standard input or output), which would run in real time, outside of the world: do \
         the work in a task, and use holdover::fs and holdover::net"
    )
}

impl Drop for Process {
    fn drop(&mut self) {
        // The runtime holds the hook, the hook the waker, and the waker the runtime.
        self.idle.root.lock().expect("nobody panics while holding it").take();
    }
}

/// How the end of a run until idle is found.
///
/// A runtime parks when no task can run. It would then move its own clock to the next
/// timer; the hook keeps it from doing so by waking the root, which ends the run. Timers that
/// are due have been seen to by then: the time driver is polled when the clock was moved,
/// and after every task.
///
/// A run that would never be idle is ended when it has taken as many tasks as it may.
pub(super) struct Idle {
    over: AtomicBool,
    polls: AtomicU64,
    polls_max: AtomicU64,
    root: Mutex<Option<Waker>>,
    pulse: Arc<Pulse>,
}

impl Idle {
    fn new(pulse: Arc<Pulse>) -> Self {
        Self {
            over: AtomicBool::new(false),
            polls: AtomicU64::new(0),
            polls_max: AtomicU64::new(0),
            root: Mutex::new(None),
            pulse,
        }
    }

    #[cfg(tokio_unstable)]
    fn task_is_polled(&self) {
        self.pulse.beat();
        let polls = self.polls.load(Ordering::Relaxed) + 1;
        self.polls.store(polls, Ordering::Relaxed);
        if polls >= self.polls_max.load(Ordering::Relaxed) {
            self.end_run();
        }
    }

    /// Ends the run before the next task is polled, if there is one.
    pub(super) fn end_run(&self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(root) = &*self.root.lock().expect("nobody panics while holding it") {
            root.wake_by_ref();
        }
    }
}

struct UntilOver<'a>(&'a Idle);

impl Future for UntilOver<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let idle = self.0;
        idle.pulse.beat();
        if idle.over.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        let mut root = idle.root.lock().expect("nobody panics while holding it");
        if root.is_none() {
            *root = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}
