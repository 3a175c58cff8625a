//! Plain lines for people: what is about to run, what was found, what held.

use std::fmt::Write;
use std::path::Path;

use holdover_model::invariant::InvariantId;

use crate::plan::Plan;
use crate::report::timeline;
use crate::search::Origin;
use crate::shrink::Shrunk;
use crate::sweep::{Divergence, Example, Outcome, Replayed, Shown, Standing, Sweep};

/// What is about to run, with every knob: enough to run it again if the process dies.
pub fn headline(sweep: &Sweep) -> String {
    let search = sweep.search();
    let matrix = search.matrix();
    let matrix = match matrix.cells() {
        0 => String::new(),
        cells => format!(
            " matrix={cells} (cells: {} without a fault, {} with one, {} with two, {} with three)",
            matrix.cells_with(0),
            matrix.cells_with(1),
            matrix.cells_with(2),
            matrix.cells_with(3),
        ),
    };
    format!(
        "holdover {} sweep design={} seeds={}..{} mix={}{matrix} jobs={} {}",
        env!("CARGO_PKG_VERSION"),
        sweep.design.name,
        sweep.seeds.start,
        sweep.seeds.end,
        sweep.mix,
        sweep.jobs,
        sweep.profile,
    )
}

/// A plan in a few lines.
pub fn plan(plan: &Plan) -> String {
    let lines = plan.to_string();
    let lines: Vec<_> = lines.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n") + "\n"
}

/// One class of failures: how many there are, and its example as [`failure`] tells it.
pub fn example(example: &Example, outcome: &Outcome, saved_at: Option<&Path>) -> String {
    let Example { class, count, shrunk, before: (faults, tasks), shown, .. } = example;
    let Some(Shrunk { plan, runs, wall, is_finished, .. }) = shrunk else {
        return failure(shown, example.origin, saved_at);
    };
    let same = outcome.failures.iter().filter(|failure| failure.finding.class() == class.finding);
    let remark = format!(
        "class: {class}; {count} of {} such failures\n\
         shrunk: {faults} faults and {tasks} tasks to {} and {}, in {runs} runs, {:.1} s{}\n",
        same.count(),
        plan.faults.len(),
        plan.tasks.len(),
        wall.as_secs_f64(),
        if *is_finished { "" } else { "; more time may shrink it more" },
    );
    tell(shown, example.origin, &remark, saved_at)
}

/// A failure in full: what broke, the plan, the timeline, and how to see it again.
pub fn failure(shown: &Shown, origin: Origin, saved_at: Option<&Path>) -> String {
    tell(shown, origin, "", saved_at)
}

fn tell(shown: &Shown, origin: Origin, remark: &str, saved_at: Option<&Path>) -> String {
    let saved = &shown.saved;
    let mut text = format!(
        "FAILED {} in {origin}: {}\n{remark}\nplan\n{}\ntimeline\n{}\ndigest {}\n",
        saved.expected.finding,
        saved.expected.explanation,
        plan(&saved.plan),
        timeline::of(&shown.run),
        saved.expected.digest,
    );
    if let Some(divergence) = &shown.divergence {
        let _ = writeln!(text, "{}", diverges(divergence));
    }
    let _ = match (saved_at, origin) {
        (Some(path), _) => {
            writeln!(text, "saved as {0}\nreplay with: holdover replay {0}", path.display())
        }
        (None, Origin::Seed(seed)) => {
            let what = if remark.is_empty() { "replay" } else { "replay what it was made from" };
            writeln!(
                text,
                "{what} with: holdover replay {seed} --design {}",
                saved.plan.design.name
            )
        }
        // What no number stands for is given whole.
        (None, Origin::Matrix { .. } | Origin::Mutant { .. }) => {
            writeln!(text, "replay with: holdover replay FILE, of\n{}", saved.to_toml())
        }
    };
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
    if outcome.found_nothing() {
        let invariants: Vec<_> = InvariantId::ALL.iter().map(|id| id.as_str()).collect();
        let verdict = if outcome.holds() { "HOLDS" } else { "FAILS, for lack of situations," };
        let drawn = match outcome.failure_rate_below() {
            Some(rate_below) => format!(
                "no failure. {} of the runs were seeds: their failure rate under this profile is \
                 below {:.3} % (3/N, 95 % confidence)",
                outcome.seeds_drawn,
                100.0 * rate_below,
            ),
            None => "no failure. None of the runs was a seed, so nothing is said of a rate".into(),
        };
        return format!(
            "{verdict} {}: {}\n{effort}; {drawn}",
            sweep.design.name,
            invariants.join(", "),
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
        let _ = writeln!(text, "INCOMPLETE: a run hung, so there were only {runs} runs of {seeds}");
    }
    for first in outcome.first_of_each_class() {
        let class = first.finding.class();
        let same = failures.iter().filter(|failure| failure.finding.class() == class).count();
        let _ = writeln!(
            text,
            "FAILS {}: {class} in {same} of {runs} runs, first in {}",
            sweep.design.name, first.origin
        );
    }
    text + &effort
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

/// What became of saved plans: a line each, and how many were refound.
pub fn corpus(replayed: &[Replayed]) -> String {
    let name = |replayed: &Replayed| replayed.file.display().to_string();
    let width = |text: &dyn Fn(&Replayed) -> String, heading: &str| {
        replayed.iter().map(|one| text(one).len()).fold(heading.len(), usize::max)
    };
    let expected = |replayed: &Replayed| replayed.shown.saved.expected.finding.clone();
    let found = |replayed: &Replayed| replayed.shown.found().to_owned();
    let widths = [width(&name, "plan"), width(&expected, "expected"), width(&found, "found")];
    let [plan, expect, find] = widths;
    let mut text = format!(
        "{:plan$}  {:expect$}  {:find$}  {:7}  run\n",
        "plan", "expected", "found", "version"
    );
    for one in replayed {
        let _ = writeln!(
            text,
            "{:plan$}  {:expect$}  {:find$}  {:7}  {}",
            name(one),
            expected(one),
            found(one),
            one.shown.saved.expected.version,
            one.standing().as_str(),
        );
    }
    let count = |standing| replayed.iter().filter(|one| one.standing() == standing).count();
    let refound = replayed.iter().filter(|one| one.standing().is_refound()).count();
    let _ = write!(text, "{refound} of {} plans show what they showed", replayed.len());
    match count(Standing::StaleDigest) {
        0 => {}
        stale => {
            let _ = write!(
                text,
                "; {stale} of them in another run: the code has moved since they were saved, and \
                 `holdover replay --all --update` writes what they show now"
            );
        }
    }
    text
}
