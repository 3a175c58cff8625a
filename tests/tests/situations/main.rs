//! Situations: what a sweep of the safe design comes to, and for each what it takes and what is
//! not enough.
//!
//! `HOLDOVER_SEEDS` (`N` or `A..B`) makes the sweep larger; from 2000 seeds on, every situation
//! has to be reached.

mod detectors;
mod story;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use holdover::random::Seed;
use holdover::search::Origin;
use holdover::situation;
use holdover::situation::{Situation, catalogue, to_markdown};
use holdover::sweep::Sweep;
use holdover::world::Sight;
use holdover_model::design::Design;

fn safe() -> Design {
    Design::named("push-before-ready").unwrap()
}

/// Within so many seeds, every situation is reached.
const ALL_WITHIN: u64 = 2_000;

/// What a few hundred seeds are enough for, with a wide margin.
const FREQUENT: [&str; 14] = [
    "takeover-complete-before-first-write",
    "stale-write-before-first-write",
    "authority-restarted",
    "authority-restored-and-epoch-issued",
    "response-lost-after-commit",
    "request-lost-before-commit",
    "unknown-reconciled-to-committed",
    "unknown-reconciled-to-not-committed",
    "many-claims-of-one-intent",
    "many-claims-in-one-millisecond",
    "operation-id-reused-with-changed-payload",
    "operation-id-reused-with-changed-target",
    "approval-replayed",
    "clock-step-on-worker",
];

#[test]
fn a_sweep_reaches_what_is_frequent_and_a_long_one_everything() {
    let asked = std::env::var("HOLDOVER_SEEDS").ok();
    let seeds =
        asked.map_or(0..400, |text| holdover::sweep::parse_seeds("HOLDOVER_SEEDS", &text).unwrap());
    let sweep = Sweep::new(safe()).seeds(seeds.clone());
    let sweep = if seeds.end - seeds.start >= ALL_WITHIN {
        sweep.require_all()
    } else {
        sweep.require(FREQUENT)
    };
    let outcome = sweep.run();
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures.first());
    assert!(outcome.missing().is_empty(), "never reached: {:?}", outcome.missing());
}

#[test]
fn the_first_seed_that_reached_a_situation_reaches_it_again() {
    let outcome = Sweep::new(safe()).seeds(0..60).run();
    for one in outcome.tally.iter() {
        let Some(Origin::Seed(Seed(first))) = one.first else { continue };
        let again = Sweep::new(safe()).seeds(first..first + 1).run();
        assert_eq!(again.reached(&one.name), 1, "{} in seed {first}", one.name);
        let before = Sweep::new(safe()).seeds(0..first.max(1)).run();
        assert!(first == 0 || before.reached(&one.name) == 0, "{} before {first}", one.name);
    }
}

#[test]
fn what_is_required_and_not_reached_fails_a_sweep_in_which_all_invariants_held() {
    let sweep = || Sweep::new(safe()).seeds(0..10);
    let never = || situation!("never", "Nobody has this name.", Sight::Down { host: "Godot", .. });
    let begun = || situation!("begun", "Anything happens.", Sight::Event(_));
    let outcome = sweep().situations([never(), begun()]).require(["begun"]).run();
    assert!(outcome.holds());
    assert_eq!(outcome.reached("begun"), 10);
    assert!(outcome.unreached().contains(&"never"));

    let outcome = sweep().situations([never()]).require(["never"]).run();
    assert!(outcome.failures.is_empty() && !outcome.holds());
    assert_eq!(outcome.missing(), ["never"]);
    assert!(outcome.failure_rate_below().is_some(), "no run failed, and that stays true");

    let outcome = sweep().require(["mispelt"]).run();
    assert_eq!(outcome.missing(), ["mispelt"], "what does not exist is never reached");
}

#[test]
fn looking_out_changes_no_run() {
    let sweep = Sweep::new(safe()).seeds(0..40);
    let blind = Sweep { situations: Vec::new(), ..sweep.clone() };
    assert_eq!(sweep.run().digest, blind.run().digest);
}

#[test]
fn every_situation_has_a_name_of_its_own_a_meaning_and_a_source() {
    let situations = catalogue();
    let names: BTreeSet<_> = situations.iter().map(Situation::name).collect();
    assert_eq!(names.len(), situations.len());
    for one in &situations {
        let is_kebab = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(one.name().chars().all(is_kebab), "{}", one.name());
        assert!(one.meaning().ends_with('.'), "{}", one.name());
        assert!(one.source().is_some(), "{}", one.name());
    }
}

/// `HOLDOVER_RENDER=1` writes the page anew.
#[test]
fn the_page_of_the_catalogue_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../SITUATIONS.md");
    let page = to_markdown();
    if std::env::var_os("HOLDOVER_RENDER").is_some() {
        fs::write(&file, &page).unwrap();
    }
    let is_current = fs::read_to_string(&file).is_ok_and(|text| text == page);
    assert!(
        is_current,
        "SITUATIONS.md differs from the catalogue: see how to render it at its top"
    );
}
