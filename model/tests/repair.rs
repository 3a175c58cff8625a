//! The smallest fix: that it is one, that it is the smallest, and what is said where there is none.
//!
//! `HOLDOVER_REPAIR=1` looks for repairs of every broken design of the zoo, instead of a few.

use std::time::Instant;

use holdover_model::check::{self, Judgement, Scope, check, small_portfolio};
use holdover_model::design::change::Change;
use holdover_model::design::{Design, NAMED};
use holdover_model::repair::{Options, Repair, Repairs, repair};

/// How long a repair may take within small bounds, in seconds.
const SECONDS_MAX: f64 = 180.0;

fn named(name: &str) -> Design {
    Design::named(name).unwrap()
}

fn found(design: &Design) -> Repairs {
    repair(design, &Options { scope: Scope::Small, ..Options::default() })
}

fn words(changes: &[Change]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

/// What the checker says by itself.
fn judged(design: &Design) -> Judgement {
    check(design, &small_portfolio(design), check::Options::default()).verdict
}

/// A repair is one, and none of its changes can be left out.
fn assert_is_minimal(design: &Design, repair: &Repair) {
    let name = &design.name;
    let with = |changes: &mut dyn Iterator<Item = &Change>| {
        changes.fold(design.clone(), |design, change| design.with(*change))
    };
    let repaired = with(&mut repair.changes.iter());
    assert_eq!(repaired, repair.design, "{name}");
    assert_eq!(judged(&repaired), Judgement::Safe, "{name}: {:?}", words(&repair.changes));
    for left_out in &repair.changes {
        let others = &mut repair.changes.iter().filter(|change| *change != left_out);
        assert_eq!(judged(&with(others)), Judgement::Violated, "{name} without {left_out}");
    }
    for change in &repair.changes {
        assert!(!design.is_fixed(change.setting) && !change.setting.is_claim(), "{name}: {change}");
    }
}

/// Where nothing helps, the safe answer is one: nobody takes over automatically, and what is
/// claimed then is kept.
fn assert_is_impossible(design: &Design, repairs: &Repairs) {
    let name = &design.name;
    let impossible = repairs.impossible.as_ref().unwrap_or_else(|| panic!("{name}: {repairs:?}"));
    assert!(impossible.is_proved, "{name}");
    assert!(!impossible.because.is_empty(), "{name}: what stands in the way is named");
    let Some(answer) = &impossible.safe_answer else {
        // What every design has to keep cannot be given up.
        assert!(impossible.unmet.is_empty(), "{name}");
        return;
    };
    assert!(!impossible.unmet.is_empty(), "{name}");
    assert!(words(&answer.changes).contains(&"guarantee.automatic-takeover = false".into()));
    let safe = design.with_all(answer.changes.iter().copied());
    assert_eq!(judged(&safe), Judgement::Safe, "{name}: {:?}", words(&answer.changes));
}

#[test]
fn the_smallest_repair_is_found() {
    for (name, changes) in [
        ("fence-without-drain", &["fence.in-flight-writes = \"drained\""][..]),
        ("bearer-approval", &["approval.bound-to = \"intent-hash\""]),
        ("run-and-millisecond", &["identity.allocated-by = \"ledger\""]),
        ("epoch-in-memory", &["authority.durability = \"before-reply\""]),
        ("fingerprint-of-the-body", &["identity.binds = \"every-field\""]),
        ("highest-seen", &["fence.check = \"current-epoch\"", "fence.advance = \"before-ready\""]),
    ] {
        let design = named(name);
        let repairs = found(&design);
        assert_eq!(repairs.verdict, Judgement::Violated, "{name}");
        assert_eq!(
            repairs.violation.as_ref().map(|found| found.invariant),
            design.expect.first().copied(),
            "{name}"
        );
        assert!(repairs.is_complete && repairs.impossible.is_none(), "{name}");
        let first = &repairs.repairs[0];
        // `run-and-millisecond` has a cheaper way out: collisions that block.
        if name != "run-and-millisecond" {
            assert_eq!(words(&first.changes), changes, "{name}");
        }
        assert_is_minimal(&design, first);
        assert!(repairs.are_all || repairs.repairs.len() == 3, "{name}");
        let costs: Vec<_> = repairs.repairs.iter().map(|repair| repair.cost).collect();
        assert!(costs.is_sorted(), "{name}: {costs:?}");
    }
}

#[test]
fn a_demand_is_repaired_like_a_claim() {
    let text = "name = \"ours\"\n[guarantee]\nfenced-from = \"first-write\"\nexpiry = false\n\
        revocation = false\nrejects-invented-epochs = false\n\
        [fence]\ncheck = \"at-least-highest-seen\"\nadvance = \"on-first-write\"\n";
    let mut design = Design::from_toml("ours.toml", text).unwrap();
    let as_claimed = found(&design);
    assert_eq!(as_claimed.verdict, Judgement::Safe);
    assert!(as_claimed.repairs.is_empty(), "there is nothing to repair");
    design.guarantee = design.guarantee.demand("fenced-from=ready").unwrap();
    let repairs = found(&design);
    assert_eq!(repairs.verdict, Judgement::Violated);
    assert_eq!(words(&repairs.repairs[0].changes), ["fence.advance = \"before-ready\""]);
    assert_is_minimal(&design, &repairs.repairs[0]);
}

#[test]
fn a_team_decides_what_is_cheap() {
    let cheapest = |text: &str| {
        let design = Design::from_toml("ours.toml", text).unwrap();
        words(&found(&design).repairs[0].changes)
    };
    let text = "name = \"ours\"\n[fence]\nadvance = \"consulted-separately\"\n";
    assert_eq!(cheapest(text), ["fence.advance = \"before-ready\""]);

    // Two ways to keep ids apart: block collisions, or have the ledger allocate.
    let text = "name = \"ours\"\n[identity]\nallocated-by = \"run-and-millisecond\"\non-mismatch = \"newest-wins\"\n";
    assert_eq!(cheapest(text), ["identity.on-mismatch = \"block\""]);
    let dear = format!("{text}[cost]\n\"identity.on-mismatch\" = 50\n");
    assert_eq!(cheapest(&dear), ["identity.allocated-by = \"ledger\""]);
}

#[test]
fn where_the_destination_cannot_enforce_a_fence_nobody_takes_over_automatically() {
    let design = named("kubernetes-lease");
    let repairs = found(&design);
    assert!(repairs.repairs.is_empty());
    assert_is_impossible(&design, &repairs);
    let impossible = repairs.impossible.unwrap();
    assert!(impossible.unmet.iter().all(|claim| claim.is_proved));
    let given_up: Vec<_> = impossible.unmet.iter().map(|claim| claim.change).collect();
    assert_eq!(words(&impossible.because), ["fence.enforced-at = \"nowhere\""]);
    assert!(words(&given_up).contains(&"guarantee.fenced-from = \"never\"".into()));
}

#[test]
fn an_interrupted_repair_says_so() {
    let stop = std::sync::atomic::AtomicBool::new(true);
    let options = Options { stop: Some(&stop), ..Options::default() };
    let repairs = repair(&named("redis-set-px"), &options);
    assert!(!repairs.is_complete && repairs.repairs.is_empty() && repairs.impossible.is_none());
}

/// There are repairs, and sometimes too little memory to verify one.
#[test]
fn what_was_not_searched_to_the_end_is_called_neither_impossible_nor_all_there_is() {
    for memory_mib_max in [1, 2, 4, 6] {
        let options = Options { memory_mib_max, ..Options::default() };
        let repairs = repair(&named("highest-seen"), &options);
        let said = format!("{memory_mib_max} MiB: {repairs:?}");
        assert!(repairs.is_complete && repairs.undecided > 0 && !repairs.are_all, "{said}");
        if let Some(impossible) = repairs.impossible {
            assert!(!impossible.is_proved, "{said}");
            assert!(impossible.unmet.iter().all(|claim| !claim.is_proved), "{said}");
        } else {
            assert!(!repairs.repairs.is_empty(), "{said}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for name in ["dynamo-lock-client", "collision-logged-only"] {
        let changes = |threads| {
            let options = Options { threads, ..Options::default() };
            let repairs = repair(&named(name), &options).repairs;
            repairs.iter().map(|repair| words(&repair.changes)).collect::<Vec<_>>()
        };
        assert_eq!(changes(1), changes(4), "{name}");
    }
}

#[test]
fn every_broken_design_of_the_zoo_is_repaired_or_proved_to_be_beyond_it() {
    let is_whole = std::env::var_os("HOLDOVER_REPAIR").is_some();
    let few = ["proxy-fence", "visibility-timeout", "success-only-cached", "pruned-key"];
    let broken = NAMED.iter().map(|(name, _)| named(name)).filter(|it| !it.expect.is_empty());
    for design in broken.filter(|it| is_whole || few.contains(&it.name.as_str())) {
        let began = Instant::now();
        let repairs = found(&design);
        let seconds = began.elapsed().as_secs_f64();
        if let Some(first) = repairs.repairs.first() {
            println!("{}: {} in {seconds:.1} s", design.name, words(&first.changes).join(", "));
            assert_is_minimal(&design, first);
        } else {
            println!("{}: impossible, {seconds:.1} s", design.name);
            assert_is_impossible(&design, &repairs);
        }
        assert!(seconds < SECONDS_MAX, "{} took {seconds:.0} s", design.name);
    }
}
