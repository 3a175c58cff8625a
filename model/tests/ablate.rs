//! Which safeguards carry the load: what is known of a few, and what is never said.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use holdover_model::ablate::{Ablation, Finding, Options, Progress, ablate};
use holdover_model::check::{Bounds, Budget, Judgement, Scope};
use holdover_model::design::Design;

/// Within these bounds something is told about most safeguards in little time.
fn scope() -> Scope {
    let one = Bounds { operations: 1, ..Bounds::default() };
    Scope::Own(vec![
        one.clone().with(Budget::Takeovers, 1),
        one.with(Budget::Expiries, 1),
        Bounds { attempts_max: 1, ..Bounds::default() },
    ])
}

fn ablation(name: &str) -> Ablation {
    let design = Design::named(name).unwrap();
    ablate(&design, &Options { scope: scope(), ..Options::default() })
}

/// One ablation, looked at from several sides.
static PUSHED: LazyLock<Ablation> = LazyLock::new(|| ablation("push-before-ready"));

fn finding<'a>(ablation: &'a Ablation, change: &str) -> &'a Finding {
    let mut found = ablation.ablated.iter().filter(|ablated| ablated.change.to_string() == change);
    &found.next().unwrap_or_else(|| panic!("{change} was not tried")).finding
}

#[test]
fn every_other_value_of_every_setting_is_tried() {
    let ablation = &*PUSHED;
    assert_eq!(ablation.verdict, Judgement::Safe);
    assert!(ablation.is_complete);
    let design = Design::named("push-before-ready").unwrap();
    let settings = holdover_model::design::setting::SettingId::all();
    let values: usize =
        settings.filter(|id| !id.is_claim()).map(|id| design.alternatives(id).len()).sum();
    assert_eq!(ablation.ablated.len(), values);
    assert!(ablation.ablated.iter().all(|ablated| ablated.from != ablated.change.to));
    let spared = ablation.searches_spared;
    assert!(spared > ablation.searches, "only {spared} were spared of {}", ablation.searches);
}

#[test]
fn what_the_stale_worker_is_held_back_by_carries_the_load() {
    let ablation = &*PUSHED;
    for change in [
        "fence.in-flight-writes = \"left-running\"",
        "fence.enforced-at = \"adapter\"",
        "fence.enforced-at = \"nowhere\"",
        "fence.advance = \"on-first-write\"",
        "lease.expiry-judged-by = \"worker-clock\"",
    ] {
        let Finding::LoadBearing { violation, steps, .. } = finding(ablation, change) else {
            panic!("{change}: {:?}", finding(ablation, change));
        };
        assert_eq!(violation.invariant.as_str(), "no-stale-effect", "{change}");
        assert!(*steps > 10, "{change}");
    }
}

/// Where the ledger allocates the ids there are no collisions, so nobody misses that they block;
/// and where collisions block, ids that collide do no harm but a wait.
#[test]
fn two_safeguards_that_cover_each_other_are_named() {
    let ablation = &*PUSHED;
    let covers = |change: &str| match finding(ablation, change) {
        Finding::Covered { by } => {
            by.iter().map(|cover| cover.change.setting.to_string()).collect()
        }
        other => panic!("{change}: {other:?}"),
    };
    let by: Vec<String> = covers("identity.on-mismatch = \"record-only\"");
    assert_eq!(by, ["identity.allocated-by"]);
    let pair = ablation.pairs.iter().find(|pair| {
        pair.changes.iter().any(|change| change.setting.to_string() == "identity.on-mismatch")
    });
    let pair = pair.expect("the pair that shows it");
    assert!(pair.steps > 0 && pair.changes[0].setting != pair.changes[1].setting);
}

#[test]
fn what_nobody_asked_for_is_never_called_safe() {
    let ablation = &*PUSHED;
    for change in [
        // Nothing is restored, forgotten or misconfigured within these bounds.
        "authority.restore = \"as-is\"",
        "identity.retention = \"shorter-then-new\"",
        "fence.misconfigured = \"silently-off\"",
        // No two intents differ in nothing but this.
        "identity.binds = [\"run-id\", \"step-id\", \"principal\", \"target\", \"payload-hash\", \
         \"expected-version\", \"approval-id\", \"policy-version\"]",
    ] {
        assert_eq!(*finding(ablation, change), Finding::NotExercised, "{change}");
    }
}

#[test]
fn nothing_is_taken_away_from_a_design_that_is_broken_as_it_stands() {
    let ablation = ablation("highest-seen");
    assert_eq!(ablation.verdict, Judgement::Violated);
    assert_eq!(ablation.violation.unwrap().invariant.as_str(), "no-stale-effect");
    assert!(ablation.ablated.is_empty());
}

#[test]
fn all_pairs_include_those_that_are_found_first() {
    let design = Design::named("push-before-ready").unwrap();
    let one = Bounds { operations: 1, ..Bounds::default() }.with(Budget::Takeovers, 1);
    let [few, all] = [false, true].map(|pairs| {
        ablate(
            &design,
            &Options { scope: Scope::Own(vec![one.clone()]), pairs, ..Options::default() },
        )
    });
    assert!(few.pairs.len() > 1 && all.pairs.len() >= few.pairs.len());
    for pair in &few.pairs {
        let [a, b] = pair.changes;
        let is_same = |changes: [_; 2]| changes == [a, b] || changes == [b, a];
        assert!(all.pairs.iter().any(|other| is_same(other.changes)), "{pair:?}");
    }
}

#[test]
fn an_interrupted_ablation_gives_what_it_has() {
    let design = Design::named("push-before-ready").unwrap();
    let stop = AtomicBool::new(false);
    let progress = |progress: Progress| {
        if progress.stage == "one at a time" && progress.done == 20 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let options = Options {
        scope: scope(),
        threads: 1,
        stop: Some(&stop),
        progress: &progress,
        ..Options::default()
    };
    let ablation = ablate(&design, &options);
    assert!(!ablation.is_complete);
    let count = |is: fn(&Finding) -> bool| {
        ablation.ablated.iter().filter(|ablated| is(&ablated.finding)).count()
    };
    assert!(count(|finding| matches!(finding, Finding::LoadBearing { .. })) > 5);
    assert!(count(|finding| *finding == Finding::NotLookedAt) > 5);
    assert_eq!(count(|finding| *finding == Finding::NotNeeded), 0, "that was not looked at");
}
