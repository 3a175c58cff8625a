//! The house rules that a compiler cannot enforce, each with its reason.
//!
//! A rule bans a word; an exception names the file and says why it may.

use std::fs;
use std::path::{Path, PathBuf};

/// A banned word, why it is banned, and who may use it all the same.
struct Ban {
    word: &'static str,
    reason: &'static str,
    /// In which folders it is banned.
    folders: &'static [&'static str],
    exceptions: &'static [(&'static str, &'static str)],
}

const SIMULATED: &[&str] = &["model/src", "sim/src"];
const PURE: &[&str] = &[
    "model/src/design",
    "model/src/event",
    "model/src/intent",
    "model/src/invariant",
    "model/src/role",
];

const BANS: &[Ban] = &[
    Ban {
        word: "HashMap",
        reason: "its order differs from process to process; use BTreeMap or IndexMap",
        folders: SIMULATED,
        exceptions: EXCEPTIONS_HASH,
    },
    Ban {
        word: "HashSet",
        reason: "its order differs from process to process; use BTreeSet or IndexSet",
        folders: SIMULATED,
        exceptions: EXCEPTIONS_HASH,
    },
    Ban {
        word: "SystemTime",
        reason: "the wall clock is not the world's; use holdover::time::unix_now",
        folders: SIMULATED,
        exceptions: &[("sim/src/time.rs", "unix_now outside of a simulation")],
    },
    Ban {
        word: "std::time::Instant",
        reason: "the machine's clock is not the world's; use holdover::time::Instant",
        folders: SIMULATED,
        exceptions: EXCEPTIONS_CLOCK,
    },
    Ban {
        word: "time::{Duration, Instant}",
        reason: "the machine's clock is not the world's; use holdover::time::Instant",
        folders: SIMULATED,
        exceptions: EXCEPTIONS_CLOCK,
    },
    Ban {
        word: "thread_rng",
        reason: "all randomness comes from labelled streams of the seed",
        folders: SIMULATED,
        exceptions: &[],
    },
    Ban {
        word: "rand::random",
        reason: "all randomness comes from labelled streams of the seed",
        folders: SIMULATED,
        exceptions: &[],
    },
    Ban {
        word: "getrandom",
        reason: "all randomness comes from labelled streams of the seed",
        folders: SIMULATED,
        exceptions: &[],
    },
    Ban {
        word: "from_os_rng",
        reason: "all randomness comes from labelled streams of the seed",
        folders: SIMULATED,
        exceptions: &[],
    },
    Ban {
        word: "spawn_blocking",
        reason: "a real thread is outside of the world",
        folders: SIMULATED,
        exceptions: &[("sim/src/world/host.rs", "says that it is refused")],
    },
    Ban {
        word: "thread::",
        reason: "a real thread is outside of the world",
        folders: SIMULATED,
        exceptions: EXCEPTIONS_THREADS,
    },
    Ban {
        word: "static mut",
        reason: "process-wide state outlives a run",
        folders: SIMULATED,
        exceptions: &[],
    },
    Ban {
        word: "OnceLock",
        reason: "process-wide state outlives a run",
        folders: SIMULATED,
        exceptions: &[],
    },
    Ban {
        word: "LazyLock",
        reason: "process-wide state outlives a run",
        folders: SIMULATED,
        exceptions: &[],
    },
    Ban {
        word: "todo!",
        reason: "what is landed is the product",
        folders: SIMULATED,
        exceptions: &[],
    },
    Ban {
        word: "tokio",
        reason: "roles know nothing of sockets, files, clocks or threads",
        folders: PURE,
        exceptions: &[],
    },
    Ban {
        word: "std::net",
        reason: "roles know nothing of sockets, files, clocks or threads",
        folders: PURE,
        exceptions: &[],
    },
    Ban {
        word: "std::fs",
        reason: "roles know nothing of sockets, files, clocks or threads",
        folders: PURE,
        exceptions: &[],
    },
    Ban {
        word: "std::thread",
        reason: "roles know nothing of sockets, files, clocks or threads",
        folders: PURE,
        exceptions: &[],
    },
    Ban {
        word: "Instant",
        reason: "roles are told what time it is",
        folders: PURE,
        exceptions: &[],
    },
];

const EXCEPTIONS_HASH: &[(&str, &str)] = &[
    ("model/src/check/intern.rs", "values are looked up, never iterated"),
    ("model/src/check/settle.rs", "states are looked up, never iterated"),
];
const EXCEPTIONS_CLOCK: &[(&str, &str)] = &[
    ("model/src/ablate/mod.rs", "measures how long an ablation takes"),
    ("model/src/check/mod.rs", "measures how long a check takes"),
    ("model/src/check/search.rs", "measures how long a search takes"),
    ("model/src/repair/mod.rs", "measures how long a repair takes"),
    ("sim/src/sweep/mod.rs", "measures how long a sweep takes, outside of any world"),
    ("sim/src/sweep/watchdog.rs", "measures how long a world gives no sign of life, from outside"),
];
const EXCEPTIONS_THREADS: &[(&str, &str)] = &[
    ("model/src/check/search.rs", "searches in parallel; what it reports does not depend on it"),
    ("model/src/parallel.rs", "one piece of work per thread; results are in the order of the work"),
    ("sim/src/bin/holdover/progress.rs", "says now and then where work stands, in no world"),
    ("sim/src/sweep/round.rs", "runs one world per thread; worlds share nothing"),
    ("sim/src/sweep/watchdog.rs", "watches a world from another thread"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every Rust file below a folder of the repository, as (path from the root, text).
fn sources(folder: &str) -> Vec<(String, String)> {
    fn visit(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    visit(&root().join(folder), &mut files);
    files.sort();
    assert!(!files.is_empty(), "no sources in {folder}");
    files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            (name, text)
        })
        .collect()
}

/// The lines of code: without comments, and without the unit tests at the end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| *line != "#[cfg(test)]")
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap()))
}

#[test]
fn no_leak_of_determinism_and_no_impure_role() {
    let mut offences = Vec::new();
    for Ban { word, reason, folders, exceptions } in BANS {
        for (file, text) in folders.iter().flat_map(|folder| sources(folder)) {
            if exceptions.iter().any(|(excepted, _)| *excepted == file) {
                continue;
            }
            for (number, line) in code(&text).filter(|(_, line)| line.contains(word)) {
                offences.push(format!("{file}:{number}: {word}: {reason}: {}", line.trim()));
            }
        }
    }
    assert!(offences.is_empty(), "\n{}", offences.join("\n"));
}

#[test]
fn every_exception_is_still_needed() {
    for Ban { word, exceptions, .. } in BANS {
        for (file, why) in *exceptions {
            let text = fs::read_to_string(root().join(file))
                .unwrap_or_else(|_| panic!("{file} ({why}) is gone"));
            let used_by_any = BANS
                .iter()
                .filter(|ban| std::ptr::eq(ban.exceptions, *exceptions))
                .any(|ban| code(&text).any(|(_, line)| line.contains(ban.word)));
            assert!(used_by_any, "{file} does not use {word} any more: {why}");
        }
    }
}

#[test]
fn every_select_is_biased() {
    for (file, text) in sources("sim/src") {
        let lines: Vec<_> = code(&text).collect();
        for (index, (number, line)) in lines.iter().enumerate() {
            if line.contains("select! {") {
                let next = lines[index + 1].1.trim();
                assert_eq!(
                    next, "biased;",
                    "{file}:{number}: an unbiased select draws from tokio's own randomness"
                );
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for folder in ["model/src", "sim/src", "sim/benches", "sim/tests", "tests/tests"] {
        for (file, text) in sources(folder) {
            assert!(text.starts_with("//! "), "{file} does not begin with its purpose");
        }
    }
}

#[test]
fn the_arrows_run_one_way() {
    let manifest =
        |member: &str| fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
    assert!(!manifest("model").contains("holdover.workspace"), "model must not know sim");
    assert!(!manifest("sim").contains("holdover-tests"), "sim must not know tests");
    for (file, text) in PURE.iter().flat_map(|folder| sources(folder)) {
        assert!(!text.contains("crate::check"), "{file}: roles must not know the checker");
    }
    for (file, text) in sources("model/src/event").into_iter().chain(sources("model/src/intent")) {
        for above in ["crate::role", "crate::design", "crate::invariant"] {
            assert!(!text.contains(above), "{file}: evidence must not know {above}");
        }
    }
}
