//! A plan in a few lines, for reports and for the head of its file.

use std::fmt;

use super::{Plan, Revocation};
use crate::fault::Microseconds;
use crate::stack::Timing;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (min, max) = (self.link.latency_us_min, self.link.latency_us_max);
        if min == max {
            write!(f, "network: {}", Microseconds(min))?;
        } else {
            write!(f, "network: {} to {}", Microseconds(min), Microseconds(max))?;
        }
        if !self.order.is_uniform() {
            write!(f, ", {}", self.order)?;
        }
        writeln!(f, "; everything heals at {}", Microseconds(self.heal_at_us))?;
        let usual = Timing::default();
        for ((name, us), (_, usually_us)) in self.timing.named().into_iter().zip(usual.named()) {
            if us != usually_us {
                writeln!(f, "wait:  {name} is {}", Microseconds(us))?;
            }
        }
        for task in &self.tasks {
            let effect = task.effect.target().resource_id();
            let begin = Microseconds(task.begin_at_us);
            let misuse = task.misuse.map(|misuse| format!(", {misuse}")).unwrap_or_default();
            writeln!(f, "task:  at {begin}: {} wants to change {effect}{misuse}", task.agent)?;
        }
        for Revocation { at_us, effect } in &self.revocations {
            let (at, resource) = (Microseconds(*at_us), effect.target().resource_id());
            writeln!(f, "revoked: at {at}: the lease on {resource}")?;
        }
        for fault in &self.faults {
            writeln!(f, "fault: {}: {}", fault.trigger, fault.fault)?;
        }
        if self.faults.is_empty() {
            writeln!(f, "no faults")?;
        }
        Ok(())
    }
}
