//! The same counts as an independent checker.

use holdover_model::check::{Bounds, Budget, Judgement, Options, Reductions, check};
use holdover_model::design::{Design, NAMED};
use stateright::{Checker, Model};

use crate::plain::Plain;

fn bounds() -> Vec<Bounds> {
    let one = Bounds { operations: 1, ..Bounds::default() };
    let one_try = Bounds { attempts_max: 1, ..one.clone() };
    vec![
        one.clone().with(Budget::Takeovers, 1),
        Bounds { is_conditional: false, ..one_try.clone() }
            .with(Budget::WorkerCrashes, 1)
            .with(Budget::Retries, 1),
        one_try.clone().with(Budget::Losses, 1).with(Budget::Resends, 1),
        one_try.clone().with(Budget::Duplications, 1),
        one_try.clone().with(Budget::AuthorityCrashes, 1).with(Budget::Expiries, 1),
        one_try.with(Budget::Restores, 1),
        Bounds { attempts_max: 1, operations: 2, resources: 2, ..Bounds::default() },
    ]
}

#[test]
fn the_counts_are_those_of_stateright() {
    for (name, _) in NAMED {
        let design = Design::named(name).unwrap();
        for bounds in bounds() {
            let options = Options {
                reductions: Reductions::none(),
                checks_settling: false,
                explores_past_violations: true,
                ..Options::default()
            };
            let verdict = check(&design, std::slice::from_ref(&bounds), options);
            let other = Plain::new(&design, &bounds).checker().threads(2).spawn_bfs().join();
            assert_eq!(
                verdict.unique_states(),
                other.unique_state_count() as u64,
                "{name} within {bounds}"
            );
            assert_ne!(verdict.verdict, Judgement::NotExhausted);
            if verdict.verdict == Judgement::Safe {
                // Steps that break an invariant are generated here and left out there.
                let generated = verdict.generated_states();
                assert_eq!(generated, other.state_count() as u64, "{name} within {bounds}");
            }
        }
    }
}
