//! `holdover check`: every interleaving within stated bounds.

use std::path::PathBuf;

use clap::ValueEnum;
use holdover::directed;
use holdover::report::{self, InWorld};
use holdover_model::check::bounds::{deep_portfolio, portfolio};
use holdover_model::check::{Assumptions, Bounds, Judgement, Options, Progress, Reductions, check};
use holdover_model::design::Design;
use indicatif::{ProgressBar, ProgressStyle};

use crate::bounds::BoundFlags;
use crate::given::DesignFlags;
use crate::progress::Watch;
use crate::{Problem, Verdict};

/// Explores every interleaving of a design within bounds: safe within them, or the shortest
/// counterexample.
///
/// Without a bound of your own it goes through a portfolio of bounds, the smallest first. Exit
/// code 0: every bound was exhausted and nothing broke. 1: an invariant broke, or not everything
/// within the bounds was looked at. 2: the input was wrong.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    design: DesignFlags,
    /// How many threads search; as many as there are cores, if not given.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// How much memory the search may take.
    #[arg(long, value_name = "N", default_value_t = 4096)]
    memory_mib: usize,
    /// Look at more states than necessary; the answer is the same.
    #[arg(long, value_name = "NAME")]
    no_reduction: Vec<Reduction>,
    /// Restrict behaviour; what needs more than this is not seen.
    #[arg(long, value_name = "NAME")]
    assume: Vec<Assumption>,
    /// After the portfolio, explore bounds in which many faults meet, also where that takes long.
    #[arg(long)]
    deep: bool,
    /// Look for a plan that breaks the same invariant in the world, with faults at the moments that
    /// the counterexample tells of.
    #[arg(long)]
    replay_in_world: bool,
    /// Where that plan is saved.
    #[arg(long, value_name = "DIR", requires = "replay_in_world")]
    save: Option<PathBuf>,
    #[command(flatten)]
    bounds: BoundFlags,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Reduction {
    DeadMessages,
    Symmetry,
    PartialOrder,
    All,
}

#[derive(Clone, Copy, ValueEnum)]
enum Assumption {
    OrderedLinks,
    UnawaitedRepliesVanish,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let design = arguments.design.demanded()?;
    let mut bounds = arguments.bounds.own()?.map_or_else(|| portfolio(&design), |own| vec![own]);
    if arguments.deep {
        let deep = deep_portfolio().into_iter().filter(|deep| !bounds.contains(deep));
        bounds.extend(deep.collect::<Vec<_>>());
    }
    let threads = crate::threads(arguments.threads)?;
    let memory_mib_max = crate::memory_mib(arguments.memory_mib)?;
    eprintln!(
        "holdover {} check design={} bounds={} threads={threads} memory_mib={}",
        env!("CARGO_PKG_VERSION"),
        design.name,
        bounds.len(),
        memory_mib_max,
    );
    let watch = Watch::telling();
    let verdict = check(
        &design,
        &bounds,
        Options {
            threads,
            memory_mib_max,
            reductions: reductions(&arguments.no_reduction),
            assumptions: assumptions(&arguments.assume),
            progress: Some(&mut |progress| watch.tell(standing(&progress, &bounds))),
            ..Options::default()
        },
    );
    watch.finish();
    let in_world =
        if arguments.replay_in_world { Some(replay(arguments, &design, &verdict)?) } else { None };
    if arguments.json {
        let mut object = serde_json::to_value(&verdict)?;
        if let Some(in_world) = &in_world {
            object["world"] = serde_json::to_value(in_world.data())?;
        }
        crate::say(&serde_json::to_string_pretty(&object)?);
    } else {
        crate::say(&report::check::verdict(&verdict));
        if let Some(in_world) = &in_world {
            crate::say(&in_world.to_string());
        }
    }
    Ok(if verdict.verdict == Judgement::Safe { Verdict::Holds } else { Verdict::Found })
}

/// Looks for a plan that shows the counterexample in the world, and saves it where that is wanted.
fn replay(
    arguments: &Arguments,
    design: &Design,
    verdict: &holdover_model::check::Verdict,
) -> Result<InWorld, Problem> {
    let style = ProgressStyle::with_template("{spinner} {elapsed} {pos} plans tried in the world");
    let bar = ProgressBar::new_spinner().with_style(style.expect("the template is a literal"));
    if bar.is_hidden() {
        eprintln!("trying at most {} plans in the world", directed::TRIES_MAX);
    }
    let found = directed::replay(design, verdict, &mut |tried| bar.set_position(tried));
    bar.finish_and_clear();
    let in_world = InWorld::new(design, found);
    match &arguments.save {
        Some(folder) => Ok(in_world.save(folder)?),
        None => Ok(in_world),
    }
}

/// Where a check stands.
fn standing(progress: &Progress<'_>, bounds: &[Bounds]) -> String {
    let index = bounds.iter().position(|bounds| bounds == progress.bounds);
    let index = index.map_or(0, |index| index + 1);
    format!("bound {index}/{}: {}", bounds.len(), report::check::progress(progress))
}

fn reductions(without: &[Reduction]) -> Reductions {
    let mut reductions = Reductions::all();
    for reduction in without {
        match reduction {
            Reduction::DeadMessages => reductions.dead_messages = false,
            Reduction::Symmetry => reductions.symmetry = false,
            Reduction::PartialOrder => reductions.partial_order = false,
            Reduction::All => reductions = Reductions::none(),
        }
    }
    reductions
}

fn assumptions(made: &[Assumption]) -> Assumptions {
    let mut assumptions = Assumptions::none();
    for assumption in made {
        match assumption {
            Assumption::OrderedLinks => assumptions.ordered_links = true,
            Assumption::UnawaitedRepliesVanish => assumptions.unawaited_replies_vanish = true,
        }
    }
    assumptions
}
