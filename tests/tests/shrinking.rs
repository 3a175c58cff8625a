//! Failing plans shrink: to the same failure, with less around it.
//!
//! `HOLDOVER_SHRINK=1` also measures it over the whole zoo and prints a table:
//! `HOLDOVER_SHRINK=1 cargo test --release -p holdover-tests --test shrinking -- --nocapture`

use std::time::Duration;

use holdover::fault::{Fault, PlannedFault, Trigger};
use holdover::plan::{Class, Plan, PlannedTask};
use holdover::random::Seed;
use holdover::report::terminal;
use holdover::shrink::{Effort, Shrunk, shrink};
use holdover::stack::{self, Effect, Finding, Misuse};
use holdover::sweep::Sweep;
use holdover::world::LinkProfile;
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

const DESIGNS: [&str; 4] =
    ["highest-seen", "timeout-means-failed", "redis-incr-fence", "run-and-millisecond"];

/// The first failures of a few designs that break different invariants.
fn examples() -> impl Iterator<Item = (Plan, Finding)> {
    DESIGNS.iter().flat_map(|design| failures(design, 200).take(3))
}

#[test]
fn what_is_shrunk_fails_in_the_same_way_and_is_never_larger() {
    for (plan, finding) in examples() {
        let small = shrunk(&plan, &finding, Effort::runs(2_000));
        assert!(small.is_finished, "{plan}");
        let again = run(&small.plan).expect("it fails");
        assert_eq!(again, small.finding);
        assert_eq!(again.class(), finding.class(), "{plan}became {}", small.plan);
        let class = Class::new(finding.class(), &plan);
        assert!(class.covers(&small.class), "{class} became {}", small.class);
        assert_eq!(small.class, Class::new(again.class(), &small.plan));
        assert!(small.plan.faults.len() <= plan.faults.len());
        assert!((1..=plan.tasks.len()).contains(&small.plan.tasks.len()));
        assert_eq!(small.plan.design, plan.design, "the design is what is tested");
        assert_eq!(small.plan.timing, plan.timing, "and so is how long roles wait");
    }
}

#[test]
fn what_is_shrunk_shrinks_to_itself_and_always_in_the_same_way() {
    for (plan, finding) in examples().step_by(3) {
        let small = shrunk(&plan, &finding, Effort::runs(2_000));
        let again = shrunk(&plan, &finding, Effort::runs(2_000));
        assert_eq!((&small.plan, small.runs), (&again.plan, again.runs));
        let smaller = shrunk(&small.plan, &small.finding, Effort::runs(2_000));
        assert_eq!(smaller.plan, small.plan);
    }
}

#[test]
fn no_more_is_spent_than_was_allowed() {
    let (plan, finding) = failures("highest-seen", 200).next().unwrap();
    let needed = shrunk(&plan, &finding, Effort::runs(2_000)).runs;
    for runs_max in [1, 2, 5, needed - 1] {
        let small = shrunk(&plan, &finding, Effort::runs(runs_max));
        assert_eq!(small.runs, runs_max);
        assert!(!small.is_finished, "{needed} runs are needed, not {runs_max}");
        assert_eq!(run(&small.plan).unwrap().class(), finding.class());
    }
    let small = shrunk(&plan, &finding, Effort::seconds(0));
    assert_eq!((small.plan, small.runs), (plan, 1), "it is only verified");
}

#[test]
fn a_plan_that_does_not_show_its_finding_is_not_shrunk() {
    let (plan, finding) = failures("highest-seen", 200).next().unwrap();
    let quiet = shrink(&plan, &finding, Effort::runs(9), &|_| None, &mut |_| ());
    assert_eq!(quiet, None);
    let (_, other) = failures("redis-incr-fence", 200).next().unwrap();
    let other = shrink(&plan, &finding, Effort::runs(9), &|_| Some(other.clone()), &mut |_| ());
    assert_eq!(other, None);
}

/// A pause before the write leaves, in a plan with much else in it.
#[test]
fn the_smallest_plan_for_a_known_bug() {
    let pause = |for_us| PlannedFault {
        trigger: Trigger::Point { host: "worker-A".into(), name: "before-apply".into(), nth: 1 },
        fault: Fault::Freeze { host: "worker-A".into(), for_us },
    };
    let host = |name: &str| name.to_owned();
    let noise = [
        (55_555, Fault::ClockDrift { host: host("agent-2"), ppm: 1_234, for_us: 777_777 }),
        (66_666, Fault::LoseRequest { from: host("agent-2"), to: host("worker-B") }),
        (77_777, Fault::Crash { host: host("agent-2"), restart_after_us: 88_888 }),
    ];
    let noise = noise.map(|(at_us, fault)| PlannedFault { trigger: Trigger::At { at_us }, fault });
    let wanted = [
        ("agent-1", 12_345, Effect::RoutingRule),
        ("agent-2", 100_000, Effect::WebhookDestination),
        ("agent-1", 234_567, Effect::Invoice),
    ];
    let task = |(agent, begin_at_us, effect)| PlannedTask {
        agent: host(agent),
        begin_at_us,
        effect,
        misuse: None,
    };
    let plan = Plan {
        tasks: wanted.map(task).into(),
        faults: [&noise[..1], &[pause(654_321)], &noise[1..]].concat(),
        ..sweep("adapter-check").plan(Seed(0))
    };
    let finding = run(&plan).expect("the adapter's check comes before the pause");
    assert_eq!(finding.class(), "no-stale-effect");

    let Plan { tasks, faults, link, .. } = shrunk(&plan, &finding, Effort::runs(2_000)).plan;
    assert_eq!(faults, [pause(500_000)], "a suspicion takes 400 ms, the next round number is 500");
    assert_eq!(link, LinkProfile { latency_us_min: 1_000, latency_us_max: 1_000 });
    let any = PlannedTask { begin_at_us: 0, ..plan.tasks[2].clone() };
    assert_eq!(tasks, [any], "one task is enough, whichever");
}

#[test]
fn failures_of_one_class_are_shown_once_and_counted() {
    let outcome = sweep("highest-seen").seeds(0..200).run();
    let examples = outcome.examples(Some(Effort::runs(1_000)), &mut |_| ());
    assert!(outcome.failures.len() > examples.len(), "{} failures", outcome.failures.len());
    assert!(examples.iter().any(|example| example.count > 1), "each failure is a class");
    let counted: usize = examples.iter().map(|example| example.count).sum();
    assert!(counted <= outcome.failures.len());
    for (index, example) in examples.iter().enumerate() {
        assert!(examples[..index].iter().all(|other| other.class != example.class));
        let told = terminal::example(example, &outcome, None);
        let lines = told.lines().skip_while(|line| *line != "plan");
        let plan = lines.take_while(|line| !line.is_empty()).count();
        assert!(plan <= 10, "a plan of {plan} lines:\n{told}");
    }
    // As they failed, there is one of each finding.
    let whole = outcome.examples(None, &mut |_| ());
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0].shown.saved.plan, outcome.failures[0].plan);
}

/// The bars: at most two faults and two tasks, at most 10 s, all in the median. With
/// `HOLDOVER_SHRINK=1`, over every design of the zoo.
#[test]
fn most_failures_shrink_to_two_faults_and_two_tasks() {
    let all = std::env::var_os("HOLDOVER_SHRINK").is_some();
    let designs =
        if all { NAMED.iter().map(|(name, _)| *name).collect() } else { DESIGNS.to_vec() };
    println!("design: class, seed, faults and tasks before, faults and tasks left, runs, seconds");
    let (mut faults, mut tasks, mut walls) = (Vec::new(), Vec::new(), Vec::new());
    for name in designs {
        let Some((plan, finding)) = failures(name, 2_000).next() else {
            println!("{name}: nothing found in 2000 seeds");
            continue;
        };
        let Shrunk { plan: small, class, runs, wall, .. } =
            shrunk(&plan, &finding, Effort::seconds(60));
        println!(
            "{name}: {class}, {}, {} {}, {} {}, {runs}, {:.2}\n{}",
            plan.seed,
            plan.faults.len(),
            plan.tasks.len(),
            small.faults.len(),
            small.tasks.len(),
            wall.as_secs_f64(),
            terminal::plan(&small),
        );
        faults.push(small.faults.len());
        tasks.push(small.tasks.len());
        walls.push(wall);
    }
    let median = |numbers: &mut Vec<usize>| {
        numbers.sort_unstable();
        numbers[numbers.len() / 2]
    };
    let (faults, tasks) = (median(&mut faults), median(&mut tasks));
    walls.sort();
    let wall = walls[walls.len() / 2];
    println!(
        "median of {}: {faults} faults, {tasks} tasks, {:.2} s",
        walls.len(),
        wall.as_secs_f64()
    );
    assert!(faults <= 2 && tasks <= 2 && wall <= Duration::from_secs(10));
}

/// What a task means is another task, not a place in a list: dropping tasks must not change it.
#[test]
fn a_replayed_consent_keeps_its_task() {
    let sweep = sweep("bearer-approval");
    let mut shrunk_plans = 0;
    for seed in 0..600 {
        let plan = sweep.plan(Seed(seed));
        let Some(finding) = run(&plan).filter(|finding| finding.class() == "approval-bound") else {
            continue;
        };
        let shrunk = shrink(&plan, &finding, Effort::runs(400), &run, &mut |_| ()).unwrap();
        let replayed = |plan: &Plan| {
            let task = plan.tasks.iter().find_map(|task| match task.misuse {
                Some(Misuse::ApprovalReplayed { of_task }) => Some((task.effect, of_task)),
                _ => None,
            });
            task.map(|(effect, of_task)| (effect, plan.tasks[of_task].effect))
        };
        shrunk.plan.validate().unwrap();
        assert!(replayed(&shrunk.plan).is_some(), "{}", shrunk.plan);
        assert_eq!(replayed(&shrunk.plan), replayed(&plan), "seed {seed}");
        shrunk_plans += 1;
    }
    assert!(shrunk_plans > 0);
}
