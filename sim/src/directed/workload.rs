//! What the agents want and how long everybody waits, so that the world does what the checker's
//! roles did.

use holdover_model::check::{Bounds, Counterexample, Happening, Moment};
use holdover_model::role::{Actor, Signal};

use crate::plan::PlannedTask;
use crate::stack::{AGENTS, Effect, Timing, WORKERS};

/// When a second operation begins: with the first, after it, after a takeover.
const LATER_US: [u64; 3] = [0, 300_000, 1_000_000];

/// How long a slow mutation is inside the destination: longer than a suspicion takes, and shorter
/// than a lease, or no worker would ever get one done.
const SLOW_EFFECT_US: u64 = 600_000;

/// How long workers wait for it.
const PATIENT_TRY_US: u64 = 650_000;

/// The workloads to try, the likeliest first.
pub(super) fn of(bounds: &Bounds, counterexample: &Counterexample) -> Vec<Vec<PlannedTask>> {
    let wanted: Vec<_> = counterexample
        .steps
        .iter()
        .filter(|step| matches!(step.happening, Happening::Signal(Signal::Begin(_))))
        .map(|step| PlannedTask {
            agent: AGENTS[first_asks(counterexample, &step.actor)].to_owned(),
            begin_at_us: 0,
            effect: effect(bounds, &step.actor),
            misuse: None,
        })
        .collect();
    let later = |later_us: &u64| {
        let mut tasks = wanted.clone();
        for task in tasks.iter_mut().skip(1) {
            task.begin_at_us = *later_us;
        }
        tasks
    };
    let variants = if wanted.len() > 1 { &LATER_US[..] } else { &LATER_US[..1] };
    variants.iter().map(later).collect()
}

/// How long roles wait. Where an effect is late in the checker, it may have to be late inside the
/// destination: then slow mutations, and workers that wait for them, are tried, too.
pub(super) fn timings(counterexample: &Counterexample) -> Vec<Timing> {
    let is_effect = |step: &Moment| matches!(step.happening, Happening::Signal(Signal::Effect(..)));
    let mut steps = counterexample.steps.windows(2);
    let is_late = steps.any(|two| is_effect(&two[1]) && two[1].actor != two[0].actor);
    let usual = Timing::default();
    let slow = is_late.then_some(Timing {
        effect_us: SLOW_EFFECT_US,
        attempt_timeout_us: PATIENT_TRY_US,
        ..usual
    });
    std::iter::once(usual).chain(slow).collect()
}

/// Which agent of the world first asks the worker that this agent of the checker first asks.
fn first_asks(counterexample: &Counterexample, agent: &str) -> usize {
    counterexample
        .steps
        .iter()
        .find_map(|step| match &step.happening {
            Happening::Delivery { post, .. }
                if post.kind == "perform" && post.from.name() == agent =>
            {
                let Actor::Worker(worker) = &post.to else { return None };
                WORKERS.iter().position(|name| *name == worker.as_str())
            }
            _ => None,
        })
        .unwrap_or(0)
}

/// The checker deals resources out to operations in turn.
fn effect(bounds: &Bounds, agent: &str) -> Effect {
    let number = agent.rsplit('-').next().and_then(|number| u8::from_str_radix(number, 16).ok());
    let resource = number.map_or(0, |number| number.saturating_sub(1) % bounds.resources);
    match resource {
        _ if !bounds.is_conditional => Effect::Invoice,
        0 => Effect::RoutingRule,
        1 => Effect::BillingLimit,
        _ => Effect::WebhookDestination,
    }
}
