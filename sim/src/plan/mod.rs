//! One run as data: what the agents want, how the network is, what goes wrong when.
//!
//! A plan says everything that a run depends on, the design included. So it outlives the
//! seed from which it was generated, can be read, shrunk and edited by hand, and replays
//! after the generator has changed.

mod class;
mod describe;
mod generate;
mod saved;
mod strategy;

use holdover_model::design::Design;
use serde::{Deserialize, Serialize};

pub use class::Class;
pub use generate::{Profile, Style};
pub(crate) use saved::NOTHING;
pub use saved::{Expected, SavedPlan};
pub use strategy::{any, any_for, faults, link, order, tasks};

use crate::fault::PlannedFault;
use crate::random::Seed;
use crate::stack::{AGENTS, Effect, Misuse, Timing};
use crate::world::{LinkProfile, Order, UnknownHost};

/// Everything that a run depends on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What the run's remaining randomness grows from: latencies and ids.
    pub seed: Seed,
    /// From when on nothing goes wrong any more.
    pub heal_at_us: u64,
    /// How the order of packets is drawn that could arrive in any.
    #[serde(default, skip_serializing_if = "Order::is_uniform")]
    pub order: Order,
    /// How long packets travel.
    pub link: LinkProfile,
    /// How long the roles wait.
    pub timing: Timing,
    /// The design that is run.
    pub design: Design,
    /// What the agents want.
    pub tasks: Vec<PlannedTask>,
    /// Which leases are taken back, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revocations: Vec<Revocation>,
    /// What goes wrong.
    #[serde(default)]
    pub faults: Vec<PlannedFault>,
}

/// The authority takes back whatever lease there is on a resource.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revocation {
    /// When.
    pub at_us: u64,
    /// On the resource that this effect changes.
    pub effect: Effect,
}

/// One thing that an agent wants, and from when on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTask {
    /// Which agent.
    pub agent: String,
    /// When it begins with it.
    pub begin_at_us: u64,
    /// What it wants.
    pub effect: Effect,
    /// What goes wrong with it on the side of those who ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misuse: Option<Misuse>,
}

/// Why a plan cannot be run, read or written.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It names a host that is not there.
    #[error(transparent)]
    UnknownHost(#[from] UnknownHost),
    /// It gives a task to an agent that is not there.
    #[error("no agent is called `{name}`; there are: {known}")]
    UnknownAgent {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// It has a task shown with the consent of one that is not there.
    #[error("task {task} shows the consent of task {of_task}, but the last task is {last}")]
    UnknownTask {
        /// The task's place in the plan, from 0.
        task: usize,
        /// The place that it names.
        of_task: usize,
        /// The last place there is.
        last: usize,
    },
    /// The network is impossible.
    #[error("the smallest latency, {latency_us_min} us, exceeds the largest, {latency_us_max} us")]
    Latency {
        /// The smallest latency.
        latency_us_min: u64,
        /// The largest latency.
        latency_us_max: u64,
    },
    /// The text is not a plan.
    #[error("{file}: not a saved plan: {problem}")]
    Malformed {
        /// Where the text came from.
        file: String,
        /// What is wrong, on one line.
        problem: String,
    },
    /// The text is a plan, but not the one that was saved.
    #[error(
        "{file}: not the plan that was saved; to replay it as it is, remove the line `plan_sha256`"
    )]
    Altered {
        /// Where the text came from.
        file: String,
    },
    /// The file cannot be read or written.
    #[error("{file}: {error}")]
    File {
        /// Which file.
        file: String,
        /// What the system said.
        error: std::io::Error,
    },
}

impl Plan {
    /// A plan in which nothing goes wrong and nothing is left to chance: every packet takes as long
    /// as every other.
    pub(crate) fn quiet(design: &Design, tasks: Vec<PlannedTask>, latency_us: u64) -> Self {
        let profile = Profile::default();
        Self {
            seed: Seed(0),
            heal_at_us: profile.heal_at_us(),
            order: Order::Uniform,
            link: LinkProfile { latency_us_min: latency_us, latency_us_max: latency_us },
            timing: profile.timing,
            design: design.clone(),
            tasks,
            revocations: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Looks for what the types cannot exclude.
    ///
    /// # Errors
    ///
    /// When a task names an agent that the reference system does not have or a task that the plan
    /// does not have, or the latencies are the wrong way round. Hosts in faults are checked when the plan is run.
    pub fn validate(&self) -> Result<(), PlanError> {
        let LinkProfile { latency_us_min, latency_us_max } = self.link;
        if latency_us_min > latency_us_max {
            return Err(PlanError::Latency { latency_us_min, latency_us_max });
        }
        for (task, planned) in self.tasks.iter().enumerate() {
            if let Some(Misuse::ApprovalReplayed { of_task }) = planned.misuse
                && of_task >= self.tasks.len()
            {
                let last = self.tasks.len() - 1;
                return Err(PlanError::UnknownTask { task, of_task, last });
            }
        }
        match self.tasks.iter().find(|task| !AGENTS.contains(&task.agent.as_str())) {
            None => Ok(()),
            Some(task) => {
                Err(PlanError::UnknownAgent { name: task.agent.clone(), known: AGENTS.join(", ") })
            }
        }
    }
}
