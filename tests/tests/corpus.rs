//! Every plan in `seeds/` is replayed: what was found once is found for ever.

use std::fs;
use std::path::{Path, PathBuf};

use holdover::plan::{Plan, PlanError, SavedPlan};
use holdover::random::Seed;
use holdover::stack::Misuse;
use holdover::sweep::{Shown, Sweep, replay};
use holdover_model::design::Design;

fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../seeds");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_saved_plan_shows_what_it_showed() {
    let files = corpus();
    assert!(files.len() >= 5, "only {} plans in seeds/", files.len());
    for file in files {
        let shown = replay(SavedPlan::load(&file).unwrap()).unwrap();
        assert!(
            shown.has_same_verdict(),
            "{}: expected {}, found {:?}",
            file.display(),
            shown.saved.expected.finding,
            shown.run.finding
        );
        if !shown.has_same_digest() {
            println!("{}: the digest is stale, the verdict is the same", file.display());
        }
    }
}

fn saved() -> SavedPlan {
    let sweep = Sweep::new(Design::named("highest-seen").unwrap());
    let failure = sweep.clone().seeds(0..200).run().failures[0].clone();
    Shown::of_seed(&sweep, failure.seed).saved
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
