//! What the world cannot show, and why not.
//!
//! The checker lets things happen that no host of the reference system does. A design that is
//! only broken by one of them survives every sweep, and that says nothing about it.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

/// Something that happens in the checker and not in the world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotInTheWorld {
    /// An agent shows a consent that was given for another effect, or twice.
    BorrowedConsent,
    /// Two effects have the same payload.
    SamePayload,
    /// Somebody else deletes a resource and makes it anew.
    Recreation,
    /// A worker claims an epoch that it was not given.
    InventedEpoch,
    /// The destination's fence becomes misconfigured.
    Misconfiguration,
    /// A store forgets an operation because of its age.
    Forgetting,
    /// Somebody takes a lease back.
    Revocation,
    /// There are more than two workers.
    ThirdWorker,
}

impl NotInTheWorld {
    /// Why the world does not show it, in one sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BorrowedConsent => {
                "no plan that is made from a counterexample has an agent show the consent for another \
                 effect"
            }
            Self::SamePayload => "no two tasks of a plan have the same payload",
            Self::Recreation => "nobody deletes a resource of the reference system",
            Self::InventedEpoch => {
                "no plan that is made from a counterexample has a worker make an epoch up"
            }
            Self::Misconfiguration => {
                "nothing misconfigures the destination of the reference system while it runs"
            }
            Self::Forgetting => "a run is shorter than the time for which stores remember",
            Self::Revocation => "no plan that is made from a counterexample takes a lease back",
            Self::ThirdWorker => "the reference system has two workers",
        }
    }
}

impl fmt::Display for NotInTheWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why no plan shows in the world what the checker says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotShown {
    /// The checker has found nothing.
    NoCounterexample,
    /// It has found something that needs what does not happen in the world.
    NotInTheWorld(NotInTheWorld),
    /// So many plans were tried, and none has broken the invariant.
    NotFound {
        /// How many.
        tried: u64,
        /// What some of them have shown instead.
        instead: BTreeSet<&'static str>,
    },
}

impl fmt::Display for NotShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCounterexample => f.write_str("there is no counterexample to replay"),
            Self::NotInTheWorld(why_not) => why_not.fmt(f),
            Self::NotFound { tried, instead } => {
                write!(f, "none of the {tried} plans that it suggests breaks this invariant")?;
                if !instead.is_empty() {
                    let instead: Vec<_> = instead.iter().copied().collect();
                    write!(f, "; some break {}", instead.join(", "))?;
                }
                Ok(())
            }
        }
    }
}

/// Why the world cannot show what is broken about a named design; `None` if it can, or if nothing
/// is.
pub fn why_not_in_the_world(design: &str) -> Option<NotInTheWorld> {
    Some(match design {
        "fingerprint-of-the-body" => NotInTheWorld::SamePayload,
        "version-only" => NotInTheWorld::Recreation,
        "typo-disables-fence" => NotInTheWorld::Misconfiguration,
        "pruned-key" => NotInTheWorld::Forgetting,
        _ => return None,
    })
}
