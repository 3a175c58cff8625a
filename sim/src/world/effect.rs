//! What each fault does to the world when it strikes, and how it ends.
//!
//! A new kind of fault is an arm in [`Core::begin`] and one in [`Core::end`]. Faults of one
//! kind may overlap, so what is on is counted, never just set.

mod crash_loop;
mod message;
mod network;
mod stall;

use std::task::Waker;

use turmoil_fs::Fs;

use super::engine::{Core, Happening};
use super::link::remove_one;
use super::network::{Half, Loss};
use super::record::FiredFault;
use super::sight::{Sight, see};
use crate::fault::Fault;
use message::MessageFault;
pub(crate) use stall::StallId;
use stall::WaitingStall;

/// A fault that is on.
pub(super) struct Active {
    id: u64,
    fault: Fault,
    state: State,
}

/// What is special about a fault that is on.
enum State {
    /// Nothing.
    Plain,
    /// It stops a task, which is woken so at the end.
    Stalls { host: usize, task: Option<Waker> },
    /// It is between two crashes of a loop.
    Rests,
}

/// Faults that have struck and wait for what they can take hold of. (Those that wait for a
/// packet are kept by the network.)
#[derive(Default)]
pub(super) struct Waiting {
    stalls: Vec<WaitingStall>,
    messages: Vec<MessageFault>,
}

/// How long a fault is on once it has taken hold; `None` for what happens once and is over,
/// or waits for something.
fn lasts_us(fault: &Fault) -> Option<u64> {
    match *fault {
        Fault::Freeze { for_us, .. }
        | Fault::Crash { restart_after_us: for_us, .. }
        | Fault::CrashLoop { down_us: for_us, .. }
        | Fault::ClockDrift { for_us, .. }
        | Fault::Partition { for_us, .. }
        | Fault::PartitionOneWay { for_us, .. }
        | Fault::PartitionGroups { for_us, .. }
        | Fault::Delay { for_us, .. }
        | Fault::SlowLink { for_us, .. }
        | Fault::LoseDatagrams { for_us, .. }
        | Fault::DuplicateDatagrams { for_us, .. }
        | Fault::ReorderDatagrams { for_us, .. } => Some(for_us),
        Fault::Disk(ref fault) => Some(fault.lasts_us()),
        Fault::Stall { .. }
        | Fault::ClockStep { .. }
        | Fault::LoseRequest { .. }
        | Fault::LoseResponse { .. }
        | Fault::Late { .. }
        | Fault::Reset { .. }
        | Fault::LoseMessage { .. }
        | Fault::Redeliver { .. } => None,
    }
}

impl Core {
    /// A planned fault strikes.
    pub(super) fn strike(&mut self, plan_index: usize) {
        // What was written before this moment has left.
        self.flush();
        self.strike_now(plan_index);
    }

    /// The same in the middle of sending, when there is nothing left to flush.
    pub(super) fn strike_now(&mut self, plan_index: usize) {
        let fault = self.plans.planned[plan_index].fault.clone();
        let fired = FiredFault { at_ns: self.now_ns, plan_index, fault: fault.clone() };
        self.digest.fault(&fired);
        self.fired.push(fired);
        if self.begin(&fault) {
            self.see(&Sight::Struck { at_ns: self.now_ns, fault: &fault });
            self.holds(fault);
        }
    }

    /// A fault that has taken hold ends in its time.
    pub(super) fn holds(&mut self, fault: Fault) {
        if let Some(lasts_us) = lasts_us(&fault) {
            self.put_on(fault, State::Plain, lasts_us);
        }
    }

    /// From now on a fault is on, for so long.
    fn put_on(&mut self, fault: Fault, state: State, for_us: u64) -> u64 {
        let id = self.next_active;
        self.next_active += 1;
        let ends_ns = self.now_ns.saturating_add(for_us.saturating_mul(1_000));
        self.active.push(Active { id, fault, state });
        self.queue.push(ends_ns, Happening::FaultEnds { id });
        id
    }

    pub(super) fn fault_ends(&mut self, id: u64) {
        if let Some(index) = self.active.iter().position(|active| active.id == id) {
            let active = self.active.remove(index);
            let was_resting = matches!(active.state, State::Rests);
            self.end(&active);
            self.see(&Sight::Ended { at_ns: self.now_ns, fault: &active.fault });
            if let Fault::CrashLoop { .. } = active.fault {
                self.go_on_crashing(active.fault, was_resting);
            }
        }
    }

    /// All faults end, and those that still wait never strike.
    pub(super) fn heal(&mut self) {
        if self.unsent {
            self.flush();
        }
        self.plans.disarm();
        self.healed_plans = self.plans.planned.len();
        self.network.losses.clear();
        self.network.late.clear();
        self.waiting = Waiting::default();
        for active in std::mem::take(&mut self.active) {
            self.end(&active);
            self.see(&Sight::Ended { at_ns: self.now_ns, fault: &active.fault });
        }
    }

    /// Tells whether there was anything for the fault to take hold of.
    fn begin(&mut self, fault: &Fault) -> bool {
        match fault {
            Fault::Freeze { host, .. } => return self.freeze(self.host_of(host)),
            Fault::Crash { host, .. } => self.crash(self.host_of(host)),
            Fault::Partition { a, b, .. } => {
                for (from, to) in self.pairs(a, b) {
                    self.network.link(from, to).cuts += 1;
                    self.network.link(to, from).cuts += 1;
                }
            }
            Fault::PartitionOneWay { from, to, .. } => {
                let (from, to) = (self.host_of(from), self.host_of(to));
                self.network.link(from, to).cuts += 1;
            }
            Fault::LoseRequest { from, to } => self.lose(from, to, Half::Request),
            Fault::LoseResponse { from, to } => self.lose(from, to, Half::Response),
            Fault::Delay { from, to, extra_us, .. } => {
                let (from, to) = (self.host_of(from), self.host_of(to));
                self.network.link(from, to).extra_ns += extra_ns(*extra_us);
            }
            Fault::Disk(fault) => self.begin_disk(fault),
            Fault::Stall { host, point, for_us } => self.await_stall(host, point, *for_us),
            Fault::CrashLoop { host, times, .. } => {
                if *times == 0 {
                    return false;
                }
                self.crash(self.host_of(host));
            }
            Fault::ClockStep { host, by_us } => {
                let host = self.host_of(host);
                self.hosts[host].clock.step(*by_us);
            }
            Fault::ClockDrift { host, ppm, .. } => self.drift(host, i64::from(*ppm)),
            Fault::PartitionGroups { groups, .. } => self.part(groups),
            Fault::Late { from, to, extra_us } => {
                let (from, to) = (self.host_of(from), self.host_of(to));
                self.network.late.push((from, to, extra_ns(*extra_us)));
            }
            Fault::Reset { a, b } => self.reset_connections(self.host_of(a), self.host_of(b)),
            Fault::SlowLink { from, to, bytes_per_s, .. } => {
                self.link_between(from, to).bytes_per_s.push(*bytes_per_s);
            }
            Fault::LoseDatagrams { from, to, percent, .. } => {
                self.link_between(from, to).datagrams.loss.push(*percent);
            }
            Fault::DuplicateDatagrams { from, to, percent, .. } => {
                self.link_between(from, to).datagrams.duplication.push(*percent);
            }
            Fault::ReorderDatagrams { from, to, percent, extra_us, .. } => {
                let how = (*percent, extra_ns(*extra_us));
                self.link_between(from, to).datagrams.reordering.push(how);
            }
            Fault::LoseMessage { .. } | Fault::Redeliver { .. } => self.await_message(fault),
        }
        true
    }

    fn end(&mut self, active: &Active) {
        match &active.fault {
            Fault::Freeze { host, .. } => self.thaw(self.host_of(host)),
            Fault::Crash { host, .. } => self.restart(self.host_of(host)),
            Fault::Partition { a, b, .. } => {
                for (from, to) in self.pairs(a, b) {
                    self.rejoin(from, to);
                    self.rejoin(to, from);
                }
            }
            Fault::PartitionOneWay { from, to, .. } => {
                self.rejoin(self.host_of(from), self.host_of(to));
            }
            Fault::Delay { from, to, extra_us, .. } => {
                let (from, to) = (self.host_of(from), self.host_of(to));
                self.network.link(from, to).extra_ns -= extra_ns(*extra_us);
            }
            Fault::Disk(fault) => self.end_disk(fault),
            Fault::Stall { .. } => self.end_stall(&active.state),
            Fault::CrashLoop { host, .. } => {
                if !matches!(active.state, State::Rests) {
                    self.restart(self.host_of(host));
                }
            }
            Fault::ClockDrift { host, ppm, .. } => self.drift(host, -i64::from(*ppm)),
            Fault::PartitionGroups { groups, .. } => self.join(groups),
            Fault::SlowLink { from, to, bytes_per_s, .. } => {
                remove_one(&mut self.link_between(from, to).bytes_per_s, bytes_per_s);
            }
            Fault::LoseDatagrams { from, to, percent, .. } => {
                remove_one(&mut self.link_between(from, to).datagrams.loss, percent);
            }
            Fault::DuplicateDatagrams { from, to, percent, .. } => {
                remove_one(&mut self.link_between(from, to).datagrams.duplication, percent);
            }
            Fault::ReorderDatagrams { from, to, percent, extra_us, .. } => {
                let how = (*percent, extra_ns(*extra_us));
                remove_one(&mut self.link_between(from, to).datagrams.reordering, &how);
            }
            Fault::LoseRequest { .. }
            | Fault::LoseResponse { .. }
            | Fault::ClockStep { .. }
            | Fault::Late { .. }
            | Fault::Reset { .. }
            | Fault::LoseMessage { .. }
            | Fault::Redeliver { .. } => {}
        }
    }

    /// From now on the clocks of a host run faster by this much, or slower.
    fn drift(&mut self, host: &str, by_ppm: i64) {
        let host = self.host_of(host);
        self.hosts[host].clock.drift(self.now_ns, by_ppm);
        // Its deadlines come earlier now, or later.
        self.schedule_timers(host);
    }

    pub(super) fn freeze(&mut self, host: usize) -> bool {
        let state = &mut self.hosts[host];
        if state.is_down() {
            return false;
        }
        state.frozen += 1;
        let is_first = state.frozen == 1;
        if self.running == Some(host) {
            state.cut_off = true;
            self.cut_off.push(host);
            self.interrupt(host);
        }
        if is_first {
            see!(self, host, Frozen);
        }
        true
    }

    fn thaw(&mut self, host: usize) {
        let state = &mut self.hosts[host];
        state.frozen -= 1;
        if state.frozen > 0 {
            return;
        }
        for waker in state.thaw_wakers.drain(..) {
            waker.wake();
        }
        see!(self, host, Thawed);
        let state = &mut self.hosts[host];
        for (to, packet) in std::mem::take(&mut state.outbox) {
            self.dispatch((host, to), packet);
        }
        self.timers_due(host);
        self.mark_ready(host);
    }

    /// The power is gone.
    fn crash(&mut self, host: usize) {
        self.stop(host);
        self.hosts[host].disk.lose_power(0);
    }

    /// Nothing of the process runs any more. It is dropped as soon as it does not run.
    pub(super) fn stop(&mut self, host: usize) {
        self.interrupt(host);
        // A freeze and a stall end with the process that they held.
        let name = self.hosts[host].name.clone();
        self.active.retain(|active| {
            !matches!(&active.fault, Fault::Freeze { host, .. } | Fault::Stall { host, .. }
                if **host == *name)
        });
        if !self.hosts[host].is_down() {
            see!(self, host, Down);
        }
        let state = &mut self.hosts[host];
        state.crashes += 1;
        state.frozen = 0;
        state.outbox.clear();
        state.thaw_wakers.clear();
        state.timers.clear();
        if self.running == Some(host) {
            // The task that runs right now still runs to its next await. It must not reach
            // the disk any more, so it gets one that nobody will ever read.
            self.scratch_disk.get_or_insert_with(|| Fs::default().enter());
        }
        self.crashed.push(host);
    }

    pub(super) fn restart(&mut self, host: usize) {
        let state = &mut self.hosts[host];
        state.crashes -= 1;
        if state.crashes > 0 {
            return;
        }
        see!(self, host, Up);
        let state = &mut self.hosts[host];
        // To its peers it was silent, so they have been sending again and again: what they
        // sent arrives soon, and finds a kernel that knows none of it.
        for (from, packet) in std::mem::take(&mut state.inbox) {
            self.transmit((from, host), packet);
        }
        self.mark_ready(host);
    }

    fn rejoin(&mut self, from: usize, to: usize) {
        let link = self.network.link(from, to);
        link.cuts -= 1;
        for packet in self.network.release(from, to) {
            self.transmit((from, to), packet);
        }
    }

    fn lose(&mut self, client: &str, server: &str, half: Half) {
        let (client, server) = (self.host_of(client), self.host_of(server));
        self.network.losses.push(Loss { client, server, half });
    }

    fn pairs(&self, a: &[String], b: &[String]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for one in a {
            for other in b {
                let pair = (self.host_of(one), self.host_of(other));
                if pair.0 != pair.1 {
                    pairs.push(pair);
                }
            }
        }
        pairs
    }
}

/// Far beyond any run, and small enough that many of them can be added.
fn extra_ns(extra_us: u64) -> u64 {
    extra_us.saturating_mul(1_000).min(u64::MAX >> 20)
}
