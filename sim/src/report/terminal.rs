//! Plain lines for people: what is about to run, what was found, what held.

use std::fmt::Write;
use std::path::Path;

use holdover_model::invariant::InvariantId;

use crate::plan::{Plan, Revocation};
use crate::report::timeline;
use crate::sweep::{Divergence, Outcome, Shown, Sweep};

/// What is about to run, with every knob: enough to run it again if the process dies.
pub fn headline(sweep: &Sweep) -> String {
    format!(
        "holdover {} sweep design={} seeds={}..{} jobs={} {}",
        env!("CARGO_PKG_VERSION"),
        sweep.design.name,
        sweep.seeds.start,
        sweep.seeds.end,
        sweep.jobs,
        sweep.profile,
    )
}

/// A plan in a few lines.
pub fn plan(plan: &Plan) -> String {
    let mut text = format!(
        "  network: {} to {} us; everything heals at {:.3} ms\n",
        plan.link.latency_us_min,
        plan.link.latency_us_max,
        milliseconds(plan.heal_at_us),
    );
    for task in &plan.tasks {
        let effect = task.effect.target().resource_id();
        let misuse = task.misuse.map(|misuse| format!(", {misuse}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "  task:  {:>10.3} ms  {} wants to change {effect}{misuse}",
            milliseconds(task.begin_at_us),
            task.agent,
        );
    }
    for Revocation { at_us, effect } in &plan.revocations {
        let resource = effect.target().resource_id();
        let at_ms = milliseconds(*at_us);
        let _ = writeln!(text, "  revoked: {at_ms:>8.3} ms  the lease on {resource}");
    }
    for fault in &plan.faults {
        let _ = writeln!(text, "  fault: {}: {}", fault.trigger, fault.fault);
    }
    if plan.faults.is_empty() {
        text.push_str("  no faults\n");
    }
    text
}

/// A failure in full: what broke, the plan, the timeline, and how to see it again.
pub fn failure(shown: &Shown, saved_at: Option<&Path>) -> String {
    let saved = &shown.saved;
    let mut text = format!(
        "FAILED {} in seed {}: {}\n\nplan\n{}\ntimeline\n{}\ndigest {}\n",
        saved.expected.finding,
        saved.plan.seed,
        saved.expected.explanation,
        plan(&saved.plan),
        timeline::of(&shown.run),
        saved.expected.digest,
    );
    if let Some(divergence) = &shown.divergence {
        let _ = writeln!(text, "{}", diverges(divergence));
    }
    match saved_at {
        Some(path) => {
            let _ =
                writeln!(text, "saved as {0}\nreplay with: holdover replay {0}", path.display());
        }
        None => {
            let _ = writeln!(
                text,
                "replay with: holdover replay {} --design {}",
                saved.plan.seed, saved.plan.design.name
            );
        }
    }
    text
}

/// A run that is not repeatable, and what to do about it.
pub fn diverges(divergence: &Divergence) -> String {
    format!(
        "DIVERGES {divergence}\nSomething in the code on the hosts is not the world's: the order \
         of a hash map, a real clock, real randomness, a thread. Until it is gone, no replay can \
         be trusted"
    )
}

/// How often each situation was reached, in a few lines.
fn situations(outcome: &Outcome) -> String {
    let counts: Vec<_> =
        outcome.tally.iter().map(|one| format!("{} {}", one.name, one.runs)).collect();
    let unreached = outcome.unreached();
    let mut text = format!(
        "situations: {} of {} reached; the runs that reached each:\n{}",
        counts.len() - unreached.len(),
        counts.len(),
        wrapped(&counts),
    );
    if !unreached.is_empty() {
        let _ = write!(text, "never reached:\n{}", wrapped(&unreached));
    }
    if !outcome.missing().is_empty() {
        let _ = write!(text, "REQUIRED and never reached:\n{}", wrapped(&outcome.missing()));
    }
    text
}

/// A list in lines of at most 100 columns.
fn wrapped(items: &[impl AsRef<str>]) -> String {
    const COLUMNS: usize = 100;
    let (mut text, mut line) = (String::new(), String::new());
    for (index, item) in items.iter().map(AsRef::as_ref).enumerate() {
        let separator = if index + 1 < items.len() { "," } else { "" };
        if !line.is_empty() && line.len() + item.len() + 4 > COLUMNS {
            let _ = writeln!(text, " {line}");
            line.clear();
        }
        let _ = write!(line, " {item}{separator}");
    }
    let _ = writeln!(text, " {line}");
    text
}

/// What a sweep showed: the situations, and one line per class of findings.
pub fn summary(outcome: &Outcome) -> String {
    situations(outcome) + &verdict(outcome)
}

fn verdict(outcome: &Outcome) -> String {
    let Outcome { sweep, runs, events, wall, failures, .. } = outcome;
    let rate = outcome.runs_per_second();
    let effort = format!(
        "{runs} runs, {events} events in {:.1} s, {rate:.0} runs per second",
        wall.as_secs_f64()
    );
    if let Some(rate_below) = outcome.failure_rate_below() {
        let invariants: Vec<_> = InvariantId::ALL.iter().map(|id| id.as_str()).collect();
        let verdict = if outcome.holds() { "HOLDS" } else { "FAILS, for lack of situations," };
        return format!(
            "{verdict} {}: {}\n{effort}; no failure in {runs} runs: the failure rate under this profile is below {:.3} % (3/N, 95 % confidence)",
            sweep.design.name,
            invariants.join(", "),
            100.0 * rate_below,
        );
    }
    let mut text = String::new();
    if let Some(first) = outcome.divergences.first() {
        let _ = writeln!(
            text,
            "FAILS {}: {} of {runs} seeds give another run each time, first seed {}",
            sweep.design.name,
            outcome.divergences.len(),
            first.seed
        );
    }
    let seeds = sweep.seeds.end - sweep.seeds.start;
    if *runs < seeds {
        let _ = writeln!(text, "INCOMPLETE: a run hung, so only {runs} of {seeds} seeds were run");
    }
    for first in outcome.first_of_each_class() {
        let class = first.finding.class();
        let same = failures.iter().filter(|failure| failure.finding.class() == class).count();
        let _ = writeln!(
            text,
            "FAILS {}: {class} in {same} of {runs} runs, first in seed {}",
            sweep.design.name, first.seed
        );
    }
    text + &effort
}

#[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}

fn milliseconds(us: u64) -> f64 {
    count(us) / 1e3
}

/// What a replay showed, beside what was saved; a seed has no file and nothing to compare.
pub fn replay(shown: &Shown, file: Option<&Path>) -> String {
    let Shown { saved, run, divergence } = shown;
    let mut text = format!("plan\n{}\ntimeline\n{}\n", plan(&saved.plan), timeline::of(run));
    let verdict = run.finding.as_ref().map_or("all invariants held", |finding| finding.class());
    let _ = writeln!(text, "digest {}\nverdict {verdict}", hex::encode(run.digest));
    if let Some(finding) = &run.finding {
        let _ = writeln!(text, "{}", finding.explanation());
    }
    if let Some(divergence) = divergence {
        let _ = writeln!(text, "{}", diverges(divergence));
    }
    if file.is_none() {
        return text;
    }
    let expected = &saved.expected;
    let digest = if shown.has_same_digest() { "same digest" } else { "another digest" };
    let verdict = if shown.has_same_verdict() { "same verdict" } else { "another verdict" };
    let _ = write!(text, "{digest}, {verdict} as saved by version {}", expected.version);
    if !shown.has_same_digest() {
        let _ = write!(text, " (digest {}, finding {})", expected.digest, expected.finding);
    }
    text.push('\n');
    text
}
