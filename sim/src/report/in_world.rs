//! What became of a counterexample in the world, for people and for programs.

use std::fmt;
use std::path::{Path, PathBuf};

use holdover_model::design::Design;
use serde::Serialize;

use crate::directed::{Found, NotShown};
use crate::plan::{Plan, PlanError};
use crate::report::terminal;
use crate::sweep::{Shown, Sweep};

/// What became of a counterexample in the world.
#[derive(Clone, Debug)]
pub enum InWorld {
    /// A plan shows it.
    Shown {
        /// The run.
        shown: Box<Shown>,
        /// How many plans were tried.
        tried: u64,
        /// Where it was saved.
        saved: Option<PathBuf>,
    },
    /// None does.
    NotShown(NotShown),
}

/// The same as data.
#[derive(Clone, Debug, Serialize)]
pub struct InWorldReport<'a> {
    /// Whether a plan breaks the invariant that the counterexample breaks.
    pub shown: bool,
    /// Why none does.
    pub why_not: Option<String>,
    /// How many plans were tried.
    pub tried: Option<u64>,
    /// The plan.
    pub plan: Option<&'a Plan>,
    /// Where it was saved.
    pub saved: Option<&'a Path>,
}

impl InWorld {
    /// Runs the plan that was found once more, to have its timeline.
    pub fn new(design: &Design, found: Result<Found, NotShown>) -> Self {
        match found {
            Ok(Found { plan, tried, .. }) => {
                let shown = Box::new(Shown::of_plan(&Sweep::new(design.clone()), &plan));
                Self::Shown { shown, tried, saved: None }
            }
            Err(why_not) => Self::NotShown(why_not),
        }
    }

    /// Saves the plan, if there is one.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn save(mut self, folder: &Path) -> Result<Self, PlanError> {
        if let Self::Shown { shown, saved, .. } = &mut self {
            *saved = Some(shown.saved.save(folder)?);
        }
        Ok(self)
    }

    /// The same as data.
    pub fn data(&self) -> InWorldReport<'_> {
        match self {
            Self::Shown { shown, tried, saved } => InWorldReport {
                shown: true,
                why_not: None,
                tried: Some(*tried),
                plan: Some(&shown.saved.plan),
                saved: saved.as_deref(),
            },
            Self::NotShown(why_not) => InWorldReport {
                shown: false,
                why_not: Some(why_not.to_string()),
                tried: match why_not {
                    NotShown::NotFound { tried, .. } => Some(*tried),
                    NotShown::NoCounterexample | NotShown::NotInTheWorld(_) => None,
                },
                plan: None,
                saved: None,
            },
        }
    }
}

impl fmt::Display for InWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shown { shown, tried, saved } => {
                let finding = &shown.saved.expected.finding;
                writeln!(f, "in the world: {finding}, after {tried} plans\n")?;
                f.write_str(terminal::replay(shown, None).trim_end())?;
                match saved {
                    Some(path) => write!(
                        f,
                        "\nsaved as {0}\nreplay with: holdover replay {0}",
                        path.display()
                    ),
                    None => f.write_str("\n--save DIR keeps the plan"),
                }
            }
            Self::NotShown(why_not) => write!(f, "not shown in the world: {why_not}"),
        }
    }
}
