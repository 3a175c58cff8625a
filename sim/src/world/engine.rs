//! The state of a world and the steps by which it changes.
//!
//! Everything here is reachable from code on the hosts while it runs (through
//! [`context`](super::context)), so nothing here owns a runtime: a runtime cannot be dropped
//! or entered from inside another one. [`World`](super::World) does that.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::task::Waker;
use std::time::Duration;

use holdover_model::event::Event;
use holdover_model::lease::Timestamp;
use rand_chacha::ChaCha8Rng;
use tokio::time::Instant;
use turmoil_fs::FsEnterGuard;
use turmoil_net::{EnterGuard, KernelConfig, Net, Packet, Transport};

use super::budget;
use super::effect::{Active, StallId, Waiting};
use super::host::{Host, TimerId};
use super::network::{self, Fate, LinkProfile, Network};
use super::order::Order;
use super::queue::Queue;
use super::record::{FiredFault, Record, RunDigest};
use super::sight::{Sight, Watcher, see};
use super::watch::Plans;
use crate::random::Seed;

/// Something that will happen at a time.
pub(super) enum Happening {
    /// A packet arrives.
    Arrival {
        from: usize,
        to: usize,
        packet: Packet,
    },
    /// A registered deadline of a host may have come.
    Timers {
        host: usize,
    },
    /// Hosts with timers that the world cannot see are run.
    Tick,
    /// A fault planned for this time.
    Planned {
        plan_index: usize,
    },
    FaultEnds {
        id: u64,
    },
    Heal,
}

/// Looks at every record.
pub(super) type Observer = Box<dyn FnMut(&Record) -> ControlFlow<()>>;

/// See the module.
pub(crate) struct Core {
    pub(super) seed: Seed,
    pub(super) now_ns: u64,
    pub(super) queue: Queue<Happening>,
    pub(super) hosts: Vec<Host>,
    pub(super) network: Network,
    /// The sockets of all hosts, as long as hosts can be added ...
    pub(super) layout: Option<Net>,
    /// ... and from the first run on, when they are installed on this thread.
    net: Option<EnterGuard>,
    /// Hosts to be run at this instant, in this order.
    pub(super) ready: VecDeque<usize>,
    /// The host whose code runs right now.
    pub(super) running: Option<usize>,
    /// Sockets may have something to send.
    pub(super) unsent: bool,
    pub(super) plans: Plans,
    /// Plans with a lower index were ended by a heal.
    pub(super) healed_plans: usize,
    pub(super) active: Vec<Active>,
    pub(super) next_active: u64,
    pub(super) waiting: Waiting,
    pub(super) fired: Vec<FiredFault>,
    /// Crashed hosts whose process still has to be dropped.
    pub(super) crashed: Vec<usize>,
    /// Hosts that were frozen while they ran, until what they wrote since then is collected.
    pub(super) cut_off: Vec<usize>,
    /// Stands in for the disk of a crashed host whose task still runs.
    pub(super) scratch_disk: Option<FsEnterGuard>,
    pub(super) records: Vec<Record>,
    pub(super) observers: Vec<Observer>,
    pub(super) watchers: Vec<Watcher>,
    /// An observer has seen enough.
    pub(super) stopped: bool,
    pub(super) digest: RunDigest,
    pub(super) tick_ns: u64,
    pub(super) steps: u64,
    pub(super) packets: u64,
    /// At how many steps the memory is counted again.
    pub(super) memory_counted_at: u64,
    /// Kept for its allocation.
    egress: Vec<Packet>,
}

impl Core {
    pub(super) fn new(seed: Seed, link: LinkProfile, order: Order, tick_ns: u64) -> Self {
        Self {
            seed,
            now_ns: 0,
            queue: Queue::new(),
            hosts: Vec::new(),
            network: Network::new(seed, link, order),
            layout: Some(Net::with_config(sockets())),
            net: None,
            ready: VecDeque::new(),
            running: None,
            unsent: false,
            plans: Plans::default(),
            healed_plans: 0,
            active: Vec::new(),
            next_active: 0,
            waiting: Waiting::default(),
            fired: Vec::new(),
            crashed: Vec::new(),
            cut_off: Vec::new(),
            scratch_disk: None,
            records: Vec::new(),
            observers: Vec::new(),
            watchers: Vec::new(),
            stopped: false,
            digest: RunDigest::default(),
            tick_ns,
            steps: 0,
            packets: 0,
            memory_counted_at: 0,
            egress: Vec::new(),
        }
    }

    /// Installs the sockets on this thread; from now on no host can be added.
    pub(super) fn start(&mut self) {
        if let Some(layout) = self.layout.take() {
            self.net = Some(layout.enter());
            for host in 0..self.hosts.len() {
                self.mark_ready(host);
            }
            if self.hosts.iter().any(|host| host.plain_timers) {
                self.queue.push(self.tick_ns, Happening::Tick);
            }
        }
    }

    /// The installed sockets.
    pub(super) fn net(&self) -> &EnterGuard {
        self.net.as_ref().expect("hosts run and packets travel only after the start")
    }

    /// The host of that name. Plans are checked when they are added.
    pub(super) fn host_of(&self, name: &str) -> usize {
        self.hosts
            .iter()
            .position(|host| *host.name == *name)
            .expect("the hosts of a plan exist, that was checked when it was added")
    }

    // What happens.

    /// Lets the next thing happen that happens at this time; `false` if there is none.
    pub(super) fn happen_at(&mut self, at_ns: u64) -> bool {
        let Some(what) = self.queue.pop_at(at_ns) else { return false };
        self.steps += 1;
        match what {
            Happening::Arrival { from, to, packet } => self.arrive(from, to, packet),
            Happening::Timers { host } => {
                // Else an earlier deadline has been registered since, and seen to.
                if self.hosts[host].timers.scheduled_ns == Some(at_ns) {
                    self.hosts[host].timers.scheduled_ns = None;
                    self.timers_due(host);
                }
            }
            Happening::Tick => {
                for host in 0..self.hosts.len() {
                    if self.hosts[host].plain_timers {
                        self.mark_ready(host);
                    }
                }
                self.queue.push(self.now_ns + self.tick_ns, Happening::Tick);
            }
            Happening::Planned { plan_index } => {
                if plan_index >= self.healed_plans {
                    self.strike(plan_index);
                }
            }
            Happening::FaultEnds { id } => self.fault_ends(id),
            Happening::Heal => self.heal(),
        }
        true
    }

    /// The host will be run at this instant, if it can run.
    pub(super) fn mark_ready(&mut self, host: usize) {
        let state = &mut self.hosts[host];
        if !state.ready && state.runs() {
            state.ready = true;
            self.ready.push_back(host);
        }
    }

    /// The next host to be run at this instant.
    pub(super) fn next_ready(&mut self) -> Option<usize> {
        while let Some(host) = self.ready.pop_front() {
            self.hosts[host].ready = false;
            if self.hosts[host].runs() {
                return Some(host);
            }
        }
        None
    }

    /// Marks the hosts as ready that were woken by other means than the happenings of this
    /// instant: by what they sent to themselves, or through a channel from another host.
    pub(super) fn mark_woken(&mut self) {
        for host in 0..self.hosts.len() {
            if self.hosts[host].was_woken() {
                self.mark_ready(host);
            }
        }
    }

    /// Ends the current run of a host before its next task is polled.
    pub(super) fn interrupt(&mut self, host: usize) {
        if self.running == Some(host)
            && let Some(process) = &self.hosts[host].process
        {
            process.idle.end_run();
        }
    }

    // Packets.

    fn arrive(&mut self, from: usize, to: usize, packet: Packet) {
        let host = &mut self.hosts[to];
        if host.is_down() {
            if matches!(packet.payload, Transport::Tcp(_)) {
                host.inbox.push_back((from, packet));
            }
            return;
        }
        self.net().deliver(packet);
        self.unsent = true;
        if self.hosts[to].was_woken() {
            self.mark_ready(to);
        }
    }

    /// Sends what the sockets of all hosts have to send.
    pub(super) fn flush(&mut self) {
        self.unsent = false;
        let mut egress = std::mem::take(&mut self.egress);
        self.net().egress_all(&mut egress);
        for packet in egress.drain(..) {
            let Some(ends @ (from, to)) = self.network.ends(&packet) else { continue };
            if network::carries_data(&packet) && !self.hosts[from].is_down() {
                for plan_index in self.plans.at_packet(from, to) {
                    self.strike_now(plan_index);
                }
            }
            self.dispatch(ends, packet);
        }
        self.egress = egress;
        if self.running.is_none() {
            for host in self.cut_off.drain(..) {
                self.hosts[host].cut_off = false;
            }
        }
    }

    /// Decides about a packet that is about to leave its host.
    pub(super) fn dispatch(&mut self, ends: (usize, usize), packet: Packet) {
        let host = &mut self.hosts[ends.0];
        if host.is_down() {
            return;
        }
        // A frozen process sends nothing, but its kernel answers what arrives.
        if host.frozen > 0 && (host.cut_off || network::is_from_process(&packet)) {
            host.outbox.push_back((ends.1, packet));
            return;
        }
        if self.network.take_loss(ends, &packet) {
            let (to_receiver, to_sender) =
                network::resets(&packet).expect("only segments of a connection are lost so");
            self.network.follow(ends, &to_receiver);
            self.transmit(ends, to_receiver);
            self.transmit((ends.1, ends.0), to_sender);
            return;
        }
        if self.network.follow(ends, &packet) {
            self.transmit(ends, packet);
        }
    }

    pub(super) fn transmit(&mut self, ends: (usize, usize), packet: Packet) {
        self.packets += 1;
        let fate = self.network.transmit(self.now_ns, ends, packet);
        let Fate::Arrives { at_ns, again_at_ns, packet } = fate else { return };
        if let Some(again_at_ns) = again_at_ns {
            self.arrives(again_at_ns, ends, packet.clone());
        }
        self.arrives(at_ns, ends, packet);
    }

    fn arrives(&mut self, at_ns: u64, (from, to): (usize, usize), packet: Packet) {
        self.digest.packet(at_ns, from, to, &packet);
        self.queue.push(at_ns, Happening::Arrival { from, to, packet });
    }

    // What code on the hosts asks for.

    /// Records events that come true together, and then lets everybody act who waits for one of
    /// them.
    pub(super) fn emit(&mut self, host: usize, events: Vec<Event>) {
        if self.hosts[host].is_down() {
            return; // The rest of a poll in which the host crashed.
        }
        let first = self.records.len();
        for event in events {
            self.record(host, event);
        }
        for place in first..self.records.len() {
            let kind = self.records[place].event.kind();
            for plan_index in self.plans.at_event(host, kind) {
                self.strike(plan_index);
            }
        }
    }

    fn record(&mut self, host: usize, event: Event) {
        let sequence = self.records.len() as u64;
        let name = self.hosts[host].name.clone();
        let record = Record { at_ns: self.now_ns, sequence, host: name, event };
        let written = self.digest.event(host, &record);
        self.hosts[host].record_bytes += budget::record_bytes(written);
        if !self.stopped {
            for observer in &mut self.observers {
                self.stopped |= observer(&record).is_break();
            }
            if self.stopped {
                self.interrupt(host);
            }
        }
        self.see(&Sight::Event(&record));
        self.records.push(record);
    }

    /// Gives the stall that stops the task at the point, if one does.
    pub(crate) fn reach_point(&mut self, host: usize, name: &str) -> Option<StallId> {
        if !self.hosts[host].is_down() {
            see!(self, host, Point, name: name);
        }
        for plan_index in self.plans.at_point(host, name) {
            self.strike(plan_index);
        }
        let stall = self.stall_at(host, name);
        let is_frozen = !self.hosts[host].runs() && !self.hosts[host].is_down();
        if is_frozen || stall.is_some() {
            see!(self, host, Held, point: name, is_alone: !is_frozen);
        }
        stall
    }

    pub(super) fn show(&mut self, host: usize, what: &dyn Any) {
        if !self.hosts[host].is_down() {
            see!(self, host, Shown, what: what);
        }
    }

    /// Whether nothing on the host gets any further for now.
    pub(crate) fn is_halted(&self, host: usize) -> bool {
        !self.hosts[host].runs()
    }

    pub(crate) fn wake_at_thaw(&mut self, host: usize, waker: &Waker) {
        self.hosts[host].thaw_wakers.push(waker.clone());
    }

    /// Wakes `waker` when the host's clock shows `deadline`; `None` if it does already.
    pub(crate) fn register_timer(
        &mut self,
        host: usize,
        deadline: Instant,
        waker: &Waker,
    ) -> Option<TimerId> {
        let state = &mut self.hosts[host];
        let deadline_ns = state.process.as_ref()?.clock.monotonic_ns(deadline);
        if deadline_ns <= state.clock.monotonic_ns(self.now_ns) {
            return None;
        }
        let id = state.timers.insert(deadline_ns, waker.clone());
        self.schedule_timers(host);
        Some(id)
    }

    /// Keeps a registered deadline, with another waker; `false` if it has come.
    pub(crate) fn keep_timer(&mut self, host: usize, id: TimerId, waker: &Waker) -> bool {
        let state = &mut self.hosts[host];
        let waits = id.0 > state.clock.monotonic_ns(self.now_ns);
        if waits {
            state.timers.rewake(id, waker);
        }
        waits
    }

    pub(crate) fn cancel_timer(&mut self, host: usize, id: TimerId) {
        self.hosts[host].timers.remove(id);
    }

    pub(crate) fn wall_clock(&self, host: usize) -> Timestamp {
        self.hosts[host].clock.wall(self.now_ns)
    }

    pub(super) fn stream_of(&self, host: usize, label: &str) -> ChaCha8Rng {
        let Host { name, boots, .. } = &self.hosts[host];
        self.seed.stream(&format!("host {name}, boot {boots}: {label}"))
    }

    // Timers.

    pub(super) fn timers_due(&mut self, host: usize) {
        if !self.hosts[host].runs() {
            return; // They are overdue when it runs again.
        }
        let state = &mut self.hosts[host];
        state.timers.fire(state.clock.monotonic_ns(self.now_ns));
        if self.hosts[host].was_woken() {
            self.mark_ready(host);
        }
        self.schedule_timers(host);
    }

    pub(super) fn schedule_timers(&mut self, host: usize) {
        let Host { timers, clock, .. } = &mut self.hosts[host];
        let Some(earliest_ns) = timers.earliest_ns() else { return };
        let earliest_ns = clock.world_ns(earliest_ns);
        if timers.scheduled_ns.is_none_or(|scheduled_ns| earliest_ns < scheduled_ns) {
            timers.scheduled_ns = Some(earliest_ns);
            self.queue.push(earliest_ns, Happening::Timers { host });
        }
    }

    /// Makes a host current and tells by how much its clock has to be moved.
    pub(super) fn enter_host(&mut self, host: usize) -> Duration {
        self.running = Some(host);
        self.net().set_current(self.hosts[host].id);
        let state = &mut self.hosts[host];
        state.disk.files.set_now(Duration::from_nanos(state.clock.wall(self.now_ns).unix_ns));
        let process = state.process.as_mut().expect("only started processes are run");
        process.clock.advance_to(state.clock.monotonic_ns(self.now_ns))
    }
}

/// How the sockets of every host are set up.
fn sockets() -> KernelConfig {
    KernelConfig::default()
        // The network keeps and orders segments, so sockets have nothing to retransmit.
        .retx_threshold(u32::MAX)
        .retx_max(u32::MAX)
        // The sockets announce a window that has opened again only after one large read, and
        // do not probe a closed one: a connection whose receiver ever falls this far behind
        // would hang for good.
        .recv_buf_cap(16 << 20)
}
