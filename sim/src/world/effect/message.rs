//! Messages of a named kind that are lost, or delivered again.

use std::time::Duration;

use super::{Core, see};
use crate::fault::Fault;
use crate::message::Delivery;

/// A fault that waits for messages of its kind.
pub(super) struct MessageFault {
    from: usize,
    to: usize,
    kind: String,
    /// How many of them it strikes.
    left: u32,
    delivery: Delivery,
}

impl Core {
    pub(super) fn await_message(&mut self, fault: &Fault) {
        let (from, to, kind, left, delivery) = match fault {
            Fault::LoseMessage { from, to, kind, times } => {
                (from, to, kind, *times, Delivery::Never)
            }
            Fault::Redeliver { from, to, kind, after_us } => {
                let again = Delivery::AgainAfter(Duration::from_micros(*after_us));
                (from, to, kind, 1, again)
            }
            _ => return,
        };
        let (from, to) = (self.host_of(from), self.host_of(to));
        if left > 0 {
            let kind = kind.clone();
            self.waiting.messages.push(MessageFault { from, to, kind, left, delivery });
        }
    }

    /// What becomes of a message that a host is about to send.
    pub(crate) fn delivery(&mut self, from: usize, to: &str, kind: &str) -> Delivery {
        if !self.hosts[from].is_down() {
            see!(self, from, Sends, to: to, kind: kind);
        }
        if self.waiting.messages.is_empty() {
            return Delivery::Once;
        }
        let hosts = &self.hosts;
        let is_met = |fault: &MessageFault| {
            fault.from == from && *hosts[fault.to].name == *to && fault.kind == kind
        };
        let Some(index) = self.waiting.messages.iter().position(is_met) else {
            return Delivery::Once;
        };
        let fault = &mut self.waiting.messages[index];
        fault.left -= 1;
        let delivery = fault.delivery;
        if fault.left == 0 {
            self.waiting.messages.remove(index);
        }
        delivery
    }
}
