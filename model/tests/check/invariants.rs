//! Every invariant is broken first by a design that is known for it, and by no safe one.

use holdover_model::check::{
    Bounds, Budget, Consents, Judgement, Options, Reductions, Verdict, check,
};
use holdover_model::design::{Design, NAMED};
use holdover_model::invariant::InvariantId;

use Budget::{InventedEpochs, Recreations, Retries, Revocations, Takeovers, WorkerCrashes};

/// A named design and a small bound within which nothing is broken before this invariant. An
/// invariant without one does not compile.
fn witness(invariant: InvariantId) -> (&'static str, Bounds) {
    let one = Bounds { operations: 1, ..Bounds::default() };
    let two = Bounds { operations: 2, attempts_max: 1, ..Bounds::default() };
    let borrowed = Bounds { consents: Consents::Borrowed, ..one.clone() };
    let unconditional = Bounds { is_conditional: false, attempts_max: 1, ..one.clone() };
    match invariant {
        InvariantId::NoStaleEffect => ("highest-seen", one.with(Takeovers, 1)),
        InvariantId::NoForgedEpoch => ("invented-epoch", one.with(InventedEpochs, 1)),
        InvariantId::EpochMonotonic => ("epoch-per-owner-change", one.with(Revocations, 1)),
        InvariantId::SingleHolder => ("impatient-challenger", one.with(Retries, 1)),
        InvariantId::OneIntentPerOperation => ("run-and-millisecond", two),
        InvariantId::OneOperationPerIntent => {
            ("look-up-then-insert", unconditional.with(Takeovers, 1).with(Retries, 1))
        }
        InvariantId::AtMostOneEffect => ("blind-retry", one),
        InvariantId::ReceiptBindsIntent => ("json-rpc-id", two),
        InvariantId::ClaimBeforeDispatch => ("key-after-effect", one),
        InvariantId::CollisionBlocks => ("collision-logged-only", two),
        InvariantId::UnknownStaysUnknown => ("task-timeout-is-failure", one),
        InvariantId::NoLostUpdate => ("version-only", one.with(Recreations, 1)),
        InvariantId::RejectionLeavesNoTrace => ("check-after-write", one),
        InvariantId::DurableEvidence => ("id-dropped-at-gateway", one),
        InvariantId::ApprovalBound => ("bearer-approval", borrowed),
        InvariantId::NoPayloadInEvidence => ("payload-in-the-log", one.with(Takeovers, 1)),
        InvariantId::EveryOperationSettles => {
            ("timeout-means-failed", unconditional.with(WorkerCrashes, 1))
        }
    }
}

fn verdict(design: &Design, bounds: &Bounds, reductions: Reductions) -> Verdict {
    let options = Options { reductions, ..Options::default() };
    check(design, std::slice::from_ref(bounds), options)
}

#[test]
fn every_invariant_is_the_first_that_some_named_design_breaks() {
    for invariant in InvariantId::ALL {
        let (name, bounds) = witness(*invariant);
        let design = Design::named(name).unwrap();
        assert!(design.expect.contains(invariant), "{name} does not say so of {invariant}");
        for reductions in [Reductions::all(), Reductions::none()] {
            let verdict = verdict(&design, &bounds, reductions);
            assert_eq!(verdict.invariant(), Some(*invariant), "{reductions:?}: {verdict}");
        }
    }
}

/// What a bound shows of a broken design says something only where a safe one is quiet.
#[test]
fn no_safe_design_breaks_any_of_them_within_the_same_bounds() {
    let mut bounds: Vec<_> = InvariantId::ALL.iter().map(|id| witness(*id).1).collect();
    bounds.sort_by_key(ToString::to_string);
    bounds.dedup();
    let designs = NAMED.iter().map(|(name, _)| Design::named(name).unwrap());
    for design in designs.filter(|design| design.expect.is_empty()) {
        for bounds in &bounds {
            let verdict = verdict(&design, bounds, Reductions::all());
            assert_eq!(verdict.verdict, Judgement::Safe, "{verdict}");
        }
    }
}
