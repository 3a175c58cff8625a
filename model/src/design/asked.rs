//! A design as roles ask it: what is asked can be noted.
//!
//! Roles ask for every decision that is a setting, and in no other way than through [`Asked`].
//! So a step that did not ask for a setting is the same step whatever its value is. The checker
//! notes what each step asks; that a whole search never asked for a setting, or a counterexample
//! did not, holds for every design that differs in nothing else.
//!
//! ```
//! use std::cell::Cell;
//! use holdover_model::design::{Design, setting::SettingSet};
//!
//! let (design, noted) = (Design::default(), Cell::new(SettingSet::default()));
//! assert!(design.asked_noting(&noted).fence().is_pushed());
//! let names: Vec<_> = noted.get().iter().map(|id| id.to_string()).collect();
//! assert_eq!(names, ["fence.enforced-at", "fence.advance"]);
//! ```

use std::cell::Cell;

use crate::design::Design;
use crate::design::approval::ApprovalSettings;
use crate::design::authority::AuthoritySettings;
use crate::design::destination::DestinationSettings;
use crate::design::fence::FenceSettings;
use crate::design::guarantee::Guarantee;
use crate::design::identity::IdentitySettings;
use crate::design::lease::LeaseSettings;
use crate::design::recovery::RecoverySettings;
use crate::design::setting::{SettingId, SettingSet};

/// A design, or one section of it, that is asked for its settings.
#[derive(Debug)]
pub struct Asked<'a, S> {
    pub(super) settings: &'a S,
    noted: Option<&'a Cell<SettingSet>>,
}

impl<S> Clone for Asked<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Asked<'_, S> {}

impl<'a, S> Asked<'a, S> {
    /// These settings; nobody notes which are asked for.
    pub(super) fn unnoted(settings: &'a S) -> Self {
        Self { settings, noted: None }
    }

    /// Notes that a setting is asked for.
    pub(super) fn note(self, id: SettingId) {
        if let Some(noted) = self.noted {
            noted.set(noted.get().with(id));
        }
    }

    fn section<T>(self, choose: impl FnOnce(&'a S) -> &'a T) -> Asked<'a, T> {
        Asked { settings: choose(self.settings), noted: self.noted }
    }
}

impl Design {
    /// This design, to be asked.
    pub fn asked(&self) -> Asked<'_, Self> {
        Asked::unnoted(self)
    }

    /// This design, to be asked; which settings it is asked for is added to what is noted.
    pub fn asked_noting<'a>(&'a self, noted: &'a Cell<SettingSet>) -> Asked<'a, Self> {
        Asked { settings: self, noted: Some(noted) }
    }
}

impl<'a> Asked<'a, Design> {
    /// How the authority hands out leases.
    pub fn authority(self) -> Asked<'a, AuthoritySettings> {
        self.section(|design| &design.authority)
    }

    /// How a lease ends and how it is kept.
    pub fn lease(self) -> Asked<'a, LeaseSettings> {
        self.section(|design| &design.lease)
    }

    /// How a stale worker's write is kept out.
    pub fn fence(self) -> Asked<'a, FenceSettings> {
        self.section(|design| &design.fence)
    }

    /// How an intent gets its operation id.
    pub fn identity(self) -> Asked<'a, IdentitySettings> {
        self.section(|design| &design.identity)
    }

    /// What follows a timeout.
    pub fn recovery(self) -> Asked<'a, RecoverySettings> {
        self.section(|design| &design.recovery)
    }

    /// What the destination compares, and how it keeps evidence.
    pub fn destination(self) -> Asked<'a, DestinationSettings> {
        self.section(|design| &design.destination)
    }

    /// What a consent covers.
    pub fn approval(self) -> Asked<'a, ApprovalSettings> {
        self.section(|design| &design.approval)
    }

    /// Whether a successor takes over without a person: the one claim that roles act on.
    pub fn takes_over_automatically(self) -> bool {
        const ID: SettingId = SettingId::of(Guarantee::SECTION.name, "automatic-takeover");
        self.note(ID);
        self.settings.guarantee.automatic_takeover
    }
}
