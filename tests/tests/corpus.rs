//! Every plan in `seeds/` is replayed: what was found once is found for ever.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use holdover::directed::{self, Found};
use holdover::plan::{Plan, PlanError, SavedPlan};
use holdover::random::Seed;
use holdover::report::terminal;
use holdover::shrink::Effort;
use holdover::stack::Misuse;
use holdover::sweep::{Corpus, Replayed, Shown, Standing, Sweep, replay};
use holdover::zoo::why_not_in_the_world;
use holdover_model::check::{Options, check, small_portfolio};
use holdover_model::design::{Design, NAMED};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../seeds")
}

#[test]
fn every_saved_plan_shows_what_it_showed() {
    let replayed = Corpus::load(&folder()).unwrap().replay().unwrap();
    println!("{}", terminal::corpus(&replayed));
    assert!(replayed.len() >= 5, "only {} plans in seeds/", replayed.len());
    for Replayed { file, shown } in &replayed {
        assert!(shown.divergence.is_none(), "{}: {:?}", file.display(), shown.divergence);
        assert!(
            shown.has_same_verdict(),
            "{}: expected {}, found {:?}",
            file.display(),
            shown.saved.expected.finding,
            shown.run.finding
        );
    }
}

/// The named designs that are known to be broken.
fn broken() -> impl Iterator<Item = Design> {
    let designs = NAMED.iter().map(|(name, _)| Design::named(name).unwrap());
    designs.filter(|design| !design.expect.is_empty())
}

/// Whether a plan shows what is known to be broken about its design.
fn is_known(saved: &SavedPlan) -> bool {
    let known = &saved.plan.design.expect;
    known.iter().any(|invariant| invariant.as_str() == saved.expected.finding)
}

/// With `HOLDOVER_RENDER=1` plans are looked for first for designs that have none: `HOLDOVER_RENDER=1
/// cargo test --release -p holdover-tests --test corpus -- --nocapture`.
#[test]
fn every_broken_design_is_refound_or_there_is_a_reason() {
    let corpus = || Corpus::load(&folder()).unwrap();
    let has_plan = |corpus: &Corpus, design: &Design| {
        let mut plans = corpus.plans().iter();
        plans.any(|(_, saved)| {
            // What its team can change is nothing that a run depends on.
            let Design { fixed, cost, .. } = design.clone();
            let shown = Design { fixed, cost, ..saved.plan.design.clone() };
            shown == *design && is_known(saved)
        })
    };
    if std::env::var_os("HOLDOVER_RENDER").is_some() {
        let corpus = corpus();
        broken()
            .filter(|design| why_not_in_the_world(&design.name).is_none())
            .filter(|design| !has_plan(&corpus, design))
            .for_each(find);
    }
    let corpus = corpus();
    for design in broken() {
        let is_refound = has_plan(&corpus, &design);
        match why_not_in_the_world(&design.name) {
            None => assert!(is_refound, "{}: no plan in seeds/ shows it broken", design.name),
            Some(why) => assert!(!is_refound, "{}: it is refound, although {why}", design.name),
        }
    }
}

/// Saves a small plan for each thing that the first seeds show about a broken design.
fn find(design: Design) {
    let name = design.name.clone();
    for seeds in [0..400, 400..1_200, 1_200..4_000] {
        let outcome = Sweep::new(design.clone()).seeds(seeds).run();
        let mut saved = BTreeSet::new();
        for example in outcome.examples(Some(Effort::runs(2_000)), &mut |_| ()) {
            let finding = example.class.finding.clone();
            if is_known(&example.shown.saved) && saved.insert(finding) {
                let file = example.shown.saved.save(&folder()).unwrap();
                println!("{name}: {}", file.display());
            }
        }
        if !saved.is_empty() {
            return;
        }
    }
    // What is too rare for seeds, the checker knows.
    let verdict = check(&design, &small_portfolio(&design), Options::default());
    let found = directed::replay(&design, &verdict, &mut |_| ());
    let Found { plan, .. } = found.unwrap_or_else(|why| panic!("{name}: {why}"));
    let file = Shown::of_plan(&Sweep::new(design), &plan).saved.save(&folder()).unwrap();
    println!("{name}: {} from a counterexample", file.display());
}

#[test]
fn every_shipped_plan_is_small_and_says_what_it_shows() {
    for (file, saved) in Corpus::load(&folder()).unwrap().plans() {
        let file = file.display();
        assert!(saved.plan.faults.len() <= 3 && saved.plan.tasks.len() <= 4, "{file} is large");
        assert!(saved.plan.to_string().lines().count() <= 10, "{file} is long");
        assert!(is_known(saved), "{file}: nobody expects that");
        let text = fs::read_to_string(file.to_string()).unwrap();
        let first = format!("# {} under the design", saved.expected.class());
        assert!(text.starts_with(&first), "{file} does not begin with {first:?}");
    }
}

fn saved() -> SavedPlan {
    let sweep = Sweep::new(Design::named("highest-seen").unwrap());
    let failure = sweep.clone().seeds(0..200).run().failures[0].clone();
    Shown::of_plan(&sweep, &failure.plan).saved
}

#[test]
fn a_saved_plan_replays_to_the_same_digest_from_its_text() {
    let saved = saved();
    let again = SavedPlan::from_toml("plan.toml", &saved.to_toml()).unwrap();
    assert_eq!(again, saved);
    let shown = replay(again).unwrap();
    assert!(shown.has_same_digest() && shown.has_same_verdict());
}

#[test]
fn a_plan_keeps_what_a_team_says_of_changes_and_its_run_is_the_same() {
    let unsaid = saved();
    let said = "fixed = [\"fence.enforced-at\", \"destination\"]\n[cost]\nfence = 9\n";
    let Design { fixed, cost, .. } = Design::from_toml("said.toml", said).unwrap();
    let mut plan = unsaid.plan.clone();
    plan.design = Design { fixed, cost, ..plan.design };
    let sweep = Sweep::new(plan.design.clone());
    let saved = Shown::of_plan(&sweep, &plan).saved;
    assert_eq!(SavedPlan::from_toml("plan.toml", &saved.to_toml()).unwrap().plan, plan);
    assert_eq!(saved.expected.digest, unsaid.expected.digest);
    assert_ne!(saved.expected.plan_sha256, unsaid.expected.plan_sha256);
}

#[test]
fn every_generated_plan_survives_its_file() {
    let sweep = Sweep::new(Design::named("push-before-ready").unwrap());
    for seed in (0..200).map(Seed) {
        let saved = SavedPlan::new(sweep.plan(seed), "none", String::new(), [7; 32]);
        let again = SavedPlan::from_toml("plan.toml", &saved.to_toml()).unwrap();
        assert_eq!(again.plan, saved.plan);
    }
}

#[test]
fn a_plan_cut_short_anywhere_is_refused() {
    let text = saved().to_toml();
    let whole = text.trim_end().len();
    for length in 0..whole {
        let cut = &text.as_bytes()[..length];
        let Ok(cut) = std::str::from_utf8(cut) else { continue };
        let error = SavedPlan::from_toml("plan.toml", cut)
            .expect_err(&format!("{length} of {whole} bytes were accepted"));
        let message = error.to_string();
        assert!(message.starts_with("plan.toml: ") && !message.contains('\n'), "{message}");
    }
}

#[test]
fn a_damaged_plan_is_refused() {
    let text = saved().to_toml();
    let damaged = text.replacen("for_us = ", "for_us = 1", 1).replacen("nth = ", "nth = 1", 1);
    assert_ne!(damaged, text);
    let error = SavedPlan::from_toml("plan.toml", &damaged).unwrap_err();
    assert!(matches!(error, PlanError::Altered { .. }), "{error}");
}

#[test]
fn an_edited_plan_replays_without_its_hash() {
    let mut saved = saved();
    saved.plan.faults.clear();
    saved.expected.plan_sha256 = None;
    let again = SavedPlan::from_toml("plan.toml", &saved.to_toml()).unwrap();
    assert_eq!(again.plan.faults, []);
}

#[test]
fn a_plan_that_names_strangers_is_refused() {
    let saved = saved();
    let stranger = |change: &dyn Fn(&mut Plan)| {
        let mut plan = saved.plan.clone();
        change(&mut plan);
        let text = SavedPlan::new(plan, "none", String::new(), [0; 32]).to_toml();
        match SavedPlan::from_toml("plan.toml", &text) {
            Err(error) => error.to_string(),
            Ok(saved) => replay(saved).unwrap_err().to_string(),
        }
    };
    let message = stranger(&|plan| plan.tasks[0].agent = "agent-9".into());
    assert!(message.contains("agent-9") && message.contains("agent-1"), "{message}");
    let message = stranger(&|plan| {
        plan.faults = vec![holdover::fault::PlannedFault {
            trigger: holdover::fault::Trigger::At { at_us: 0 },
            fault: holdover::fault::Fault::Freeze { host: "worker-Z".into(), for_us: 1 },
        }];
    });
    assert!(message.contains("worker-Z") && message.contains("worker-A"), "{message}");
    let message = stranger(&|plan| {
        plan.tasks[0].misuse = Some(Misuse::ApprovalReplayed { of_task: 99 });
    });
    assert!(message.contains("task 99") && message.contains("the last task is"), "{message}");
    let message = stranger(&|plan| plan.link.latency_us_min = plan.link.latency_us_max + 1);
    assert!(message.contains("latency"), "{message}");
}

#[test]
fn saving_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let saved = saved();
    let first = saved.save(folder.path()).unwrap();
    assert_eq!(saved.save(folder.path()).unwrap(), first, "the same plan needs no second file");
    fs::write(&first, "precious").unwrap();
    let second = saved.save(folder.path()).unwrap();
    assert_ne!(first, second);
    assert_eq!(fs::read_to_string(first).unwrap(), "precious");
    assert_eq!(SavedPlan::load(&second).unwrap(), saved);
}

/// A folder with one plan in it, and the plan's file.
fn kept(saved: &SavedPlan) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = saved.save(folder.path()).unwrap();
    (folder, file)
}

#[test]
fn code_that_has_moved_makes_a_digest_stale_and_no_verdict_wrong() {
    let mut old = saved();
    old.expected.digest = "00".repeat(32);
    let (folder, file) = kept(&old);
    let replay = || Corpus::load(folder.path()).unwrap().replay().unwrap().remove(0);
    let stale = replay();
    assert_eq!(stale.standing(), Standing::StaleDigest);
    assert!(terminal::corpus(std::slice::from_ref(&stale)).contains("stale digest"));
    assert!(stale.update().unwrap(), "a stale digest is updated");
    assert_eq!(SavedPlan::load(&file).unwrap(), saved());
    assert_eq!(replay().standing(), Standing::Same);
    assert!(!replay().update().unwrap(), "there is nothing to update any more");
}

#[test]
fn another_verdict_is_never_updated() {
    let mut wrong = saved();
    wrong.expected.finding = "epoch-monotonic".into();
    let (folder, file) = kept(&wrong);
    let replayed = Corpus::load(folder.path()).unwrap().replay().unwrap().remove(0);
    assert_eq!(replayed.standing(), Standing::OtherVerdict);
    assert!(!replayed.update().unwrap());
    assert_eq!(SavedPlan::load(&file).unwrap(), wrong);
}

#[test]
fn a_repaired_design_is_tried_on_what_broke_it() {
    let (folder, _) = kept(&saved());
    let replay =
        |design: Design| Sweep::new(design).corpus(folder.path()).replay_corpus().unwrap().pop();
    let broken = Design::named("highest-seen").unwrap();
    assert!(replay(broken.clone()).unwrap().has_failed());
    let repaired = Design { name: broken.name, ..Design::named("push-before-ready").unwrap() };
    let replayed = replay(repaired).unwrap();
    assert!(!replayed.has_failed(), "{:?}", replayed.shown.run.finding);
    assert!(replay(Design::named("push-before-ready").unwrap()).is_none(), "that is another one");
}

#[test]
fn a_damaged_plan_in_the_corpus_is_not_passed_over() {
    let (folder, file) = kept(&saved());
    fs::write(folder.path().join("notes.md"), "not a plan").unwrap();
    assert_eq!(Corpus::load(folder.path()).unwrap().plans().len(), 1);
    fs::write(&file, "precious").unwrap();
    let error = Corpus::load(folder.path()).unwrap_err().to_string();
    assert!(error.starts_with(&file.display().to_string()), "{error}");
    assert_eq!(Corpus::load(&folder.path().join("absent")).unwrap().plans(), []);
}
