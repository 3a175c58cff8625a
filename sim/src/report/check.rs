//! What an exhaustive check has found, for people: a verdict, a counterexample, the zoo's table.

use std::fmt::Write;

use holdover_model::check::{Assumptions, BoundReport, Judgement, Progress, Verdict};

use super::phrase::paragraph;
use super::table::table;
use crate::zoo::Specimen;

/// A verdict with every bound, and the shortest counterexample if there is one.
pub fn verdict(verdict: &Verdict) -> String {
    let design = &verdict.design;
    let mut text = String::new();
    match (&verdict.counterexample, verdict.verdict) {
        (Some(found), _) => {
            let _ = writeln!(text, "{design}: {} is broken", found.violation.invariant);
            let _ = writeln!(text, "\nthe shortest counterexample, {} steps\n", found.steps.len());
            let _ = writeln!(text, "{found}\n\nfound within");
        }
        (None, Judgement::NotExhausted) => {
            let _ = writeln!(
                text,
                "{design}: NOT EXHAUSTED: no violation was found, but not everything was looked \
                 at, so this says nothing about safety. Give it more --memory-mib, or less to \
                 explore"
            );
        }
        (None, _) => {
            let _ = writeln!(text, "{design}: safe within");
        }
    }
    for report in &verdict.bounds {
        text.push_str(&bound(report, verdict.reductions.symmetry));
    }
    if verdict.assumptions != Assumptions::none() {
        let _ = writeln!(text, "assumed: {}", verdict.assumptions);
    }
    let never_asked = verdict.never_asked();
    if verdict.verdict == Judgement::Safe && !never_asked.is_empty() {
        let names: Vec<_> = never_asked.iter().map(|setting| setting.to_string()).collect();
        let line = format!(
            "had no say within these bounds, so that nothing is shown of them: {}",
            names.join(", ")
        );
        let _ = writeln!(text, "{}", paragraph(&line, 2));
    }
    let _ = write!(
        text,
        "in all: {} states of {} generated, {:.1} s, {:.0} MiB at most",
        verdict.unique_states(),
        verdict.generated_states(),
        verdict.seconds(),
        verdict.peak_memory_mib(),
    );
    text
}

fn bound(report: &BoundReport, wants_symmetry: bool) -> String {
    let mark = if report.exhausted { "exhausted" } else { "not exhausted" };
    let is_asymmetric = wants_symmetry && !report.symmetric;
    let symmetry = if is_asymmetric { ", operations are not symmetric" } else { "" };
    format!(
        "  {}\n    {mark}, {} states, depth {}, {:.1} s{symmetry}\n",
        report.bounds, report.unique_states, report.depth, report.seconds,
    )
}

/// Where a search stands, in a few words.
pub fn progress(progress: &Progress<'_>) -> String {
    format!(
        "{} states, {:.0} states/s, depth {}, frontier {}, {} MiB",
        progress.unique_states,
        progress.rate(),
        progress.depth,
        progress.frontier_states,
        progress.memory_bytes >> 20,
    )
}

/// The zoo as a table that Markdown understands, too.
pub fn zoo(specimens: &[Specimen]) -> String {
    let header = ["design", "expected", "found", "steps", "states", ""].map(str::to_owned);
    let rows = specimens.iter().map(|specimen| {
        let expected: Vec<_> = specimen.expected.iter().map(|id| id.as_str()).collect();
        [
            specimen.design.clone(),
            if expected.is_empty() { "safe".into() } else { expected.join(", ") },
            specimen.found.clone(),
            specimen.counterexample_steps.map_or_else(String::new, |steps| steps.to_string()),
            specimen.unique_states.to_string(),
            if specimen.agrees { String::new() } else { "DIFFERS".into() },
        ]
    });
    table(&std::iter::once(header).chain(rows).map(Vec::from).collect::<Vec<_>>())
}

/// What the zoo says in one line.
pub fn zoo_summary(specimens: &[Specimen], seconds: f64) -> String {
    let differing: Vec<_> = specimens
        .iter()
        .filter(|specimen| !specimen.agrees)
        .map(|specimen| specimen.design.as_str())
        .collect();
    let broken = specimens.iter().filter(|specimen| specimen.counterexample_steps.is_some());
    let agreement = match differing.as_slice() {
        [] => "every answer is the expected one".to_owned(),
        names => format!("{} differ from what they expect: {}", names.len(), names.join(", ")),
    };
    format!("{} designs, {} broken, {seconds:.1} s; {agreement}", specimens.len(), broken.count())
}
