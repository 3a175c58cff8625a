//! Which of the named designs the world cannot show broken, and why not.
//!
//! The checker lets things happen that no host of the reference system does. A design that is
//! only broken by one of them survives every sweep, and that says nothing about it.

use std::fmt;

/// Something that happens in the checker and not in the world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
}

impl NotInTheWorld {
    /// Why the world does not show it, in one sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BorrowedConsent => {
                "every agent of the reference system shows the consent that was given for its own \
                 effect"
            }
            Self::SamePayload => "no two tasks of a plan have the same payload",
            Self::Recreation => "nobody deletes a resource of the reference system",
            Self::InventedEpoch => {
                "the workers of the reference system use the epochs that they were given"
            }
            Self::Misconfiguration => {
                "nothing misconfigures the destination of the reference system while it runs"
            }
            Self::Forgetting => "a run is shorter than the time for which stores remember",
        }
    }
}

impl fmt::Display for NotInTheWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why the world cannot show what is broken about a named design; `None` if it can, or if nothing
/// is.
pub fn why_not_in_the_world(design: &str) -> Option<NotInTheWorld> {
    Some(match design {
        "approval-by-request-number" | "bearer-approval" | "reusable-approval" => {
            NotInTheWorld::BorrowedConsent
        }
        "fingerprint-of-the-body" => NotInTheWorld::SamePayload,
        "version-only" => NotInTheWorld::Recreation,
        "invented-epoch" => NotInTheWorld::InventedEpoch,
        "typo-disables-fence" => NotInTheWorld::Misconfiguration,
        "pruned-key" => NotInTheWorld::Forgetting,
        _ => return None,
    })
}
