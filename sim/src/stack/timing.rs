//! How long the reference system waits for what.

use std::time::Duration;

use holdover_model::role::Delay;
use serde::{Deserialize, Serialize};

/// The durations behind the protocol's [`Delay`]s, and the failure detector's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// How long a lease lasts.
    pub lease_term_us: u64,
    /// After which part of its term a lease is renewed, if its holder has got on.
    pub renewal_us: u64,
    /// When an unanswered question is asked again.
    pub resend_us: u64,
    /// When a dispatched mutation counts as unanswered.
    pub attempt_timeout_us: u64,
    /// When a refused acquisition is tried again.
    pub poll_us: u64,
    /// When an agent asks another worker.
    pub agent_timeout_us: u64,
    /// When a lease that nobody uses is given back.
    pub idle_us: u64,
    /// How long a mutation is inside the destination before it has its effect.
    pub effect_us: u64,
    /// How often the supervisor asks whether a worker is there.
    pub heartbeat_us: u64,
    /// After how much silence it suspects one.
    pub suspicion_us: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_term_us: 700_000,
            renewal_us: 300_000,
            resend_us: 120_000,
            attempt_timeout_us: 150_000,
            poll_us: 90_000,
            agent_timeout_us: 900_000,
            idle_us: 400_000,
            effect_us: 500,
            heartbeat_us: 150_000,
            suspicion_us: 400_000,
        }
    }
}

impl Timing {
    /// The duration of a lease.
    pub fn lease_term(&self) -> Duration {
        Duration::from_micros(self.lease_term_us)
    }

    /// Every duration with its name, in microseconds.
    pub(crate) fn named(&self) -> [(&'static str, u64); 10] {
        [
            ("a lease's term", self.lease_term_us),
            ("the time to a renewal", self.renewal_us),
            ("the time to a resend", self.resend_us),
            ("the time that a try waits for its answer", self.attempt_timeout_us),
            ("the time between two polls", self.poll_us),
            ("an agent's patience", self.agent_timeout_us),
            ("the time that an unused lease is kept", self.idle_us),
            ("the time that a mutation takes inside the destination", self.effect_us),
            ("the time between two heartbeats", self.heartbeat_us),
            ("the time to a suspicion", self.suspicion_us),
        ]
    }

    /// The duration behind a delay.
    pub fn of(&self, delay: Delay) -> Duration {
        Duration::from_micros(match delay {
            Delay::LeaseTerm => self.lease_term_us,
            Delay::Renewal => self.renewal_us,
            Delay::Resend => self.resend_us,
            Delay::AttemptTimeout => self.attempt_timeout_us,
            Delay::Poll => self.poll_us,
            Delay::AgentTimeout => self.agent_timeout_us,
            Delay::Idle => self.idle_us,
            Delay::Effect | Delay::Insertion => self.effect_us,
        })
    }
}
