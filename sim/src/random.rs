//! Labelled random streams: all randomness of a run comes from here.
//!
//! Every purpose has a stream of its own, keyed by the run's seed and a label. A new draw in
//! one place therefore shifts no other place, and a saved seed keeps its meaning while the
//! code around it grows.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What a run's randomness grows from.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of one purpose: the same seed and label give the same draws, always.
    ///
    /// ```
    /// use holdover::random::Seed;
    /// use rand_core::Rng;
    ///
    /// let draw = |label| Seed(7).stream(label).next_u64();
    /// assert_eq!(draw("latency"), draw("latency"));
    /// assert_ne!(draw("latency"), draw("faults"));
    /// ```
    pub fn stream(&self, label: &str) -> ChaCha8Rng {
        let mut key = Sha256::new();
        key.update(self.0.to_le_bytes());
        key.update(label.as_bytes());
        ChaCha8Rng::from_seed(key.finalize().into())
    }
}

impl std::fmt::Display for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A number from `min` to `max`, both included, by multiply and shift.
///
/// The bias is below 2⁻³² for every range that a simulation uses; a draw takes exactly one
/// word of the stream, so streams stay aligned whatever the range is.
pub fn between(rng: &mut ChaCha8Rng, min: u64, max: u64) -> u64 {
    let width = u128::from(max.saturating_sub(min)) + 1;
    let offset = (u128::from(rng.next_u64()) * width) >> 64;
    min + u64::try_from(offset).expect("the offset is below the width")
}

/// One of several, each as likely as the others.
///
/// # Panics
///
/// When there is none.
pub fn choose<'a, T>(rng: &mut ChaCha8Rng, among: &'a [T]) -> &'a T {
    let last = among.len().checked_sub(1).expect("there is something to choose from");
    let index = between(rng, 0, last as u64);
    &among[usize::try_from(index).expect("it is at most the length of a slice")]
}
