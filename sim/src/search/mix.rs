//! How many runs each source of plans gets.

use std::fmt;
use std::str::FromStr;

/// The shares of matrix, swarm and mutation in a sweep.
///
/// ```
/// use holdover::search::Mix;
///
/// let mix: Mix = "matrix=1,swarm=2".parse()?;
/// assert_eq!(mix, Mix { matrix: 1, swarm: 2, mutation: 0 });
/// assert_eq!(mix.to_string(), "matrix=1,swarm=2,mutation=0");
/// # Ok::<(), holdover::search::MixError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mix {
    /// The share of the [matrix](super::Matrix).
    pub matrix: u32,
    /// The share of seeds.
    pub swarm: u32,
    /// The share of mutants.
    pub mutation: u32,
}

/// Which source a run's plan comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    Matrix,
    Swarm,
    Mutation,
}

/// A mix that is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{found:?} is not a mix: it takes shares such as matrix=25,swarm=50,mutation=25, each from 0 to \
     {SHARE_MAX}, of which one is not 0"
)]
pub struct MixError {
    found: String,
}

/// The largest share.
const SHARE_MAX: u32 = 100;

/// Parts of shares are compared in millionths.
const MILLION: u64 = 1_000_000;

impl Default for Mix {
    /// Of six runs three are cells of the matrix, two are seeds, one is a mutant.
    fn default() -> Self {
        Self { matrix: 3, swarm: 2, mutation: 1 }
    }
}

impl Mix {
    /// Seeds only.
    pub const SWARM: Self = Self { matrix: 0, swarm: 1, mutation: 0 };

    /// Where a run's plan comes from, and how many runs before it come from there.
    ///
    /// The sources take turns within a cycle of as many runs as there are shares, as evenly as the
    /// shares allow, and the matrix begins.
    pub(super) fn slot(&self, run: u64) -> (Slot, u64) {
        let sources = [
            (Slot::Matrix, self.matrix),
            (Slot::Swarm, self.swarm),
            (Slot::Mutation, self.mutation),
        ];
        let cycle = u64::from(self.matrix + self.swarm + self.mutation).max(1);
        let (cycles, place) = (run / cycle, run % cycle);
        let mut had = [0_u64; 3];
        let mut chosen = 0;
        for _ in 0..=place {
            // Who has had the smallest part of its share; of several, the first.
            chosen = (0..3)
                .filter(|index| sources[*index].1 > 0)
                .min_by_key(|index| had[*index] * MILLION / u64::from(sources[*index].1))
                .unwrap_or(1);
            had[chosen] += 1;
        }
        let (slot, share) = sources[chosen];
        (slot, cycles * u64::from(share) + had[chosen] - 1)
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, swarm, mutation } = self;
        write!(f, "matrix={matrix},swarm={swarm},mutation={mutation}")
    }
}

impl FromStr for Mix {
    type Err = MixError;

    fn from_str(text: &str) -> Result<Self, MixError> {
        let error = || MixError { found: text.into() };
        let mut mix = Self { matrix: 0, swarm: 0, mutation: 0 };
        for part in text.split(',') {
            let (name, share) = part.split_once('=').ok_or_else(error)?;
            let share = share.trim().parse().ok().filter(|share| *share <= SHARE_MAX);
            let of_name = match name.trim() {
                "matrix" => &mut mix.matrix,
                "swarm" => &mut mix.swarm,
                "mutation" => &mut mix.mutation,
                _ => return Err(error()),
            };
            *of_name = share.ok_or_else(error)?;
        }
        if mix.matrix + mix.swarm + mix.mutation == 0 { Err(error()) } else { Ok(mix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_gets_its_share_and_numbers_its_runs_without_a_gap() {
        for text in
            ["matrix=1,swarm=2,mutation=1", "matrix=3,mutation=4", "swarm=7", "matrix=5,swarm=1"]
        {
            let mix: Mix = text.parse().unwrap();
            let cycle = u64::from(mix.matrix + mix.swarm + mix.mutation);
            let mut had = [0; 3];
            for run in 0..cycle * 5 {
                let (slot, number) = mix.slot(run);
                assert_eq!(number, had[slot as usize], "{text}, run {run}");
                had[slot as usize] += 1;
            }
            let shares = [mix.matrix, mix.swarm, mix.mutation].map(|share| u64::from(share) * 5);
            assert_eq!(had, shares, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_mix_is_refused_with_what_would_be_one() {
        for text in
            ["", "matrix", "matrix=-1", "matrix=101", "swarm=0", "swarms=1", "matrix=1;swarm=2"]
        {
            let error = text.parse::<Mix>().unwrap_err().to_string();
            assert!(error.contains("matrix=25,swarm=50,mutation=25"), "{error}");
        }
    }
}
