//! `holdover zoo`: every named design, and whether the answer is the expected one.

use holdover::report::check::{zoo, zoo_summary};
use holdover::report::{simulated, simulated_summary};
use holdover::time::Instant;
use holdover::zoo::{Limits, Method, check_all, simulate};
use holdover_model::design::NAMED;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{Problem, Verdict};

/// Checks every design that comes with this software, and compares what breaks with what is
/// known to break.
///
/// With --simulate it looks for the same in simulated runs, and says how many each kind of search
/// takes until the first that shows it: the median and nine cases in ten.
///
/// Exit code 0: every answer is the expected one. 1: at least one is not.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Look for what is broken in the world instead of exploring every interleaving. This takes
    /// long: most of it goes to searches that do not find what others do.
    #[arg(long)]
    simulate: bool,
    /// From how many different seeds each search begins.
    #[arg(long, value_name = "N", default_value = "20", requires = "simulate")]
    bases: u64,
    /// After how many runs a search gives up.
    #[arg(long, value_name = "N", default_value = "1000", requires = "simulate")]
    runs_max: u64,
    /// How many runs a safe design has to survive.
    #[arg(long, value_name = "N", default_value = "5000", requires = "simulate")]
    survive: u64,
    /// How many designs are looked at at once; as many as there are cores, if not given.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let threads = crate::threads(arguments.threads)?;
    if arguments.bases == 0 || arguments.runs_max == 0 {
        return Err("--bases and --runs-max: at least one".into());
    }
    eprintln!(
        "holdover {} zoo designs={} threads={threads}",
        env!("CARGO_PKG_VERSION"),
        NAMED.len()
    );
    if arguments.simulate { in_the_world(arguments, threads) } else { checked(arguments, threads) }
}

fn checked(arguments: &Arguments, threads: usize) -> Result<Verdict, Problem> {
    let began = Instant::now();
    let bar = bar(NAMED.len() as u64);
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

fn in_the_world(arguments: &Arguments, threads: usize) -> Result<Verdict, Problem> {
    let Arguments { bases, runs_max, survive: survives, .. } = *arguments;
    let began = Instant::now();
    let bar = bar(0);
    let limits = Limits { bases, runs_max, survives };
    let found = simulate(Method::ALL, limits, threads, &|done| {
        bar.set_length(done.of);
        if bar.is_hidden() {
            eprintln!("{}: {} of {}", done.what, bar.position() + 1, done.of);
        }
        bar.inc(1);
        bar.set_message(done.what.to_string());
    });
    bar.finish_and_clear();
    if arguments.json {
        crate::say(&serde_json::to_string_pretty(&found)?);
    } else {
        crate::say(&simulated(&found, limits));
        crate::say(&simulated_summary(&found, began.elapsed().as_secs_f64()));
    }
    Ok(if found.agrees() { Verdict::Holds } else { Verdict::Found })
}

fn bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {elapsed}, ETA {eta}  {msg}")
        .expect("the template is a literal");
    ProgressBar::new(length).with_style(style)
}
