//! `holdover sweep` and `replay`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::{folder, holdover, is_refused, json, text};

#[test]
fn a_safe_design_holds() {
    let folder = folder();
    let output = holdover(folder.path(), &["sweep", "--seeds", "50"]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    let first = out.lines().next().unwrap();
    for part in [env!("CARGO_PKG_VERSION"), "push-before-ready", "0..50", "faults_max=6"] {
        assert!(first.contains(part), "no {part} in {first}");
    }
    let last = out.lines().last().unwrap();
    for part in ["50 runs", "events", "runs per second", "3/N"] {
        assert!(last.contains(part), "no {part} in {last}");
    }
    assert!(out.contains("no-stale-effect"));
    assert!(!folder.path().join("seeds").exists(), "nothing failed, so nothing is saved");
}

/// What is chosen says nothing about a rate.
#[test]
fn a_failure_rate_is_that_of_the_seeds_among_the_runs() {
    let folder = folder();
    for (arguments, seeds_drawn, says) in [
        (&["--seeds", "0..50"][..], 50, "50 of the runs were seeds: their failure rate"),
        (&["--seeds", "50", "--mix", "matrix=1,swarm=1"], 25, "is below 12.000 %"),
        (&["--seeds", "50", "--mix", "matrix=1"], 0, "nothing is said of a rate"),
    ] {
        let arguments = [&["sweep"], arguments].concat();
        let out = text(&holdover(folder.path(), &arguments).stdout);
        assert!(out.lines().last().unwrap().contains(says), "{out}");
        let report = json(&holdover(folder.path(), &[&arguments[..], &["--json"]].concat()));
        assert_eq!(report["seeds_drawn"], seeds_drawn);
        assert_eq!(report["failure_rate_below"].is_null(), seeds_drawn == 0);
    }
}

/// A seed in which `highest-seen` fails. Which seeds do depends on everything that a plan
/// can have in it, so it is looked for.
fn failing_seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let folder = folder();
        let arguments = ["sweep", "--seeds", "0..200", "--design", "highest-seen", "--json"];
        let report = json(&holdover(folder.path(), &arguments));
        report["failures"][0]["seed"].as_u64().unwrap()
    })
}

/// The same as a range for a sweep.
fn failing_seeds() -> String {
    format!("{}..{}", failing_seed(), failing_seed() + 1)
}

#[test]
fn an_unsafe_design_fails_and_its_plan_replays() {
    let folder = folder();
    let output = holdover(folder.path(), &["sweep", "--seeds", "200", "--design", "highest-seen"]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    for part in ["FAILED no-stale-effect", "fault: ", "timeline", "EFFECT", "BROKEN"] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    let command = out.lines().find_map(|line| line.strip_prefix("replay with: holdover ")).unwrap();
    let arguments: Vec<_> = command.split(' ').collect();
    let replay = holdover(folder.path(), &arguments);
    let out = text(&replay.stdout);
    assert_eq!(replay.status.code(), Some(1), "{out}");
    assert!(out.contains("verdict no-stale-effect"), "{out}");
    assert!(out.contains("same digest, same verdict"), "{out}");
}

/// Each process has an address space, hash keys and an environment of its own.
#[test]
fn two_processes_and_any_number_of_jobs_agree() {
    let folder = folder();
    let digest = |jobs: &str, variable: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_holdover"))
            .args(["sweep", "--seeds", "60", "--jobs", jobs, "--json"])
            .current_dir(folder.path())
            .envs([("TZ", variable), ("LANG", variable), ("HOLDOVER_TEST", variable)])
            .output()
            .unwrap();
        json(&output)["digest"].as_str().unwrap().to_owned()
    };
    let first = digest("1", "Pacific/Kiritimati");
    assert_eq!(first.len(), 64);
    assert_eq!(first, digest("1", "C"));
    assert_eq!(first, digest("2", ""));
    assert_eq!(first, digest("4", &"x".repeat(10_000)));
}

#[test]
fn the_reference_system_is_repeatable() {
    let folder = folder();
    let arguments = ["sweep", "--seeds", "40", "--check-determinism", "--json"];
    let output = holdover(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let report = json(&output);
    assert_eq!(report["divergences"].as_array().unwrap().len(), 0);
    assert_eq!(report["runs"], 40, "a seed counts once");
}

#[test]
fn patience_has_to_be_positive() {
    let arguments = ["sweep", "--hang-after", "0"];
    is_refused(folder().path(), &arguments, &["--hang-after 0", "one second"]);
}

#[test]
fn json_has_what_it_promises() {
    let folder = folder();
    let seed = failing_seed();
    let seeds = format!("{seed}..{}", seed + 10);
    let arguments = ["sweep", "--seeds", &seeds, "--design", "highest-seen", "--json"];
    let output = holdover(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert_eq!(report["design"], "highest-seen");
    assert_eq!(report["runs"], 10);
    assert!(report["events"].as_u64().unwrap() > 100);
    assert!(report["runs_per_second"].as_f64().unwrap() > 0.0);
    let failure = &report["failures"][0];
    assert_eq!(failure["invariant"], "no-stale-effect");
    assert_eq!(failure["seed"], seed);
    let class = &failure["class"];
    assert!(class["count"].as_u64().unwrap() >= 1, "{class}");
    assert!(class["tasks"].as_u64().unwrap() <= 2, "it was shrunk: {class}");
    assert!(class["shrink_runs"].as_u64().unwrap() > 1, "{class}");
    assert!(class["fault_kinds"].is_array() && class["roles"].is_array(), "{class}");
    assert_eq!(report["corpus"].as_array().unwrap().len(), 0, "nothing was saved before");
    let saved = failure["saved"].as_str().unwrap();

    let replay = holdover(folder.path(), &["replay", saved, "--json"]);
    assert_eq!(replay.status.code(), Some(1));
    let replay = json(&replay);
    assert_eq!(replay["plan"]["tasks"].as_array().unwrap().len() as u64, class["tasks"]);
    assert_eq!(replay["same_digest"], true);
    assert_eq!(replay["same_verdict"], true);
    assert_eq!(replay["invariant"], "no-stale-effect");
}

#[test]
fn a_seed_replays_without_a_file() {
    let folder = folder();
    let seed = failing_seed().to_string();
    let safe = holdover(folder.path(), &["replay", &seed]);
    assert_eq!(safe.status.code(), Some(0));
    assert!(text(&safe.stdout).contains("all invariants held"));
    let unsafe_ = holdover(folder.path(), &["replay", &seed, "--design", "highest-seen"]);
    assert_eq!(unsafe_.status.code(), Some(1));
    assert!(text(&unsafe_.stdout).contains("verdict no-stale-effect"));
}

#[test]
fn a_design_can_come_from_a_file() {
    let folder = folder();
    let design = folder.path().join("ours.toml");
    fs::write(&design, "name = \"ours\"\n[fence]\nenforced-at = \"adapter\"\n").unwrap();
    let output = holdover(folder.path(), &["sweep", "--seeds", "3", "--design", "ours.toml"]);
    assert!(text(&output.stdout).contains("design=ours"));
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let folder = folder();
    let here = folder.path();
    is_refused(here, &["sweep", "--design", "perfect"], &["perfect", "push-before-ready"]);
    is_refused(here, &["sweep", "--seeds", "9..3"], &["9..3", "reversed", "3..9"]);
    is_refused(here, &["sweep", "--seeds", "lots"], &["lots", "N or A..B"]);
    is_refused(here, &["sweep", "--jobs", "0"], &["--jobs 0"]);
    is_refused(here, &["sweep", "--mix", "matrix=all"], &["--mix", "matrix=all", "swarm=50"]);
    is_refused(here, &["zoo", "--simulate", "--bases", "0"], &["--bases", "at least one"]);
    is_refused(here, &["sweep", "--design", "no.toml"], &["no.toml"]);
    is_refused(here, &["replay", "no-such-file.toml"], &["no-such-file.toml"]);
    is_refused(here, &["replay", "seed.toml", "--design", "highest-seen"], &["--design"]);
    fs::write(here.join("wrong.toml"), "name = \"x\"\n[fence]\ncheck = \"sometimes\"\n").unwrap();
    is_refused(
        here,
        &["sweep", "--design", "wrong.toml"],
        &["wrong.toml:3: fence.check:", "sometimes"],
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_noticed_before_the_sweep() {
    let folder = folder();
    let file = folder.path().join("occupied");
    fs::write(&file, "precious").unwrap();
    for save in ["occupied", "occupied/below"] {
        let arguments = ["sweep", "--seeds", "100000000", "--save", save];
        is_refused(folder.path(), &arguments, &[save, "is not a folder"]);
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "precious");
}

fn saved_plan(folder: &Path) -> PathBuf {
    let seeds = failing_seeds();
    let arguments = ["sweep", "--seeds", &seeds, "--design", "highest-seen", "--json"];
    let report = json(&holdover(folder, &arguments));
    folder.join(report["failures"][0]["saved"].as_str().unwrap())
}

#[test]
fn a_damaged_or_truncated_plan_is_refused_and_kept() {
    let folder = folder();
    let path = saved_plan(folder.path());
    let whole = fs::read_to_string(&path).unwrap();
    let name = path.to_str().unwrap();
    for damaged in [
        whole[..whole.len() / 2].to_owned(),
        String::new(),
        "\u{0}\u{1}garbage".to_owned(),
        whole.replacen("seed = ", "seed = 9", 1),
        whole.replacen("format = 1", "format = 99", 1),
    ] {
        fs::write(&path, &damaged).unwrap();
        is_refused(folder.path(), &["replay", name], &[name]);
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged, "a replay writes nothing");
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    is_refused(folder.path(), &["replay", name], &[name]);
}

#[test]
fn a_reader_that_leaves_changes_no_verdict() {
    let folder = folder();
    let mut sweep = Command::new(env!("CARGO_BIN_EXE_holdover"))
        .args(["sweep", "--seeds", &failing_seeds(), "--design", "highest-seen"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(sweep.stdout.take());
    let output = sweep.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

#[test]
fn a_second_sweep_overwrites_nothing() {
    let folder = folder();
    let path = saved_plan(folder.path());
    let precious = fs::read_to_string(&path).unwrap() + "# precious\n";
    fs::write(&path, &precious).unwrap();
    let again = saved_plan(folder.path());
    assert_ne!(again, path);
    assert_eq!(fs::read_to_string(path).unwrap(), precious);
}

#[test]
fn a_failure_is_saved_whole_if_that_is_wanted() {
    let folder = folder();
    let seeds = failing_seeds();
    let arguments =
        ["sweep", "--seeds", &seeds, "--design", "highest-seen", "--no-shrink", "--json"];
    let report = json(&holdover(folder.path(), &arguments));
    let failure = &report["failures"][0];
    assert!(failure["class"]["shrink_runs"].is_null(), "{failure}");
    let replay = holdover(folder.path(), &["replay", failure["saved"].as_str().unwrap(), "--json"]);
    assert_eq!(json(&replay)["digest"], failure["digest"], "it is the seed's run");
}

#[test]
fn what_failed_once_is_run_first() {
    let folder = folder();
    let saved = saved_plan(folder.path());
    let sweep = ["sweep", "--seeds", "1", "--design", "highest-seen"];
    let output = holdover(folder.path(), &sweep);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "the corpus fails: {out}");
    let name = saved.file_name().unwrap().to_str().unwrap();
    assert!(out.contains(name) && out.contains("1 of 1 plans show what they showed"), "{out}");
    let other = holdover(folder.path(), &["sweep", "--seeds", "1"]);
    assert_eq!(other.status.code(), Some(0), "another design has no part in it");
}

#[test]
fn a_corpus_replays_at_once() {
    let folder = folder();
    let here = folder.path();
    is_refused(here, &["replay", "--all"], &["seeds", "no saved plans"]);
    let saved = saved_plan(here);
    let replay = |arguments: &[&str]| {
        let output = holdover(here, &[&["replay", "--all"], arguments].concat());
        (output.status.code(), text(&output.stdout))
    };
    let (code, out) = replay(&[]);
    assert_eq!(code, Some(0), "what is expected to break breaks: {out}");
    assert!(out.contains("1 of 1 plans show what they showed"), "{out}");

    // The code has moved.
    let whole = fs::read_to_string(&saved).unwrap();
    let digest = whole.lines().find(|line| line.starts_with("digest = ")).unwrap();
    let stale = whole.replace(digest, &format!("digest = \"{}\"", "0".repeat(64)));
    fs::write(&saved, stale).unwrap();
    let (code, out) = replay(&["seeds"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("stale digest") && out.contains("--update"), "{out}");
    replay(&["--update"]);
    assert_eq!(fs::read_to_string(&saved).unwrap(), whole);

    // The bug is not what it was.
    fs::write(&saved, whole.replace("\"no-stale-effect\"\nfault", "\"no-lost-update\"\nfault"))
        .unwrap();
    let (code, out) = replay(&["--json"]);
    assert_eq!(code, Some(1), "{out}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report[0]["expected"], "no-lost-update");
    assert_eq!(report[0]["found"], "no-stale-effect");
    assert_eq!(report[0]["same_verdict"], false);

    is_refused(here, &["replay", "--all", "--design", "highest-seen"], &["--design"]);
    is_refused(here, &["replay", "--update", "1"], &["--all"]);
    is_refused(here, &["replay"], &["FILE|SEED|DIR"]);
}

/// Where a plan comes from is said, and a plan that no seed stands for is saved whole.
#[test]
fn a_sweep_says_where_its_failing_plan_comes_from() {
    let folder = folder();
    for (mix, origin) in [("matrix=1", "cell"), ("swarm=1", "seed")] {
        let arguments =
            ["sweep", "--seeds", "100", "--mix", mix, "--design", "highest-seen", "--json"];
        let report = json(&holdover(folder.path(), &arguments));
        assert_eq!(report["matrix_cells"].as_u64().unwrap() > 0, mix == "matrix=1");
        let failure = &report["failures"][0];
        assert!(failure["origin"].as_str().unwrap().starts_with(origin), "{failure}");
        assert_eq!(failure["seed"].is_u64(), origin == "seed", "{failure}");
        let saved = failure["saved"].as_str().unwrap();
        let replay = holdover(folder.path(), &["replay", saved, "--json"]);
        assert_eq!(json(&replay)["same_verdict"], true);
    }
}
