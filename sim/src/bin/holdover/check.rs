//! `holdover check`: every interleaving within stated bounds.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, ArgMatches, FromArgMatches, ValueEnum};
use holdover::directed;
use holdover::report::{self, InWorld};
use holdover_model::check::bounds::{deep_portfolio, portfolio};
use holdover_model::check::system::SLOTS_MAX;
use holdover_model::check::{
    Assumptions, Bounds, Budget, Consents, Judgement, Options, Progress, Reductions, check,
};
use holdover_model::design::Design;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{Problem, Verdict};

/// How often a long search reports where nobody watches a progress line.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// The roles beside agents and workers: supervisor, authority, ledger, destination.
const SERVICES: usize = 4;

/// Explores every interleaving of a design within bounds: safe within them, or the shortest
/// counterexample.
///
/// Without a bound of your own it goes through a portfolio of bounds, the smallest first. Exit
/// code 0: every bound was exhausted and nothing broke. 1: an invariant broke, or not everything
/// within the bounds was looked at. 2: the input was wrong.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which design: a name, or a file that ends in .toml.
    #[arg(value_name = "NAME|FILE")]
    design: String,
    /// Demand another guarantee than the design claims, such as fenced-from=grant.
    #[arg(long, value_name = "CLAIM=VALUE")]
    demand: Vec<String>,
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

/// A bound from flags; none if no flag is given. The flags of budgets follow
/// [`Budget::ALL`].
struct BoundFlags(Option<Bounds>);

const COUNTS: &[(&str, &str)] = &[
    ("workers", "How many workers there are [2]"),
    ("resources", "How many resources there are [1]"),
    ("operations", "How many operations are wanted [2]"),
    ("attempts", "After how many tries a worker gives up [2]"),
];
const HEADING: &str = "Bounds (one of your own instead of the portfolio)";
const UNCONDITIONAL: &str = "unconditional";
const CONSENTS: &str = "consents";

impl clap::Args for BoundFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        let flag = |name: &'static str, help: String| {
            clap::Arg::new(name)
                .long(name)
                .help(help)
                .value_name("N")
                .value_parser(clap::value_parser!(u8))
                .help_heading(HEADING)
        };
        let counts = COUNTS.iter().map(|(name, help)| flag(name, (*help).into()));
        let budgets = Budget::ALL.iter().map(|budget| {
            let name = budget.as_str();
            flag(name, format!("At most so many {} [0]", name.replace('-', " ")))
        });
        let unconditional = clap::Arg::new(UNCONDITIONAL)
            .long(UNCONDITIONAL)
            .help("Operations do not depend on the state that they replace")
            .action(ArgAction::SetTrue)
            .help_heading(HEADING);
        let consents = clap::Arg::new(CONSENTS)
            .long(CONSENTS)
            .help("Whose consents the agents show [own]")
            .value_parser(["own", "shared", "borrowed"])
            .help_heading(HEADING);
        command.args(counts).arg(unconditional).arg(consents).args(budgets)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for BoundFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &str| matches.get_one::<u8>(name).copied();
        let is_unconditional = matches.get_flag(UNCONDITIONAL);
        let counts = COUNTS.iter().map(|(name, _)| *name);
        let mut names = counts.chain(Budget::ALL.iter().map(|budget| budget.as_str()));
        let consents = matches.get_one::<String>(CONSENTS).map(String::as_str);
        if !is_unconditional && consents.is_none() && names.find_map(given).is_none() {
            return Ok(Self(None));
        }
        let default = Bounds::default();
        let budgets = Budget::ALL.iter();
        Ok(Self(Some(Bounds {
            workers: given("workers").unwrap_or(default.workers),
            resources: given("resources").unwrap_or(default.resources),
            operations: given("operations").unwrap_or(default.operations),
            attempts_max: given("attempts").map_or(default.attempts_max, u32::from),
            is_conditional: !is_unconditional,
            consents: match consents {
                Some("shared") => Consents::Shared,
                Some("borrowed") => Consents::Borrowed,
                _ => Consents::Own,
            },
            budgets: budgets.map(|budget| (*budget, given(budget.as_str()).unwrap_or(0))).collect(),
        })))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl BoundFlags {
    /// The bounds to explore, if a world of that size can be explored.
    fn bounds(&self, design: &Design) -> Result<Vec<Bounds>, Problem> {
        let Some(bounds) = &self.0 else { return Ok(portfolio(design)) };
        let Bounds { workers, resources, operations, attempts_max, .. } = *bounds;
        for (name, n) in COUNTS.iter().map(|(name, _)| name).zip([
            u32::from(workers),
            u32::from(resources),
            u32::from(operations),
            attempts_max,
        ]) {
            if n == 0 {
                return Err(format!("--{name} 0: there has to be at least one").into());
            }
        }
        let room = SLOTS_MAX - SERVICES;
        let wanted = usize::from(workers) + usize::from(operations);
        if wanted > room {
            return Err(format!(
                "--workers {workers} --operations {operations}: together they can be {room} at most"
            )
            .into());
        }
        if usize::from(resources) > room {
            return Err(format!("--resources {resources}: there can be {room} at most").into());
        }
        Ok(vec![bounds.clone()])
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let mut design = crate::design("NAME", &arguments.design)?;
    for demand in &arguments.demand {
        design.guarantee =
            design.guarantee.demand(demand).map_err(|error| format!("--demand: {error}"))?;
    }
    let mut bounds = arguments.bounds.bounds(&design)?;
    if arguments.deep {
        let deep = deep_portfolio().into_iter().filter(|deep| !bounds.contains(deep));
        bounds.extend(deep.collect::<Vec<_>>());
    }
    let threads = crate::threads(arguments.threads)?;
    if arguments.memory_mib == 0 {
        return Err("--memory-mib 0: a search needs some memory".into());
    }
    eprintln!(
        "holdover {} check design={} bounds={} threads={threads} memory_mib={}",
        env!("CARGO_PKG_VERSION"),
        design.name,
        bounds.len(),
        arguments.memory_mib,
    );
    let mut watch = Watch::new(&bounds);
    let verdict = check(
        &design,
        &bounds,
        Options {
            threads,
            memory_mib_max: arguments.memory_mib,
            reductions: reductions(&arguments.no_reduction),
            assumptions: assumptions(&arguments.assume),
            progress: Some(&mut |progress| watch.show(&progress)),
            ..Options::default()
        },
    );
    watch.bar.finish_and_clear();
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

/// Shows where a search stands: a line that changes on a terminal, now and then a line
/// elsewhere.
struct Watch<'a> {
    bounds: &'a [Bounds],
    bar: ProgressBar,
    reported_at: Duration,
}

impl<'a> Watch<'a> {
    fn new(bounds: &'a [Bounds]) -> Self {
        let bar = if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
            ProgressBar::new_spinner().with_style(style.expect("the template is a literal"))
        } else {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
        };
        Self { bounds, bar, reported_at: Duration::ZERO }
    }

    fn show(&mut self, progress: &Progress<'_>) {
        let index = self.bounds.iter().position(|bounds| bounds == progress.bounds);
        let index = index.map_or(0, |index| index + 1);
        let line = || {
            let what = report::check::progress(progress);
            format!("bound {index}/{}: {what}", self.bounds.len())
        };
        if !self.bar.is_hidden() {
            self.bar.set_message(line());
            self.bar.tick();
            return;
        }
        // Every bound has a clock of its own.
        if progress.elapsed < self.reported_at {
            self.reported_at = Duration::ZERO;
        }
        if progress.elapsed >= self.reported_at + REPORT_EVERY {
            eprintln!("{}", line());
            self.reported_at = progress.elapsed;
        }
    }
}
