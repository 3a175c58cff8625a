//! What covers a safeguard whose loss breaks nothing: found by taking a second one away.
//!
//! Safeguard B covers A within a bound if neither change alone breaks anything there, and both
//! together do. It does not matter whether B carries a load of its own elsewhere.
//!
//! Budgets multiply and so do pairs. So, unless there are bounds of one's own, pairs are tried
//! within those of the [small bounds](crate::check::small_portfolio) in which the design as it
//! stands has few states.

use serde::Serialize;

use crate::ablate::{Alone, Finding, Options, Pair, Stage};
use crate::check::judge::{Judge, Judged};
use crate::check::{Bounds, Counterexample, Scope, small_portfolio};
use crate::design::Design;
use crate::design::change::Change;
use crate::invariant::InvariantId;
use crate::parallel;

/// How many states there may be within a bound for pairs to be tried there.
const STATES_MAX: u64 = 25_000;

/// A safeguard that covers another one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cover {
    /// What it has to be changed to for the other one to be missed.
    #[serde(flatten)]
    pub change: Change,
    /// What breaks then.
    pub invariant: InvariantId,
}

/// What came of each change, once it is known what covers those that break nothing; and the pairs
/// that showed it.
pub(super) fn explain(
    design: &Design,
    changes: &[Change],
    singly: Vec<Alone>,
    judge: &Judge<'_>,
    options: &Options<'_>,
) -> (Vec<Finding>, Vec<Pair>) {
    let open = |alone: &Alone| !matches!(alone, Alone::Found(_));
    let unexplained: Vec<_> = (0..changes.len()).filter(|index| open(&singly[*index])).collect();
    let alone = alone(design, changes, judge, options);
    let stage = Stage::new("in pairs", unexplained.len(), options);
    let found = parallel::map(options.threads, &unexplained, |index| {
        let found = pairs(design, *index, changes, &alone, judge, options.pairs);
        stage.done(&changes[*index]);
        found
    });
    let mut found = unexplained.iter().zip(found);
    let mut all: Vec<Pair> = Vec::new();
    let findings = singly.into_iter().map(|alone| {
        if let Alone::Found(finding) = alone {
            return finding;
        }
        let (_, pairs) = found.next().expect("it was looked for");
        let cover =
            |pair: &Pair| Cover { change: pair.changes[1], invariant: pair.violation.invariant };
        let by: Vec<_> = pairs.iter().map(cover).collect();
        for pair in pairs {
            // It may have been looked for from both sides.
            let [a, b] = pair.changes;
            if !all.iter().any(|known| known.changes == [b, a]) {
                all.push(pair);
            }
        }
        match alone {
            _ if !by.is_empty() => Finding::Covered { by },
            _ if judge.is_stopped() => Finding::Unexplained,
            Alone::MakesNoDifference => Finding::NotExercised,
            _ => Finding::NotNeeded,
        }
    });
    (findings.collect(), all)
}

/// For each change, the bounds within which it alone breaks nothing, and pairs are tried.
fn alone(
    design: &Design,
    all: &[Change],
    judge: &Judge<'_>,
    options: &Options<'_>,
) -> Vec<Vec<Bounds>> {
    let neighbours: Vec<_> = all.iter().map(|change| design.with(*change)).collect();
    let bounds = match &options.scope {
        Scope::Own(bounds) => bounds.clone(),
        Scope::Portfolio | Scope::Small => {
            let mut small = small_portfolio(design);
            if options.scope == Scope::Portfolio {
                parallel::map(options.threads, &small, |bounds| {
                    judge.survey(design, bounds, &neighbours)
                });
            }
            let is_small = |states| states <= STATES_MAX;
            small.retain(|bounds| judge.states(design, bounds).is_some_and(is_small));
            small
        }
    };
    let stage = Stage::new("alone, within small bounds", all.len(), options);
    let each: Vec<_> = all.iter().zip(neighbours).collect();
    parallel::map(options.threads, &each, |(change, neighbour)| {
        let holds =
            |bounds: &&Bounds| matches!(judge.within(neighbour, bounds), Judged::Holds { .. });
        let alone = bounds.iter().filter(holds).cloned().collect();
        stage.done(*change);
        alone
    })
}

/// The pairs that a change is in which break something that neither breaks alone: the first one,
/// or all.
fn pairs(
    design: &Design,
    index: usize,
    all: &[Change],
    alone: &[Vec<Bounds>],
    judge: &Judge<'_>,
    wants_all: bool,
) -> Vec<Pair> {
    let changed = design.with(all[index]);
    let partners = partners(index, all);
    for bounds in &alone[index] {
        let holds = |partner: &&usize| alone[**partner].contains(bounds);
        let both = partners.iter().filter(holds).map(|partner| changed.with(all[*partner]));
        judge.survey(&changed, bounds, &both.collect::<Vec<_>>());
    }
    let mut found = Vec::new();
    for partner in partners {
        let within = alone[index].iter().filter(|bounds| alone[partner].contains(bounds));
        found.extend(together(design, [all[index], all[partner]], within, judge));
        if judge.is_stopped() || !found.is_empty() && !wants_all {
            break;
        }
    }
    found
}

/// Which other changes are tried beside one, the nearest in the design file first.
fn partners(index: usize, all: &[Change]) -> Vec<usize> {
    let change = all[index];
    let mut partners: Vec<_> =
        (0..all.len()).filter(|other| all[*other].setting != change.setting).collect();
    let is_elsewhere =
        |other: &usize| all[*other].setting.section().name != change.setting.section().name;
    partners.sort_by_key(|other| (is_elsewhere(other), other.abs_diff(index)));
    partners
}

/// What two changes break together, within bounds in which each alone breaks nothing.
fn together<'a>(
    design: &Design,
    changes: [Change; 2],
    within: impl Iterator<Item = &'a Bounds>,
    judge: &Judge<'_>,
) -> Option<Pair> {
    let both = design.with_all(changes);
    for bounds in within {
        if let Judged::Breaks(found) = judge.within(&both, bounds) {
            let Counterexample { violation, steps, .. } = *found;
            let within = bounds.clone();
            return Some(Pair { changes, violation, steps: steps.len(), within });
        }
    }
    None
}
