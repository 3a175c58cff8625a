//! From a path of fingerprints back to what happened, for a timeline.

use std::fmt;

use serde::Serialize;

use crate::check::action::Action;
use crate::check::space::{Lens, Space, Successors};
use crate::event::Event;
use crate::invariant::Violation;

/// One step of a counterexample.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Moment {
    /// Who takes it; `clock` for the passing of time.
    pub actor: String,
    /// What it is, in words.
    pub action: String,
    /// The facts that it makes true.
    pub events: Vec<Event>,
}

/// A run that breaks an invariant, and why it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// What happens, one step after the other. The last one breaks the invariant.
    pub steps: Vec<Moment>,
    /// Which invariant, and why.
    pub violation: Violation,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.steps.iter().map(|step| step.actor.len()).max().unwrap_or(0);
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(f, "{:>4}  {:width$}  {}", index + 1, step.actor, step.action)?;
            for event in &step.events {
                writeln!(f, "      {:width$}    * {event}", "")?;
            }
        }
        write!(f, "      {:width$}  => {}", "", self.violation)
    }
}

/// Follows a path of fingerprints from the first state. After the last one comes the step
/// that breaks an invariant, or nothing more if nothing settles from there.
pub(crate) fn follow(space: &Space, path: &[u64]) -> Counterexample {
    let mut lens = Lens::new(space);
    let mut successors = Successors::default();
    let mut steps = Vec::new();
    // The states of this run keep the names of their operations from step to step, so they
    // are only compared by their representatives.
    let mut state = match lens.initial() {
        Ok(state) => state,
        Err(violation) => return Counterexample { steps, violation: *violation },
    };
    lens.keeps_names(true);
    for next in &path[1..] {
        lens.expand(&state, &mut successors);
        let mut found = None;
        for (action, successor) in successors.iter() {
            let Some(successor) = successor else { continue };
            if lens.representative_fingerprint(successor) == *next {
                found = Some((action, successor.to_vec()));
                break;
            }
        }
        let (action, successor) = found.expect("a path leads from state to state");
        steps.push(moment(space, &mut lens, &state, action));
        state = successor;
    }
    lens.expand(&state, &mut successors);
    let breaking = successors.iter().find(|(_, successor)| successor.is_none());
    let mut monitor = space.monitor_of(&state).as_ref().clone();
    let violation = match breaking {
        Some((action, _)) => {
            let step = moment(space, &mut lens, &state, action);
            let observed = step.events.iter().try_for_each(|event| monitor.observe(event));
            steps.push(step);
            observed.expect_err("this step breaks an invariant")
        }
        None => monitor.finish().expect_err("a settled state is not wedged"),
    };
    Counterexample { steps, violation: *violation }
}

fn moment(space: &Space, lens: &mut Lens<'_>, state: &[u32], action: Action) -> Moment {
    Moment {
        actor: action.actor(space).map_or("clock", |actor| actor.name()).to_owned(),
        action: action.describe(space),
        events: space.events(lens.events_of(state, action)).to_vec(),
    }
}
