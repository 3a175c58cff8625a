//! No value is decoration: every two values of a setting differ in what can happen.
//!
//! For each value a small bound is looked for within which a design with it reaches another
//! number of states than the design with the setting's default, all else equal.

use holdover_model::check::{Bounds, Budget, Consents, Options, Reductions, check};
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
    let line = format!("{setting} = \"{value}\"\n");
    let header = format!("[{section}]\n");
    let text = if base.contains(&header) {
        base.replace(&header, &format!("{header}{line}"))
    } else {
        format!("{base}{header}{line}")
    };
    Design::from_toml("walk.toml", &text).unwrap()
}

/// What is not seen to differ within these bounds, and where else it is.
const SEEN_ELSEWHERE: &[(&str, &str)] = &[(
    "authority.takeover = stale-snapshot",
    "model/tests/role/takeover.rs: a takeover by a stale snapshot",
)];

/// Small bounds, the cheapest first.
fn bounds() -> Vec<Bounds> {
    let one = |budgets: &[Budget]| Bounds {
        operations: 1,
        budgets: budgets.iter().map(|budget| (*budget, 1)).collect(),
        ..Bounds::default()
    };
    let two = Bounds { operations: 2, attempts_max: 1, ..Bounds::default() };
    let mut bounds = vec![
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
        one(&[Takeovers, Retries]),
    ];
    bounds.sort_by_key(|bounds| (bounds.operations, bounds.budgets[Retries]));
    bounds
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

#[test]
fn every_value_of_every_setting_changes_what_can_happen() {
    let bounds = bounds();
    let mut decoration = Vec::new();
    for section in SECTIONS {
        for setting in section.settings {
            let Some((default, others)) = setting.values.split_first() else { continue };
            let default = design(section.name, setting.name, default.name);
            for value in others {
                let other = design(section.name, setting.name, value.name);
                let differs =
                    |bounds: &&Bounds| reachable(&default, bounds) != reachable(&other, bounds);
                if bounds.iter().find(differs).is_none() {
                    decoration.push(format!("{}.{} = {value}", section.name, setting.name));
                }
            }
        }
    }
    let elsewhere: Vec<_> = SEEN_ELSEWHERE.iter().map(|(value, _)| *value).collect();
    assert_eq!(decoration, elsewhere, "these values change nothing");
}
