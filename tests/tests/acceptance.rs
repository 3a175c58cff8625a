//! The acceptance table: the safe designs pass every row, each broken one fails in the rows that
//! are about what it breaks.

use std::collections::BTreeSet;

use holdover::accept::{Acceptance, Judged, ROWS, Section, Status, Table};
use holdover::plan::SavedPlan;
use holdover::report::accept::{Saved, markdown};
use holdover::sweep::replay;
use holdover_model::design::Design;

fn table(design: &str, seeds: u64) -> Table {
    Acceptance::new(Design::named(design).unwrap()).seeds(seeds).run()
}

fn failed(table: &Table) -> BTreeSet<&str> {
    let has_failed = |judged: &&Judged| judged.status == Status::Fail;
    table.rows.iter().filter(has_failed).map(|judged| judged.row.name).collect()
}

#[track_caller]
fn is_accepted(design: &str) {
    let table = table(design, 150);
    let open: Vec<_> = table
        .rows
        .iter()
        .filter(|judged| judged.status != Status::Pass)
        .map(|judged| (judged.row.name, judged.status, &judged.wrong))
        .collect();
    assert!(open.is_empty(), "{design}: {open:?}");
    assert!(table.findings.is_empty(), "{design}: {:?}", table.findings);
    assert!(table.is_accepted());
}

#[test]
fn a_fence_that_is_pushed_before_ready_passes_every_row() {
    is_accepted("push-before-ready");
}

#[test]
fn a_store_for_ownership_and_value_passes_every_row() {
    is_accepted("co-located-gate");
}

#[test]
fn the_table_has_the_rows_of_both_articles() {
    let of = |section| ROWS.iter().filter(|row| row.section == section).count();
    assert_eq!(Section::ALL.map(of), [6, 4, 10]);
    let names: BTreeSet<_> = ROWS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), ROWS.len());
}

/// The planned runs alone are enough to see these fail.
#[test]
fn a_broken_design_fails_in_the_right_row() {
    for (design, row) in [
        ("highest-seen", "resume-before-the-first-write"),
        ("highest-seen", "takeover-before-the-first-write"),
        ("highest-seen", "a-made-up-higher-epoch"),
        ("fence-without-drain", "resume-before-the-first-write"),
        ("proxy-fence", "takeover-before-the-first-write"),
        ("adapter-check", "resume-before-the-first-write"),
        ("adapter-check", "write-then-retry-the-old-worker"),
        ("adapter-check", "the-successor-then-the-old-worker"),
        ("run-and-millisecond", "different-intents-concurrently"),
        ("newest-wins", "existing-id-with-a-changed-payload"),
        ("look-up-then-insert", "identical-retries-concurrently"),
        ("timeout-means-failed", "lose-the-write-response"),
        ("timeout-means-done", "lose-the-write-response"),
        ("epoch-in-memory", "restart-the-ownership-service"),
        ("epoch-per-owner-change", "an-earlier-epoch-of-the-same-worker"),
        ("caller-dated-lease", "a-timestamp-chosen-by-the-worker"),
    ] {
        let table = table(design, 0);
        assert!(failed(&table).contains(row), "{design} does not fail in {row}");
        assert!(!table.is_accepted());
    }
}

/// And what they do not break, they do not fail in.
#[test]
fn a_broken_design_passes_in_the_other_rows() {
    for (design, fails_in) in [
        ("look-up-then-insert", &["identical-retries-concurrently"][..]),
        ("epoch-in-memory", &["restart-the-ownership-service"]),
    ] {
        let table = table(design, 100);
        assert_eq!(failed(&table), fails_in.iter().copied().collect(), "{design}");
    }
}

#[test]
fn a_row_that_no_run_came_to_is_no_pass() {
    let table = table("no-automatic-takeover", 0);
    let row = table.row("immediate-revocation").unwrap();
    assert!(row.status != Status::NotExercised, "leases are revoked there, too");
    let unexercised = table.rows.iter().filter(|row| row.status == Status::NotExercised);
    let unexercised: Vec<_> = unexercised.collect();
    assert!(!unexercised.is_empty());
    assert!(unexercised.iter().all(|row| row.runs == 0 && row.example.is_none()));
    assert!(!table.is_accepted());
}

#[test]
fn every_example_replays_from_its_file() {
    let table = table("push-before-ready", 20);
    for judged in &table.rows {
        let example = judged.example.as_ref().unwrap();
        let text = example.saved.to_toml();
        let shown = replay(SavedPlan::from_toml("example.toml", &text).unwrap()).unwrap();
        assert!(shown.has_same_digest(), "{}", judged.row.name);
        assert_eq!(shown.run.finding, None, "{}", judged.row.name);
    }
}

#[test]
fn the_packet_has_what_a_review_needs_and_no_payload() {
    let table = table("push-before-ready", 40);
    let packet = markdown(&table, &Saved::new());
    for part in [
        "# Acceptance of `push-before-ready`: accepted",
        "| Resume A before B's first write | The destination rejects A and leaves the resource unchanged | **pass** |",
        "## Race cases",
        "## Fixture cases",
        "## Findings",
        "## Rejected writes",
        "* stale epoch: ",
        "collision_receipt:",
        "dispatch_blocked: true",
        "## Unknown outcomes that stay unknown",
        "| worker-paused-before-mutation | ",
        "check = \"current-epoch\"",
    ] {
        assert!(packet.contains(part), "no {part:?} in\n{packet}");
    }
    assert!(!packet.contains("payload of task"));
}

#[test]
fn how_many_runs_happen_at_once_changes_nothing() {
    let table = |jobs| {
        let design = Design::named("push-before-ready").unwrap();
        Acceptance::new(design).seeds(30).jobs(jobs).run()
    };
    let (one, three) = (table(1), table(3));
    assert_eq!(one.digest, three.digest);
    let runs = |table: &Table| table.rows.iter().map(|row| row.runs).collect::<Vec<_>>();
    assert_eq!(runs(&one), runs(&three));
}
