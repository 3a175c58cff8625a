//! Plans on disk: TOML that a person can read and edit. A comment at its head says what it shows.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::fault::FaultKind;
use crate::plan::{Class, Plan, PlanError};
use crate::stack::Finding;

/// What is saved of a run in which nothing was found.
pub(crate) const NOTHING: &str = "none";

/// The edition of the format that this version writes and reads.
const FORMAT: u32 = 1;

/// A plan and what it showed when it was saved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    /// The edition of the format.
    pub format: u32,
    /// The plan.
    pub plan: Plan,
    /// What it showed. It stands last, so a file that was cut short lacks it.
    pub expected: Expected,
}

/// What a plan showed when it was saved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// What was found: an invariant's name, or what else it was.
    pub finding: String,
    /// Under which kinds of faults.
    #[serde(default)]
    pub fault_kinds: BTreeSet<FaultKind>,
    /// On which roles.
    #[serde(default)]
    pub roles: BTreeSet<String>,
    /// What had happened, in one sentence.
    pub explanation: String,
    /// The version that ran it.
    pub version: String,
    /// The hash of the plan, so that a damaged file is noticed. Without it, an edited plan
    /// is replayed as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_sha256: Option<String>,
    /// The digest of the run. It stands last: a file cut short anywhere is noticed.
    pub digest: String,
}

impl SavedPlan {
    /// Puts a plan together with what it showed.
    pub fn new(plan: Plan, finding: &str, explanation: String, digest: [u8; 32]) -> Self {
        let Class { finding, faults: fault_kinds, roles } = Class::new(finding, &plan);
        let expected = Expected {
            finding,
            fault_kinds,
            roles,
            explanation,
            version: env!("CARGO_PKG_VERSION").into(),
            plan_sha256: Some(plan_hash(&plan)),
            digest: hex::encode(digest),
        };
        Self { format: FORMAT, plan, expected }
    }

    /// Puts a plan together with what a run of it showed, if anything.
    pub(crate) fn of(plan: Plan, finding: Option<&Finding>, digest: [u8; 32]) -> Self {
        let explanation = finding.map_or_else(String::new, Finding::explanation);
        Self::new(plan, finding.map_or(NOTHING, Finding::class), explanation, digest)
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        self.head() + &toml::to_string(self).expect("a plan is plain data")
    }

    /// What a reader of the file wants to know first, as a comment.
    fn head(&self) -> String {
        let Self { plan, expected, .. } = self;
        let said = format!(
            "{} under the design {}\n{}\n\n{plan}",
            expected.class(),
            plan.design.name,
            expected.explanation,
        );
        // A comment may have no control characters in it; a panic's message may.
        let line = |line: &str| {
            format!("# {}", line.replace(char::is_control, " ")).trim_end().to_owned() + "\n"
        };
        said.lines().map(line).chain(["\n".into()]).collect()
    }

    /// Reads a file's text. `file` is only used in errors.
    ///
    /// # Errors
    ///
    /// When the text is not a plan, or not the one that was saved.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, PlanError> {
        let malformed = |problem: String| PlanError::Malformed { file: file.into(), problem };
        let saved: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            malformed(format!("line {line}: {}", error.message().replace('\n', "; ")))
        })?;
        if saved.format != FORMAT {
            let format = saved.format;
            return Err(malformed(format!(
                "it is of format {format}, this version reads format {FORMAT}"
            )));
        }
        if hex::decode(&saved.expected.digest).is_ok_and(|digest| digest.len() != 32) {
            return Err(malformed("its digest was cut short".into()));
        }
        let hash = &saved.expected.plan_sha256;
        if hash.as_ref().is_some_and(|hash| *hash != plan_hash(&saved.plan)) {
            return Err(PlanError::Altered { file: file.into() });
        }
        saved.plan.validate().map_err(|error| malformed(error.to_string()))?;
        Ok(saved)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is not a plan, or not the one that was saved.
    pub fn load(path: &Path) -> Result<Self, PlanError> {
        let file = path.display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Self::from_toml(&file, &text),
            Err(error) => Err(PlanError::File { file, error }),
        }
    }

    /// Writes over a file that was saved before.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn save_again(&self, path: &Path) -> Result<(), PlanError> {
        fs::write(path, self.to_toml())
            .map_err(|error| PlanError::File { file: path.display().to_string(), error })
    }

    /// Writes a new file into a folder, which is made if it is not there. An existing file
    /// is never overwritten; one with the same content is taken as it is.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, PlanError> {
        let failed =
            |path: &Path, error| PlanError::File { file: path.display().to_string(), error };
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let text = self.to_toml();
        let SavedPlan { plan, expected, .. } = self;
        let name = format!("{}-{}-{}", file_name(&plan.design.name), expected.finding, plan.seed);
        let mut number = 1;
        loop {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = folder.join(format!("{name}{suffix}.toml"));
            match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    file.write_all(text.as_bytes()).map_err(|error| failed(&path, error))?;
                    return Ok(path);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if fs::read_to_string(&path).is_ok_and(|existing| existing == text) {
                        return Ok(path);
                    }
                }
                Err(error) => return Err(failed(&path, error)),
            }
            number += 1;
        }
    }
}

impl Expected {
    /// The class of what it showed.
    pub fn class(&self) -> Class {
        Class {
            finding: self.finding.clone(),
            faults: self.fault_kinds.clone(),
            roles: self.roles.clone(),
        }
    }
}

/// A design may be called anything; a file may not.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    if plain.is_empty() { "unnamed".into() } else { plain }
}

fn plan_hash(plan: &Plan) -> String {
    let bytes = postcard::to_stdvec(plan).expect("a plan is plain data");
    hex::encode(Sha256::digest(bytes))
}
