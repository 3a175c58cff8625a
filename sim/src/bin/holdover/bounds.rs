//! Bounds of one's own: the same flags for every command that explores within bounds.

use clap::{ArgAction, ArgMatches, FromArgMatches};
use holdover_model::check::system::SLOTS_MAX;
use holdover_model::check::{Bounds, Budget, Consents};

use crate::Problem;

/// The roles beside agents and workers: supervisor, authority, ledger, destination.
const SERVICES: usize = 4;

/// A bound from flags; none if no flag is given. The flags of budgets follow
/// [`Budget::ALL`].
pub(crate) struct BoundFlags(Option<Bounds>);

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
    /// The bounds that are given, if there are any and a world of that size can be explored.
    pub(crate) fn own(&self) -> Result<Option<Bounds>, Problem> {
        let Some(bounds) = &self.0 else { return Ok(None) };
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
        Ok(Some(bounds.clone()))
    }
}
