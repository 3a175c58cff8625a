//! `holdover accept`: the acceptance table.

use std::path::{Path, PathBuf};

use holdover::accept::{Acceptance, SEEDS, Table};
use holdover::report::accept::{Saved, json, markdown, terminal};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{Problem, Verdict};

/// Runs what the rows of the acceptance table need, and says for each whether it passes, with
/// the runs behind it.
///
/// Exit code 0: every row passes and nothing else was found. 1: anything else.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which design: a name, or a file that ends in .toml.
    #[arg(long, value_name = "NAME|FILE", default_value = "push-before-ready")]
    design: String,
    /// How many seeds are swept beside the runs that are planned for the rows.
    #[arg(long, value_name = "N", default_value_t = SEEDS)]
    seeds: u64,
    /// How many runs happen at once; as many as there are cores, if not given.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Save the plan of each row's example here, to be replayed.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print a packet for a review instead: the table, the design, bounds, findings, evidence.
    #[arg(long)]
    markdown: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let mut acceptance =
        Acceptance::new(crate::design("--design", &arguments.design)?).seeds(arguments.seeds);
    match arguments.jobs {
        Some(0) => return Err("--jobs 0: at least one run has to happen at once".into()),
        Some(jobs) => acceptance = acceptance.jobs(jobs),
        None => {}
    }
    eprintln!(
        "holdover {} accept design={} seeds={} jobs={} {}",
        env!("CARGO_PKG_VERSION"),
        acceptance.design.name,
        acceptance.seeds,
        acceptance.jobs,
        acceptance.profile,
    );
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {elapsed}")
        .expect("the template is a literal");
    let bar = ProgressBar::new(acceptance.seeds).with_style(style);
    let table = acceptance.run_with(|over, all| {
        bar.set_length(all as u64);
        bar.set_position(over as u64);
    });
    bar.finish_and_clear();
    let saved =
        arguments.save.as_deref().map_or(Ok(Saved::new()), |folder| save(&table, folder))?;
    if arguments.json {
        crate::say(&serde_json::to_string_pretty(&json(&table, &saved))?);
    } else if arguments.markdown {
        crate::say(markdown(&table, &saved).trim_end());
    } else {
        crate::say(&terminal(&table, &saved));
    }
    Ok(if table.is_accepted() { Verdict::Holds } else { Verdict::Found })
}

/// Saves every row's example.
fn save(table: &Table, folder: &Path) -> Result<Saved, Problem> {
    let mut saved = Saved::new();
    for judged in &table.rows {
        if let Some(example) = &judged.example {
            saved.insert(judged.row.name, example.saved.save(folder)?);
        }
    }
    Ok(saved)
}
