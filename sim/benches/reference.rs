//! The reference system under all kinds of faults: runs in a second on one core, and the same
//! when every host is run as one whose code uses tokio's own timers.
//! `cargo bench -p holdover --bench reference`.

use std::time::{Duration, Instant};

use holdover::plan::{Plan, Profile};
use holdover::random::Seed;
use holdover::stack;
use holdover_model::design::Design;

/// How long each contestant is measured, in slices that take turns.
const SLICE: Duration = Duration::from_secs(1);
const ROUNDS: u32 = 8;

fn run(plan: &Plan, plain_timers: bool) {
    let run = stack::run_with(plan, |world| {
        if plain_timers {
            world.expect_plain_timers();
        }
    });
    let finding = run.expect("generated plans name only hosts that exist").finding;
    assert_eq!(finding, None, "seed {}", plan.seed);
}

fn main() {
    let design = Design::named("push-before-ready").expect("it is in the zoo");
    let profile = Profile::default();
    let contestants = [("registered timers", false), ("plain tokio timers", true)];
    let mut runs = [0_u32; 2];
    let mut spent = [Duration::ZERO; 2];
    for _ in 0..ROUNDS {
        for (index, (_, plain_timers)) in contestants.into_iter().enumerate() {
            let began = Instant::now();
            while began.elapsed() < SLICE {
                let seed = Seed(runs[index].into());
                run(&Plan::generate(seed, &design, &profile), plain_timers);
                runs[index] += 1;
            }
            spent[index] += began.elapsed();
        }
    }
    println!("{:<20} {:>16} {:>10}", "", "runs/s on a core", "ratio");
    let rate = |index: usize| f64::from(runs[index]) / spent[index].as_secs_f64();
    for (index, (name, _)) in contestants.iter().enumerate() {
        println!("{name:<20} {:>16.1} {:>10.2}", rate(index), rate(index) / rate(0));
    }
}
