//! Which of two plans is simpler: one total order, so that shrinking always ends.

use super::numbers;
use crate::fault::simpler;
use crate::plan::Plan;
use crate::stack::{AGENTS, WORKERS};
use crate::world::LinkProfile;

/// How much there is to read in a plan. What stands first counts most.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Size {
    faults: usize,
    tasks: usize,
    /// How far the faults' kinds are from the simplest.
    complexity: u64,
    /// How many hosts the faults name.
    hosts: usize,
    /// How often an agent or worker is named that is not the first.
    others: usize,
    /// What is to be said about the network.
    network: u64,
    /// How large the numbers are, all together.
    numbers: u128,
}

/// The networks that are tried, the simplest first: every packet takes as long as every other.
pub(super) const CALM_US: [u64; 4] = [1_000, 200, 5_000, 10_000];

impl Size {
    pub(super) fn of(plan: &Plan) -> Self {
        let struck = plan.faults.iter().flat_map(|planned| planned.fault.hosts());
        let named = plan
            .faults
            .iter()
            .flat_map(|planned| [planned.fault.hosts(), planned.trigger.hosts()].concat())
            .chain(plan.tasks.iter().map(|task| task.agent.as_str()));
        Self {
            faults: plan.faults.len(),
            tasks: plan.tasks.len(),
            complexity: plan
                .faults
                .iter()
                .map(|planned| simpler::complexity(planned.fault.kind()))
                .chain(plan.tasks.iter().map(|task| u64::from(task.misuse.is_some())))
                .chain(plan.revocations.iter().map(|_| 1))
                .sum(),
            hosts: struck.count(),
            others: named.filter(|host| is_other(host)).count(),
            network: 2 * network(plan.link) + u64::from(!plan.order.is_uniform()),
            numbers: numbers::of(plan).iter().map(|number| u128::from(number.weight())).sum(),
        }
    }
}

/// Whether it is a worker or an agent, but not the first.
fn is_other(host: &str) -> bool {
    WORKERS[1..].contains(&host) || AGENTS[1..].contains(&host)
}

fn network(link: LinkProfile) -> u64 {
    let LinkProfile { latency_us_min, latency_us_max } = link;
    let place = CALM_US.iter().position(|us| *us == latency_us_min);
    match place {
        Some(place) if latency_us_min == latency_us_max => place as u64,
        _ => CALM_US.len() as u64 + latency_us_max - latency_us_min,
    }
}
