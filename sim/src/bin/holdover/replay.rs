//! `holdover replay`: one run once more.

use std::path::Path;

use holdover::plan::SavedPlan;
use holdover::random::Seed;
use holdover::report::{json, terminal};
use holdover::sweep::{Shown, Sweep, replay};

use crate::{Problem, Verdict};

/// Runs a saved plan or a seed once more, and compares digest and verdict with what was
/// saved.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A file that a sweep has saved, or a seed.
    #[arg(value_name = "FILE|SEED")]
    target: String,
    /// Which design the seed is run with: a name, or a file that ends in .toml. A saved plan
    /// has its own.
    #[arg(long, value_name = "NAME|FILE")]
    design: Option<String>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let (shown, file) = match arguments.target.parse() {
        Ok(seed) => (replay_seed(Seed(seed), arguments.design.as_deref())?, None),
        Err(_) if arguments.design.is_some() => {
            return Err("--design goes with a seed; a saved plan has its own design".into());
        }
        Err(_) => {
            let file = Path::new(&arguments.target);
            (replay_file(file)?, Some(file))
        }
    };
    if arguments.json {
        let report = json::replay(&shown, file);
        crate::say(&serde_json::to_string_pretty(&report)?);
    } else {
        crate::say(terminal::replay(&shown, file).trim_end());
    }
    Ok(if shown.run.finding.is_some() || shown.divergence.is_some() {
        Verdict::Found
    } else {
        Verdict::Holds
    })
}

fn replay_seed(seed: Seed, design: Option<&str>) -> Result<Shown, Problem> {
    let design = crate::design("--design", design.unwrap_or("push-before-ready"))?;
    eprintln!("holdover {} replay seed={seed} design={}", env!("CARGO_PKG_VERSION"), design.name);
    Ok(Shown::of_seed(&Sweep::new(design), seed))
}

fn replay_file(file: &Path) -> Result<Shown, Problem> {
    let saved = SavedPlan::load(file)?;
    eprintln!("holdover {} replay {}", env!("CARGO_PKG_VERSION"), file.display());
    replay(saved).map_err(|error| format!("{}: {error}", file.display()).into())
}
