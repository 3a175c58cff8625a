//! Reductions change how many states there are, not what is found.

use holdover_model::check::{Bounds, Budget, Options, Reductions, Verdict, check};
use holdover_model::design::{Design, NAMED};

fn verdict(design: &Design, bounds: &Bounds, reductions: Reductions) -> Verdict {
    let options = Options { reductions, checks_settling: false, ..Options::default() };
    check(design, std::slice::from_ref(bounds), options)
}

fn each() -> [Reductions; 4] {
    let none = Reductions::none();
    [
        Reductions { dead_messages: true, ..none },
        Reductions { symmetry: true, ..none },
        Reductions { partial_order: true, ..none },
        Reductions::all(),
    ]
}

#[test]
fn with_and_without_reductions_the_verdict_is_the_same() {
    let one = Bounds { operations: 1, ..Bounds::default() };
    let bounds = [
        Bounds { attempts_max: 1, ..one.clone() }
            .with(Budget::Takeovers, 1)
            .with(Budget::Retries, 1),
        Bounds { is_conditional: false, ..one.clone() }
            .with(Budget::Takeovers, 1)
            .with(Budget::WorkerCrashes, 1),
        Bounds { attempts_max: 1, is_conditional: false, ..Bounds::default() },
        one.with(Budget::Expiries, 1).with(Budget::Revocations, 1),
    ];
    for (name, _) in NAMED {
        let design = Design::named(name).unwrap();
        for bounds in &bounds {
            let plain = verdict(&design, bounds, Reductions::none());
            for reductions in each() {
                let reduced = verdict(&design, bounds, reductions);
                let label = format!("{name} within {bounds}: {reductions:?}");
                assert_eq!(reduced.verdict, plain.verdict, "{label}");
                assert_eq!(reduced.invariant(), plain.invariant(), "{label}");
                let steps = |v: &Verdict| v.counterexample.as_ref().map(|c| c.steps.len());
                assert_eq!(steps(&reduced), steps(&plain), "{label}");
                assert!(reduced.unique_states() <= plain.unique_states(), "{label}");
            }
        }
    }
}

#[test]
fn together_they_leave_a_twentieth() {
    let design = Design::named("push-before-ready").unwrap();
    let bounds = Bounds { attempts_max: 1, ..Bounds::default() }.with(Budget::Takeovers, 1);
    let plain = verdict(&design, &bounds, Reductions::none());
    let reduced = verdict(&design, &bounds, Reductions::all());
    assert!(reduced.unique_states() * 20 <= plain.unique_states());
    assert!(reduced.bounds[0].symmetric);
}
