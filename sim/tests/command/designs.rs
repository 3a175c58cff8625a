//! `holdover check`, `zoo` and `design`.

use std::fs;

use serde_json::Value;

use super::{ONE_TAKEOVER, folder, holdover, is_refused, json, text};

#[test]
fn a_safe_design_is_safe_within_stated_bounds() {
    let arguments = [&["check", "push-before-ready"][..], &ONE_TAKEOVER].concat();
    let output = holdover(folder().path(), &arguments);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    for part in [
        "push-before-ready: safe within",
        "1 conditional operation",
        "takeovers 1",
        "exhausted,",
        "states",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
}

#[test]
fn a_broken_design_comes_with_a_counterexample() {
    let arguments = [&["check", "highest-seen"][..], &ONE_TAKEOVER].concat();
    let output = holdover(folder().path(), &arguments);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    for part in [
        "highest-seen: no-stale-effect is broken",
        "shortest counterexample",
        "suspects",
        "EFFECT",
        "=> no-stale-effect:",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
}

#[test]
fn json_has_what_it_promises() {
    let safe = [&["check", "push-before-ready", "--json"][..], &ONE_TAKEOVER].concat();
    let report = json(&holdover(folder().path(), &safe));
    assert_eq!(report["design"], "push-before-ready");
    assert_eq!(report["verdict"], "safe");
    assert_eq!(report["invariant"], Value::Null);
    assert_eq!(report["counterexample"], Value::Null);
    let bound = &report["bounds"][0];
    assert_eq!(bound["exhausted"], true);
    assert_eq!(bound["unique_states"], report["unique_states"]);
    assert!(bound["seconds"].as_f64().unwrap() >= 0.0);
    for key in ["generated_states", "depth", "seconds", "peak_memory_mib"] {
        assert!(report[key].as_f64().unwrap() >= 0.0, "{key}");
    }

    let broken = [&["check", "highest-seen", "--json"][..], &ONE_TAKEOVER].concat();
    let report = json(&holdover(folder().path(), &broken));
    assert_eq!(report["verdict"], "violated");
    assert_eq!(report["invariant"], "no-stale-effect");
    let steps = report["counterexample"].as_array().unwrap();
    assert!(steps.len() > 5);
    for step in steps {
        assert!(
            step["actor"].is_string() && step["action"].is_string() && step["events"].is_array()
        );
    }
}

/// Without a restored backup within the bound, it does not matter what the authority does after one.
#[test]
fn what_had_no_say_is_named_and_not_called_safe() {
    let names = |more: &[&str]| {
        let check = [&["check", "push-before-ready"][..], &ONE_TAKEOVER, more].concat();
        let out = text(&holdover(folder().path(), &check).stdout);
        let report = json(&holdover(folder().path(), &[&check[..], &["--json"]].concat()));
        let names = report["never_asked"].as_array().unwrap().iter();
        let names: Vec<_> = names.map(|name| name.as_str().unwrap().to_owned()).collect();
        assert!(out.contains("had no say within these bounds"), "{out}");
        assert!(names.iter().all(|name| out.contains(name)), "{names:?} in {out}");
        names
    };
    let restore = "authority.restore".to_owned();
    assert!(names(&[]).contains(&restore));
    assert!(!names(&["--restores", "1"]).contains(&restore));
    assert!(!names(&[]).contains(&"fence.check".to_owned()));
}

#[test]
fn what_was_not_exhausted_never_looks_safe() {
    let arguments = ["check", "push-before-ready", "--takeovers", "1", "--memory-mib", "1"];
    let output = holdover(folder().path(), &arguments);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.contains("NOT EXHAUSTED") && !out.contains("safe within"), "{out}");
    let output = holdover(folder().path(), &[&arguments[..], &["--json"]].concat());
    assert_eq!(json(&output)["verdict"], "not-exhausted");
}

#[test]
fn more_can_be_demanded_than_a_design_claims() {
    let check = [&["check", "push-before-ready"][..], &ONE_TAKEOVER].concat();
    let demand = [&check[..], &["--demand", "fenced-from=grant"]].concat();
    let output = holdover(folder().path(), &demand);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let claimed = ["--demand", "fenced-from=first-write", "--demand", "expiry=false"];
    let output = holdover(folder().path(), &[&check[..], &claimed].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn reductions_can_be_switched_off_and_the_answer_stays() {
    let check = [&["check", "push-before-ready", "--json"][..], &ONE_TAKEOVER].concat();
    let reduced = json(&holdover(folder().path(), &check));
    let all = json(&holdover(folder().path(), &[&check[..], &["--no-reduction", "all"]].concat()));
    assert_eq!(reduced["verdict"], all["verdict"]);
    assert!(reduced["unique_states"].as_u64().unwrap() < all["unique_states"].as_u64().unwrap());
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    is_refused(folder().path(), &["check", "perfect"], &["perfect", "push-before-ready"]);
    is_refused(folder().path(), &["check", "no.toml"], &["no.toml"]);
    is_refused(folder().path(), &["check"], &["NAME|FILE"]);
    is_refused(folder().path(), &["check", "highest-seen", "--workers", "0"], &["--workers 0"]);
    is_refused(
        folder().path(),
        &["check", "highest-seen", "--workers", "9", "--operations", "9"],
        &["12 at most"],
    );
    is_refused(
        folder().path(),
        &["check", "highest-seen", "--takeovers", "many"],
        &["--takeovers", "many"],
    );
    is_refused(folder().path(), &["check", "highest-seen", "--threads", "0"], &["--threads 0"]);
    is_refused(
        folder().path(),
        &["check", "highest-seen", "--memory-mib", "0"],
        &["--memory-mib 0"],
    );
    is_refused(
        folder().path(),
        &["check", "highest-seen", "--demand", "fenced-from=grnat"],
        &["--demand", "did you mean \"grant\"?", "accepted: ready, grant, first-write, never"],
    );
    is_refused(
        folder().path(),
        &["check", "highest-seen", "--demand", "fast"],
        &["--demand", "CLAIM=VALUE"],
    );
    is_refused(
        folder().path(),
        &["check", "highest-seen", "--assume", "luck"],
        &["luck", "ordered-links"],
    );
    is_refused(
        folder().path(),
        &["design", "--explain", "fence.chekc"],
        &["did you mean \"fence.check\"?"],
    );
    is_refused(
        folder().path(),
        &["design", "--explain", "fence"],
        &["fence.enforced-at", "fence.check"],
    );
    is_refused(folder().path(), &["design", "perfect"], &["perfect", "push-before-ready"]);
}

#[test]
fn a_design_file_is_read_strictly_and_named_after_itself() {
    let folder = folder();
    let file = folder.path().join("ours.toml");
    fs::write(&file, "[fence]\ncheck = \"curent-epoch\"\n").unwrap();
    let output = holdover(folder.path(), &["check", "ours.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr).trim_end(),
        "holdover: ours.toml:2: fence.check: \"curent-epoch\" is not a value; did you mean \
         \"current-epoch\"? accepted: current-epoch, at-least-highest-seen, any-higher"
    );
    fs::write(&file, "[fence]\nenforced-at = \"adapter\"\n").unwrap();
    let arguments = [&["check", "ours.toml"][..], &ONE_TAKEOVER].concat();
    let output = holdover(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("ours: no-stale-effect is broken"));
}

#[test]
fn settings_are_listed_and_explained_and_designs_printed() {
    let folder = folder();
    let run = |arguments: &[&str]| {
        let output = holdover(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        output
    };
    let list = text(&run(&["design"]).stdout);
    for part in [
        "[fence]",
        "in-flight-writes",
        "at-least-highest-seen",
        "`fixed`",
        "[cost]",
        "chubby-sequencer",
    ] {
        assert!(list.contains(part), "no {part:?} in {list}");
    }
    let explained = text(&run(&["design", "--explain", "check"]).stdout);
    for part in
        ["fence.check", "current-epoch", "(default)", "in practice", "costs 2: ", "Kleppmann"]
    {
        assert!(explained.contains(part), "no {part:?} in {explained}");
    }
    let explained = json(&run(&["design", "--explain", "fence.check", "--json"]));
    assert_eq!(explained["values"][0]["name"], "current-epoch");
    assert_eq!(explained["to_change"]["cost"], 2);
    assert!(explained["to_change"]["reason"].as_str().unwrap().contains("comparison"));
    assert!(json(&run(&["design", "--json"])).as_array().unwrap().len() > 30);
    assert_eq!(
        json(&run(&["design", "highest-seen", "--json"]))["fence"]["advance"],
        "on-first-write"
    );

    // What is printed is a design file.
    let printed = text(&run(&["design", "highest-seen"]).stdout);
    fs::write(folder.path().join("printed.toml"), &printed).unwrap();
    assert_eq!(printed, text(&run(&["design", "printed.toml"]).stdout));
}

#[test]
fn a_counterexample_is_replayed_in_the_world() {
    let folder = folder();
    let bounds = ONE_TAKEOVER;
    let check = ["check", "highest-seen", "--replay-in-world", "--save", "kept"];
    let output = holdover(folder.path(), &[&check[..], &bounds].concat());
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    for part in ["in the world: no-stale-effect, after", "fault: ", "BROKEN"] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    let command = out.lines().find_map(|line| line.strip_prefix("replay with: holdover ")).unwrap();
    let replay = holdover(folder.path(), &command.split(' ').collect::<Vec<_>>());
    assert!(text(&replay.stdout).contains("same digest, same verdict"));

    let check = ["check", "highest-seen", "--replay-in-world", "--json"];
    let report = json(&holdover(folder.path(), &[&check[..], &bounds].concat()));
    assert_eq!(report["world"]["shown"], true);
    assert!(report["world"]["tried"].as_u64().unwrap() >= 1);
    assert!(report["world"]["plan"]["faults"].is_array());

    let check = ["check", "invented-epoch", "--operations", "1", "--invented-epochs", "1"];
    let output = holdover(folder.path(), &[&check[..], &["--replay-in-world"]].concat());
    let out = text(&output.stdout);
    assert!(out.contains("not shown in the world: no plan that is made"), "{out}");
    is_refused(folder.path(), &["check", "highest-seen", "--save", "kept"], &["--replay-in-world"]);
}
