//! `holdover sweep`: thousands of seeds.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdover::report::{json, terminal};
use holdover::shrink::{self, Effort};
use holdover::situation::Situation;
use holdover::sweep::{Asked, Example, Outcome, Progress, Replayed, Sweep};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::{Problem, Verdict};

/// Runs the reference system through many seeds under faults and checks every invariant on
/// every event.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How much: N runs, or exactly the seeds A..B.
    #[arg(long, value_name = "N|A..B", default_value = "1000")]
    seeds: String,
    /// Where the plans come from: the shares of the matrix (every moment with every fault, in an
    /// order of its own), of seeds, and of mutants of what reached something new. By default
    /// matrix=3,swarm=2,mutation=1, with A..B swarm=1.
    #[arg(long, value_name = "MIX")]
    mix: Option<String>,
    /// How many runs happen at once; as many as there are cores, if not given.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Which design: a name, or a file that ends in .toml.
    #[arg(long, value_name = "NAME|FILE", default_value = "push-before-ready")]
    design: String,
    /// Where failing plans are saved. The plans there that failed under a design of the same
    /// name are run first, with the design as it is now.
    #[arg(long, value_name = "DIR", default_value = "seeds")]
    save: PathBuf,
    /// Run every seed twice and compare the two runs; name the first event that differs.
    #[arg(long)]
    check_determinism: bool,
    /// After how much real time a run whose code never awaits counts as hung. It cannot be
    /// stopped, so the sweep then ends.
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    hang_after: u64,
    /// A situation without which the sweep fails, or `all`; may be given several times.
    /// `holdover situations` lists them.
    #[arg(long, value_name = "NAME|all")]
    require: Vec<String>,
    /// Save and show failing plans as they are, instead of taking away first what the failure
    /// does not need.
    #[arg(long)]
    no_shrink: bool,
    /// How long a failing plan is shrunk, at most.
    #[arg(long, value_name = "SECONDS", default_value = "10", conflicts_with = "no_shrink")]
    shrink_seconds: u64,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let mut sweep = Sweep::new(crate::design("--design", &arguments.design)?)
        .asked(Asked::parse("--seeds", &arguments.seeds)?);
    if let Some(mix) = &arguments.mix {
        sweep = sweep.mix(mix.parse().map_err(|error| format!("--mix: {error}"))?);
    }
    if let Some(jobs) = arguments.jobs {
        if jobs == 0 {
            return Err("--jobs 0: at least one run has to happen at once".into());
        }
        sweep = sweep.jobs(jobs);
    }
    if arguments.hang_after == 0 {
        return Err("--hang-after 0: it has to be at least one second".into());
    }
    sweep = sweep.hang_after(Duration::from_secs(arguments.hang_after));
    if arguments.check_determinism {
        sweep = sweep.check_determinism();
    }
    for name in &arguments.require {
        sweep = require(sweep, name)?;
    }
    check_folder(&arguments.save)?;
    sweep = sweep.corpus(&arguments.save);

    // Before anything runs, so that a process that dies has said what it was doing.
    let headline = terminal::headline(&sweep);
    if arguments.json {
        eprintln!("{headline}");
    } else {
        crate::say(&headline);
    }
    let replayed = sweep.replay_corpus()?;
    if !replayed.is_empty() && !arguments.json {
        crate::say(&terminal::corpus(&replayed));
    }
    let bar = bar(&sweep);
    let outcome = sweep.run_with(|progress| show(&bar, progress));
    bar.finish_and_clear();
    report(arguments, &replayed, &outcome)
}

fn require(sweep: Sweep, name: &str) -> Result<Sweep, Problem> {
    if name == "all" {
        return Ok(sweep.require_all());
    }
    let known: Vec<_> = sweep.situations.iter().map(Situation::name).collect();
    if !known.contains(&name) {
        let known = known.join(", ");
        return Err(format!("--require {name}: no such situation; there are: all, {known}").into());
    }
    Ok(sweep.require([name]))
}

fn report(
    arguments: &Arguments,
    replayed: &[Replayed],
    outcome: &Outcome,
) -> Result<Verdict, Problem> {
    let mut saved = Vec::new();
    for example in examples(arguments, outcome) {
        let plan = &example.shown.saved;
        let path = match plan.save(&arguments.save) {
            Ok(path) => path,
            Err(error) => {
                // What cannot be kept is at least shown.
                eprintln!("{}", plan.to_toml());
                return Err(error.into());
            }
        };
        if !arguments.json {
            crate::say(&terminal::example(&example, outcome, Some(&path)));
        }
        saved.push((example, path));
    }
    if let (Some(divergence), false) = (outcome.divergences.first(), arguments.json) {
        crate::say(&terminal::diverges(divergence));
    }
    if arguments.json {
        let report = json::sweep(outcome, replayed, &saved);
        crate::say(&serde_json::to_string_pretty(&report)?);
    } else {
        crate::say(&terminal::summary(outcome));
    }
    let holds = outcome.holds() && !replayed.iter().any(Replayed::has_failed);
    Ok(if holds { Verdict::Holds } else { Verdict::Found })
}

/// One example of each class of failures, made small unless that is not wanted.
fn examples(arguments: &Arguments, outcome: &Outcome) -> Vec<Example> {
    if outcome.failures.is_empty() {
        return Vec::new();
    }
    let effort = (!arguments.no_shrink).then(|| Effort::seconds(arguments.shrink_seconds));
    // Without a terminal it hides itself.
    let bar = ProgressBar::new_spinner().with_style(
        ProgressStyle::with_template("{spinner} shrinking  {elapsed}  {msg}")
            .expect("the template is a literal"),
    );
    if effort.is_some() && bar.is_hidden() {
        eprintln!("shrinking at most {} s for each failure shown", arguments.shrink_seconds);
    }
    let examples = outcome.examples(effort, &mut |shrink::Progress { runs, faults, tasks }| {
        bar.set_message(format!("{runs} runs  {faults} faults, {tasks} tasks left"));
        bar.tick();
    });
    bar.finish_and_clear();
    examples
}

/// Whether failing plans could be saved there: better known before a long sweep than after.
fn check_folder(folder: &Path) -> Result<(), Problem> {
    let mut existing = folder;
    while !existing.exists() {
        existing = match existing.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
    }
    let problem = match fs::metadata(existing) {
        Ok(metadata) if !metadata.is_dir() => "is not a folder".to_owned(),
        Ok(metadata) if metadata.permissions().readonly() => "cannot be written to".to_owned(),
        Ok(_) => return Ok(()),
        Err(error) => error.to_string(),
    };
    Err(format!("--save {}: {} {problem}", folder.display(), existing.display()).into())
}

fn bar(sweep: &Sweep) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {rate}  ETA {eta}  {msg}")
        .expect("the template is a literal")
        .with_key("rate", |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            let _ = write!(text, "{:.0} runs/s", state.per_sec());
        });
    ProgressBar::new(sweep.seeds.end - sweep.seeds.start).with_style(style)
}

fn show(bar: &ProgressBar, progress: Progress) {
    bar.set_position(progress.runs);
    if progress.failures > 0 {
        bar.set_message(format!("{} failed", progress.failures));
    }
}
