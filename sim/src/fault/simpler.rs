//! Which kinds of faults are simpler forms of which: what a reader understands sooner.
//!
//! A simpler form does less of the same. A loop of crashes is more than a crash; a crash
//! is a pause that also forgets; two groups that do not hear each other are more than one
//! host that does not hear another.

use super::{DiskFault, Fault, FaultKind};

/// The kinds into which a fault of this kind can be simplified in one step.
fn kinds(kind: FaultKind) -> &'static [FaultKind] {
    use FaultKind::{
        Crash, CrashLoop, Delay, DuplicateDatagrams, Fail, Fill, Freeze, Late, LoseDatagrams,
        Partition, PartitionGroups, PartitionOneWay, ReorderDatagrams, Restore, Slow, SlowLink,
        Stall, Tear,
    };
    match kind {
        Crash | Slow | Stall => &[Freeze],
        CrashLoop | Tear | Restore | Fail => &[Crash],
        Fill => &[Fail],
        PartitionGroups => &[Partition],
        Partition => &[PartitionOneWay],
        Delay | SlowLink => &[Late],
        DuplicateDatagrams | ReorderDatagrams => &[LoseDatagrams],
        _ => &[],
    }
}

/// Whether one kind is another or can be simplified into it.
pub(crate) fn leads_to(from: FaultKind, to: FaultKind) -> bool {
    from == to || kinds(from).iter().any(|simpler| leads_to(*simpler, to))
}

/// How many steps a kind is away from the simplest.
pub(crate) fn complexity(kind: FaultKind) -> u64 {
    kinds(kind).iter().map(|simpler| 1 + complexity(*simpler)).max().unwrap_or(0)
}

/// The simpler forms of a fault, the simplest first.
pub(crate) fn forms(fault: &Fault) -> Vec<Fault> {
    let mut forms = one_step(fault);
    for form in one_step(fault) {
        forms.extend(self::forms(&form));
    }
    forms.sort_by_key(|form| complexity(form.kind()));
    forms
}

fn one_step(fault: &Fault) -> Vec<Fault> {
    let crash =
        |host: &String, restart_after_us| Fault::Crash { host: host.clone(), restart_after_us };
    let freeze = |host: &String, for_us| Fault::Freeze { host: host.clone(), for_us };
    match fault {
        Fault::Crash { host, restart_after_us } => vec![freeze(host, *restart_after_us)],
        Fault::Stall { host, for_us, .. } => vec![freeze(host, *for_us)],
        Fault::CrashLoop { host, down_us, .. } => vec![crash(host, *down_us)],
        Fault::PartitionGroups { groups, for_us } => pairs_of(groups)
            .map(|(a, b)| Fault::Partition { a: a.clone(), b: b.clone(), for_us: *for_us })
            .collect(),
        Fault::Partition { a, b, for_us } => {
            let one_way = |from: &String, to: &String| Fault::PartitionOneWay {
                from: from.clone(),
                to: to.clone(),
                for_us: *for_us,
            };
            let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
            pairs.flat_map(|(a, b)| [one_way(a, b), one_way(b, a)]).collect()
        }
        Fault::Delay { from, to, extra_us, .. } => {
            vec![Fault::Late { from: from.clone(), to: to.clone(), extra_us: *extra_us }]
        }
        Fault::SlowLink { from, to, for_us, .. } => {
            vec![Fault::Late { from: from.clone(), to: to.clone(), extra_us: *for_us }]
        }
        Fault::DuplicateDatagrams { from, to, percent, for_us }
        | Fault::ReorderDatagrams { from, to, percent, for_us, .. } => vec![Fault::LoseDatagrams {
            from: from.clone(),
            to: to.clone(),
            percent: *percent,
            for_us: *for_us,
        }],
        Fault::Disk(fault) => match fault {
            DiskFault::Tear { host, restart_after_us, .. }
            | DiskFault::Restore { host, restart_after_us, .. } => {
                vec![crash(host, *restart_after_us)]
            }
            DiskFault::Fail { host, for_us } => vec![crash(host, *for_us)],
            DiskFault::Slow { host, by_us, for_us } => {
                vec![freeze(host, *by_us), freeze(host, *for_us)]
            }
            DiskFault::Fill { host, for_us, .. } => {
                vec![Fault::Disk(DiskFault::Fail { host: host.clone(), for_us: *for_us })]
            }
        },
        Fault::Freeze { .. }
        | Fault::PartitionOneWay { .. }
        | Fault::LoseRequest { .. }
        | Fault::LoseResponse { .. }
        | Fault::ClockStep { .. }
        | Fault::ClockDrift { .. }
        | Fault::Late { .. }
        | Fault::Reset { .. }
        | Fault::LoseDatagrams { .. }
        | Fault::LoseMessage { .. }
        | Fault::Redeliver { .. } => vec![],
    }
}

/// The fault with fewer hosts in it, where it has several on a side.
pub(crate) fn with_fewer_hosts(fault: &Fault) -> Vec<Fault> {
    match fault {
        Fault::Partition { a, b, .. } if a.len() + b.len() <= 2 => vec![],
        Fault::Partition { a, b, for_us } => {
            let partition = |a, b| Fault::Partition { a, b, for_us: *for_us };
            let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
            let pairs = pairs.map(|(a, b)| partition(vec![a.clone()], vec![b.clone()]));
            let fewer_on_one_side = without_one(a).map(|a| partition(a, b.clone()));
            let fewer_on_the_other = without_one(b).map(|b| partition(a.clone(), b));
            pairs.chain(fewer_on_one_side).chain(fewer_on_the_other).collect()
        }
        Fault::PartitionGroups { groups, for_us } => (0..groups.len())
            .flat_map(|group| (0..groups[group].len()).map(move |host| (group, host)))
            .map(|(group, host)| {
                let mut groups = groups.clone();
                groups[group].remove(host);
                Fault::PartitionGroups { groups, for_us: *for_us }
            })
            .collect(),
        _ => vec![],
    }
}

/// The list without each of its items in turn, if it has several.
fn without_one(items: &[String]) -> impl Iterator<Item = Vec<String>> {
    (0..items.len()).filter(|_| items.len() > 1).map(|index| {
        let mut fewer = items.to_vec();
        fewer.remove(index);
        fewer
    })
}

fn pairs_of<T>(items: &[T]) -> impl Iterator<Item = (&T, &T)> {
    items
        .iter()
        .enumerate()
        .flat_map(|(index, one)| items[index + 1..].iter().map(move |other| (one, other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Profile};
    use crate::random::Seed;
    use holdover_model::design::Design;

    /// The table of kinds and what is made of faults are two lists: here they are compared.
    #[test]
    fn every_form_is_of_a_kind_that_is_said_to_be_simpler() {
        let design = Design::default();
        let plans = (0..500).map(|seed| Plan::generate(Seed(seed), &design, &Profile::default()));
        let mut simplified = std::collections::BTreeSet::new();
        for fault in plans.flat_map(|plan| plan.faults).map(|planned| planned.fault) {
            for form in one_step(&fault) {
                assert!(kinds(fault.kind()).contains(&form.kind()), "{fault} became {form}");
                assert!(complexity(form.kind()) < complexity(fault.kind()));
                simplified.insert((fault.kind(), form.kind()));
            }
        }
        let said =
            FaultKind::ALL.iter().flat_map(|kind| kinds(*kind).iter().map(|to| (*kind, *to)));
        assert_eq!(simplified, said.collect());
    }
}
