//! `holdover replay`: one run once more, or all that were saved.

use std::path::Path;

use holdover::plan::SavedPlan;
use holdover::random::Seed;
use holdover::report::{json, terminal};
use holdover::sweep::{Corpus, Shown, Sweep, replay};

use crate::{Problem, Verdict};

/// Runs a saved plan or a seed once more, and compares digest and verdict with what was
/// saved.
///
/// Exit code of one plan or seed: 0 if all held, 1 if something was found. With --all: 0 if every
/// plan shows what it showed, also if its digest is stale because the code has moved since; 1 if
/// one shows something else.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A file that a sweep has saved, or a seed; with --all, a folder of such files [seeds].
    #[arg(value_name = "FILE|SEED|DIR", required_unless_present = "all")]
    target: Option<String>,
    /// Run all plans of a folder.
    #[arg(long)]
    all: bool,
    /// Write what plans show now into their files, if it is what they showed in another run.
    #[arg(long, requires = "all")]
    update: bool,
    /// Which design the seed is run with: a name, or a file that ends in .toml. A saved plan
    /// has its own.
    #[arg(long, value_name = "NAME|FILE")]
    design: Option<String>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let target = arguments.target.as_deref();
    if arguments.all {
        if arguments.design.is_some() {
            return Err("--design goes with a seed; a saved plan has its own design".into());
        }
        return replay_all(arguments, Path::new(target.unwrap_or("seeds")));
    }
    let target = target.expect("it is required without --all");
    let (shown, file) = match target.parse() {
        Ok(seed) => (replay_seed(Seed(seed), arguments.design.as_deref())?, None),
        Err(_) if arguments.design.is_some() => {
            return Err("--design goes with a seed; a saved plan has its own design".into());
        }
        Err(_) => {
            let file = Path::new(target);
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

fn replay_all(arguments: &Arguments, folder: &Path) -> Result<Verdict, Problem> {
    let corpus = Corpus::load(folder)?;
    if corpus.plans().is_empty() {
        return Err(format!("{}: there are no saved plans", folder.display()).into());
    }
    eprintln!(
        "holdover {} replay folder={} plans={}",
        env!("CARGO_PKG_VERSION"),
        folder.display(),
        corpus.plans().len()
    );
    let replayed = corpus.replay()?;
    let mut updated = 0;
    if arguments.update {
        for one in &replayed {
            updated += usize::from(one.update()?);
        }
    }
    if arguments.json {
        crate::say(&serde_json::to_string_pretty(&json::corpus(&replayed))?);
    } else {
        crate::say(&terminal::corpus(&replayed));
    }
    if updated > 0 {
        eprintln!("updated {updated} files");
    }
    let is_refound = replayed.iter().all(|one| one.standing().is_refound());
    Ok(if is_refound { Verdict::Holds } else { Verdict::Found })
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
