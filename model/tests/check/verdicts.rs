//! What the checker says of the named designs.

use holdover_model::check::{
    Bounds, Budget, Judgement, Options, Reductions, Verdict, check, portfolio,
};
use holdover_model::design::Design;
use holdover_model::invariant::InvariantId;

fn verdict(design: &str, bounds: Bounds) -> Verdict {
    check(&Design::named(design).unwrap(), &[bounds], Options::default())
}

#[track_caller]
fn assert_breaks(design: &str, bounds: Bounds, invariant: InvariantId, steps: usize) {
    let found = verdict(design, bounds);
    assert_eq!(found.verdict, Judgement::Violated, "{found}");
    assert_eq!(found.invariant(), Some(invariant), "{found}");
    assert_eq!(found.counterexample.as_ref().unwrap().steps.len(), steps, "{found}");
}

#[test]
fn push_before_ready_is_safe_and_settles() {
    let one = Bounds { operations: 1, ..Bounds::default() };
    for bounds in [
        Bounds::default(),
        one.clone().with(Budget::Takeovers, 2),
        one.clone().with(Budget::Retries, 1).with(Budget::WorkerCrashes, 1),
        one.clone().with(Budget::AuthorityCrashes, 1).with(Budget::Expiries, 1),
        one.clone().with(Budget::Revocations, 1).with(Budget::Takeovers, 1),
        one.clone().with(Budget::Duplications, 1),
        one.with(Budget::Losses, 1).with(Budget::Resends, 1),
    ] {
        let verdict = verdict("push-before-ready", bounds);
        assert_eq!(verdict.verdict, Judgement::Safe, "{verdict}");
    }
}

#[test]
fn a_fence_that_only_remembers_the_highest_epoch_lets_a_stale_write_through() {
    let bounds = Bounds { operations: 1, is_conditional: false, ..Bounds::default() }
        .with(Budget::Takeovers, 1);
    assert_breaks("highest-seen", bounds, InvariantId::NoStaleEffect, 16);
}

#[test]
fn a_check_in_the_adapter_lets_a_stale_write_through() {
    let bounds = Bounds { operations: 1, is_conditional: false, ..Bounds::default() }
        .with(Budget::Takeovers, 1);
    assert_breaks("adapter-check", bounds, InvariantId::NoStaleEffect, 18);
}

#[test]
fn ids_from_the_clock_name_two_intents() {
    let bounds = Bounds { is_conditional: false, ..Bounds::default() };
    assert_breaks("run-and-millisecond", bounds, InvariantId::OneIntentPerOperation, 17);
}

#[test]
fn a_timeout_that_means_failed_has_an_effect_twice() {
    let bounds = Bounds { operations: 1, is_conditional: false, ..Bounds::default() };
    assert_breaks("timeout-means-failed", bounds, InvariantId::AtMostOneEffect, 23);
}

/// The late release of an earlier lease ends a later one, and what leads on from there breaks
/// an invariant. But the release may as well come first, and then everything settles.
#[test]
fn a_state_is_wedged_only_if_no_way_leads_out() {
    let bounds = Bounds { attempts_max: 1, ..Bounds::default() };
    let verdict = verdict("released-by-earlier-self", bounds);
    assert_eq!(verdict.verdict, Judgement::Safe, "{verdict}");
}

#[test]
fn what_is_reported_does_not_depend_on_the_number_of_threads() {
    let bounds = Bounds::default().with(Budget::Takeovers, 1);
    for design in ["push-before-ready", "highest-seen"] {
        let [one, two] = [1, 2].map(|threads| {
            let options = Options { threads, ..Options::default() };
            check(&Design::named(design).unwrap(), std::slice::from_ref(&bounds), options)
        });
        assert_eq!(one.counterexample, two.counterexample);
        assert_eq!(one.unique_states(), two.unique_states());
        assert_eq!(one.generated_states(), two.generated_states());
        assert_eq!(one.depth(), two.depth());
    }
}

#[test]
fn too_little_memory_is_no_safety() {
    let options =
        Options { memory_mib_max: 8, reductions: Reductions::none(), ..Options::default() };
    let bounds = Bounds::default().with(Budget::Takeovers, 1);
    let verdict = check(&Design::named("push-before-ready").unwrap(), &[bounds], options);
    assert_eq!(verdict.verdict, Judgement::NotExhausted, "{verdict}");
    assert!(!verdict.bounds[0].exhausted);
}

#[test]
fn a_verdict_is_data() {
    let bounds = Bounds { operations: 1, ..Bounds::default() }.with(Budget::Takeovers, 1);
    let json = serde_json::to_value(verdict("highest-seen", bounds)).unwrap();
    assert_eq!(json["verdict"], "violated");
    assert_eq!(json["invariant"], "no-stale-effect");
    assert_eq!(json["bounds"][0]["budgets"]["takeovers"], 1);
    let step = &json["counterexample"][0];
    assert!(step["actor"].is_string() && step["action"].is_string() && step["events"].is_array());
}

#[test]
fn the_portfolio_covers_both_kinds_of_operations() {
    let bounds = portfolio(&Design::default());
    assert!(bounds.iter().any(|bounds| bounds.is_conditional));
    assert!(bounds.iter().any(|bounds| !bounds.is_conditional));
}
