//! Failing plans shrink: to the same failure, with less around it.
//!
//! `HOLDOVER_SHRINK=1` also measures it over the whole zoo and prints a table:
//! `HOLDOVER_SHRINK=1 cargo test --release -p holdover-tests --test shrinking -- --nocapture`

use std::time::Duration;

use holdover::plan::Plan;
use holdover::random::Seed;
use holdover::shrink::{Effort, Shrunk};
use holdover::stack::{self, Finding};
use holdover::sweep::Sweep;
use holdover_model::design::{Design, NAMED};

fn run(plan: &Plan) -> Option<Finding> {
    stack::run(plan).unwrap().finding
}

fn sweep(design: &str) -> Sweep {
    Sweep::new(Design::named(design).unwrap())
}

/// The first failing plans of a design.
fn failures(design: &str, seeds: u64) -> impl Iterator<Item = (Plan, Finding)> {
    let sweep = sweep(design);
    (0..seeds).map(move |seed| sweep.plan(Seed(seed))).filter_map(|plan| {
        let finding = run(&plan)?;
        Some((plan, finding))
    })
}

fn shrunk(plan: &Plan, finding: &Finding, effort: Effort) -> Shrunk {
    let sweep = Sweep::new(plan.design.clone());
    sweep.shrink(plan, finding, effort, &mut |_| ()).expect("a run replays")
}

/// What shrinking does to the first failure of every broken design that the world can run.
#[test]
fn most_failures_shrink_to_two_faults_and_two_tasks() {
    if std::env::var_os("HOLDOVER_SHRINK").is_none() {
        return;
    }
    println!("design, finding, seed, faults, tasks, faults left, tasks left, runs, seconds");
    let (mut faults, mut tasks, mut walls) = (Vec::new(), Vec::new(), Vec::new());
    for (name, _) in NAMED {
        let Some((plan, finding)) = failures(name, 2_000).next() else {
            println!("{name}: nothing found in 2000 seeds");
            continue;
        };
        let small = shrunk(&plan, &finding, Effort::seconds(60));
        println!(
            "{name}, {}, {}, {}, {}, {}, {}, {}, {:.2}",
            small.class,
            plan.seed,
            plan.faults.len(),
            plan.tasks.len(),
            small.plan.faults.len(),
            small.plan.tasks.len(),
            small.runs,
            small.wall.as_secs_f64(),
        );
        print!("{}", holdover::report::terminal::plan(&small.plan));
        faults.push(small.plan.faults.len());
        tasks.push(small.plan.tasks.len());
        walls.push(small.wall);
    }
    let median = |numbers: &mut Vec<usize>| {
        numbers.sort_unstable();
        numbers[numbers.len() / 2]
    };
    walls.sort();
    let wall = walls[walls.len() / 2];
    let (faults, tasks) = (median(&mut faults), median(&mut tasks));
    println!("median: {faults} faults, {tasks} tasks, {:.2} s", wall.as_secs_f64());
    assert!(faults <= 2 && tasks <= 2 && wall <= Duration::from_secs(10));
}
