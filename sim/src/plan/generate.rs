//! Plans from seeds.
//!
//! Swarm testing (Groce et al., 2012): each kind of fault is on in half of the plans and
//! exactly absent in the others, so that one kind cannot drown the rest. Durations are
//! drawn log-uniformly, because a millisecond and a second are equally interesting. One
//! seed in eight has no faults at all: a control.

mod faults;

use std::fmt;

use holdover_model::design::Design;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::fault::catalogue::LASTS_US;
use crate::fault::{FaultKind, PlannedFault};
use crate::plan::{Plan, PlannedTask};
use crate::random::{Seed, between, choose};
use crate::stack::{AGENTS, Change, Effect, Misuse, Timing};
use crate::world::{LinkProfile, Order};

/// What plans are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Half of the kinds of faults are absent from each plan; faults wait for what the system does;
    /// tasks meet, and some are misused; latencies are drawn in different [orders](Order).
    Swarm,
    /// What one would write first, to compare with: any kind of fault in any plan, tasks and
    /// faults at any time of the run, every duration as likely as any other.
    Uniform,
}

/// The knobs from which plans are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What plans are like.
    pub style: Style,
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
    /// In one seed in so many a task is misused.
    pub misuse_one_in: u64,
    /// In one seed in so many all tasks begin at once.
    pub barrier_one_in: u64,
    /// Within which time timed faults strike.
    pub fault_within_us: u64,
    /// The shortest time that a fault lasts.
    pub fault_us_min: u64,
    /// The longest time that a fault lasts.
    pub fault_us_max: u64,
    /// The smallest latency of any link.
    pub latency_us_min: u64,
    /// The largest latency of any link.
    pub latency_us_max: u64,
    /// How long the roles wait.
    pub timing: Timing,
    /// How long a mutation may be inside the destination, where the fence is pushed there or the
    /// authority is asked: plans differ between what `timing` says and this, so that ownership
    /// that moves on in the meantime is not as rare as the time is short.
    ///
    /// Where nobody tells a worker that its lease is gone, it stays short: two workers that both
    /// rely on a lease ask about each other's tries, and each question aborts what is inside. If
    /// that takes longer than to ask, neither ever gets through.
    pub effect_us_max: u64,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            style: Style::Swarm,
            tasks_min: 6,
            tasks_max: 8,
            begin_within_us: 600_000,
            faults_min: 1,
            faults_max: 6,
            control_one_in: 8,
            misuse_one_in: 4,
            barrier_one_in: 16,
            fault_within_us: 1_200_000,
            fault_us_min: LASTS_US.min,
            fault_us_max: LASTS_US.max,
            latency_us_min: 200,
            latency_us_max: 12_000,
            timing: Timing::default(),
            effect_us_max: 32_000,
        }
    }
}

impl Profile {
    /// From when on nothing goes wrong any more.
    pub(super) fn heal_at_us(&self) -> u64 {
        self.fault_within_us + self.fault_us_max
    }

    /// The baseline to compare with.
    pub fn uniform() -> Self {
        Self { style: Style::Uniform, ..Self::default() }
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

impl Plan {
    /// The plan of a seed.
    pub fn generate(seed: Seed, design: &Design, profile: &Profile) -> Self {
        let mut draw = Draw { rng: seed.stream("plan"), profile };
        let (link, mut tasks) = (draw.link(), draw.tasks());
        Draw { rng: seed.stream("misuse"), profile }.misuse(&mut tasks);
        let faults = Draw { rng: seed.stream("faults"), profile }.faults(&kinds(design));
        Self {
            seed,
            heal_at_us: profile.heal_at_us(),
            link,
            order: Draw { rng: seed.stream("order"), profile }.order(),
            timing: Draw { rng: seed.stream("timing"), profile }.timing(design),
            design: design.clone(),
            tasks,
            revocations: Vec::new(),
            faults,
        }
    }
}

/// The kinds of faults that plans of a design may have.
pub(super) fn kinds(design: &Design) -> Vec<FaultKind> {
    // Other stores lose evidence that was given, and a store for ownership and value is one.
    let can_be_restored = !design.fence.asked().is_co_located();
    let all = FaultKind::ALL.iter().copied();
    all.filter(|kind| *kind != FaultKind::Restore || can_be_restored).collect()
}

/// One fault of a kind, drawn from a seed.
pub(super) fn fault(kind: FaultKind, seed: Seed) -> PlannedFault {
    Draw { rng: seed.stream("fault"), profile: &Profile::default() }.fault(kind)
}

pub(super) struct Draw<'a> {
    rng: ChaCha8Rng,
    pub(super) profile: &'a Profile,
}

impl Draw<'_> {
    pub(super) fn between(&mut self, min: u64, max: u64) -> u64 {
        between(&mut self.rng, min, max)
    }

    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        *choose(&mut self.rng, items)
    }

    fn is_uniform(&self) -> bool {
        self.profile.style == Style::Uniform
    }

    pub(super) fn is_heads(&mut self) -> bool {
        self.between(0, 1) == 1
    }

    /// Log-uniform: every doubling is equally likely.
    pub(super) fn between_log(&mut self, min: u64, max: u64) -> u64 {
        if self.is_uniform() {
            return self.between(min, max);
        }
        let doublings = (max / min.max(1)).max(1).ilog2();
        let low = min << self.between(0, u64::from(doublings));
        self.between(low, (low * 2).min(max).max(low))
    }

    fn link(&mut self) -> LinkProfile {
        let Profile { latency_us_min, latency_us_max, .. } = *self.profile;
        let max = self.between_log(latency_us_min * 2, latency_us_max);
        LinkProfile { latency_us_min: self.between(latency_us_min, max / 2), latency_us_max: max }
    }

    /// Half of the plans draw each latency on its own.
    fn order(&mut self) -> Order {
        match self.between(0, 3) {
            _ if self.is_uniform() => Order::Uniform,
            0 => Order::Race,
            1 => {
                let depth = u32::try_from(self.between(1, 4)).unwrap_or(u32::MAX);
                Order::Priority { depth }
            }
            _ => Order::Uniform,
        }
    }

    fn timing(&mut self, design: &Design) -> Timing {
        let Profile { timing, effect_us_max, .. } = *self.profile;
        let can_be_inside = design.fence.asked().is_pushed() || design.fence.asked().is_consulted();
        if !can_be_inside || self.is_uniform() {
            return timing;
        }
        let effect_us = self.between_log(timing.effect_us, effect_us_max.max(timing.effect_us));
        Timing { effect_us, ..timing }
    }

    fn tasks(&mut self) -> Vec<PlannedTask> {
        let Profile { tasks_min, tasks_max, begin_within_us, .. } = *self.profile;
        let task = |agent: &str, begin_at_us, effect| PlannedTask {
            agent: agent.into(),
            begin_at_us,
            effect,
            misuse: None,
        };
        let begin_within_us = match self.profile.style {
            Style::Swarm => begin_within_us,
            Style::Uniform => self.profile.heal_at_us(),
        };
        // The two halves of the identity article leave in the same millisecond.
        let together = self.between(0, begin_within_us);
        let mut tasks = vec![
            task(AGENTS[0], together, Effect::BillingLimit),
            task(AGENTS[1], together, Effect::WebhookDestination),
            task(AGENTS[0], self.between(0, begin_within_us), Effect::RoutingRule),
        ];
        if self.is_uniform() {
            tasks.clear();
        }
        for _ in tasks.len() as u64..self.between(tasks_min.max(3), tasks_max.max(3)) {
            let (agent, begin_at_us) = (self.pick(&AGENTS), self.between(0, begin_within_us));
            tasks.push(task(agent, begin_at_us, self.pick(Effect::ALL)));
        }
        tasks
    }
}

/// How many claims of one intent a careless caller makes at once.
const CLAIMS_AT_ONCE: (u64, u64) = (4, 16);

/// How much later a consent is shown again than it was first.
const REPLAYED_AFTER_US: (u64, u64) = (100_000, 800_000);

impl Draw<'_> {
    /// What goes wrong on the side of those who ask: nothing in most plans.
    fn misuse(&mut self, tasks: &mut [PlannedTask]) {
        let Profile { misuse_one_in, barrier_one_in, .. } = *self.profile;
        if self.is_uniform() {
            return;
        }
        if self.between(1, barrier_one_in.max(1)) == 1 {
            let together = tasks[0].begin_at_us;
            for task in tasks.iter_mut() {
                task.begin_at_us = together;
            }
        }
        if self.between(1, misuse_one_in.max(1)) > 1 {
            return;
        }
        let last = tasks.len() - 1;
        // The articles' pair is left alone where times matter.
        let number = 2 + usize::try_from(self.between(0, last as u64 - 2)).unwrap_or_default();
        let misuse = match self.between(0, 2) {
            0 => {
                let (min, max) = CLAIMS_AT_ONCE;
                let times = u32::try_from(self.between(min, max)).unwrap_or(u32::MAX);
                Misuse::ClaimedAtOnce { times }
            }
            1 => Misuse::IdReused { changed: self.pick(Change::ALL) },
            _ => {
                let of_task = usize::from(self.is_heads());
                let (min, max) = REPLAYED_AFTER_US;
                tasks[number].begin_at_us = tasks[of_task].begin_at_us + self.between(min, max);
                Misuse::ApprovalReplayed { of_task }
            }
        };
        tasks[number].misuse = Some(misuse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{DiskFault, Fault};

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
    fn one_seed_in_four_has_a_careless_caller_of_each_kind() {
        let misuses: Vec<_> =
            plans().flat_map(|plan| plan.tasks).filter_map(|task| task.misuse).collect();
        assert!((400..600).contains(&misuses.len()), "{} of 2000", misuses.len());
        for change in Change::ALL {
            assert!(misuses.contains(&Misuse::IdReused { changed: *change }), "{change}");
        }
        for of_task in 0..2 {
            assert!(misuses.contains(&Misuse::ApprovalReplayed { of_task }), "{of_task}");
        }
        let at_once = |misuse: &&Misuse| matches!(misuse, Misuse::ClaimedAtOnce { .. });
        assert!(misuses.iter().filter(at_once).count() > 100);
    }

    #[test]
    fn a_consent_is_shown_again_after_it_was_shown() {
        for plan in plans() {
            for task in &plan.tasks {
                if let Some(Misuse::ApprovalReplayed { of_task }) = task.misuse {
                    assert!(plan.tasks[of_task].begin_at_us < task.begin_at_us);
                }
            }
        }
    }

    #[test]
    fn a_mutation_stays_inside_for_longer_only_where_old_holders_are_told() {
        let longest = |design: &str| {
            let design = Design::named(design).unwrap();
            let plan = |seed| Plan::generate(Seed(seed), &design, &Profile::default());
            (0..200).map(|seed| plan(seed).timing.effect_us).max().unwrap()
        };
        assert!(longest("push-before-ready") > 16_000);
        assert!(longest("chubby-live-check") > 16_000);
        assert_eq!(longest("highest-seen"), Timing::default().effect_us);
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
