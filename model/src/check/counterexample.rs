//! From a path of fingerprints back to what happened, for a timeline.

use std::fmt;

use serde::Serialize;

use crate::check::action::Action;
use crate::check::expand::Successors;
use crate::check::lens::Lens;
use crate::check::mail::{Happening, Mail, Post};
use crate::check::refutation::Refutation;
use crate::check::settle::Calm;
use crate::check::space::Space;
use crate::design::setting::SettingId;
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
    /// What it is, for whoever wants to make it happen elsewhere.
    #[serde(skip)]
    pub happening: Happening,
}

/// A run that breaks an invariant, and why it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// What happens, one step after the other. The last one breaks the invariant.
    pub steps: Vec<Moment>,
    /// Which invariant, and why.
    pub violation: Violation,
    /// The messages that were still under way, or that could never matter again.
    pub under_way: Vec<Post>,
    /// The same as an argument against other designs.
    pub(crate) refutation: Refutation,
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
        Err(violation) => {
            let refutation = Refutation::new(&space.system, &steps, None);
            return Counterexample {
                steps,
                violation: *violation,
                under_way: Vec::new(),
                refutation,
            };
        }
    };
    lens.keeps_names(true);
    let mut mail = Mail::default();
    mail.send(space, &state[space.head()..], None);
    for next in &path[1..] {
        lens.expand_chosen(&state, &mut successors);
        let chosen: Vec<_> = successors
            .iter()
            .filter_map(|(action, successor)| Some((action, successor?.to_vec())))
            .collect();
        let (stretch, last) = chosen
            .into_iter()
            .find_map(|(action, successor)| {
                let stretch = stretch(&mut lens, action, successor)?;
                (lens.representative_fingerprint(&stretch.1) == *next).then_some(stretch)
            })
            .expect("a path leads from state to state");
        for (action, reached) in stretch {
            let step = moment(&mut lens, &mut mail, &state, action, steps.len());
            steps.push(step);
            state = reached;
        }
        debug_assert_eq!(state, last);
    }
    lens.expand_chosen(&state, &mut successors);
    let broken = break_invariant(&mut lens, &mail, &successors, &state, &mut steps);
    let wedge = broken.is_none().then(|| {
        let is_wedged = !Calm::new().settles(&mut lens, &state);
        // If that was seen by more than this look, anything may have had a say in it.
        if is_wedged { lens.asked } else { SettingId::all().collect() }
    });
    let violation = broken.unwrap_or_else(|| {
        *space.monitor_of(&state).finish().expect_err("a settled state is not wedged")
    });
    let refutation = Refutation::new(&space.system, &steps, wedge);
    Counterexample { steps, violation, under_way: mail.under_way(), refutation }
}

/// Actions, each with the state after it.
type Stretch = Vec<(Action, Vec<u32>)>;

/// A step and those that are taken at once after it; `None` if they break an invariant.
fn stretch(lens: &mut Lens<'_>, action: Action, state: Vec<u32>) -> Option<(Stretch, Vec<u32>)> {
    let mut successors = Successors::default();
    let mut stretch = vec![(action, state.clone())];
    let mut last = state;
    while lens.space.reductions.partial_order && lens.step_at_once(&last, &mut successors) {
        let (action, next) = successors.iter().next().expect("there is one step");
        last = next?.to_vec();
        stretch.push((action, last.clone()));
    }
    Some((stretch, last))
}

/// Takes the step after this state that breaks an invariant. If there is none, then what
/// is broken is that the state should settle.
fn break_invariant(
    lens: &mut Lens<'_>,
    mail: &Mail,
    successors: &Successors,
    state: &[u32],
    steps: &mut Vec<Moment>,
) -> Option<Violation> {
    let space = lens.space;
    let mut monitor = space.monitor_of(state).as_ref().clone();
    let mut ahead = Successors::default();
    for (action, successor) in successors.iter() {
        let before = steps.len();
        let mut mail = mail.clone();
        let step = moment(lens, &mut mail, state, action, before);
        steps.push(step);
        let Some(successor) = successor else {
            let step = &steps[before];
            let observed = step.events.iter().try_for_each(|event| monitor.observe(event));
            return Some(*observed.expect_err("this step breaks an invariant"));
        };
        let mut current = successor.to_vec();
        while space.reductions.partial_order && lens.step_at_once(&current, &mut ahead) {
            let (action, next) = ahead.iter().next().expect("there is one step");
            let step = moment(lens, &mut mail, &current, action, steps.len());
            steps.push(step);
            let Some(next) = next else {
                let mut monitor = space.monitor_of(&current).as_ref().clone();
                let events = &steps.last().expect("it was just added").events;
                let observed = events.iter().try_for_each(|event| monitor.observe(event));
                return Some(*observed.expect_err("this step breaks an invariant"));
            };
            current = next.to_vec();
        }
        steps.truncate(before);
    }
    None
}

/// The step that an action is in a state, the `index`-th of a run.
fn moment(
    lens: &mut Lens<'_>,
    mail: &mut Mail,
    state: &[u32],
    action: Action,
    index: usize,
) -> Moment {
    let space = lens.space;
    let happening = mail.happening(space, action);
    let outcome = lens.outcome_of(state, action);
    if let Some(outcome) = outcome {
        mail.send(space, lens.sends(outcome), Some(index));
    }
    Moment {
        actor: action.actor(space).map_or("clock", |actor| actor.name()).to_owned(),
        action: action.describe(space),
        events: outcome.map_or_else(Vec::new, |outcome| space.events(outcome.events).to_vec()),
        happening,
    }
}
