//! A counterexample as an argument: which other designs it refutes, too.
//!
//! A counterexample is a schedule: which message is delivered when, which timer fires, who crashes.
//! Under another design the same schedule may lead through other states, and may still break an
//! invariant. So it is replayed there, role by role, and what each step asks is noted: whatever
//! design agrees about that goes through the very same run, and is broken as well.
//!
//! Some settings can be left free in such a replay, all at once. What they change then has to stay
//! within a role: whatever they are, it sends the same messages and makes the same facts true. So a
//! role may be in one of several states, and the rest of the run does not depend on which.
//!
//! Claims are no part of the steps. The more a design claims, the more is a violation; so it
//! stands as long as the claims stand that it needs.

use std::mem::discriminant;

use crate::check::bounds::{Bounds, Budget, Budgets};
use crate::check::component::{Component, Input, Step};
use crate::check::counterexample::Moment;
use crate::check::mail::Happening;
use crate::check::system::{Leave, System};
use crate::design::Design;
use crate::design::change::{Change, SettingValue};
use crate::design::guarantee::{FencedFrom, Guarantee};
use crate::design::setting::{SettingId, SettingSet};
use crate::event::Event;
use crate::invariant::Monitor;
use crate::role::{Actor, Message, Signal};

/// How many states a role may be in when settings are free.
const STATES_MAX: usize = 24;

/// In how many ways a step may be taken when settings are free.
const WAYS_MAX: usize = 100;

/// A schedule that breaks an invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refutation {
    design: Design,
    bounds: Bounds,
    /// Who acts, and what it is.
    schedule: Vec<(Option<Actor>, Happening)>,
    /// If nothing settles after it: what all steps asked from which that was seen.
    wedge: Option<SettingSet>,
}

impl Refutation {
    /// What happens in a counterexample, as a schedule.
    pub(crate) fn new(system: &System, steps: &[Moment], wedge: Option<SettingSet>) -> Self {
        let actor = |step: &Moment| {
            let mut actors = system.actors().iter();
            actors.find(|actor| actor.name() == step.actor).cloned()
        };
        let schedule = steps.iter().map(|step| (actor(step), step.happening.clone())).collect();
        let (design, bounds) = (system.design().clone(), system.bounds().clone());
        Self { design, bounds, schedule, wedge }
    }

    /// The settings and claims that make this schedule break a design: it breaks every design
    /// that agrees with that one about them. `None` if it does not break it.
    pub(crate) fn because(&self, design: &Design) -> Option<SettingSet> {
        self.because_of_others(design, &[])
    }

    /// The same where some settings may have any of these values, in any combination; they are not
    /// among those that matter.
    pub(crate) fn because_of_others(
        &self,
        design: &Design,
        free: &[(SettingId, &[SettingValue])],
    ) -> Option<SettingSet> {
        if let Some(asked) = self.wedge {
            // To settle, no invariant may be broken on the way.
            let claims = SettingId::all().filter(|id| id.is_claim());
            let because = claims.fold(asked, SettingSet::with);
            return (!design.differing(&self.design).meets(because)).then_some(because);
        }
        let mut replay = Replay::new(design, &self.bounds, free)?;
        for (actor, happening) in &self.schedule {
            if replay.is_broken {
                break;
            }
            replay.act(actor.as_ref(), happening)?;
        }
        let asked = free.iter().fold(replay.asked, |asked, (setting, _)| asked.without(*setting));
        replay.is_broken.then(|| asked.or(claims_needed(design.guarantee, &replay.events)))
    }
}

/// A message under way, by which it is found again under another design.
struct Letter {
    from: Actor,
    to: usize,
    message: Message,
    /// The how-many-th of its kind from this sender it is, counted from 1.
    nth: u64,
}

/// A run of one design after a schedule.
struct Replay<'a> {
    system: System,
    free: &'a [(SettingId, &'a [SettingValue])],
    /// For each slot, every state that its role may be in.
    components: Vec<Vec<Component>>,
    letters: Vec<Letter>,
    /// Who has sent what kind of message so far.
    sent: Vec<(Actor, &'static str)>,
    backups: Vec<Component>,
    left: Budgets,
    tick: u8,
    monitor: Monitor,
    events: Vec<Event>,
    asked: SettingSet,
    is_broken: bool,
}

impl<'a> Replay<'a> {
    fn new(
        design: &Design,
        bounds: &Bounds,
        free: &'a [(SettingId, &'a [SettingValue])],
    ) -> Option<Self> {
        let system = System::new(design, bounds);
        let slots = system.actors().len();
        let mut replay = Self {
            free,
            components: (0..slots).map(|slot| vec![system.fresh(slot)]).collect(),
            letters: Vec::new(),
            sent: Vec::new(),
            backups: Vec::new(),
            left: bounds.budgets,
            tick: 0,
            monitor: system.monitor(),
            events: Vec::new(),
            asked: system.asked(),
            is_broken: false,
            system,
        };
        for slot in 0..slots {
            replay.step(slot, &[Input::Start])?;
        }
        let authority = replay.system.slot(&Actor::Authority).expect("it takes part");
        replay.back_up(authority);
        // Who takes part must not depend on what is free.
        let is_decided =
            replay.free.iter().all(|(setting, _)| !replay.system.asked().contains(*setting));
        is_decided.then_some(replay)
    }

    /// Lets something happen; `None` if it cannot.
    fn act(&mut self, actor: Option<&Actor>, happening: &Happening) -> Option<()> {
        let slot = |replay: &Self| replay.system.slot(actor?);
        match happening {
            Happening::Delivery { post, is_doubled } => {
                let to = self.system.slot(&post.to)?;
                let place = self.letters.iter().position(|letter| {
                    letter.to == to
                        && letter.from == post.from
                        && letter.nth == post.nth
                        && letter.message.kind() == post.kind
                })?;
                let message = if *is_doubled {
                    self.left = self.left.spend(Budget::Duplications)?;
                    self.letters[place].message.clone()
                } else {
                    self.letters.remove(place).message
                };
                self.step(to, &[Input::Message { from: post.from.clone(), message }])?;
            }
            // Lost or never delivered: it is the same run.
            Happening::Loss(_) => {}
            Happening::Signal(signal) => {
                let slot = slot(self)?;
                let signal = self.meant(slot, signal)?;
                self.step(slot, &[Input::Signal(signal)])?;
            }
            Happening::Crash => {
                let slot = slot(self)?;
                self.left = self.left.spend(self.system.crash_budget(slot))?;
                self.step(slot, &[Input::Start])?;
            }
            Happening::Term => {
                self.left = self.left.spend(Budget::Expiries)?;
                self.tick += 1;
            }
            Happening::BackUp => self.back_up(slot(self)?),
            Happening::Restore => {
                self.left = self.left.spend(Budget::Restores)?;
                let restored =
                    self.backups.iter().cloned().map(|backup| Input::Restore(backup.into()));
                self.step(slot(self)?, &restored.collect::<Vec<_>>())?;
            }
        }
        Some(())
    }

    /// The signal that takes the place of one from the schedule, if it can be had: ids and epochs
    /// in it may differ from design to design.
    fn meant(&mut self, slot: usize, signal: &Signal) -> Option<Signal> {
        let stimuli = self.system.stimuli();
        if let Some((.., budget)) = stimuli.iter().find(|(to, is, _)| *to == slot && is == signal) {
            self.left = self.left.spend(*budget)?;
            return Some(signal.clone());
        }
        let first = self.components[slot].first()?;
        let like = |(armed, _): &(&Signal, _)| discriminant(*armed) == discriminant(signal);
        let mut same = first.armed().filter(|(armed, _)| *armed == signal);
        let (meant, pace) = same.next().or_else(|| first.armed().find(like))?;
        let is_armed =
            |component: &Component| component.armed().any(|armed| armed == (meant, pace));
        if !self.components[slot].iter().all(is_armed) {
            return None;
        }
        let meant = meant.clone();
        if let Leave::Spends(budget) = System::leave(pace) {
            self.left = self.left.spend(budget)?;
        }
        Some(meant)
    }

    fn back_up(&mut self, authority: usize) {
        self.backups = self.components[authority].iter().map(Component::backup).collect();
    }

    /// A role takes a step, from each state that it may be in, by each of these inputs, and under
    /// each value of what is free; `None` if others can tell them apart.
    fn step(&mut self, slot: usize, inputs: &[Input]) -> Option<()> {
        let mut after: Vec<Component> = Vec::new();
        let mut shown = None;
        for before in &self.components[slot] {
            for input in inputs {
                for step in self.ways(slot, before, input)? {
                    let Step { component, sends, events, asked } = step;
                    self.asked = self.asked.or(asked);
                    if !after.contains(&component) {
                        after.push(component);
                    }
                    let outside = (sends, events);
                    if *shown.get_or_insert_with(|| outside.clone()) != outside {
                        return None;
                    }
                }
            }
        }
        if after.len() > STATES_MAX {
            return None;
        }
        self.components[slot] = after;
        let (sends, events) = shown?;
        for (to, message) in sends {
            let Some(to) = self.system.slot(&to) else { continue };
            let (from, kind) = (self.system.speaker(slot, &message), message.kind());
            let is_alike = |(by, is): &&(Actor, &str)| *by == from && *is == kind;
            let before = self.sent.iter().filter(is_alike).count();
            self.sent.push((from.clone(), kind));
            let nth = before as u64 + 1;
            self.letters.push(Letter { from, to, message, nth });
        }
        for event in events {
            self.is_broken |= self.monitor.observe(&event).is_err();
            self.events.push(event);
        }
        Some(())
    }

    /// A step under each value of what is free and is asked for, in all combinations; `None` if
    /// there are too many.
    fn ways(&self, slot: usize, component: &Component, input: &Input) -> Option<Vec<Step>> {
        let mut designs = vec![self.system.design().clone()];
        let mut ways: Vec<Step> = Vec::new();
        let mut next = 0;
        while let Some(design) = designs.get(next) {
            next += 1;
            let step = self.system.step_under(design, slot, component, self.tick, input);
            let design = design.clone();
            for (setting, values) in self.free.iter().filter(|(id, _)| step.asked.contains(*id)) {
                for to in *values {
                    let other = design.with(Change { setting: *setting, to: *to });
                    if !designs.contains(&other) {
                        designs.push(other);
                    }
                }
            }
            if designs.len() > WAYS_MAX {
                return None;
            }
            if !ways.contains(&step) {
                ways.push(step);
            }
        }
        Some(ways)
    }
}

/// Gives a claim up.
type GiveUp = fn(&mut Guarantee);

/// The fewest claims with which these events still break an invariant.
fn claims_needed(guarantee: Guarantee, events: &[Event]) -> SettingSet {
    let breaks = |guarantee| {
        let mut monitor = Monitor::new(guarantee);
        events.iter().any(|event| monitor.observe(event).is_err())
    };
    let claims: [(&str, GiveUp); 6] = [
        ("rejects-invented-epochs", |claims| claims.rejects_invented_epochs = false),
        ("definite-outcomes", |claims| claims.definite_outcomes = false),
        ("stable-identity", |claims| claims.stable_identity = false),
        ("revocation", |claims| claims.revocation = false),
        ("expiry", |claims| claims.expiry = false),
        ("fenced-from", |claims| claims.fenced_from = FencedFrom::Never),
    ];
    let mut left = guarantee;
    let mut needed = SettingSet::default();
    for (name, give_up) in claims {
        let mut without = left;
        give_up(&mut without);
        if breaks(without) {
            left = without;
        } else {
            needed = needed.with(SettingId::of(Guarantee::SECTION.name, name));
        }
    }
    needed
}
