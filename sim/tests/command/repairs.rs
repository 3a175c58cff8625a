//! `holdover repair`.

use std::fs;

use serde_json::Value;

use super::{ONE_TAKEOVER, folder, holdover, is_refused, json, text};

/// A file of a team's own: old tokens are refused once a newer one has been seen.
const OURS: &str = "\
# The billing adapter.
[fence]
check = \"at-least-highest-seen\"  # as in the paper
advance = \"on-first-write\"       # it learns of a takeover by a write
";

/// What nobody can change: everything.
const ALL_FIXED: [&str; 14] = [
    "--fixed",
    "authority",
    "--fixed",
    "lease",
    "--fixed",
    "fence",
    "--fixed",
    "identity",
    "--fixed",
    "recovery",
    "--fixed",
    "destination",
    "--fixed",
    "approval",
];

#[test]
fn what_is_safe_has_nothing_to_repair() {
    let folder = folder();
    let repair = ["repair", "push-before-ready", "--write", "new.toml"];
    let arguments = [&repair[..], &ONE_TAKEOVER].concat();
    let output = holdover(folder.path(), &arguments);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(out.starts_with("push-before-ready: safe as it stands, nothing to repair"), "{out}");
    assert!(text(&output.stderr).contains("new.toml: not written: there is no repair to write"));
    assert!(!folder.path().join("new.toml").exists());

    let report = json(&holdover(folder.path(), &[&arguments[..], &["--json"]].concat()));
    assert_eq!(report["verdict"], "safe");
    assert_eq!(report["within"].as_array().unwrap().len(), 1);
    assert_eq!(report["written"], Value::Null);
}

#[test]
fn a_repair_is_a_change_of_the_file_that_was_given() {
    let folder = folder();
    fs::write(folder.path().join("ours.toml"), OURS).unwrap();
    let repair = ["repair", "ours.toml", "--repairs", "1", "--write", "new.toml"];
    let arguments = [&repair[..], &ONE_TAKEOVER].concat();
    let output = holdover(folder.path(), &arguments);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    for part in [
        "ours is BROKEN as it stands\n  no-stale-effect: op_",
        "repair 1: 1 change, cost 5\n  fence.advance = \"before-ready\"  (cost 5)\n",
        "\n-advance = \"on-first-write\"       # it learns of a takeover by a write\n",
        "\n+advance = \"before-ready\"       # it learns of a takeover by a write\n",
        "verified: every interleaving within 2 workers, 1 resource, 1 conditional operation",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    assert!(text(&output.stderr).contains("new.toml: written"));
    let written = fs::read_to_string(folder.path().join("new.toml")).unwrap();
    assert_eq!(written, OURS.replace("\"on-first-write\"", "\"before-ready\""));
    assert_eq!(fs::read_to_string(folder.path().join("ours.toml")).unwrap(), OURS);
    let check = [&["check", "new.toml"][..], &ONE_TAKEOVER].concat();
    assert_eq!(holdover(folder.path(), &check).status.code(), Some(0));

    // What exists is not written over, unless that is said; and that is known before the search.
    is_refused(folder.path(), &arguments, &["--write new.toml", "exists already", "--force"]);
    let output = holdover(folder.path(), &[&arguments[..], &["--force", "--json"]].concat());
    assert_eq!(output.status.code(), Some(0));
    let report = json(&output);
    assert_eq!(report["written"], "new.toml");
    assert_eq!(report["verdict"], "violated");
    assert_eq!(report["is_complete"], true);
    let repair = &report["repairs"][0];
    assert_eq!(repair["changes"][0]["setting"], "fence.advance");
    assert_eq!(repair["changes"][0]["to"], "before-ready");
    assert_eq!(repair["cost"], 5);
    assert_eq!(repair["toml"], written);
    assert!(repair["diff"].as_str().unwrap().starts_with("@@ "));
    assert_eq!(repair["within"][0]["budgets"]["takeovers"], 1);
    assert_eq!(report["impossible"], Value::Null);
}

#[test]
fn what_is_demanded_is_written_into_the_file() {
    let folder = folder();
    let repair = ["repair", "push-before-ready", "--repairs", "1", "--write", "new.toml"];
    let demand = ["--demand", "fenced-from=grant"];
    let arguments = [&repair[..], &demand, &ONE_TAKEOVER].concat();
    let output = holdover(folder.path(), &arguments);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(out.contains("\n-fenced-from = \"ready\"\n+fenced-from = \"grant\"\n"), "{out}");
    assert!(out.contains("\n+advance = \"with-grant\"\n"), "{out}");
    let claims = json(&holdover(folder.path(), &["design", "new.toml", "--json"]));
    assert_eq!(claims["guarantee"]["fenced-from"], "grant");
    let check = [&["check", "new.toml"][..], &ONE_TAKEOVER].concat();
    assert_eq!(holdover(folder.path(), &check).status.code(), Some(0));
}

#[test]
fn where_nothing_may_be_changed_the_safe_answer_is_shown_and_written_if_accepted() {
    let folder = folder();
    let repair = ["repair", "highest-seen", "--write", "new.toml"];
    let arguments = [&repair[..], &ALL_FIXED, &ONE_TAKEOVER].concat();
    let output = holdover(folder.path(), &arguments);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    for part in [
        "highest-seen CANNOT BE REPAIRED",
        "cannot be met: guarantee.fenced-from = \"ready\"; what can be kept is \"first-write\"",
        "what stays: no-stale-effect: op_",
        "in the way, and fixed: fence.advance = \"on-first-write\"",
        "the safe answer: nobody takes over automatically",
        "  guarantee.automatic-takeover = false  (a claim)\n",
        "\n+automatic-takeover = false\n",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    assert!(text(&output.stderr).contains("new.toml: not written: the safe answer claims less"));
    assert!(!folder.path().join("new.toml").exists());

    let accepted = [&arguments[..], &["--accept-safe-answer", "--json"]].concat();
    let output = holdover(folder.path(), &accepted);
    assert_eq!(output.status.code(), Some(1), "it is still no repair");
    let report = json(&output);
    assert_eq!(report["repairs"].as_array().unwrap().len(), 0);
    assert_eq!(report["impossible"]["is_proved"], true);
    assert_eq!(report["impossible"]["unmet"][0]["setting"], "guarantee.fenced-from");
    let answer = &report["impossible"]["safe_answer"];
    let written = fs::read_to_string(folder.path().join("new.toml")).unwrap();
    assert_eq!(answer["toml"], written);
    assert!(answer["diff"].as_str().unwrap().contains("+automatic-takeover = false"));
    assert_eq!(report["written"], "new.toml");
    let check = [&["check", "new.toml"][..], &ONE_TAKEOVER].concat();
    assert_eq!(holdover(folder.path(), &check).status.code(), Some(0));
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let folder = folder();
    is_refused(folder.path(), &["repair", "perfect"], &["perfect", "push-before-ready"]);
    is_refused(folder.path(), &["repair", "no.toml"], &["no.toml"]);
    let repair = |more: &[&'static str]| [&["repair", "highest-seen"][..], more].concat();
    is_refused(folder.path(), &repair(&["--demand", "fast"]), &["--demand", "CLAIM=VALUE"]);
    is_refused(
        folder.path(),
        &repair(&["--fixed", "fence.chekc"]),
        &["--fixed", "did you mean \"fence.check\"?"],
    );
    is_refused(
        folder.path(),
        &repair(&["--fixed", "fenced-from"]),
        &["--fixed", "\"fenced-from\" is what is claimed"],
    );
    is_refused(folder.path(), &repair(&["--fixed", "guarantee"]), &["--fixed", "claimed"]);
    is_refused(folder.path(), &repair(&["--repairs", "0"]), &["--repairs 0"]);
    is_refused(folder.path(), &repair(&["--changes", "0"]), &["--changes 0"]);
    is_refused(folder.path(), &repair(&["--small", "--losses", "1"]), &["--small"]);
    is_refused(folder.path(), &repair(&["--write", "."]), &["--write .", "is a folder"]);
    is_refused(
        folder.path(),
        &repair(&["--write", "no-folder/new.toml"]),
        &["--write no-folder/new.toml", "there is no folder no-folder"],
    );
    is_refused(folder.path(), &repair(&["--force"]), &["--write"]);
    is_refused(folder.path(), &repair(&["--accept-safe-answer"]), &["--write"]);
}
