//! Tasks that stop at a named point while their process lives on.

use std::task::Waker;

use super::{Active, Core, State};
use crate::fault::Fault;

/// Identifies a stall that stops a task.
pub(crate) type StallId = u64;

/// A stall that waits for a task to come by.
pub(super) struct WaitingStall {
    host: usize,
    point: String,
    for_us: u64,
}

impl Core {
    pub(super) fn await_stall(&mut self, host: &str, point: &str, for_us: u64) {
        let host = self.host_of(host);
        self.waiting.stalls.push(WaitingStall { host, point: point.into(), for_us });
    }

    /// The stall that stops a task that has just reached a point, if one does.
    pub(in crate::world) fn stall_at(&mut self, host: usize, point: &str) -> Option<StallId> {
        if self.waiting.stalls.is_empty() || self.hosts[host].is_down() {
            return None;
        }
        let is_met = |stall: &WaitingStall| stall.host == host && stall.point == point;
        let index = self.waiting.stalls.iter().position(is_met)?;
        let WaitingStall { point, for_us, .. } = self.waiting.stalls.remove(index);
        let fault = Fault::Stall { host: self.hosts[host].name.to_string(), point, for_us };
        Some(self.put_on(fault, State::Stalls { host, task: None }, for_us))
    }

    /// Whether a stall still stops its task; if so, it wakes `waker` at its end.
    pub(crate) fn is_stalled(&mut self, id: StallId, waker: &Waker) -> bool {
        let Some(active) = self.active.iter_mut().find(|active| active.id == id) else {
            return false;
        };
        if let Active { state: State::Stalls { task, .. }, .. } = active {
            *task = Some(waker.clone());
        }
        true
    }

    pub(super) fn end_stall(&mut self, state: &State) {
        if let State::Stalls { host, task: Some(waker) } = state {
            waker.wake_by_ref();
            self.mark_ready(*host);
        }
    }
}
