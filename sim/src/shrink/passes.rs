//! The ways in which a plan is made simpler, those that take away most first.

use std::ops::Range;

use super::size::CALM_US;
use super::{Shrinker, numbers};
use crate::fault::{PlannedFault, Trigger, simpler};
use crate::plan::Plan;
use crate::stack::{AGENTS, Misuse, WORKERS};
use crate::world::{LinkProfile, Order};

/// Goes through all passes once; says whether any of them helped.
pub(super) fn all(shrinker: &mut Shrinker<'_>) -> bool {
    let passes: [fn(&mut Shrinker<'_>) -> bool; 11] = [
        |shrinker| {
            let drop = |plan: &mut Plan, chunk| drop(plan.faults.drain(chunk));
            drop_chunks(shrinker, |plan| plan.faults.len(), drop, 0)
        },
        |shrinker| drop_chunks(shrinker, |plan| plan.tasks.len(), drop_tasks, 1),
        |shrinker| {
            let drop = |plan: &mut Plan, chunk| drop(plan.revocations.drain(chunk));
            drop_chunks(shrinker, |plan| plan.revocations.len(), drop, 0)
        },
        use_properly,
        drop_tasks_that_only_count,
        simplify_kinds,
        begin_together,
        simplify_numbers,
        calm_network,
        involve_fewer,
        name_fewer_hosts,
    ];
    let mut helped = false;
    for pass in passes {
        helped |= pass(shrinker);
    }
    helped
}

/// Drops all, halves, quarters and so on down to single ones, as delta debugging does.
fn drop_chunks(
    shrinker: &mut Shrinker<'_>,
    length: impl Fn(&Plan) -> usize,
    drop: impl Fn(&mut Plan, Range<usize>),
    keep_min: usize,
) -> bool {
    let mut helped = false;
    let length = |shrinker: &mut Shrinker<'_>| length(&shrinker.plan);
    let mut chunk = length(shrinker).saturating_sub(keep_min);
    while chunk > 0 {
        let mut start = 0;
        while start < length(shrinker) {
            let end = (start + chunk).min(length(shrinker));
            let is_enough = length(shrinker) - (end - start) >= keep_min;
            let dropped = is_enough && shrinker.accept_with(|plan| drop(plan, start..end));
            helped |= dropped;
            // What came after now stands here.
            if !dropped {
                start += chunk;
            }
        }
        chunk /= 2;
    }
    helped
}

/// Drops tasks, and has those that stay still mean the same others. One that means a task that is
/// gone makes the plan invalid, and it is not taken.
fn drop_tasks(plan: &mut Plan, chunk: Range<usize>) {
    for task in &mut plan.tasks {
        if let Some(Misuse::ApprovalReplayed { of_task }) = &mut task.misuse {
            if chunk.contains(of_task) {
                *of_task = usize::MAX;
            } else if *of_task >= chunk.end {
                *of_task -= chunk.len();
            }
        }
    }
    plan.tasks.drain(chunk);
}

/// Has nobody misuse a task.
fn use_properly(shrinker: &mut Shrinker<'_>) -> bool {
    let mut helped = false;
    for index in 0..shrinker.plan.tasks.len() {
        if shrinker.plan.tasks[index].misuse.is_some() {
            helped |= shrinker.accept_with(|plan| plan.tasks[index].misuse = None);
        }
    }
    helped
}

/// Drops a task together with one from the count of a trigger: if a fault strikes at the sixth
/// claim, five tasks may be there only to be counted.
fn drop_tasks_that_only_count(shrinker: &mut Shrinker<'_>) -> bool {
    let mut helped = false;
    for fault in 0..shrinker.plan.faults.len() {
        let mut task = 0;
        while shrinker.plan.tasks.len() > 1 && task < shrinker.plan.tasks.len() {
            let dropped = shrinker.accept_with(|plan| {
                drop_tasks(plan, task..task + 1);
                if let Trigger::Point { nth, .. }
                | Trigger::BeforePacket { nth, .. }
                | Trigger::Event { nth, .. } = &mut plan.faults[fault].trigger
                {
                    *nth = nth.saturating_sub(1).max(1);
                }
            });
            helped |= dropped;
            task += usize::from(!dropped);
        }
    }
    helped
}

fn simplify_kinds(shrinker: &mut Shrinker<'_>) -> bool {
    let mut helped = false;
    for index in 0..shrinker.plan.faults.len() {
        let forms = simpler::forms(&shrinker.plan.faults[index].fault);
        helped |= forms
            .into_iter()
            .any(|form| shrinker.accept_with(|plan| plan.faults[index].fault = form));
    }
    helped
}

/// Lets all begin earlier without coming apart, and all tasks at once: what meets in time has to
/// be moved together.
fn begin_together(shrinker: &mut Shrinker<'_>) -> bool {
    let helped = shrinker.accept_with(|plan| {
        let earliest = plan.tasks.iter().map(|task| task.begin_at_us).min().unwrap_or(0);
        for task in &mut plan.tasks {
            task.begin_at_us -= earliest;
        }
        for planned in &mut plan.faults {
            if let Trigger::At { at_us } = &mut planned.trigger {
                *at_us = at_us.saturating_sub(earliest);
            }
        }
    });
    let at_once = shrinker.accept_with(|plan| {
        for task in &mut plan.tasks {
            task.begin_at_us = 0;
        }
    });
    helped || at_once
}

/// Makes every number as small and as round as it may be: the smallest at once if that still
/// fails, else by bisection.
fn simplify_numbers(shrinker: &mut Shrinker<'_>) -> bool {
    let mut helped = false;
    for index in 0..numbers::of(&shrinker.plan).len() {
        let values = numbers::of(&shrinker.plan)[index].simpler();
        let Some((first, _)) = values.split_first() else { continue };
        let mut accept = |value: u64| shrinker.accept_with(|plan| numbers::set(plan, index, value));
        if accept(*first) {
            helped = true;
            continue;
        }
        // The first is too small, and what stands after the last is what there is.
        let (mut too_small, mut enough) = (0, values.len());
        while enough - too_small > 1 {
            let middle = too_small.midpoint(enough);
            if accept(values[middle]) {
                helped = true;
                enough = middle;
            } else {
                too_small = middle;
            }
        }
    }
    helped
}

fn calm_network(shrinker: &mut Shrinker<'_>) -> bool {
    let LinkProfile { latency_us_min, latency_us_max } = shrinker.plan.link;
    let is_calm = CALM_US.into_iter().chain([latency_us_max, latency_us_min]).any(|us| {
        let calm = LinkProfile { latency_us_min: us, latency_us_max: us };
        shrinker.accept_with(|plan| {
            plan.link = calm;
            plan.order = Order::Uniform;
        })
    });
    is_calm || shrinker.accept_with(|plan| plan.order = Order::Uniform)
}

/// Lets the first agent do what others do, and lets the first worker and agent trade places
/// with the others.
fn involve_fewer(shrinker: &mut Shrinker<'_>) -> bool {
    let mut helped = false;
    let swap = |plan: &mut Plan, a: &str, b: &str| {
        rename(plan, &mut |host| {
            if host == a {
                b.clone_into(host);
            } else if host == b {
                a.clone_into(host);
            }
        });
    };
    helped |= shrinker.accept_with(|plan| {
        swap(plan, WORKERS[0], WORKERS[1]);
        swap(plan, AGENTS[0], AGENTS[1]);
    });
    helped |= shrinker.accept_with(|plan| swap(plan, WORKERS[0], WORKERS[1]));
    helped |= shrinker.accept_with(|plan| swap(plan, AGENTS[0], AGENTS[1]));
    for index in 0..shrinker.plan.tasks.len() {
        helped |= shrinker.accept_with(|plan| AGENTS[0].clone_into(&mut plan.tasks[index].agent));
    }
    helped
}

fn name_fewer_hosts(shrinker: &mut Shrinker<'_>) -> bool {
    let mut helped = false;
    for index in 0..shrinker.plan.faults.len() {
        loop {
            let forms = simpler::with_fewer_hosts(&shrinker.plan.faults[index].fault);
            let found = forms
                .into_iter()
                .any(|form| shrinker.accept_with(|plan| plan.faults[index].fault = form));
            if !found {
                break;
            }
            helped = true;
        }
    }
    helped
}

/// Gives every host in a plan to `rename`.
fn rename(plan: &mut Plan, rename: &mut dyn FnMut(&mut String)) {
    for task in &mut plan.tasks {
        rename(&mut task.agent);
    }
    for PlannedFault { trigger, fault } in &mut plan.faults {
        match trigger {
            Trigger::At { .. } | Trigger::Event { host: None, .. } => {}
            Trigger::Point { host, .. } | Trigger::Event { host: Some(host), .. } => rename(host),
            Trigger::BeforePacket { from, to, .. } => {
                rename(from);
                rename(to);
            }
        }
        for host in fault.hosts_mut() {
            rename(host);
        }
    }
}
