//! What an interrupt leaves behind: what has been found so far, which never looks like everything.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Starts a command, waits until it has written a line on standard error that begins like this,
/// interrupts it, and gives its exit code with what it wrote: on standard error as text, on
/// standard output as JSON.
#[track_caller]
fn interrupted(arguments: &[&str], after: &str) -> (Option<i32>, String, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_holdover"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended before it said {after:?}");
        said.push_str(&line);
        if line.starts_with(after) {
            break;
        }
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    stderr.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code(), said, report)
}

#[test]
fn an_interrupted_ablation_says_what_it_has_found_so_far() {
    // After ten seconds it says where it stands. Within the portfolio it takes minutes.
    let arguments = ["ablate", "push-before-ready", "--json"];
    let (code, said, report) = interrupted(&arguments, "the design as it stands: ");
    assert_eq!(code, Some(1), "{said}");
    let progress = said.lines().find(|line| line.starts_with("the design as it stands: ")).unwrap();
    assert!(progress.contains(" of ") && progress.contains(" s, "), "{progress}");
    assert!(progress.contains(" to go") || progress.contains("no estimate yet"), "{progress}");
    assert!(said.contains("interrupted: what has been found so far follows"), "{said}");
    assert_eq!(report["is_complete"], false);
    assert_ne!(report["verdict"], "safe");
}

#[test]
fn an_interrupted_repair_says_what_it_has_found_so_far() {
    let arguments = ["repair", "push-before-ready", "--json"];
    let (code, said, report) = interrupted(&arguments, "holdover ");
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(report["is_complete"], false);
    assert_ne!(report["verdict"], "safe");
    assert_eq!(report["impossible"], Value::Null);
}
