//! A simulated world: hosts, the network between them, and time.
//!
//! The engine is driven by events. It keeps a queue of what will happen and when, takes the
//! next instant, lets it happen, and runs only the hosts that it concerns, each until it is
//! idle. Time between two events costs nothing.
//!
//! * [`World`] adds hosts, plans faults and runs.
//! * [`emit`], [`emit_together`], [`show`], [`host_name`], [`random`], [`since_start`] are for the
//!   code on the hosts.
//!
//! # Whose code can run here
//!
//! Any that is asynchronous on tokio: `tokio::spawn` and `spawn_local`, channels, `select!`,
//! tokio's timers, codecs, hyper, axum. What has to change is where sockets and files come
//! from, one line for each import:
//!
//! ```text
//! #[cfg(test)]
//! use holdover::net::{TcpListener, TcpStream};
//! #[cfg(not(test))]
//! use tokio::net::{TcpListener, TcpStream};
//! ```
//!
//! [`net`](crate::net) stands for `tokio::net`, [`fs`](crate::fs) for `std::fs`,
//! [`time`](crate::time) for `tokio::time` (or keep tokio's own, see [`HostOptions`]).
//! Randomness comes from [`random`]. The tests run an HTTP service made with axum.
//!
//! # What cannot be controlled, and how it is noticed
//!
//! | in the code on a host | what happens |
//! | --- | --- |
//! | `spawn_blocking`, and so `tokio::fs`, `lookup_host`, standard input and output | the task panics, and the run ends as [`RunEnd::Panicked`] with the host's name and what to use instead |
//! | sockets of `tokio::net` | the same: the runtime has no I/O driver |
//! | tasks that wake themselves or each other for ever, timers of zero | [`RunEnd::Stuck`] names the host; needs `tokio_unstable`, see below |
//! | code that neither ends nor awaits | nothing inside of the process can interrupt it; a [`Sweep`](crate::sweep::Sweep) and a replay notice it from another thread, by the [`Pulse`], and name seed, plan and host; a plain [`World::run_for`] waits for ever |
//! | the order of a `HashMap`, `getrandom`, `Instant::now`, `SystemTime::now`, a real thread, real files and sockets of `std` | not intercepted; if it changes the run, two runs of one seed differ, which [`check_determinism`](crate::sweep::Sweep::check_determinism) finds, and so does saving or replaying a failure: the first moment that differs is named, with its time and host |
//! | memory that the code allocates itself | not counted: only events and packets are |
//!
//! What is deterministic without any help: the order of tasks, of timers, of packets and of
//! `biased` selects, ports, addresses, latencies, [`random`], `tokio::time::Instant` and
//! [`time::unix_now`](crate::time::unix_now).
//!
//! Hash keys, the machine's randomness and its clocks are not replaced, because that takes
//! symbols of libc, which works on some systems only and for the whole process, other runs
//! and the test harness included. Use `BTreeMap`, [`random`] and [`time`](crate::time); with
//! hyper's servers, `auto_date_header(false)`.
//!
//! # With `--cfg tokio_unstable`
//!
//! Tokio lets its own randomness be seeded and its tasks be counted in its unstable interface
//! only. This repository sets it in `.cargo/config.toml`; in yours, do the same:
//!
//! ```toml
//! [build]
//! rustflags = ["--cfg", "tokio_unstable"]
//! ```
//!
//! Then the order in which a `select!` without `biased` polls comes from the run's seed, and
//! a busy loop is [`RunEnd::Stuck`]. Without it that order is the operating system's, so a
//! `select!` has to be `biased`, and a busy loop looks like code that never awaits. The runs
//! are the same in both cases, and as fast.
//!
//! Hosts that share memory can wake each other; that takes no time and no fault can stop it.

mod budget;
mod clock;
mod config;
pub(crate) mod context;
mod disk;
mod effect;
mod engine;
mod host;
mod link;
mod network;
mod order;
mod pulse;
mod queue;
mod record;
mod sight;
mod trace;
mod watch;

use std::any::Any;
use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use holdover_model::event::Event;
use rand_chacha::ChaCha8Rng;
use rand_core::Rng as _;
use turmoil_fs::Fs;
use turmoil_net::netstat;

use crate::fault::{DiskFault, Fault, PlannedFault};
use crate::random::Seed;
use budget::Exceeded;
use context::Lives;
use engine::{Core, Happening};
use host::{Boot, Host, Process};

pub use clock::START_UNIX_NS;
pub use config::{HostOptions, RunEnd, WorldConfig};
pub(crate) use effect::StallId;
pub(crate) use host::TimerId;
pub use network::LinkProfile;
pub use order::Order;
pub use pulse::Pulse;
pub use record::{FiredFault, Record};
pub use sight::{Sight, SightKind};
pub use trace::{Moment, What};

/// A plan names a host that is not there.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no host is called `{name}`; there are: {known}")]
pub struct UnknownHost {
    name: String,
    known: String,
}

/// A simulated world. See the [module](self).
///
/// Hosts are added first, then it runs. From its first run on a world stays on its thread and
/// is the only one there until it is dropped.
pub struct World {
    config: WorldConfig,
    machines: Vec<Machine>,
    pulse: Arc<Pulse>,
    core: Rc<RefCell<Core>>,
    lives: Option<Lives>,
}

/// What a host runs each time it boots, and what runs there now.
struct Machine {
    boot: Boot,
    process: Option<Process>,
}

impl World {
    /// A world without hosts, at time zero.
    pub fn new(seed: Seed, config: WorldConfig) -> Self {
        let LinkProfile { latency_us_min, latency_us_max } = config.link;
        assert!(
            latency_us_min <= latency_us_max,
            "the smallest latency, {latency_us_min} us, exceeds the largest, {latency_us_max} us",
        );
        context::watch_panics();
        let tick_us = config.timer_resolution_us.max(1);
        let core = Core::new(seed, config.link, config.order, tick_us.saturating_mul(1_000));
        Self {
            config,
            machines: Vec::new(),
            pulse: Arc::default(),
            core: Rc::new(RefCell::new(core)),
            lives: None,
        }
    }

    /// Shows to other threads that the world is alive. See [`Pulse`].
    pub fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.pulse)
    }

    /// Adds a host that may use tokio's timers directly. See [`host_with`](Self::host_with).
    pub fn host<F: Future<Output = ()> + 'static>(
        &mut self,
        name: &str,
        boot: impl Fn() -> F + 'static,
    ) {
        self.host_with(name, HostOptions::default(), boot);
    }

    /// Adds a host. `boot` makes its main task, at the start and again at each restart.
    ///
    /// The host goes on when its main task ends, for the sake of the tasks that it spawned.
    ///
    /// # Panics
    ///
    /// When the name is taken, or when the world has already run.
    pub fn host_with<F: Future<Output = ()> + 'static>(
        &mut self,
        name: &str,
        options: HostOptions,
        boot: impl Fn() -> F + 'static,
    ) {
        let mut core = self.core.borrow_mut();
        assert!(
            core.hosts.iter().all(|host| *host.name != *name),
            "there already is a host called `{name}`",
        );
        let layout = core
            .layout
            .as_mut()
            .unwrap_or_else(|| panic!("host `{name}` is added to a world that has already run"));
        let id = layout.add_host(name);
        let address = layout.lookup(name);
        core.network.add_host(address);
        let disk_seed = core.seed.stream(&format!("disk of {name}")).next_u64();
        let host = Host::new(name, id, address, options.plain_timers, disk_seed);
        self.pulse.add_host(host.name.clone());
        core.hosts.push(host);
        self.machines.push(Machine { boot: Rc::new(move || Box::pin(boot())), process: None });
    }

    /// Runs every host that was added so far as one with [plain
    /// timers](HostOptions::plain_timers), whatever its options say.
    pub fn expect_plain_timers(&mut self) {
        for host in &mut self.core.borrow_mut().hosts {
            host.plain_timers = true;
        }
    }

    /// Plans a fault; gives its index among the planned faults. What its trigger counts, it
    /// counts from now on.
    ///
    /// # Errors
    ///
    /// When it names a host that was not added.
    pub fn plan(&mut self, planned: PlannedFault) -> Result<usize, UnknownHost> {
        let core = &mut *self.core.borrow_mut();
        let Core { hosts, plans, .. } = core;
        for name in planned.trigger.hosts().into_iter().chain(planned.fault.hosts()) {
            if hosts.iter().all(|host| *host.name != *name) {
                let known: Vec<_> = hosts.iter().map(|host| &*host.name).collect();
                return Err(UnknownHost { name: name.to_owned(), known: known.join(", ") });
            }
        }
        let host_of = |name: &str| {
            hosts.iter().position(|host| *host.name == *name).expect("that was checked above")
        };
        let watched = if let Fault::Disk(fault) = &planned.fault {
            Some((host_of(fault.host()), matches!(fault, DiskFault::Restore { .. })))
        } else {
            None
        };
        let (plan_index, due_ns) = plans.add(planned, host_of);
        if let Some((host, needs_backups)) = watched {
            let disk = &mut core.hosts[host].disk;
            disk.watch();
            if needs_backups {
                let every_us = self.config.backup_every_us.max(1);
                disk.back_up(core.now_ns, every_us.saturating_mul(1_000));
            }
        }
        if let Some(due_ns) = due_ns {
            core.queue.push(due_ns.max(core.now_ns), Happening::Planned { plan_index });
        }
        Ok(plan_index)
    }

    /// Shows every record to `observer`, in order, at the moment when it is emitted.
    ///
    /// `Break` ends the run: the task that emitted the record goes on to its next await and
    /// nothing else runs. An observer looks on from outside: if it emits, waits or asks for
    /// the time, it panics.
    pub fn observe(&mut self, observer: impl FnMut(&Record) -> ControlFlow<()> + 'static) {
        self.core.borrow_mut().observers.push(Box::new(observer));
    }

    /// Shows to `watcher` all that can be seen from outside at the moment when it happens:
    /// records, faults, pauses, crashes, points. Like an observer it must not touch the world.
    pub fn watch(&mut self, watcher: impl FnMut(&Sight<'_>) + 'static) {
        self.core.borrow_mut().watchers.push(Box::new(watcher));
    }

    /// Runs for this long, if nothing ends the run before.
    pub fn run_for(&mut self, duration: Duration) -> RunEnd {
        let now_ns = self.core.borrow().now_ns;
        self.run_until_ns(now_ns.saturating_add(nanoseconds(duration)))
    }

    /// Runs until this time since the start, if nothing ends the run before.
    pub fn run_until(&mut self, at: Duration) -> RunEnd {
        self.run_until_ns(nanoseconds(at))
    }

    /// Ends all faults now: frozen hosts thaw, crashed ones restart, partitions and delays
    /// end, and what is planned so far and still waits never strikes.
    pub fn heal(&mut self) {
        // A run may have been stopped in the very moment of a crash.
        self.bury_crashed();
        self.core.borrow_mut().heal();
    }

    /// The same at a time since the start.
    pub fn heal_at(&mut self, at: Duration) {
        let core = &mut *self.core.borrow_mut();
        core.queue.push(nanoseconds(at).max(core.now_ns), Happening::Heal);
    }

    /// The time since the start.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.core.borrow().now_ns)
    }

    /// A digest over all that happened so far: every event, fault and packet with its time.
    /// Runs whose digests are equal cannot be told apart by any of these.
    pub fn digest(&self) -> [u8; 32] {
        self.core.borrow().digest.value()
    }

    /// Keeps from now on everything that goes into the digest, so that two runs whose digests
    /// differ can be compared moment by moment. This takes much memory.
    pub fn record_trace(&mut self) {
        self.core.borrow_mut().digest.record_trace();
    }

    /// What was kept since [`record_trace`](Self::record_trace), in order.
    pub fn trace(&self) -> Vec<Moment> {
        let core = self.core.borrow();
        core.digest.trace_of(|host| core.hosts[host].name.clone())
    }

    /// Every event so far, in order.
    pub fn records(&self) -> std::cell::Ref<'_, [Record]> {
        std::cell::Ref::map(self.core.borrow(), |core| core.records.as_slice())
    }

    /// The faults that have struck so far, in order.
    pub fn faults_fired(&self) -> Vec<FiredFault> {
        self.core.borrow().fired.clone()
    }

    /// How many steps were taken so far: happenings and runs of hosts.
    pub fn steps(&self) -> u64 {
        self.core.borrow().steps
    }

    /// Lets the run take fewer steps than its configuration says.
    pub fn limit_steps(&mut self, steps_max: u64) {
        self.config.steps_max = self.config.steps_max.min(steps_max);
    }

    /// How many packets were sent on their way so far.
    pub fn packets(&self) -> u64 {
        self.core.borrow().packets
    }

    fn run_until_ns(&mut self, deadline_ns: u64) -> RunEnd {
        if self.lives.is_none() {
            self.lives = Some(Lives::claim());
        }
        let core = Rc::clone(&self.core);
        core.borrow_mut().start();
        core.borrow_mut().stopped = false;
        loop {
            if let Some(end) = self.settle() {
                return end;
            }
            let at_ns = {
                let mut core = core.borrow_mut();
                let Some(at_ns) = core.queue.next_at_ns() else { return RunEnd::Idle };
                if at_ns > deadline_ns {
                    core.now_ns = core.now_ns.max(deadline_ns);
                    return RunEnd::Deadline;
                }
                if let Some(exceeded) = core.check_budgets(&self.config) {
                    return end_of(&core, &exceeded);
                }
                core.now_ns = at_ns;
                at_ns
            };
            while core.borrow_mut().happen_at(at_ns) {
                // Before anything else happens, such as a restart at the same instant.
                self.bury_crashed();
            }
        }
    }

    /// Lets everything happen that can happen without time passing.
    fn settle(&mut self) -> Option<RunEnd> {
        loop {
            self.bury_crashed();
            let next = {
                let mut core = self.core.borrow_mut();
                if core.stopped {
                    return Some(RunEnd::Stopped);
                }
                if !core.ready.is_empty()
                    && let Some(exceeded) = core.check_budgets(&self.config)
                {
                    return Some(end_of(&core, &exceeded));
                }
                core.next_ready()
            };
            if let Some(host) = next {
                let end = self.run_host(host);
                if end.is_some() {
                    return end;
                }
                continue;
            }
            let mut core = self.core.borrow_mut();
            if !core.unsent {
                return None;
            }
            core.flush();
            core.mark_woken();
        }
    }

    /// Runs a host until it is idle at this instant; gives an end if that is one of the run.
    fn run_host(&mut self, host: usize) -> Option<RunEnd> {
        self.pulse.enter(host);
        let machine = &mut self.machines[host];
        let boots = machine.process.is_none();
        let (polls_max, advance, disk);
        let process = {
            let mut core = self.core.borrow_mut();
            core.steps += 1;
            let now_ns = core.now_ns;
            if boots {
                core.hosts[host].boots += 1;
            }
            let process = machine.process.get_or_insert_with(|| {
                let seed = core.stream_of(host, "select").next_u64();
                Process::start(Arc::clone(&self.pulse), seed.to_le_bytes())
            });
            if boots {
                let monotonic_ns = core.hosts[host].clock.monotonic_ns(now_ns);
                core.hosts[host].process = Some(process.view(monotonic_ns));
            }
            polls_max =
                self.config.polls_at_instant_max.saturating_sub(core.hosts[host].effort.at(now_ns));
            (advance, disk) = (core.enter_host(host), core.hosts[host].disk.files.clone());
            process
        };
        let polls = {
            let _disk = disk.enter();
            let _host = context::enter(&self.core, host);
            let polls = process.run(advance, boots.then_some(&machine.boot), polls_max);
            // Entered after the disk, so it has to be left before.
            drop(self.core.borrow_mut().scratch_disk.take());
            polls
        };
        let mut core = self.core.borrow_mut();
        core.running = None;
        // A host that was run for its timers only, and had none, has touched no socket.
        core.unsent |= polls > 0;
        if core.stopped || polls >= polls_max {
            // It was interrupted and has more to do if the run goes on.
            core.mark_ready(host);
        }
        let now_ns = core.now_ns;
        let state = &mut core.hosts[host];
        state.effort.add(now_ns, polls);
        let panic = context::take_panic();
        // What a task does after its host has crashed did not happen.
        if state.is_down() {
            return None;
        }
        let name = || state.name.to_string();
        if let Some(message) = panic {
            return Some(RunEnd::Panicked { host: name(), message });
        }
        (polls >= polls_max).then(|| RunEnd::Stuck { host: name() })
    }

    /// Drops the processes of crashed hosts such that their peers notice nothing.
    fn bury_crashed(&mut self) {
        loop {
            let Some(host) = self.core.borrow_mut().crashed.pop() else { return };
            let Some(process) = self.machines[host].process.take() else { continue };
            let (address, connections) = {
                let mut core = self.core.borrow_mut();
                core.net().set_current(core.hosts[host].id);
                core.hosts[host].process = None;
                let address = core.hosts[host].address;
                (address, netstat(address).entries)
            };
            self.drop_process(host, process);
            // What is left of its connections would say goodbye. A reset silences them, and
            // while the host is down nothing of what its sockets emit leaves.
            let mut core = self.core.borrow_mut();
            for connection in connections {
                if let Some(peer) = connection.peer {
                    let local = SocketAddr::new(address, connection.local.port());
                    core.net().deliver(network::reset(peer, local));
                }
            }
            core.flush();
        }
    }

    /// Drops a process where its destructors can do no harm.
    fn drop_process(&self, host: usize, process: Process) {
        let _disk = Fs::default().enter();
        let _host = context::enter(&self.core, host);
        drop(process);
        context::take_panic();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The run is over: what destructors emit is not part of it.
        self.core.borrow_mut().observers.clear();
        self.core.borrow_mut().watchers.clear();
        for host in 0..self.machines.len() {
            if let Some(process) = self.machines[host].process.take() {
                {
                    let core = self.core.borrow();
                    core.net().set_current(core.hosts[host].id);
                }
                self.drop_process(host, process);
            }
        }
    }
}

fn end_of(core: &Core, exceeded: &Exceeded) -> RunEnd {
    let name = |host: usize| core.hosts[host].name.to_string();
    match *exceeded {
        Exceeded::Steps { host } => RunEnd::OutOfSteps { host: name(host) },
        Exceeded::Memory { host } => RunEnd::OutOfMemory { host: name(host) },
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Emits an event: as a `tracing` event under the target `holdover`, and inside a simulation
/// also as evidence of the run.
pub fn emit(event: Event) {
    emit_together(vec![event]);
}

/// Emits events that come true together, such as all that one write has made durable: a fault that
/// waits for one of them strikes when all are evidence.
pub fn emit_together(events: Vec<Event>) {
    for event in &events {
        tracing::info!(target: "holdover", kind = event.kind().as_str(), ?event);
    }
    context::with_current(|core, host| core.emit(host, events));
}

/// Shows something to whoever [watches](World::watch) the world, such as a message that has just
/// arrived. It is no evidence and in no digest; outside of a simulation nobody sees it.
pub fn show(what: &dyn Any) {
    context::with_current(|core, host| core.show(host, what));
}

/// The world's own time since the start, which no clock on a host can be trusted to show;
/// `None` outside of a simulation. For workloads and for tests, not for code under test.
pub fn since_start() -> Option<Duration> {
    context::with_current(|core, _| Duration::from_nanos(core.now_ns))
}

/// The name of the host that the calling code runs on; `None` outside of a simulation.
pub fn host_name() -> Option<Arc<str>> {
    context::with_current(|core, host| core.hosts[host].name.clone())
}

/// A random stream for this purpose on this host, different after every restart.
///
/// Each call starts the stream anew: call it once and keep what it gives.
///
/// # Panics
///
/// Outside of a simulation, where there is no seed.
pub fn random(label: &str) -> ChaCha8Rng {
    context::with_current(|core, host| core.stream_of(host, label))
        .expect("holdover::world::random is for code on a simulated host")
}

/// How often the disk of this host was replaced by a backup: what whoever runs a restore tells
/// the process, so no restore can set it back. Always 0 outside of a simulation.
pub fn restores() -> u32 {
    context::with_current(|core, host| core.hosts[host].disk.restores()).unwrap_or(0)
}

/// Crashes the calling host; it boots again after this long.
///
/// For a process that must not go on, because its disk failed: what it could not sync is not
/// known to be there, so nothing may be said that rests on it. As in any crash, its peers
/// notice nothing until it is up again, and unsynced writes are gone; so are those that a
/// real kernel could not write back.
///
/// Outside of a simulation this is `std::process::abort`, and starting again is up to a
/// service manager.
pub async fn fail_stop(restart_after: Duration) -> Infallible {
    let restart_after_us = u64::try_from(restart_after.as_micros()).unwrap_or(u64::MAX);
    if context::with_current(|core, host| core.fail_stop(host, restart_after_us)).is_none() {
        std::process::abort();
    }
    std::future::pending().await
}
