//! Plans from seeds.
//!
//! Swarm testing (Groce et al., 2012): each fault family is on in half of the plans and
//! exactly absent in the others, so that one family cannot drown the rest. Durations are
//! drawn log-uniformly, because a millisecond and a second are equally interesting. One
//! seed in eight has no faults at all: a control.

use std::fmt;

use holdover_model::design::Design;
use holdover_model::event::EventKind;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::fault::{DiskFault, Fault, PlannedFault, Trigger};
use crate::plan::{Plan, PlannedTask};
use crate::random::{Seed, between, choose};
use crate::stack::{AGENTS, Effect, SERVICES, Timing, WORKERS};
use crate::world::LinkProfile;

/// The knobs from which plans are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The fewest tasks in a plan. The articles' three are always among them.
    pub tasks_min: u64,
    /// The most tasks in a plan.
    pub tasks_max: u64,
    /// Within which time the agents begin.
    pub begin_within_us: u64,
    /// The fewest faults in a plan that has any.
    pub faults_min: u64,
    /// The most faults in a plan.
    pub faults_max: u64,
    /// One seed in so many has no faults.
    pub control_one_in: u64,
    /// Within which time timed faults strike.
    pub fault_within_us: u64,
    /// The shortest time that a fault lasts.
    pub fault_us_min: u64,
    /// The longest time that a fault lasts.
    pub fault_us_max: u64,
    /// The most bytes that survive of a torn write.
    pub torn_bytes_max: u64,
    /// The most bytes that are left on a disk that fills up.
    pub free_bytes_max: u64,
    /// By how much a slow disk slows a call down, at most.
    pub disk_us_max: u64,
    /// How old the backup of a restore is, at most.
    pub backup_age_us_max: u64,
    /// The smallest latency of any link.
    pub latency_us_min: u64,
    /// The largest latency of any link.
    pub latency_us_max: u64,
    /// How long the roles wait.
    pub timing: Timing,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            tasks_min: 6,
            tasks_max: 8,
            begin_within_us: 600_000,
            faults_min: 1,
            faults_max: 6,
            control_one_in: 8,
            fault_within_us: 1_200_000,
            fault_us_min: 20_000,
            fault_us_max: 1_800_000,
            torn_bytes_max: 256,
            free_bytes_max: 1_024,
            disk_us_max: 64_000,
            backup_age_us_max: 1_000_000,
            latency_us_min: 200,
            latency_us_max: 12_000,
            timing: Timing::default(),
        }
    }
}

impl fmt::Display for Profile {
    /// Every knob, as `name=value`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let serde_json::Value::Object(knobs) =
            serde_json::to_value(self).map_err(|_| fmt::Error)?
        else {
            return Err(fmt::Error);
        };
        let mut separator = "";
        for (name, value) in &knobs {
            match value {
                serde_json::Value::Object(inner) => {
                    for (inner_name, value) in inner {
                        write!(f, "{separator}{name}.{inner_name}={value}")?;
                        separator = " ";
                    }
                }
                value => write!(f, "{separator}{name}={value}")?,
            }
            separator = " ";
        }
        Ok(())
    }
}

/// A kind of fault that a plan has or has not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Freeze,
    Crash,
    Partition,
    PartitionOneWay,
    LoseRequest,
    LoseResponse,
    Delay,
    Disk,
    Restore,
}

const FAMILIES: [Family; 9] = [
    Family::Freeze,
    Family::Crash,
    Family::Partition,
    Family::PartitionOneWay,
    Family::LoseRequest,
    Family::LoseResponse,
    Family::Delay,
    Family::Disk,
    Family::Restore,
];

/// Who keeps what it must not lose.
const DURABLE: [&str; 5] = ["authority", "ledger", "destination", "agent-1", "agent-2"];

/// Who opens a connection to whom.
const CONVERSATIONS: [(&str, &str); 10] = [
    ("agent-1", "worker-A"),
    ("agent-2", "worker-B"),
    ("worker-A", "destination"),
    ("worker-B", "destination"),
    ("worker-A", "ledger"),
    ("worker-B", "ledger"),
    ("worker-A", "authority"),
    ("worker-B", "authority"),
    ("authority", "destination"),
    ("supervisor", "authority"),
];

/// The moments that the protocol turns on, and who reaches them.
const POINTS: [(&str, &str); 24] = [
    ("destination", "before-effect"),
    ("worker-A", "before-apply"),
    ("worker-B", "before-apply"),
    ("worker-A", "before-dispatch"),
    ("worker-B", "before-dispatch"),
    ("worker-A", "before-settle"),
    ("worker-B", "before-settle"),
    ("worker-A", "before-reconcile"),
    ("worker-B", "before-claim"),
    ("destination", "before-applied"),
    ("destination", "before-admitted"),
    ("destination", "before-reconciled"),
    ("authority", "before-admit"),
    ("authority", "before-ready"),
    ("ledger", "before-entry"),
    ("ledger", "before-may-dispatch"),
    ("supervisor", "before-take-over"),
    ("authority", "before-sync"),
    ("ledger", "before-sync"),
    ("destination", "before-sync"),
    ("authority", "after-sync"),
    ("destination", "after-sync"),
    ("authority", "before-late-records"),
    ("destination", "before-late-records"),
];

/// Events after which something going wrong is interesting.
const EVENTS: [EventKind; 8] = [
    EventKind::LeaseGranted,
    EventKind::TakeoverComplete,
    EventKind::LeaseEnded,
    EventKind::OperationClaimed,
    EventKind::Dispatched,
    EventKind::EffectCommitted,
    EventKind::OutcomeUnknown,
    EventKind::Reconciled,
];

impl Plan {
    /// The plan of a seed.
    pub fn generate(seed: Seed, design: &Design, profile: &Profile) -> Self {
        let mut draw = Draw { rng: seed.stream("plan"), profile };
        let (link, tasks) = (draw.link(), draw.tasks());
        // Other stores lose evidence that was given, and a store for ownership and value is one.
        let can_be_restored = !design.fence.is_co_located();
        let families: Vec<_> = FAMILIES
            .into_iter()
            .filter(|family| *family != Family::Restore || can_be_restored)
            .collect();
        let faults = Draw { rng: seed.stream("faults"), profile }.faults(&families);
        Self {
            seed,
            heal_at_us: profile.fault_within_us + profile.fault_us_max,
            link,
            timing: profile.timing,
            design: design.clone(),
            tasks,
            faults,
        }
    }
}

struct Draw<'a> {
    rng: ChaCha8Rng,
    profile: &'a Profile,
}

impl Draw<'_> {
    fn between(&mut self, min: u64, max: u64) -> u64 {
        between(&mut self.rng, min, max)
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        *choose(&mut self.rng, items)
    }

    fn is_heads(&mut self) -> bool {
        self.between(0, 1) == 1
    }

    /// Log-uniform: every doubling is equally likely.
    fn between_log(&mut self, min: u64, max: u64) -> u64 {
        let doublings = (max / min.max(1)).max(1).ilog2();
        let low = min << self.between(0, u64::from(doublings));
        self.between(low, (low * 2).min(max).max(low))
    }

    fn link(&mut self) -> LinkProfile {
        let Profile { latency_us_min, latency_us_max, .. } = *self.profile;
        let max = self.between_log(latency_us_min * 2, latency_us_max);
        LinkProfile { latency_us_min: self.between(latency_us_min, max / 2), latency_us_max: max }
    }

    fn tasks(&mut self) -> Vec<PlannedTask> {
        let Profile { tasks_min, tasks_max, begin_within_us, .. } = *self.profile;
        let task = |agent: &str, begin_at_us, effect| PlannedTask {
            agent: agent.into(),
            begin_at_us,
            effect,
        };
        // The two halves of the identity article leave in the same millisecond.
        let together = self.between(0, begin_within_us);
        let mut tasks = vec![
            task(AGENTS[0], together, Effect::BillingLimit),
            task(AGENTS[1], together, Effect::WebhookDestination),
            task(AGENTS[0], self.between(0, begin_within_us), Effect::RoutingRule),
        ];
        for _ in 3..self.between(tasks_min.max(3), tasks_max.max(3)) {
            let (agent, begin_at_us) = (self.pick(&AGENTS), self.between(0, begin_within_us));
            tasks.push(task(agent, begin_at_us, self.pick(Effect::ALL)));
        }
        tasks
    }

    fn faults(&mut self, all: &[Family]) -> Vec<PlannedFault> {
        let Profile { faults_min, faults_max, control_one_in, .. } = *self.profile;
        if self.between(1, control_one_in.max(1)) == 1 {
            return Vec::new();
        }
        let mut families: Vec<_> = all.iter().copied().filter(|_| self.is_heads()).collect();
        if families.is_empty() {
            families.push(self.pick(all));
        }
        let count = self.between(faults_min, faults_max);
        (0..count)
            .map(|_| {
                let family = self.pick(&families);
                self.fault(family)
            })
            .collect()
    }

    fn fault(&mut self, family: Family) -> PlannedFault {
        let Profile { fault_us_min, fault_us_max, .. } = *self.profile;
        let for_us = self.between_log(fault_us_min, fault_us_max);
        let (from, to) = self.pick(&CONVERSATIONS);
        let (from, to) = (from.to_owned(), to.to_owned());
        let trigger = match family {
            // A lost packet is the one that the trigger has caught.
            Family::LoseRequest => self.before_packet(&from, &to),
            Family::LoseResponse => self.before_packet(&to, &from),
            Family::Disk => return self.disk(for_us, (&from, &to)),
            _ => self.trigger(&from, &to),
        };
        let fault = match family {
            Family::Freeze => Fault::Freeze { host: self.whom(&trigger), for_us },
            Family::Crash => Fault::Crash { host: self.whom(&trigger), restart_after_us: for_us },
            Family::Partition => Fault::Partition { a: vec![from], b: vec![to], for_us },
            Family::PartitionOneWay if self.is_heads() => {
                Fault::PartitionOneWay { from: to, to: from, for_us }
            }
            Family::PartitionOneWay => Fault::PartitionOneWay { from, to, for_us },
            Family::LoseRequest => Fault::LoseRequest { from, to },
            Family::LoseResponse => Fault::LoseResponse { from, to },
            Family::Delay => {
                let extra_us = self.between_log(fault_us_min, fault_us_max / 2);
                Fault::Delay { from, to, extra_us, for_us }
            }
            Family::Restore => Fault::Disk(DiskFault::Restore {
                host: "authority".into(),
                age_us: self.between_log(1_000, self.profile.backup_age_us_max),
                restart_after_us: for_us,
            }),
            Family::Disk => unreachable!("it has returned above, with a trigger of its own"),
        };
        PlannedFault { trigger, fault }
    }

    fn disk(&mut self, for_us: u64, (from, to): (&str, &str)) -> PlannedFault {
        let Profile { torn_bytes_max, free_bytes_max, disk_us_max, .. } = *self.profile;
        let host = self.pick(&DURABLE).to_owned();
        // Half of them strike between a write and its sync; without that, nothing is torn.
        let trigger = if self.is_heads() {
            let nth = self.between_log(1, 16);
            Trigger::Point { host: host.clone(), name: "before-sync".into(), nth }
        } else {
            self.trigger(from, to)
        };
        let fault = match self.between(0, 3) {
            0 => {
                let kept_bytes = self.between_log(1, torn_bytes_max);
                DiskFault::Tear { host, kept_bytes, restart_after_us: for_us }
            }
            1 => DiskFault::Fail { host, for_us },
            2 => DiskFault::Slow { host, by_us: self.between_log(1_000, disk_us_max), for_us },
            _ => DiskFault::Fill { host, free_bytes: self.between_log(1, free_bytes_max), for_us },
        };
        PlannedFault { trigger, fault: Fault::Disk(fault) }
    }

    fn before_packet(&mut self, from: &str, to: &str) -> Trigger {
        let nth = self.between_log(1, 12);
        Trigger::BeforePacket { from: from.into(), to: to.into(), nth }
    }

    fn trigger(&mut self, from: &str, to: &str) -> Trigger {
        match self.between(0, 3) {
            0 => Trigger::At { at_us: self.between(0, self.profile.fault_within_us) },
            1 => {
                let (host, name) = self.pick(&POINTS);
                let nth = self.between_log(1, 4);
                Trigger::Point { host: host.into(), name: name.into(), nth }
            }
            2 => self.before_packet(from, to),
            _ => {
                let kind = self.pick(&EVENTS);
                Trigger::Event { kind, nth: self.between_log(1, 6), host: None }
            }
        }
    }

    /// Whom a process fault strikes: whoever its trigger is about, or anybody.
    fn whom(&mut self, trigger: &Trigger) -> String {
        match trigger {
            Trigger::Point { host, .. } => host.clone(),
            Trigger::BeforePacket { from, .. } => from.clone(),
            // Workers are who is replaced, so they are struck as often as all others.
            Trigger::At { .. } | Trigger::Event { .. } if self.is_heads() => {
                self.pick(&WORKERS).into()
            }
            Trigger::At { .. } | Trigger::Event { .. } => {
                self.pick(&[&SERVICES[..], &AGENTS[..]].concat()).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans() -> impl Iterator<Item = Plan> {
        (0..2_000).map(|seed| Plan::generate(Seed(seed), &Design::default(), &Profile::default()))
    }

    #[test]
    fn one_seed_in_eight_is_a_control() {
        let controls = plans().filter(|plan| plan.faults.is_empty()).count();
        assert!((200..300).contains(&controls), "{controls} of 2000");
    }

    #[test]
    fn only_an_authority_with_a_store_of_its_own_is_restored() {
        let restored = |design: &str| {
            let design = Design::named(design).unwrap();
            (0..500)
                .flat_map(|seed| Plan::generate(Seed(seed), &design, &Profile::default()).faults)
                .filter_map(|planned| match planned.fault {
                    Fault::Disk(DiskFault::Restore { host, .. }) => Some(host),
                    _ => None,
                })
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(Vec::from_iter(restored("push-before-ready")), ["authority"]);
        assert!(restored("co-located-gate").is_empty());
    }

    #[test]
    fn the_articles_pair_starts_together_in_every_plan() {
        for plan in plans() {
            let begin = |effect| plan.tasks.iter().find(|task| task.effect == effect).unwrap();
            let (billing, webhook) =
                (begin(Effect::BillingLimit), begin(Effect::WebhookDestination));
            assert_eq!(billing.begin_at_us, webhook.begin_at_us);
            assert_ne!(billing.agent, webhook.agent);
        }
    }

    #[test]
    fn every_plan_stays_within_its_profile() {
        let profile = Profile::default();
        for plan in plans() {
            assert!((profile.tasks_min..=profile.tasks_max).contains(&(plan.tasks.len() as u64)));
            assert!(plan.faults.len() as u64 <= profile.faults_max);
            assert!(plan.link.latency_us_min >= profile.latency_us_min);
            assert!(plan.link.latency_us_max <= profile.latency_us_max);
            plan.validate().unwrap();
        }
    }
}
