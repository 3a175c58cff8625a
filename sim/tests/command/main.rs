//! The command line as a stranger uses it: exit codes, one-line errors, JSON, replay.
//!
//! It stands here and not in `tests/`, because cargo tells only a package's own tests where
//! its binary is.

mod ablation;
mod acceptance;
mod designs;
mod interrupts;
mod repairs;
mod runs;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// The smallest bound that a takeover needs.
const ONE_TAKEOVER: [&str; 4] = ["--operations", "1", "--takeovers", "1"];

fn holdover(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_holdover"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A folder of this test's own, empty.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[track_caller]
fn is_refused(folder: &Path, arguments: &[&str], parts: &[&str]) {
    let output = holdover(folder, arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    for part in parts {
        assert!(error.contains(part), "{arguments:?}: no {part:?} in {error}");
    }
}
