//! What is assumed restricts behaviour, is assumed only if asked for, and is said.

use holdover_model::check::{
    Assumptions, Bounds, Budget, Judgement, Options, Reductions, Verdict, check,
};
use holdover_model::design::Design;
use holdover_model::invariant::InvariantId;

const ORDERED: Assumptions = Assumptions { ordered_links: true, unawaited_replies_vanish: false };
const AWAITED: Assumptions = Assumptions { ordered_links: false, unawaited_replies_vanish: true };

fn verdict(design: &str, bounds: Bounds, assumptions: Assumptions) -> Verdict {
    let reductions = Reductions::none();
    let options = Options { assumptions, reductions, ..Options::default() };
    check(&Design::named(design).unwrap(), &[bounds], options)
}

/// A worker gives its lease back, acquires again, and the release comes after the request:
/// that takes a link on which the second message overtakes the first one.
#[test]
fn a_late_release_needs_a_link_that_does_not_keep_order() {
    let bounds = || {
        Bounds { attempts_max: 1, is_conditional: false, ..Bounds::default() }
            .with(Budget::Retries, 1)
    };
    let any_order = verdict("released-by-earlier-self", bounds(), Assumptions::none());
    assert_eq!(any_order.invariant(), Some(InvariantId::SingleHolder), "{any_order}");
    let ordered = verdict("released-by-earlier-self", bounds(), ORDERED);
    assert_eq!(ordered.verdict, Judgement::Safe, "{ordered}");
}

#[test]
fn each_restricts_what_can_happen() {
    let states = |assumptions| {
        let bounds = Bounds { operations: 1, ..Bounds::default() }.with(Budget::Takeovers, 1);
        verdict("push-before-ready", bounds, assumptions).unique_states()
    };
    let all = states(Assumptions::none());
    let both = Assumptions { ordered_links: true, unawaited_replies_vanish: true };
    for one in [ORDERED, AWAITED] {
        assert!(states(one) < all, "{one} restricts nothing");
        assert!(states(both) < states(one), "{one} is all that {both} restrict");
    }
}

#[test]
fn nothing_is_assumed_unless_it_is_asked_for_and_then_the_verdict_says_so() {
    assert_eq!(Options::default().assumptions, Assumptions::none());
    let quick = || Bounds { operations: 1, attempts_max: 1, ..Bounds::default() };
    for (assumptions, words, key) in [
        (ORDERED, "assumed: links keep order", "ordered-links"),
        (AWAITED, "assumed: replies that nobody awaits vanish", "unawaited-replies-vanish"),
    ] {
        let assumed = verdict("push-before-ready", quick(), assumptions);
        assert!(assumed.to_string().contains(words), "{assumed}");
        assert_eq!(serde_json::to_value(&assumed).unwrap()["assumptions"][key], true);
        let free = verdict("push-before-ready", quick(), Assumptions::none());
        assert!(!free.to_string().contains("assumed"), "{free}");
        assert_eq!(serde_json::to_value(&free).unwrap()["assumptions"][key], false);
    }
}
