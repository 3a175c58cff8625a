//! What the checker finds in every interleaving, the world shows in one run of one plan.
//!
//! `HOLDOVER_DIRECTED=1` tries every broken design and prints a table:
//! `HOLDOVER_DIRECTED=1 cargo test --release -p holdover-tests --test directed -- --nocapture`

use holdover::directed::{self, Found, NotShown};
use holdover::zoo::bounds;
use holdover_model::check::{Options, Verdict, check};
use holdover_model::design::{Design, NAMED};

fn verdict(design: &Design) -> Verdict {
    check(design, &bounds(design), Options::default())
}

fn replay(name: &str) -> (Verdict, Result<Found, NotShown>) {
    let design = Design::named(name).unwrap();
    let verdict = verdict(&design);
    let found = directed::replay(&design, &verdict, &mut |_| ());
    (verdict, found)
}

/// What becomes of the counterexample of each broken design.
#[test]
fn table() {
    if std::env::var_os("HOLDOVER_DIRECTED").is_none() {
        return;
    }
    let mut shown = 0;
    for (name, _) in NAMED {
        if Design::named(name).unwrap().expect.is_empty() {
            continue;
        }
        let began = std::time::Instant::now();
        let (verdict, found) = replay(name);
        let invariant = verdict.invariant().unwrap();
        let seconds = began.elapsed().as_secs_f64();
        match found {
            Ok(Found { plan, tried, .. }) => {
                shown += 1;
                println!("{name}: {invariant} after {tried} plans, {seconds:.1} s\n{plan}");
            }
            Err(why) => println!("{name}: {invariant} is not shown, {seconds:.1} s: {why}"),
        }
    }
    println!("{shown} shown");
}
