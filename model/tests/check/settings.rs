//! No value is decoration: every two values of a setting differ in what can happen.
//!
//! Within small bounds, the cheapest first, it is counted how many states a design can reach
//! with each value of a setting, all else equal. Two values with different counts differ. Two
//! with the same count may differ all the same, and are told apart within a later bound.

use std::collections::BTreeMap;

use holdover_model::check::{Bounds, Budget, Consents, Options, Reductions, check};
use holdover_model::design::vocabulary::Setting;
use holdover_model::design::{Design, SECTIONS};

use Budget::{
    AuthorityCrashes, DestinationCrashes, Expiries, Forgettings, Idles, InventedEpochs,
    Misconfigurations, Recreations, Renewals, Restores, Retries, Revocations, Takeovers,
    WorkerCrashes,
};

/// What a setting only matters beside: ids that can clash, where it is about clashes.
fn beside(section: &str, setting: &str) -> &'static str {
    match (section, setting) {
        ("identity", "on-mismatch") => "[identity]\nallocated-by = \"run-and-millisecond\"\n",
        ("recovery", "conflict-after-unknown") => {
            "[recovery]\non-timeout = \"retry-blindly\"\n[destination]\ndedupe = \"none\"\n"
        }
        ("destination", "dedupe") => "[recovery]\non-timeout = \"retry-blindly\"\n",
        ("approval", "use") => "[approval]\nbound-to = \"nothing\"\n",
        _ => "",
    }
}

/// A design with one setting on top of what it matters beside.
fn design(section: &str, setting: &str, value: &str) -> Design {
    let base = beside(section, setting);
    let line = format!("{setting} = {value}\n");
    let header = format!("[{section}]\n");
    let text = if base.contains(&header) {
        base.replace(&header, &format!("{header}{line}"))
    } else {
        format!("{base}{header}{line}")
    };
    let name = format!("{section}.{setting} = {value}");
    Design { name, ..Design::from_toml("walk.toml", &text).unwrap() }
}

/// Small bounds, the cheapest first.
fn bounds() -> Vec<Bounds> {
    let one = |budgets: &[Budget]| Bounds {
        operations: 1,
        budgets: budgets.iter().map(|budget| (*budget, 1)).collect(),
        ..Bounds::default()
    };
    let two = Bounds { operations: 2, attempts_max: 1, ..Bounds::default() };
    vec![
        one(&[]),
        one(&[Expiries]),
        one(&[Misconfigurations]),
        one(&[Recreations]),
        one(&[InventedEpochs]),
        one(&[Renewals]).with(Renewals, 2),
        one(&[Takeovers]),
        one(&[WorkerCrashes]),
        Bounds { consents: Consents::Borrowed, ..one(&[]) },
        one(&[AuthorityCrashes]),
        one(&[DestinationCrashes]),
        one(&[Restores]),
        one(&[Forgettings]),
        one(&[Idles, Retries]),
        one(&[Renewals, Expiries]),
        one(&[Takeovers, Restores]),
        one(&[Retries]),
        two.clone(),
        Bounds { consents: Consents::Shared, ..two },
        one(&[Takeovers, Revocations]),
        one(&[Takeovers]).with(Takeovers, 2),
        // A takeover of A by B that comes again when B has lost the resource to C. With two
        // workers, or fewer suspicions, whoever holds the resource by then could as well have
        // been suspected just now.
        Bounds { workers: 3, attempts_max: 1, ..one(&[Takeovers]) }.with(Takeovers, 3),
        one(&[Takeovers, Retries]),
    ]
}

fn reachable(design: &Design, bounds: &Bounds) -> u64 {
    let options = Options {
        reductions: Reductions::none(),
        checks_settling: false,
        explores_past_violations: true,
        ..Options::default()
    };
    check(design, std::slice::from_ref(bounds), options).unique_states()
}

/// The values of a setting, as they are written in a design. Of the lists that can be given
/// instead of a value, one stands for all: the fields that are the same in all operations.
fn values(setting: &Setting) -> Vec<String> {
    let words = setting.values.iter().map(|value| format!("{:?}", value.name));
    let list = (!setting.listable.is_empty()).then(|| r#"["method", "payload-hash"]"#.to_owned());
    words.chain(list).collect()
}

/// Which of these designs could not be told apart within any of the bounds.
fn indistinct(designs: Vec<Design>, bounds: &[Bounds]) -> Vec<Vec<Design>> {
    bounds.iter().fold(vec![designs], |groups, bounds| {
        let split = |group: Vec<Design>| {
            let mut by_count: BTreeMap<u64, Vec<Design>> = BTreeMap::new();
            for design in group {
                by_count.entry(reachable(&design, bounds)).or_default().push(design);
            }
            by_count.into_values()
        };
        groups.into_iter().flat_map(split).filter(|group| group.len() > 1).collect()
    })
}

#[test]
fn every_two_values_of_a_setting_differ_in_what_can_happen() {
    let bounds = bounds();
    for section in SECTIONS {
        for setting in section.settings {
            let design = |value: &String| design(section.name, setting.name, value);
            let same = indistinct(values(setting).iter().map(design).collect(), &bounds);
            let names: Vec<Vec<_>> = same
                .iter()
                .map(|group| group.iter().map(|design| &design.name).collect())
                .collect();
            assert!(names.is_empty(), "it makes no difference which of these holds: {names:?}");
        }
    }
}
