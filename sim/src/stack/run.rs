//! One run of a plan: faults first, then everything heals and has to settle.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use holdover_model::invariant::{InvariantId, Monitor, Subject, Violation};
use serde::{Deserialize, Serialize};

use crate::plan::{Plan, PlanError};
use crate::world::{FiredFault, Record, RunEnd, World, WorldConfig};

/// How long after the last fault everything has to be settled.
const SETTLE_WITHIN: Duration = Duration::from_secs(60);

/// How long a settled system is watched for stragglers.
const WATCH_FOR: Duration = Duration::from_millis(1500);

/// How many steps a run may take before it counts as stuck.
const STEPS_MAX: u64 = 2_000_000;

/// What was found wrong in a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// An invariant broke.
    Violation(Violation),
    /// A task on a host panicked.
    Panic {
        /// On which host.
        host: String,
        /// What it said.
        message: String,
    },
    /// The run took more steps than any run should.
    OutOfSteps,
}

impl Finding {
    /// The class of the finding: an invariant's name, or what else it was.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Violation(violation) => violation.invariant.as_str(),
            Self::Panic { .. } => "panic",
            Self::OutOfSteps => "out-of-steps",
        }
    }

    /// What happened, in one sentence.
    pub fn explanation(&self) -> String {
        match self {
            Self::Violation(violation) => violation.explanation.clone(),
            Self::Panic { host, message } => format!("a task on {host} panicked: {message}"),
            Self::OutOfSteps => format!("the run was not over after {STEPS_MAX} steps"),
        }
    }

    /// What it is about.
    pub fn subject(&self) -> Option<&Subject> {
        match self {
            Self::Violation(violation) => Some(&violation.subject),
            Self::Panic { .. } | Self::OutOfSteps => None,
        }
    }
}

/// What a run showed.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was found wrong, if anything.
    pub finding: Option<Finding>,
    /// The digest over everything that happened.
    pub digest: [u8; 32],
    /// The evidence, in order.
    pub records: Vec<Record>,
    /// The faults that struck.
    pub faults_fired: Vec<FiredFault>,
    /// How long it took in simulated time.
    pub simulated: Duration,
}

/// What the observer keeps between events.
struct Watch {
    monitor: Monitor,
    broken: Option<Violation>,
    tasks: usize,
    ends_when_settled: bool,
}

impl Watch {
    fn observe(&mut self, record: &Record) -> ControlFlow<()> {
        if let Err(violation) = self.monitor.observe(&record.event) {
            self.broken = Some(*violation);
            return ControlFlow::Break(());
        }
        if self.ends_when_settled && self.is_settled() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn is_settled(&self) -> bool {
        self.monitor.answered() == self.tasks && self.monitor.is_settled()
    }

    /// What is wrong once there was time enough for everything.
    fn finish(&self) -> Option<Violation> {
        if let Err(violation) = self.monitor.finish() {
            return Some(*violation);
        }
        let answered = self.monitor.answered();
        (answered < self.tasks).then(|| Violation {
            invariant: InvariantId::EveryOperationSettles,
            explanation: format!("only {answered} of {} tasks were answered", self.tasks),
            subject: Subject::default(),
        })
    }
}

/// Runs a plan on the reference system.
///
/// # Errors
///
/// When the plan names a host that the reference system does not have.
pub fn run(plan: &Plan) -> Result<Run, PlanError> {
    let config = WorldConfig { link: plan.link, steps_max: STEPS_MAX, ..WorldConfig::default() };
    let mut world = World::new(plan.seed, config);
    super::install(&mut world, plan);
    for planned in &plan.faults {
        world.plan(planned.clone())?;
    }
    let watch = Rc::new(RefCell::new(Watch {
        monitor: Monitor::new(plan.design.guarantee),
        broken: None,
        tasks: plan.tasks.len(),
        ends_when_settled: false,
    }));
    let observer = Rc::clone(&watch);
    world.observe(move |record| observer.borrow_mut().observe(record));

    let heal_at = Duration::from_micros(plan.heal_at_us);
    world.heal_at(heal_at);
    let mut end = world.run_until(heal_at);
    if is_open(&end) && watch.borrow().broken.is_none() {
        if !watch.borrow().is_settled() {
            watch.borrow_mut().ends_when_settled = true;
            end = world.run_until(heal_at + SETTLE_WITHIN);
            watch.borrow_mut().ends_when_settled = false;
        }
        if is_open(&end) && watch.borrow().is_settled() {
            end = world.run_for(WATCH_FOR);
        }
    }

    let watch = watch.borrow();
    let finding = match end {
        RunEnd::Panicked { host, message } => Some(Finding::Panic { host, message }),
        RunEnd::OutOfSteps => Some(Finding::OutOfSteps),
        RunEnd::Stopped | RunEnd::Deadline | RunEnd::Idle => {
            watch.broken.clone().or_else(|| watch.finish()).map(Finding::Violation)
        }
    };
    Ok(Run {
        finding,
        digest: world.digest(),
        records: world.records().to_vec(),
        faults_fired: world.faults_fired(),
        simulated: world.now(),
    })
}

fn is_open(end: &RunEnd) -> bool {
    matches!(end, RunEnd::Stopped | RunEnd::Deadline | RunEnd::Idle)
}
