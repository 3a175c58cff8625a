//! `holdover ablate`.

use serde_json::Value;

use super::{ONE_TAKEOVER, folder, holdover, is_refused, json, text};

/// What is said of a setting: its own line, and those below it.
fn of<'a>(out: &'a str, setting: &str) -> Vec<&'a str> {
    let mut lines = out.lines().skip_while(|line| !line.starts_with(&format!("{setting} = ")));
    let own = lines.next().unwrap_or_else(|| panic!("no {setting} in {out}"));
    std::iter::once(own).chain(lines.take_while(|line| line.starts_with(' '))).collect()
}

#[test]
fn each_safeguard_is_listed_with_what_its_loss_breaks() {
    let arguments = [&["ablate", "push-before-ready", "--pairs"][..], &ONE_TAKEOVER].concat();
    let output = holdover(folder().path(), &arguments);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    let error = text(&output.stderr);
    assert!(error.starts_with("holdover ") && error.contains("ablate design=push-before-ready"));
    assert!(out.starts_with("push-before-ready: safe as it stands within 2 workers"), "{out}");

    let drained = of(&out, "fence.in-flight-writes");
    assert_eq!(drained[0], "fence.in-flight-writes = \"drained\"");
    assert!(
        drained[1].starts_with("  load-bearing   \"left-running\": no-stale-effect in ")
            && drained[1].contains(" steps: op_"),
        "{drained:?}"
    );
    let restored = of(&out, "authority.restore");
    assert!(restored[1].starts_with("  not-exercised  \"as-is\": "), "{restored:?}");
    assert!(restored[1].ends_with("says nothing about safety"), "{restored:?}");
    let dedupe = of(&out, "destination.dedupe");
    let covered = "  covered        \"none\": by destination.version: with \"none\" there, \
                   at-most-one-effect breaks";
    assert!(dedupe[1].starts_with(covered), "{dedupe:?}");
    // A list of fields is said by what is missing.
    let binds = of(&out, "identity.binds");
    assert_eq!(binds[0], "identity.binds = every field");
    assert!(binds[3].contains(" every field but principal: "), "{binds:?}");

    assert!(out.contains("pairs that break something together, and not alone"), "{out}");
    let pair =
        out.lines().find(|line| line.starts_with("| destination.dedupe = \"none\"")).unwrap();
    assert!(pair.contains("| destination.version = \"none\""), "{pair}");
    let summary: Vec<_> = out.lines().rev().take(3).collect();
    assert!(summary[2].starts_with("push-before-ready, 35 settings: "), "{summary:?}");
    for part in [" load-bearing, ", " covered, ", " not needed, ", " not exercised"] {
        assert!(summary[2].contains(part), "{summary:?}");
    }
    assert!(summary[1].starts_with("each value within 2 workers"), "{summary:?}");
    assert!(summary[0].starts_with("searches: "), "{summary:?}");
    let table = out.lines().filter(|line| line.starts_with('|'));
    let too_long = out.lines().filter(|line| !line.starts_with('|') && line.len() > 110);
    assert_eq!(too_long.count(), 0, "{out}");
    assert!(table.clone().all(|line| line.len() <= 140), "{:?}", table.collect::<Vec<_>>());
}

#[test]
fn json_has_a_flat_row_for_each_value() {
    let arguments = [&["ablate", "push-before-ready", "--json"][..], &ONE_TAKEOVER].concat();
    let output = holdover(folder().path(), &arguments);
    assert_eq!(output.status.code(), Some(0));
    let report = json(&output);
    assert_eq!(report["design"], "push-before-ready");
    assert_eq!(report["verdict"], "safe");
    assert_eq!(report["is_complete"], true);
    let rows = report["ablated"].as_array().unwrap();
    let row = |setting: &str, to: &str| {
        let is_meant = |row: &&Value| row["setting"] == setting && row["to"] == to;
        rows.iter().find(is_meant).unwrap_or_else(|| panic!("no {setting} = {to}"))
    };
    let loaded = row("fence.in-flight-writes", "left-running");
    assert_eq!(loaded["from"], "drained");
    assert_eq!(loaded["finding"], "load-bearing");
    assert_eq!(loaded["violation"]["invariant"], "no-stale-effect");
    assert!(loaded["steps"].as_u64().unwrap() > 5);
    assert_eq!(loaded["within"]["budgets"]["takeovers"], 1);
    assert_eq!(loaded["bounds"], 1);
    let covered = row("destination.dedupe", "none");
    assert_eq!(covered["finding"], "covered");
    assert_eq!(covered["by"][0]["setting"], "destination.version");
    assert_eq!(covered["by"][0]["invariant"], "at-most-one-effect");
    assert_eq!(row("authority.restore", "as-is")["finding"], "not-exercised");
    assert!(rows.iter().any(|row| row["setting"] == "identity.binds" && row["to"].is_array()));
}

#[test]
fn nothing_is_taken_away_from_what_is_broken() {
    let ablate = ["ablate", "push-before-ready", "--demand", "fenced-from=grant"];
    let arguments = [&ablate[..], &ONE_TAKEOVER].concat();
    let output = holdover(folder().path(), &arguments);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    for part in [
        "push-before-ready is BROKEN as it stands",
        "no-stale-effect: op_",
        "holdover repair push-before-ready --demand fenced-from=grant",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    let report = json(&holdover(folder().path(), &[&arguments[..], &["--json"]].concat()));
    assert_eq!(report["verdict"], "violated");
    assert_eq!(report["violation"]["invariant"], "no-stale-effect");
    assert_eq!(report["ablated"].as_array().unwrap().len(), 0);
}

#[test]
fn what_was_not_exhausted_is_not_called_anything() {
    let ablate = ["ablate", "push-before-ready", "--takeovers", "1", "--memory-mib", "1"];
    let output = holdover(folder().path(), &ablate);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.contains("NOT EXHAUSTED") && !out.contains("safe as it stands within"), "{out}");
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let folder = folder();
    is_refused(folder.path(), &["ablate", "perfect"], &["perfect", "push-before-ready"]);
    is_refused(folder.path(), &["ablate", "no.toml"], &["no.toml"]);
    is_refused(folder.path(), &["ablate"], &["NAME|FILE"]);
    let ablate = |more: &[&'static str]| [&["ablate", "highest-seen"][..], more].concat();
    is_refused(folder.path(), &ablate(&["--demand", "fast"]), &["--demand", "CLAIM=VALUE"]);
    is_refused(
        folder.path(),
        &ablate(&["--demand", "fenced-from=grnat"]),
        &["--demand", "did you mean \"grant\"?"],
    );
    is_refused(folder.path(), &ablate(&["--small", "--workers", "2"]), &["--small"]);
    is_refused(folder.path(), &ablate(&["--workers", "0"]), &["--workers 0"]);
    is_refused(folder.path(), &ablate(&["--threads", "0"]), &["--threads 0"]);
    is_refused(folder.path(), &ablate(&["--memory-mib", "0"]), &["--memory-mib 0"]);
}
