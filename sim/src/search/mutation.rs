//! Plans changed a little.
//!
//! A plan that reached something new is a good place to look for more. What is changed are the
//! things that a plan consists of, each in the ways that make sense for it: a fault strikes an
//! occurrence later, lasts longer, meets another; a task begins when another does.

use rand_chacha::ChaCha8Rng;

use crate::fault::{Fault, PlannedFault, Trigger};
use crate::plan::Plan;
use crate::random::{Seed, between, choose};
use crate::stack::WORKERS;
use crate::world::Order;

/// How many changes one mutant has at most.
const CHANGES_MAX: u64 = 3;

/// More faults than this are not better than fewer.
const FAULTS_MAX: usize = 8;

/// A plan that differs from `parent` in one to three things; `other` is where new faults come
/// from. The latencies are drawn from `seed`.
pub fn mutate(parent: &Plan, other: &Plan, seed: Seed, random: &mut ChaCha8Rng) -> Plan {
    let mut plan = Plan { seed, ..parent.clone() };
    for _ in 0..between(random, 1, CHANGES_MAX) {
        change(&mut plan, other, random);
    }
    plan
}

fn change(plan: &mut Plan, other: &Plan, random: &mut ChaCha8Rng) {
    let has_faults = !plan.faults.is_empty();
    match between(random, 0, 9) {
        // One fault more, of the other plan or a twin of its own.
        0 | 1 if plan.faults.len() < FAULTS_MAX && !other.faults.is_empty() => {
            plan.faults.push(choose(random, &other.faults).clone());
        }
        2 if has_faults && plan.faults.len() < FAULTS_MAX => {
            let mut twin = choose(random, &plan.faults).clone();
            shift(&mut twin.trigger, plan.heal_at_us, random);
            plan.faults.push(twin);
        }
        3 if plan.faults.len() > 1 => {
            let index = place(random, plan.faults.len());
            plan.faults.remove(index);
        }
        // The moment of one fault, or that of another.
        4 | 5 if has_faults => {
            let index = place(random, plan.faults.len());
            shift(&mut plan.faults[index].trigger, plan.heal_at_us, random);
        }
        6 if has_faults && !other.faults.is_empty() => {
            let index = place(random, plan.faults.len());
            plan.faults[index].trigger = choose(random, &other.faults).trigger.clone();
        }
        7 if has_faults => {
            let index = place(random, plan.faults.len());
            last_longer_or_shorter(&mut plan.faults[index], random);
        }
        // Who asks when.
        8 if plan.tasks.len() > 1 => {
            let (one, another) = (place(random, plan.tasks.len()), place(random, plan.tasks.len()));
            plan.tasks[one].begin_at_us = plan.tasks[another].begin_at_us;
        }
        _ => {
            let orders = [Order::Uniform, Order::Priority { depth: 2 }, Order::Race];
            plan.order = *choose(random, &orders);
            plan.link = other.link;
        }
    }
}

fn place(random: &mut ChaCha8Rng, length: usize) -> usize {
    let last = (length as u64).saturating_sub(1);
    usize::try_from(between(random, 0, last)).expect("it is below a length")
}

fn is_heads(random: &mut ChaCha8Rng) -> bool {
    between(random, 0, 1) == 1
}

/// An occurrence earlier or later; on the other worker.
fn shift(trigger: &mut Trigger, heal_at_us: u64, random: &mut ChaCha8Rng) {
    match trigger {
        Trigger::At { at_us } => *at_us = between(random, 0, heal_at_us / 2),
        Trigger::Point { host, nth, .. } => {
            if WORKERS.contains(&host.as_str()) && is_heads(random) {
                *host = (*choose(random, &WORKERS)).into();
            }
            step(nth, random);
        }
        Trigger::BeforePacket { nth, .. } | Trigger::Event { nth, .. } => step(nth, random),
    }
}

fn step(nth: &mut u64, random: &mut ChaCha8Rng) {
    *nth = if is_heads(random) { *nth + between(random, 1, 3) } else { (*nth - 1).max(1) };
}

/// Twice as long, or half.
fn last_longer_or_shorter(planned: &mut PlannedFault, random: &mut ChaCha8Rng) {
    let doubles = is_heads(random);
    let scale = |us: &mut u64| *us = if doubles { us.saturating_mul(2) } else { (*us / 2).max(1) };
    match &mut planned.fault {
        Fault::Freeze { for_us, .. }
        | Fault::Stall { for_us, .. }
        | Fault::Partition { for_us, .. }
        | Fault::PartitionOneWay { for_us, .. }
        | Fault::PartitionGroups { for_us, .. }
        | Fault::Delay { for_us, .. }
        | Fault::ClockDrift { for_us, .. }
        | Fault::SlowLink { for_us, .. } => scale(for_us),
        Fault::Crash { restart_after_us, .. } => scale(restart_after_us),
        Fault::CrashLoop { up_us, .. } => scale(up_us),
        Fault::Late { extra_us, .. } => scale(extra_us),
        Fault::Redeliver { after_us, .. } => scale(after_us),
        Fault::ClockStep { by_us, .. } => {
            *by_us = if doubles { by_us.saturating_mul(2) } else { by_us.saturating_neg() };
        }
        Fault::LoseMessage { times, .. } => *times = if doubles { *times * 2 } else { 1 },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use holdover_model::design::Design;

    use super::*;
    use crate::plan::Profile;

    /// A mutant is a plan that can be run, and hardly ever its parent again.
    #[test]
    fn mutants_are_valid_plans_that_differ_from_their_parents() {
        let plan = |seed| Plan::generate(Seed(seed), &Design::default(), &Profile::default());
        let mut same = 0;
        for seed in 0..1_000 {
            let (parent, other) = (plan(seed), plan(seed + 1_000));
            let mut random = Seed(seed).stream("mutation");
            let mut mutant = mutate(&parent, &other, Seed(seed), &mut random);
            mutant.validate().unwrap();
            assert!(mutant.faults.len() <= FAULTS_MAX.max(parent.faults.len()));
            assert_eq!(mutant.heal_at_us, parent.heal_at_us);
            mutant.seed = parent.seed;
            same += usize::from(mutant == parent);
        }
        assert!(same < 50, "{same} of 1000");
    }
}
