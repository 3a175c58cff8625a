//! The acceptance table: for a terminal, for programs, for a review packet.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::accept::{Evidence, Judged, Section, Status, Table};

/// Where examples were saved, by the name of their row.
pub type Saved = BTreeMap<&'static str, PathBuf>;

/// Every row of a section, in order.
fn of_section(table: &Table, section: Section) -> impl Iterator<Item = &Judged> {
    table.rows.iter().filter(move |judged| judged.row.section == section)
}

/// How to see a row's example again.
fn example(judged: &Judged, saved: &Saved) -> String {
    match (saved.get(judged.row.name), &judged.example) {
        (Some(path), _) => path.display().to_string(),
        (None, Some(example)) => example.origin.to_string(),
        (None, None) => "none".into(),
    }
}

/// Each class of findings, in how many runs, and what was found in the first of them.
fn classes(table: &Table) -> Vec<(&'static str, usize, String)> {
    let mut classes: Vec<(&str, usize, String)> = Vec::new();
    for (origin, finding) in &table.findings {
        if let Some((_, runs, _)) = classes.iter_mut().find(|(class, ..)| *class == finding.class())
        {
            *runs += 1;
        } else {
            let first = format!("{origin}: {}", finding.explanation());
            classes.push((finding.class(), 1, first));
        }
    }
    classes
}

/// The table in plain lines.
pub fn terminal(table: &Table, saved: &Saved) -> String {
    let mut text = String::new();
    for section in Section::ALL {
        let _ = writeln!(text, "{}", section.title());
        for judged in of_section(table, section) {
            let Judged { row, status, runs, .. } = judged;
            let example = example(judged, saved);
            let _ = writeln!(
                text,
                "  {:<13}  {:<38}  {runs:>5} run{}, see {example}",
                status.as_str(),
                row.name,
                if *runs == 1 { "" } else { "s" },
            );
            if let Some(wrong) = &judged.wrong {
                let _ = writeln!(text, "                 {wrong}");
            }
        }
    }
    for (class, runs, first) in classes(table) {
        let _ = writeln!(text, "FOUND {class} in {runs} runs, first in {first}");
    }
    if saved.is_empty() {
        let _ = writeln!(
            text,
            "replay a seed with: holdover replay SEED --design {}; a planned run is a file with \
             --save DIR",
            table.acceptance.design.name
        );
    }
    let count = |status| table.rows.iter().filter(|row| row.status == status).count();
    let verdict = if table.is_accepted() { "ACCEPTED" } else { "NOT ACCEPTED" };
    let _ = write!(
        text,
        "{verdict} {}: {} pass, {} fail, {} not exercised; {} runs, {} with findings",
        table.acceptance.design.name,
        count(Status::Pass),
        count(Status::Fail),
        count(Status::NotExercised),
        table.runs,
        table.findings.len(),
    );
    text
}

/// What `holdover accept --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct AcceptReport<'a> {
    /// The version that ran.
    pub version: &'static str,
    /// The design.
    pub design: &'a str,
    /// How many seeds were swept beside the planned runs.
    pub seeds: u64,
    /// How many runs there were.
    pub runs: u64,
    /// Whether every row passes and nothing else was found.
    pub accepted: bool,
    /// Every row, in order.
    pub rows: Vec<RowReport<'a>>,
    /// Every run in which something was found.
    pub findings: Vec<FindingReport>,
    /// In how many runs each situation was reached.
    pub situations: &'a BTreeMap<String, u64>,
    /// What the runs leave behind for a review.
    pub evidence: &'a Evidence,
    /// SHA-256 over the runs' digests.
    pub digest: String,
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub struct RowReport<'a> {
    /// The part of the table.
    pub section: &'static str,
    /// The name.
    pub name: &'static str,
    /// What happens.
    pub step: &'static str,
    /// What has to be shown.
    pub evidence: &'static str,
    /// What became of it.
    pub status: Status,
    /// How many runs came to it.
    pub runs: u64,
    /// A run to replay; `None` if no run came to it.
    pub example: Option<ExampleReport>,
    /// What was wrong.
    pub wrong: Option<&'a str>,
}

/// A run to replay.
#[derive(Clone, Debug, Serialize)]
pub struct ExampleReport {
    /// Which run it was.
    pub run: String,
    /// Its digest.
    pub digest: String,
    /// Where its plan was saved.
    pub saved: Option<PathBuf>,
}

/// A run in which something was found.
#[derive(Clone, Debug, Serialize)]
pub struct FindingReport {
    /// Which run it was.
    pub run: String,
    /// The invariant that broke, or what else was found.
    pub invariant: &'static str,
    /// What happened, in one sentence.
    pub explanation: String,
}

/// The table as an object.
pub fn json<'a>(table: &'a Table, saved: &Saved) -> AcceptReport<'a> {
    let row = |judged: &'a Judged| RowReport {
        section: judged.row.section.title(),
        name: judged.row.name,
        step: judged.row.step,
        evidence: judged.row.evidence,
        status: judged.status,
        runs: judged.runs,
        example: judged.example.as_ref().map(|example| ExampleReport {
            run: example.origin.to_string(),
            digest: example.saved.expected.digest.clone(),
            saved: saved.get(judged.row.name).cloned(),
        }),
        wrong: judged.wrong.as_deref(),
    };
    AcceptReport {
        version: env!("CARGO_PKG_VERSION"),
        design: &table.acceptance.design.name,
        seeds: table.acceptance.seeds,
        runs: table.runs,
        accepted: table.is_accepted(),
        rows: table.rows.iter().map(row).collect(),
        findings: table
            .findings
            .iter()
            .map(|(origin, finding)| FindingReport {
                run: origin.to_string(),
                invariant: finding.class(),
                explanation: finding.explanation(),
            })
            .collect(),
        situations: &table.situations,
        evidence: &table.evidence,
        digest: hex::encode(table.digest),
    }
}

/// The packet for a review, in Markdown.
pub fn markdown(table: &Table, saved: &Saved) -> String {
    let acceptance = &table.acceptance;
    let verdict = if table.is_accepted() { "accepted" } else { "not accepted" };
    let mut text = format!(
        "# Acceptance of `{}`: {verdict}\n\n\
         A row passes if at least one run came to it and every run that did has the evidence. A row \
         that no run came to is not exercised; evidence that did not come is a failure.\n\n\
         * holdover {}\n* {} runs: {} that are planned for the rows, and the seeds 0 to {}\n\
         * digest over all runs: `{}`\n* profile: {}\n",
        acceptance.design.name,
        env!("CARGO_PKG_VERSION"),
        table.runs,
        table.runs - acceptance.seeds,
        acceptance.seeds.saturating_sub(1),
        hex::encode(table.digest),
        acceptance.profile,
    );
    for section in Section::ALL {
        let _ = writeln!(
            text,
            "\n## {}\n\n| test step | evidence required | result | runs | example | digest |\n\
             | --- | --- | --- | --- | --- | --- |",
            section.title()
        );
        for judged in of_section(table, section) {
            let Judged { row, status, runs, .. } = judged;
            let digest = judged.example.as_ref().map_or("", |one| &one.saved.expected.digest[..16]);
            let _ = writeln!(
                text,
                "| {} | {} | **{}** | {runs} | {} | `{digest}` |",
                row.step,
                row.evidence,
                status.as_str(),
                example(judged, saved),
            );
        }
        for judged in of_section(table, section) {
            if let Some(wrong) = &judged.wrong {
                let _ = writeln!(text, "\n{}: {wrong}.", judged.row.step);
            }
        }
    }
    findings(&mut text, table);
    evidence(&mut text, &table.evidence);
    text.push_str("\n## Situations\n\n| situation | runs |\n| --- | --- |\n");
    for (name, runs) in &table.situations {
        let runs = if *runs == 0 { "**never reached**".into() } else { runs.to_string() };
        let _ = writeln!(text, "| {name} | {runs} |");
    }
    let _ = write!(text, "\n## Design\n\n```toml\n{}```\n", acceptance.design.to_toml_in_full());
    text
}

fn findings(text: &mut String, table: &Table) {
    let Table { findings, runs, .. } = table;
    let _ = writeln!(text, "\n## Findings\n");
    if findings.is_empty() {
        let _ = writeln!(
            text,
            "None in {runs} runs. That is no proof: it says something about these runs only."
        );
    }
    for (class, runs, first) in classes(table) {
        let _ = writeln!(text, "* `{class}` in {runs} runs, first in {first}");
    }
}

fn evidence(text: &mut String, evidence: &Evidence) {
    text.push_str("\n## Rejected writes\n\n");
    if evidence.rejected.is_empty() {
        text.push_str("None.\n");
    }
    for (reason, count) in &evidence.rejected {
        let _ = writeln!(text, "* {reason}: {count}");
    }
    let _ = writeln!(text, "\n## Collision receipts\n\n{} in all.", evidence.collisions);
    for collision in &evidence.collision_receipts {
        let receipt = &collision.receipt;
        let _ = writeln!(
            text,
            "\n```yaml\ncollision_receipt: # {}\n  conflicting_operation_id: {}\n  \
             first_intent_hash: {}\n  second_intent_hash: {}\n  first_target: {}\n  \
             second_target: {}\n  dispatch_blocked: {}\n  decision: human_review_required\n```",
            collision.run,
            receipt.conflicting_operation_id,
            receipt.first_intent_hash,
            receipt.second_intent_hash,
            receipt.first_target,
            receipt.second_target,
            receipt.dispatch_blocked,
        );
    }
    let _ = writeln!(
        text,
        "\n## Unknown outcomes that stay unknown\n\n{} in all. None of them counts as a pass.",
        evidence.unresolved
    );
    for one in &evidence.unresolved_operations {
        let status = one.status.map_or("not in any ledger", |status| status.as_str());
        let _ = writeln!(text, "* {} in {}: {status}", one.operation_id, one.run);
    }
}
