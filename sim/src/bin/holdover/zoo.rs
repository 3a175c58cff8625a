//! `holdover zoo`: every named design, and whether the answer is the expected one.

use holdover::report::check::{zoo, zoo_summary};
use holdover::time::Instant;
use holdover::zoo::check_all;
use holdover_model::design::NAMED;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{Problem, Verdict};

/// Checks every design that comes with this software, and compares what breaks with what is
/// known to break.
///
/// Exit code 0: every answer is the expected one. 1: at least one is not.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many designs are checked at once; as many as there are cores, if not given.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print a JSON list instead of a table.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let threads = crate::threads(arguments.threads)?;
    eprintln!(
        "holdover {} zoo designs={} threads={threads}",
        env!("CARGO_PKG_VERSION"),
        NAMED.len()
    );
    let began = Instant::now();
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} designs  {elapsed}  {msg}")
        .expect("the template is a literal");
    let bar = ProgressBar::new(NAMED.len() as u64).with_style(style);
    let specimens = check_all(threads, &|specimen| {
        // The bar hides itself where nobody watches.
        if bar.is_hidden() {
            eprintln!("{}: {}, {:.1} s", specimen.design, specimen.found, specimen.seconds);
        }
        bar.inc(1);
        bar.set_message(specimen.design.clone());
    });
    bar.finish_and_clear();
    if arguments.json {
        crate::say(&serde_json::to_string_pretty(&specimens)?);
    } else {
        crate::say(&zoo(&specimens));
        crate::say(&zoo_summary(&specimens, began.elapsed().as_secs_f64()));
    }
    let agree = specimens.iter().all(|specimen| specimen.agrees);
    Ok(if agree { Verdict::Holds } else { Verdict::Found })
}
