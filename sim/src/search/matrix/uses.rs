//! Ways to use the system, and what happens in each.

use std::collections::BTreeSet;

use holdover_model::design::Design;

use super::ways::{SHORT_US, TAKEN_OVER_US, ways};
use crate::fault::{Fault, PlannedFault};
use crate::plan::{Plan, PlannedTask, Revocation};
use crate::search::census::{self, Moment};
use crate::stack::{AGENTS, Change, Effect, Forgery, Misuse};

/// The latency of every packet.
const LATENCY_US: u64 = 2_000;

/// When the lease of a task that began at the beginning has been handed back.
const HANDED_BACK_US: u64 = 58_000;

/// A way to use the system.
pub(super) struct Use {
    /// What is done. Nothing goes wrong in it but what the system is to recover from.
    pub plan: Plan,
    /// Only every so many turns is one of its cells next: the more it has in common with another
    /// use, the fewer.
    pub pace: usize,
    /// The kinds of message that it is about: what goes wrong with them is the most telling.
    pub about: [&'static str; 2],
    /// The moments at which something can go wrong, in order.
    pub scenes: Vec<Scene>,
    /// What goes wrong at them in other uses.
    pub known: BTreeSet<PlannedFault>,
}

/// A moment in its use.
pub(super) struct Scene {
    pub moment: Moment,
    /// How often something like it has happened before.
    pub occurrence: usize,
    /// Whether it is a message whose sender has opened the connection.
    pub opens: bool,
}

impl Use {
    fn new(plan: Plan, pace: usize) -> Self {
        let scenes = scenes(&plan, &BTreeSet::new());
        Self { plan, pace, about: ["apply", "applied"], scenes, known: BTreeSet::new() }
    }

    /// A use in which something goes wrong that the system recovers from. Its scenes are those
    /// that there are only then: with the others, the fault is a pair already.
    fn recovery(from: &Self, fault: PlannedFault, pace: usize) -> Self {
        let plan = Plan { faults: vec![fault], ..from.plan.clone() };
        let quiet = from.scenes.iter().map(|scene| scene.moment.clone()).collect();
        let (about, known) = (from.about, from.faults().collect());
        Self { scenes: scenes(&plan, &quiet), plan, pace, about, known }
    }

    /// Everything that can go wrong in it.
    fn faults(&self) -> impl Iterator<Item = PlannedFault> {
        self.scenes.iter().flat_map(|scene| {
            let planned = |fault| PlannedFault { trigger: scene.moment.trigger(), fault };
            ways(self, scene).into_iter().map(planned)
        })
    }

    /// Whether something goes wrong in it anyway.
    pub(super) fn recovers(&self) -> bool {
        !self.plan.faults.is_empty()
    }

    /// One way in which something can go wrong in one of its scenes, by their places.
    pub(super) fn fault(&self, scene: usize, way: usize) -> PlannedFault {
        let scene = &self.scenes[scene];
        let fault = ways(self, scene).swap_remove(way);
        PlannedFault { trigger: scene.moment.trigger(), fault }
    }
}

/// Every moment of a plan's run that is not one of those.
fn scenes(plan: &Plan, others: &BTreeSet<Moment>) -> Vec<Scene> {
    let moments = census::take(plan);
    let is_new = |moment: &&Moment| !others.contains(moment);
    let scene = |(place, moment): (usize, &Moment)| {
        let before = &moments[..place];
        let alike = before.iter().filter(is_new).filter(|earlier| earlier.is_like(moment));
        let (occurrence, opens) = (alike.count(), moment.opens(before));
        is_new(&moment).then(|| Scene { moment: moment.clone(), occurrence, opens })
    };
    moments.iter().enumerate().filter_map(scene).collect()
}

fn task(agent: usize, begin_at_us: u64, effect: Effect) -> PlannedTask {
    PlannedTask { agent: AGENTS[agent].into(), begin_at_us, effect, misuse: None }
}

fn quiet(design: &Design, tasks: Vec<PlannedTask>) -> Plan {
    Plan::quiet(design, tasks, LATENCY_US)
}

/// Ways to use the system that have in common that nothing is wrong with them.
pub(super) fn uses(design: &Design) -> Vec<Use> {
    let quiet = |tasks| quiet(design, tasks);
    let many = quiet(vec![
        // The two halves of the identity article leave in the same millisecond.
        task(0, 0, Effect::BillingLimit),
        task(1, 0, Effect::WebhookDestination),
        // Two want the same.
        task(0, 50_000, Effect::RoutingRule),
        task(1, 60_000, Effect::RoutingRule),
        // And once more, when leases have come to an end.
        task(1, 700_000, Effect::BillingLimit),
        task(0, 750_000, Effect::Invoice),
    ]);
    let one = Use::new(quiet(vec![task(0, 0, Effect::RoutingRule)]), 1);
    let two = |effect| quiet(vec![task(0, 0, effect), task(1, 0, effect)]);
    // An agent that asks the next worker while the first is still at it.
    let mut impatient = one.plan.clone();
    impatient.timing.agent_timeout_us = SHORT_US / 2;
    // A mutation that is still inside the destination when its worker is replaced.
    let mut slow = one.plan.clone();
    slow.timing.effect_us = TAKEN_OVER_US;
    slow.timing.attempt_timeout_us = TAKEN_OVER_US + SHORT_US / 6;
    // Where nobody tells a worker that its lease is gone, two abort each other's for ever.
    let can_be_inside = design.fence.asked().is_pushed() || design.fence.asked().is_consulted();
    // Its worker has just handed the lease back when it is to do the same again, and another, too.
    let contested = quiet(vec![
        task(0, 0, Effect::RoutingRule),
        task(0, HANDED_BACK_US, Effect::RoutingRule),
        task(1, HANDED_BACK_US + LATENCY_US, Effect::RoutingRule),
    ]);
    let contested = Use { about: ["release", "acquire"], ..Use::new(contested, 2) };
    let recoveries = recoveries(&one);

    let mut uses = vec![Use::new(many, 4), one];
    uses.push(Use::new(quiet(vec![task(0, 0, Effect::Invoice)]), 4));
    uses.extend([Effect::Invoice, Effect::RoutingRule].map(|effect| Use::new(two(effect), 4)));
    uses.push(Use::new(impatient, 4));
    uses.extend(can_be_inside.then(|| Use::new(slow, 2)));
    uses.push(contested);
    uses.extend(recoveries);
    uses
}

/// Uses in which one thing goes wrong, so that the system does what it does only then: what
/// recovers from one fault is code that hardly ever runs, and meets the second (Gunawi et al.,
/// *FATE and DESTINI*, NSDI 2011).
fn recoveries(from: &Use) -> Vec<Use> {
    let first = |wanted: &str, fault: fn(&str, &str, &str) -> Fault| {
        from.scenes.iter().find_map(|scene| match &scene.moment {
            Moment::Message { from, to, kind, .. } if kind == wanted => {
                let (trigger, fault) = (scene.moment.trigger(), fault(from, to, kind));
                Some(PlannedFault { trigger, fault })
            }
            _ => None,
        })
    };
    let lose = |from: &str, to: &str, kind: &str| Fault::LoseMessage {
        from: from.into(),
        to: to.into(),
        kind: kind.into(),
        times: 1,
    };
    let freeze =
        |host: &str, _: &str, _: &str| Fault::Freeze { host: host.into(), for_us: TAKEN_OVER_US };
    let faults = [
        // It has had no effect, and is tried again.
        (first("apply", lose), 2),
        // It has had its effect, which has to be found out.
        (first("applied", lose), 2),
        // Its worker is replaced.
        (first("apply", freeze), 4),
    ];
    let recovery = |(fault, pace): (Option<_>, _)| Some(Use::recovery(from, fault?, pace));
    faults.into_iter().filter_map(recovery).collect()
}

/// Uses with which something is wrong, on the side of those who ask: each kind of carelessness
/// once, then each once more in another way.
pub(super) fn careless(design: &Design) -> Vec<Plan> {
    let tasks = [task(0, 0, Effect::BillingLimit), task(1, 400_000, Effect::RoutingRule)];
    let misused = |which: usize, misuse| {
        let mut plan = quiet(design, tasks.to_vec());
        plan.tasks[which].misuse = Some(misuse);
        plan
    };
    let replayed = vec![
        // After the task for which it was given has used it, and before.
        misused(1, Misuse::ApprovalReplayed { of_task: 0 }),
        misused(0, Misuse::ApprovalReplayed { of_task: 1 }),
    ];
    let reused =
        Change::ALL.iter().map(|changed| misused(1, Misuse::IdReused { changed: *changed }));
    let claimed = vec![misused(1, Misuse::ClaimedAtOnce { times: 8 })];
    let mut kinds = vec![replayed, reused.collect(), claimed];
    if design.guarantee.rejects_invented_epochs {
        let forged = Forgery::ALL.iter().map(|lease| misused(1, Misuse::Forged { lease: *lease }));
        kinds.push(forged.collect());
    }
    if design.guarantee.revocation {
        let mut revoked = quiet(design, vec![task(0, 0, Effect::RoutingRule)]);
        revoked.revocations.push(Revocation { at_us: 14_000, effect: Effect::RoutingRule });
        kinds.push(vec![revoked]);
    }
    let rounds = kinds.iter().map(Vec::len).max().unwrap_or(0);
    let in_round = |round| kinds.iter().filter_map(move |plans| plans.get(round).cloned());
    (0..rounds).flat_map(in_round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::WORKERS;

    /// What happens to the first lease can then concern the second, and somebody else waits for it.
    #[test]
    fn where_a_lease_is_contested_its_holder_hands_it_back_and_is_the_first_to_have_it_again() {
        let uses = uses(&Design::default());
        let contested = uses.iter().find(|used| used.about.contains(&"release")).unwrap();
        let said = contested.scenes.iter().filter_map(|scene| match &scene.moment {
            Moment::Message { from, kind, .. } if contested.about.contains(&kind.as_str()) => {
                Some((kind.as_str(), from.as_str()))
            }
            _ => None,
        });
        let said: Vec<_> = said.take(4).collect();
        let [first, next] = [WORKERS[0], WORKERS[1]];
        assert_eq!(
            said,
            [("acquire", first), ("release", first), ("acquire", first), ("acquire", next)]
        );
    }

    /// The others stand in the cells of the use from which it comes.
    #[test]
    fn a_recovery_has_the_moments_that_there_are_only_then() {
        let uses = uses(&Design::default());
        let moments =
            |used: &Use| used.scenes.iter().map(|scene| scene.moment.clone()).collect::<Vec<_>>();
        let quiet = uses.iter().find(|used| used.pace == 1).unwrap();
        let recoveries: Vec<_> = uses.iter().filter(|used| used.recovers()).collect();
        assert_eq!(recoveries.len(), 3);
        let sends = |used: &Use, wanted: &str| {
            let is_it =
                |moment: &Moment| matches!(moment, Moment::Message { kind, .. } if kind == wanted);
            moments(used).iter().any(is_it)
        };
        for recovery in &recoveries {
            assert!(moments(recovery).iter().all(|moment| !moments(quiet).contains(moment)));
            assert_eq!(recovery.plan.tasks, quiet.plan.tasks);
        }
        // One tries again, one finds out only, and in one somebody else does it.
        let says = |wanted| recoveries.iter().map(|used| sends(used, wanted)).collect::<Vec<_>>();
        assert_eq!(says("reconcile"), [true, true, true]);
        assert_eq!(says("apply"), [true, false, true]);
        assert_eq!(says("take-over"), [false, false, true]);
    }
}
