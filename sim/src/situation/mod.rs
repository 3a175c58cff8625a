//! Situations: named moments that a run has to come to, so that nothing passes because nothing
//! happened.
//!
//! A sweep in which no worker was ever paused before its write says nothing about paused
//! workers. So every sweep counts in how many runs each situation was reached, names those that
//! were not, and fails if one was [required](crate::sweep::Sweep::require).
//!
//! [`catalogue`] has those that come with this software; `SITUATIONS.md` is rendered from it.
//! Add your own:
//!
//! ```
//! use holdover::situation;
//! use holdover::situation::Situation;
//! use holdover::sweep::Sweep;
//! use holdover::world::Sight;
//! use holdover_model::design::Design;
//! use holdover_model::event::Event;
//!
//! // One sight is enough: a pattern does.
//! let down = situation!(
//!     "ledger-down",
//!     "The ledger crashes.",
//!     Sight::Down { host: "ledger", .. }
//! );
//! // It takes several: a closure that remembers, made anew for each run.
//! let twice = Situation::new("two-effects", "A run has a second effect.", || {
//!     let mut effects = 0;
//!     move |sight: &Sight<'_>| {
//!         if let Sight::Event(record) = sight {
//!             effects += usize::from(matches!(record.event, Event::EffectCommitted { .. }));
//!         }
//!         effects == 2
//!     }
//! });
//! let outcome = Sweep::new(Design::named("push-before-ready").unwrap())
//!     .seeds(0..40)
//!     .situations([down, twice])
//!     .require(["two-effects", "authority-restarted"])
//!     .run();
//! assert!(outcome.holds());
//! assert!(outcome.reached("ledger-down") > 0);
//! ```

mod approval;
mod authority;
mod catalogue;
mod clock;
mod crash;
mod identity;
mod liveness;
mod lookout;
mod outcome;
mod ownership;
mod tenure;

use std::fmt;
use std::sync::Arc;

use holdover_model::event::EventKind;

use crate::world::{Sight, SightKind};

pub use catalogue::{catalogue, to_markdown};
pub use lookout::Lookout;
pub(crate) use tenure::{Try, decided};

/// Recognises a situation in one run.
pub trait Detector {
    /// Takes the next sight of the run; tells whether the situation is reached with it. Not
    /// asked any more once it was.
    fn sees(&mut self, sight: &Sight<'_>) -> bool;
}

impl<F: FnMut(&Sight<'_>) -> bool> Detector for F {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        self(sight)
    }
}

/// A named moment worth reaching.
#[derive(Clone)]
pub struct Situation {
    name: Arc<str>,
    meaning: Arc<str>,
    source: Option<Arc<str>>,
    watches: Watches,
    make: Arc<dyn Fn() -> Box<dyn Detector> + Send + Sync>,
}

impl Situation {
    /// A situation with what recognises it: `make` is called for each run.
    pub fn new<D: Detector + 'static>(
        name: &str,
        meaning: &str,
        make: impl Fn() -> D + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            meaning: meaning.into(),
            source: None,
            watches: Watches::ALL,
            make: Arc::new(move || Box::new(make())),
        }
    }

    /// The same, with the article or report that it comes from.
    #[must_use]
    pub fn from(self, source: &str) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// The same, but its detector is only shown sights of these kinds. That makes it cheaper.
    #[must_use]
    pub fn watching(self, kinds: &[SightKind]) -> Self {
        Self { watches: Watches::of(kinds), ..self }
    }

    /// The name, in kebab case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What happens, in one sentence.
    pub fn meaning(&self) -> &str {
        &self.meaning
    }

    /// The article or report that it comes from.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// A detector for one more run.
    pub fn detector(&self) -> Box<dyn Detector> {
        (self.make)()
    }
}

impl fmt::Debug for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A situation that is reached with the first sight that matches a pattern: name, meaning,
/// pattern. See [`situation`](mod@crate::situation).
#[macro_export]
macro_rules! situation {
    ($name:expr, $meaning:expr, $pattern:pat $(if $guard:expr)? $(,)?) => {
        $crate::situation::Situation::new($name, $meaning, || {
            |sight: &$crate::world::Sight<'_>| matches!(*sight, $pattern $(if $guard)?)
        })
    };
}

/// A set of kinds of sights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Watches(u64);

impl Watches {
    const ALL: Self = Self(u64::MAX);
    const NOTHING: Self = Self(0);

    fn of(kinds: &[SightKind]) -> Self {
        Self(kinds.iter().fold(0, |set, kind| set | Self::only(*kind).0))
    }

    fn union(all: &[Self]) -> Self {
        Self(all.iter().fold(0, |union, one| union | one.0))
    }

    fn only(kind: SightKind) -> Self {
        // The kinds of events come after all others.
        const OTHERS: u32 = 10;
        let place = match kind {
            SightKind::Struck => 0,
            SightKind::Ended => 1,
            SightKind::Frozen => 2,
            SightKind::Thawed => 3,
            SightKind::Down => 4,
            SightKind::Up => 5,
            SightKind::Point => 6,
            SightKind::Held => 7,
            SightKind::Shown => 8,
            SightKind::Sends => 9,
            SightKind::Event(kind) => OTHERS + kind as u32,
        };
        const { assert!(EventKind::ALL.len() + OTHERS as usize <= 64) };
        Self(1 << place)
    }

    fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
