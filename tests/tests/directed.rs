//! What the checker finds in every interleaving, the world shows in one run of one plan.
//!
//! `HOLDOVER_DIRECTED=1` tries every broken design and prints a table:
//! `HOLDOVER_DIRECTED=1 cargo test --release -p holdover-tests --test directed -- --nocapture`

use holdover::directed::{self, Found, NotInTheWorld, NotShown};
use holdover::stack;
use holdover_model::check::{Bounds, Budget, Consents, Options, Verdict, check, small_portfolio};
use holdover_model::design::{Design, NAMED};

fn verdict(design: &Design) -> Verdict {
    check(design, &small_portfolio(design), Options::default())
}

fn replay(name: &str) -> (Verdict, Result<Found, NotShown>) {
    let design = Design::named(name).unwrap();
    let verdict = verdict(&design);
    let found = directed::replay(&design, &verdict, &mut |_| ());
    (verdict, found)
}

/// Broken designs of many kinds, whose counterexamples the checker finds in no time.
const DESIGNS: [&str; 14] = [
    "adapter-check",
    "blind-retry",
    "check-after-write",
    "chubby-live-check",
    "epoch-per-owner-change",
    "every-status-cached",
    "highest-seen",
    "id-dropped-at-gateway",
    "look-at-the-resource",
    "payload-in-the-log",
    "redlock",
    "sdk-auto-token",
    "task-timeout-is-failure",
    "visibility-timeout",
];

/// With `HOLDOVER_DIRECTED=1`, of every broken design.
#[test]
fn the_world_shows_what_the_checker_finds() {
    if std::env::var_os("HOLDOVER_DIRECTED").is_some() {
        let broken = |name: &&str| !Design::named(name).unwrap().expect.is_empty();
        let all: Vec<_> = NAMED.iter().map(|(name, _)| *name).filter(broken).collect();
        let shown = all.iter().filter(|name| is_shown(name)).count();
        println!("{shown} of {} are shown", all.len());
        return;
    }
    for name in DESIGNS {
        assert!(is_shown(name), "{name}");
    }
}

/// Whether a plan shows what is broken about a design.
fn is_shown(name: &str) -> bool {
    let (verdict, found) = replay(name);
    let invariant = verdict.invariant().expect("the design is broken");
    let Found { plan, finding, tried } = match found {
        Ok(found) => found,
        Err(why) => {
            println!("{name}: {invariant} is not shown: {why}");
            return false;
        }
    };
    println!("{name}: {invariant} after {tried} plans\n{plan}");
    assert_eq!(finding.class(), invariant.as_str(), "{name}");
    let again = stack::run(&plan).unwrap().finding;
    assert_eq!(again.as_ref(), Some(&finding), "{name} does not replay");
    assert!(plan.faults.len() <= 2 && plan.tasks.len() <= 2, "{name}: {plan}");
    true
}

#[test]
fn the_same_counterexample_gives_the_same_plan() {
    let design = Design::named("highest-seen").unwrap();
    let verdict = verdict(&design);
    let replay = || {
        let Found { plan, tried, .. } = directed::replay(&design, &verdict, &mut |_| ()).unwrap();
        (plan, tried)
    };
    let (plan, tried) = replay();
    assert_eq!((plan, tried), replay());
}

#[test]
fn a_safe_design_has_no_counterexample_to_replay() {
    let design = Design::named("push-before-ready").unwrap();
    let quiet = Bounds { operations: 1, ..Bounds::default() };
    let verdict = check(&design, &[quiet], Options::default());
    let found = directed::replay(&design, &verdict, &mut |_| ());
    assert_eq!(found.unwrap_err(), NotShown::NoCounterexample);
}

#[test]
fn what_does_not_happen_in_the_world_is_said_to_be_so() {
    let one = Bounds { operations: 1, ..Bounds::default() };
    let of = |name, bounds: Bounds| {
        let design = Design::named(name).unwrap();
        let verdict = check(&design, &[bounds], Options::default());
        assert!(verdict.invariant().is_some(), "{name} is broken");
        directed::replay(&design, &verdict, &mut |_| panic!("nothing has to be tried")).unwrap_err()
    };
    for (name, bounds, why_not) in [
        (
            "invented-epoch",
            one.clone().with(Budget::InventedEpochs, 1),
            NotInTheWorld::InventedEpoch,
        ),
        (
            "bearer-approval",
            Bounds { consents: Consents::Borrowed, ..one.clone() },
            NotInTheWorld::BorrowedConsent,
        ),
        ("redlock", one.with(Budget::Revocations, 1), NotInTheWorld::Revocation),
    ] {
        assert_eq!(of(name, bounds), NotShown::NotInTheWorld(why_not), "{name}");
    }
}

/// A plan that cannot break what it should is told from one that does: a safe design in the place
/// of the broken one is not shown broken.
#[test]
fn a_repaired_design_is_not_shown_broken() {
    let broken = Design::named("highest-seen").unwrap();
    let bounds = Bounds { operations: 1, ..Bounds::default() }.with(Budget::Takeovers, 1);
    let verdict = check(&broken, &[bounds], Options::default());
    let repaired = Design::named("push-before-ready").unwrap();
    match directed::replay(&repaired, &verdict, &mut |_| ()) {
        Err(NotShown::NotFound { tried, instead }) => {
            assert!(tried > 10, "{tried} plans");
            assert!(instead.is_empty(), "the safe design has failed: {instead:?}");
        }
        other => panic!("{other:?}"),
    }
}
