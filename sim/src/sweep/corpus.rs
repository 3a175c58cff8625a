//! Plans that failed once, kept in a folder: they are run again before anything new is tried.
//!
//! Plans outlive seeds. The code that generates plans changes, and a seed then means another
//! run; a saved plan means the same one for as long as it can be read. What its run looks like to
//! the last packet may still change with the code: then its digest is *stale*, which is
//! said, and its verdict is what counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdover_model::design::Design;

use super::{Install, Shown, replay_with, watchdog};
use crate::plan::{PlanError, SavedPlan};

/// The saved plans of a folder, in the order of their files' names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Corpus {
    plans: Vec<(PathBuf, SavedPlan)>,
}

/// A saved plan that was run again.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Its file.
    pub file: PathBuf,
    /// The run, and what was saved.
    pub shown: Shown,
}

/// What a replay says about what was saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The same run, to the last packet.
    Same,
    /// The same finding in another run: the code has moved since.
    StaleDigest,
    /// Another finding, or none.
    OtherVerdict,
    /// Two runs of the plan are not the same.
    Diverges,
}

impl Corpus {
    /// Reads every file of a folder whose name ends in `.toml`. A folder that is not there is
    /// empty.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or is not a saved plan: a plan that is skipped is one that is
    /// not refound.
    pub fn load(folder: &Path) -> Result<Self, PlanError> {
        let failed = |error| PlanError::File { file: folder.display().to_string(), error };
        let mut files = Vec::new();
        if folder.exists() {
            for entry in fs::read_dir(folder).map_err(failed)? {
                files.push(entry.map_err(failed)?.path());
            }
        }
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        let load = |file: PathBuf| SavedPlan::load(&file).map(|saved| (file, saved));
        Ok(Self { plans: files.into_iter().map(load).collect::<Result<_, _>>()? })
    }

    /// The plans that were saved under a design of the same name, with the design as it is now:
    /// what a design broke once, its repaired version is tried on.
    #[must_use]
    pub fn under(mut self, design: &Design) -> Self {
        self.plans.retain(|(_, saved)| saved.plan.design.name == design.name);
        for (_, saved) in &mut self.plans {
            saved.plan.design = design.clone();
        }
        self
    }

    /// The plans, each with its file.
    pub fn plans(&self) -> &[(PathBuf, SavedPlan)] {
        &self.plans
    }

    /// Runs every plan again.
    ///
    /// # Errors
    ///
    /// When a plan names a host that does not exist.
    pub fn replay(self) -> Result<Vec<Replayed>, PlanError> {
        self.replay_with(|_, _| (), watchdog::HANG_AFTER)
    }

    /// The same in worlds with more hosts, and with another patience for code that never awaits.
    ///
    /// # Errors
    ///
    /// When a plan names a host that does not exist.
    pub fn replay_with(
        self,
        hosts: Install,
        hang_after: Duration,
    ) -> Result<Vec<Replayed>, PlanError> {
        let replay =
            |(file, saved): (PathBuf, SavedPlan)| match replay_with(saved, hosts, hang_after) {
                Ok(shown) => Ok(Replayed { file, shown }),
                Err(error) => Err(PlanError::Malformed {
                    file: file.display().to_string(),
                    problem: error.to_string(),
                }),
            };
        self.plans.into_iter().map(replay).collect()
    }
}

impl Replayed {
    /// How the replay compares with what was saved.
    pub fn standing(&self) -> Standing {
        match &self.shown {
            shown if shown.divergence.is_some() => Standing::Diverges,
            shown if !shown.has_same_verdict() => Standing::OtherVerdict,
            shown if !shown.has_same_digest() => Standing::StaleDigest,
            _ => Standing::Same,
        }
    }

    /// Whether the run is one that should not be, whatever was saved.
    pub fn has_failed(&self) -> bool {
        self.shown.run.finding.is_some() || self.shown.divergence.is_some()
    }

    /// Writes the file again with what was found now, if that is the same finding in another
    /// run; says whether it did.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn update(&self) -> Result<bool, PlanError> {
        if self.standing() != Standing::StaleDigest {
            return Ok(false);
        }
        let Shown { saved, run, .. } = &self.shown;
        SavedPlan::of(saved.plan.clone(), run.finding.as_ref(), run.digest)
            .save_again(&self.file)?;
        Ok(true)
    }
}

impl Standing {
    /// Whether what was found once was found again.
    pub fn is_refound(self) -> bool {
        matches!(self, Self::Same | Self::StaleDigest)
    }

    /// What it is, in a table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::StaleDigest => "stale digest",
            Self::OtherVerdict => "OTHER VERDICT",
            Self::Diverges => "DIVERGES",
        }
    }
}
