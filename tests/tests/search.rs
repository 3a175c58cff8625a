//! The search finds what is known to be broken, finds nothing where nothing is, and is the same
//! search however many runs happen at once.
//!
//! `HOLDOVER_SEEDS=N` has every safe design survive N runs, and every broken one looked for from
//! one base for each hundred of them.

use holdover::fault::{Fault, Trigger};
use holdover::plan::Plan;
use holdover::search::novelty::Feature;
use holdover::search::{Matrix, Mix, Origin, Search};
use holdover::stack;
use holdover::sweep::{Asked, Sweep};
use holdover::zoo::{Limits, Method, simulate};
use holdover_model::design::{Design, NAMED};
use holdover_model::parallel;

fn safe() -> Sweep {
    Sweep::new(Design::named("push-before-ready").unwrap())
}

/// Within so many runs a broken design has to be found.
const FOUND_WITHIN: u64 = 300;

#[test]
fn the_zoo_is_found_in_the_world_and_what_is_safe_survives() {
    let survives = match std::env::var("HOLDOVER_SEEDS") {
        Ok(text) => Asked::parse("HOLDOVER_SEEDS", &text).unwrap().runs(),
        Err(_) => 250,
    };
    let limits = Limits { bases: survives.div_ceil(100), runs_max: FOUND_WITHIN, survives };
    let zoo = simulate(&[Method::Mix], limits, 2, &|_| ());
    let missed: Vec<_> = zoo
        .hunts
        .iter()
        .filter(|hunt| hunt.methods[&Method::Mix].percentile(50).is_none())
        .map(|hunt| &hunt.design)
        .collect();
    assert!(missed.is_empty(), "not found in {FOUND_WITHIN} runs: {missed:?}");
    for survivor in &zoo.survivors {
        assert_eq!(survivor.found, None, "{} is said to be safe", survivor.design);
    }
    let runs: u64 = zoo.survivors.iter().map(|survivor| survivor.runs).sum();
    assert!(runs >= 3_000, "only {runs} runs of safe designs");
}

/// Evidence of what is durable is never lost in a crash, whichever event it comes at.
#[test]
fn what_is_safe_survives_a_crash_at_each_of_its_events() {
    let safe = NAMED.iter().map(|(name, _)| Design::named(name).unwrap());
    let safe: Vec<_> = safe.filter(|design| design.expect.is_empty()).collect();
    let runs = parallel::map(parallel::cores(), &safe, |design| {
        let matrix = Matrix::new(design);
        // Pairs come between those with one fault, up to the last of these.
        let plans = (0..2 * matrix.cells_with(1)).map_while(|cell| matrix.plan(cell));
        let crashes_at_an_event = |plan: &Plan| match &plan.faults[..] {
            [only] => {
                matches!(only.trigger, Trigger::Event { .. })
                    && matches!(only.fault, Fault::Crash { .. })
            }
            _ => false,
        };
        let crashes = plans.filter(crashes_at_an_event).map(|plan| {
            let finding = stack::run(&plan).unwrap().finding;
            assert_eq!(finding, None, "{} is said to be safe:\n{plan}", design.name);
        });
        crashes.count()
    });
    assert!(runs.iter().all(|runs| *runs > 100), "{runs:?} runs");
}

/// What a mutant is depends on all runs before it, and still not on who did them when.
#[test]
fn a_search_that_learns_is_the_same_search_with_any_number_of_threads() {
    let digests = [1, 2, 4].map(|jobs| {
        let outcome = safe().runs(700).jobs(jobs).run();
        assert!(outcome.holds());
        outcome.digest
    });
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    assert_ne!(digests[0], safe().runs(700).mix(Mix::SWARM).run().digest);
}

#[test]
fn exactly_the_seeds_that_were_asked_for_are_run() {
    let search = safe().seeds(40..50).search();
    for run in 0..10 {
        let (origin, plan) = search.plan(run);
        assert_eq!(origin, Origin::Seed(plan.seed));
        assert_eq!(plan, safe().plan(plan.seed));
        assert_eq!(plan.seed.0, 40 + run);
    }
}

/// What is learned is where the system went, so a search that learns goes to more places than one
/// that does not, with as many runs.
#[test]
fn mutants_of_what_reached_something_new_reach_more() {
    let reached = |mix: &str| {
        let sweep = safe();
        let mix = mix.parse().unwrap();
        let mut search = Search::new(&sweep.design, sweep.profile, mix, 0);
        let mut lessons: Vec<(Plan, Vec<Feature>)> = Vec::new();
        for run in 0..1_200 {
            if run % 100 == 0 {
                for (plan, features) in lessons.drain(..) {
                    search.learn(&plan, &features);
                }
            }
            let (_, plan) = search.plan(run);
            let features = holdover::search::features(&stack::run(&plan).unwrap());
            lessons.push((plan, features));
        }
        for (plan, features) in lessons {
            search.learn(&plan, &features);
        }
        search.reached()
    };
    let (with, without) = (reached("swarm=1,mutation=1"), reached("swarm=1"));
    assert!(with > without, "{with} with mutants, {without} without");
}
