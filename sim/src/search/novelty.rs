//! What counts as new: an abstract state of the system, after a kind of fault.
//!
//! Not the code's lines, which every run covers, and not whole states, of which every run has
//! others: whether an operation is in which stage, how many outcomes are unknown, leases held and
//! acquisitions under way, up to "many", and what the destination last refused. Together with what struck last, that tells a run in which an outcome was
//! unknown after a crash from one in which it was after a lost answer. Feedback from states
//! instead of code is what Mallory does for distributed systems (Meng et al., CCS 2023).

use std::collections::BTreeMap;

use holdover_model::event::{Event, EventKind};
use holdover_model::identity::OperationId;

use crate::fault::FaultKind;
use crate::world::{FiredFault, Record};

/// An abstract state, and the kind of fault that struck last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Feature {
    last_fault: Option<FaultKind>,
    state: State,
}

/// What there is, and how much of it where that matters, up to [`MANY`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct State {
    claimed: bool,
    dispatched: bool,
    unknown: u8,
    leases: u8,
    acquisitions: u8,
    rejected: Option<EventKind>,
}

const MANY: usize = 2;

/// What a run has reached, without repetitions.
pub fn features(records: &[Record], faults_fired: &[FiredFault]) -> Vec<Feature> {
    let mut features = Vec::new();
    let mut following = Following::default();
    let mut faults = faults_fired.iter().peekable();
    let mut last_fault = None;
    for record in records {
        while let Some(fired) = faults.next_if(|fired| fired.at_ns <= record.at_ns) {
            last_fault = Some(fired.fault.kind());
        }
        following.follow(&record.event);
        features.push(Feature { last_fault, state: following.state() });
    }
    features.sort_unstable();
    features.dedup();
    features
}

/// Follows a run from event to event.
#[derive(Default)]
struct Following {
    stages: BTreeMap<OperationId, Stage>,
    leases: usize,
    acquisitions: usize,
    rejected: Option<EventKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Claimed,
    Dispatched,
    Unknown,
    Over,
}

impl Following {
    fn follow(&mut self, event: &Event) {
        let (operation_id, stage) = match event {
            Event::OperationClaimed { operation_id, .. } => (operation_id, Stage::Claimed),
            Event::Dispatched { envelope, .. } => (&envelope.operation_id, Stage::Dispatched),
            Event::OutcomeUnknown { operation_id, .. } => (operation_id, Stage::Unknown),
            Event::OperationCompleted { operation_id, .. } => (operation_id, Stage::Over),
            Event::LeaseGranted { .. } => {
                self.leases += 1;
                self.acquisitions += 1;
                return;
            }
            Event::LeaseEnded { .. } => {
                self.leases = self.leases.saturating_sub(1);
                return;
            }
            Event::LeasesVoided { .. } => {
                self.leases = 0;
                return;
            }
            Event::TakeoverComplete { .. } => {
                self.acquisitions = self.acquisitions.saturating_sub(1);
                return;
            }
            Event::EffectRejected { .. }
            | Event::EffectReplayed { .. }
            | Event::IdentityCollision { .. } => {
                self.rejected = Some(event.kind());
                return;
            }
            _ => return,
        };
        self.stages.insert(operation_id.clone(), stage);
    }

    fn state(&self) -> State {
        let few = |count: usize| u8::try_from(count.min(MANY)).expect("it is at most MANY");
        let in_stage = |stage| self.stages.values().filter(|of_one| **of_one == stage).count();
        State {
            claimed: in_stage(Stage::Claimed) > 0,
            dispatched: in_stage(Stage::Dispatched) > 0,
            unknown: few(in_stage(Stage::Unknown)),
            leases: few(self.leases),
            acquisitions: few(self.acquisitions),
            rejected: self.rejected,
        }
    }
}
