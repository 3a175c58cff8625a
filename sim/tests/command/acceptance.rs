//! `holdover situations`, `sweep --require` and `accept`.

use std::path::Path;

use serde_json::Value;

use super::{folder, holdover, is_refused, json, text};

#[test]
fn situations_are_listed() {
    let output = holdover(folder().path(), &["situations"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("stale-write-before-first-write\n    A write of"));
    let list = json(&holdover(folder().path(), &["situations", "--json"]));
    assert!(list.as_array().unwrap().len() >= 30);
    assert!(list[0]["name"].is_string() && list[0]["meaning"].is_string());
}

#[test]
fn a_sweep_counts_situations_and_names_those_that_were_not_reached() {
    let folder = folder();
    let report = json(&holdover(folder.path(), &["sweep", "--seeds", "3", "--json"]));
    let counts = report["situations"].as_object().unwrap();
    assert!(counts.len() >= 30);
    let unreached: Vec<_> = counts
        .iter()
        .filter(|(_, runs)| **runs == 0)
        .map(|(name, _)| Value::from(name.as_str()))
        .collect();
    assert!(!unreached.is_empty(), "three seeds do not reach everything");
    let mut named = report["unreached"].as_array().unwrap().clone();
    named.sort_by_key(Value::to_string);
    assert_eq!(named, unreached);
}

#[test]
fn a_sweep_fails_without_what_is_required() {
    let folder = folder();
    let output = holdover(folder.path(), &["sweep", "--seeds", "3", "--require", "all"]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.contains("REQUIRED and never reached"), "{out}");
    assert!(out.contains("FAILS, for lack of situations, push-before-ready"), "{out}");
    is_refused(folder.path(), &["sweep", "--require", "luck"], &["--require luck", "all, worker-"]);
}

#[test]
fn a_safe_design_is_accepted_and_its_examples_replay() {
    let folder = folder();
    let arguments = ["accept", "--seeds", "20", "--save", "examples", "--json"];
    let output = holdover(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let report = json(&output);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 20);
    for row in rows {
        assert!(row["name"].is_string());
        assert_eq!(row["status"], "pass", "{row}");
        assert!(row["runs"].as_u64().unwrap() > 0);
    }
    let saved = rows[2]["example"]["saved"].as_str().unwrap();
    assert!(folder.path().join(Path::new(saved)).exists());
    let replay = json(&holdover(folder.path(), &["replay", saved, "--json"]));
    assert_eq!(replay["digest"], rows[2]["example"]["digest"]);
    assert_eq!(replay["same_digest"], true);
}

#[test]
fn a_broken_design_is_not_accepted() {
    let folder = folder();
    let output = holdover(folder.path(), &["accept", "--seeds", "0", "--design", "highest-seen"]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    let line = out.lines().find(|line| line.contains("resume-before-the-first-write")).unwrap();
    assert!(line.trim_start().starts_with("fail"), "{line}");
    assert!(out.contains("NOT ACCEPTED highest-seen"), "{out}");
}

#[test]
fn a_packet_is_markdown() {
    let output = holdover(folder().path(), &["accept", "--seeds", "0", "--markdown"]);
    let packet = text(&output.stdout);
    assert!(packet.starts_with("# Acceptance of `push-before-ready`"), "{packet}");
    is_refused(folder().path(), &["accept", "--markdown", "--json"], &["--markdown"]);
    is_refused(folder().path(), &["accept", "--jobs", "0"], &["--jobs 0"]);
    is_refused(folder().path(), &["accept", "--design", "perfect"], &["perfect"]);
}
