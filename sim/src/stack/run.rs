//! One run of a plan: faults first, then everything heals and has to settle.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use holdover_model::invariant::{InvariantId, Monitor, Subject, Violation};
use serde::{Deserialize, Serialize};

use crate::plan::{Plan, PlanError};
use crate::world::{FiredFault, Moment, Record, RunEnd, World, WorldConfig};

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
    OutOfSteps {
        /// The host whose tasks were run most often.
        host: String,
    },
    /// The run took more memory than any run should.
    OutOfMemory {
        /// The host whose events and packets take most of it.
        host: String,
    },
    /// The tasks of a host do not let time pass.
    Stuck {
        /// On which host.
        host: String,
    },
    /// Code on a host never came back: it neither ended nor awaited. Nothing else is known
    /// of such a run, because nothing in it can be stopped.
    Hang {
        /// On which host.
        host: String,
        /// How long it was waited for in real time.
        after_s: u64,
    },
}

impl Finding {
    /// The class of the finding: an invariant's name, or what else it was.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Violation(violation) => violation.invariant.as_str(),
            Self::Panic { .. } => "panic",
            Self::OutOfSteps { .. } => "out-of-steps",
            Self::OutOfMemory { .. } => "out-of-memory",
            Self::Stuck { .. } => "stuck",
            Self::Hang { .. } => "hang",
        }
    }

    /// What happened, in one sentence.
    pub fn explanation(&self) -> String {
        match self {
            Self::Violation(violation) => violation.explanation.clone(),
            Self::Panic { host, message } => format!("a task on {host} panicked: {message}"),
            Self::OutOfSteps { host } => {
                format!("the run was not over after {STEPS_MAX} steps; most was done on {host}")
            }
            Self::OutOfMemory { host } => {
                format!("events and packets fill the memory; most of them are from {host}")
            }
            Self::Stuck { host } => format!(
                "the tasks on {host} wake themselves or each other without end, and no time passes"
            ),
            Self::Hang { host, after_s } => {
                format!("code on {host} has neither ended nor awaited for {after_s} s of real time")
            }
        }
    }

    /// The host that is to blame, where one is.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Violation(_) => None,
            Self::Panic { host, .. }
            | Self::OutOfSteps { host }
            | Self::OutOfMemory { host }
            | Self::Stuck { host }
            | Self::Hang { host, .. } => Some(host),
        }
    }

    /// What it is about.
    pub fn subject(&self) -> Option<&Subject> {
        match self {
            Self::Violation(violation) => Some(&violation.subject),
            _ => None,
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
    /// How many [steps](World::steps) it took.
    pub steps: u64,
    /// Every moment, if the world was asked to [record](World::record_trace) them.
    pub trace: Vec<Moment>,
}

impl Run {
    /// A run that never came back: all that can be said about it.
    pub(crate) fn hung(host: String, after: Duration) -> Self {
        Self {
            finding: Some(Finding::Hang { host, after_s: after.as_secs() }),
            digest: [0; 32],
            records: Vec::new(),
            faults_fired: Vec::new(),
            simulated: Duration::ZERO,
            steps: 0,
            trace: Vec::new(),
        }
    }
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
/// When the plan is not [valid](Plan::validate), or names a host that the reference system does
/// not have.
pub fn run(plan: &Plan) -> Result<Run, PlanError> {
    run_with(plan, |_| ())
}

/// The same, with a world that `prepare` has changed: it may add hosts, which the plan's
/// faults may then name.
///
/// # Errors
///
/// When the plan is not [valid](Plan::validate), or names a host that is not there.
pub fn run_with(plan: &Plan, prepare: impl FnOnce(&mut World)) -> Result<Run, PlanError> {
    plan.validate()?;
    let config = WorldConfig {
        link: plan.link,
        order: plan.order,
        steps_max: STEPS_MAX,
        ..WorldConfig::default()
    };
    let mut world = World::new(plan.seed, config);
    super::install(&mut world, plan);
    prepare(&mut world);
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
        RunEnd::OutOfSteps { host } => Some(Finding::OutOfSteps { host }),
        RunEnd::OutOfMemory { host } => Some(Finding::OutOfMemory { host }),
        RunEnd::Stuck { host } => Some(Finding::Stuck { host }),
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
        steps: world.steps(),
        trace: world.trace(),
    })
}

fn is_open(end: &RunEnd) -> bool {
    matches!(end, RunEnd::Stopped | RunEnd::Deadline | RunEnd::Idle)
}
