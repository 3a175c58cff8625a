//! What each fault does to the world when it strikes, and how it ends.
//!
//! A new kind of fault is an arm in [`Core::begin`] and one in [`Core::end`]. Faults of one
//! kind may overlap, so what is on is counted, never just set.

use turmoil_fs::Fs;

use super::engine::{Core, Happening};
use super::network::{Half, Loss};
use super::record::FiredFault;
use crate::fault::Fault;

/// A fault that is on.
pub(super) struct Active {
    id: u64,
    fault: Fault,
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
            self.holds(fault);
        }
    }

    /// A fault that has taken hold ends in its time.
    pub(super) fn holds(&mut self, fault: Fault) {
        if let Some(lasts_us) = fault.lasts_us() {
            let id = self.next_active;
            self.next_active += 1;
            let ends_ns = self.now_ns.saturating_add(lasts_us.saturating_mul(1_000));
            self.active.push(Active { id, fault });
            self.queue.push(ends_ns, Happening::FaultEnds { id });
        }
    }

    pub(super) fn fault_ends(&mut self, id: u64) {
        if let Some(index) = self.active.iter().position(|active| active.id == id) {
            let active = self.active.remove(index);
            self.end(&active.fault);
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
        for active in std::mem::take(&mut self.active) {
            self.end(&active.fault);
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
        }
        true
    }

    fn end(&mut self, fault: &Fault) {
        match fault {
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
            Fault::LoseRequest { .. } | Fault::LoseResponse { .. } => {}
            Fault::Delay { from, to, extra_us, .. } => {
                let (from, to) = (self.host_of(from), self.host_of(to));
                self.network.link(from, to).extra_ns -= extra_ns(*extra_us);
            }
            Fault::Disk(fault) => self.end_disk(fault),
        }
    }

    pub(super) fn freeze(&mut self, host: usize) -> bool {
        let state = &mut self.hosts[host];
        if state.is_down() {
            return false;
        }
        state.frozen += 1;
        if self.running == Some(host) {
            state.cut_off = true;
            self.cut_off.push(host);
            self.interrupt(host);
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
        // A freeze ends with the process that it held.
        let name = self.hosts[host].name.clone();
        self.active.retain(
            |active| !matches!(&active.fault, Fault::Freeze { host, .. } if **host == *name),
        );
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
