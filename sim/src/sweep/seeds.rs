//! Which seeds, as people write them.

use std::env::{self, VarError};
use std::ops::Range;

/// Why a text names no seeds.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name} {text:?}: {problem}")]
pub struct SeedsError {
    name: String,
    text: String,
    problem: String,
}

/// Reads `N` (the seeds from 0 on) or `A..B` (from A up to, but not including, B).
/// `name` is only used in errors.
///
/// ```
/// # use holdover::sweep::parse_seeds;
/// assert_eq!(parse_seeds("--seeds", "2000").unwrap(), 0..2000);
/// assert_eq!(parse_seeds("--seeds", "500..600").unwrap(), 500..600);
/// assert!(parse_seeds("--seeds", "600..500").unwrap_err().to_string().contains("500..600"));
/// ```
///
/// # Errors
///
/// When it is neither, is reversed, or names no seed at all.
pub fn parse_seeds(name: &str, text: &str) -> Result<Range<u64>, SeedsError> {
    let error = |problem: String| SeedsError { name: name.into(), text: text.into(), problem };
    let number = |digits: &str| {
        digits.trim().parse::<u64>().map_err(|_| {
            error(format!("{digits:?} is not a number from 0 to {}; write N or A..B", u64::MAX))
        })
    };
    let seeds = match text.split_once("..") {
        None => 0..number(text)?,
        Some((start, end)) => number(start)?..number(end)?,
    };
    if seeds.start > seeds.end {
        return Err(error(format!("the range is reversed; write {}..{}", seeds.end, seeds.start)));
    }
    if seeds.is_empty() {
        return Err(error("no seed is in it; write N or A..B with A below B".into()));
    }
    Ok(seeds)
}

/// How much is to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    /// So many runs, from whatever sources.
    Runs(u64),
    /// Exactly these seeds.
    Seeds(Range<u64>),
}

impl Asked {
    /// Reads `N` as so many runs, `A..B` as exactly these seeds. `name` is only used in errors.
    ///
    /// ```
    /// # use holdover::sweep::Asked;
    /// assert_eq!(Asked::parse("--seeds", "2000").unwrap(), Asked::Runs(2000));
    /// assert_eq!(Asked::parse("--seeds", "5..9").unwrap(), Asked::Seeds(5..9));
    /// ```
    ///
    /// # Errors
    ///
    /// When it is neither, is reversed, or asks for nothing at all.
    pub fn parse(name: &str, text: &str) -> Result<Self, SeedsError> {
        let seeds = parse_seeds(name, text)?;
        Ok(if text.contains("..") { Self::Seeds(seeds) } else { Self::Runs(seeds.end) })
    }

    /// How many runs that is.
    pub fn runs(&self) -> u64 {
        match self {
            Self::Runs(runs) => *runs,
            Self::Seeds(seeds) => seeds.end - seeds.start,
        }
    }
}

/// What `HOLDOVER_SEED` or `HOLDOVER_SEEDS` ask for.
pub(super) fn from_environment() -> Result<Option<Asked>, SeedsError> {
    let variable = |name: &str| match env::var(name) {
        Ok(text) => Ok(Some(text)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(text)) => Err(SeedsError {
            name: name.into(),
            text: text.to_string_lossy().into_owned(),
            problem: "it is not text".into(),
        }),
    };
    if let Some(text) = variable("HOLDOVER_SEED")? {
        let seed: u64 = text.trim().parse().map_err(|_| SeedsError {
            name: "HOLDOVER_SEED".into(),
            text: text.clone(),
            problem: format!("not a number from 0 to {}", u64::MAX),
        })?;
        return Ok(Some(Asked::Seeds(seed..seed.saturating_add(1))));
    }
    variable("HOLDOVER_SEEDS")?.map(|text| Asked::parse("HOLDOVER_SEEDS", &text)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_seeds_is_refused_with_what_would_do() {
        for (text, part) in [
            ("9..3", "3..9"),
            ("4..4", "no seed"),
            ("0", "no seed"),
            ("many", "N or A..B"),
            ("1...5", "N or A..B"),
            ("-1", "N or A..B"),
            ("", "N or A..B"),
            ("18446744073709551616", "N or A..B"),
        ] {
            let message = parse_seeds("--seeds", text).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("--seeds"), "{text}: {message}");
            assert!(!message.contains('\n'));
        }
    }
}
