//! The safeguards as settings, each with the small pure function that decides.
//!
//! A design is what a team writes down: which check its destination makes, who allocates
//! identities, what a timeout means. The first value of every setting is the safe default;
//! the others are what real systems do. Roles ask the design for every such decision, so
//! a design file changes what the very same state machines do.
//!
//! ```
//! use holdover_model::design::{Design, fence::Check};
//!
//! let design: Design = Design::from_toml("my-design.toml", r#"
//!     name = "ours"
//!     [fence]
//!     check = "at-least-highest-seen"
//!     advance = "on-first-write"
//! "#).unwrap();
//! assert_eq!(design.fence.check, Check::AtLeastHighestSeen);
//! ```

pub mod approval;
pub mod asked;
pub mod authority;
pub mod binds;
pub mod change;
pub mod changeable;
pub mod cost;
pub mod destination;
pub mod edit;
pub mod explain;
pub mod fence;
pub mod guarantee;
pub mod identity;
pub mod lease;
mod named;
mod read;
pub mod recovery;
pub mod setting;
pub mod vocabulary;
mod write;

use serde::{Deserialize, Serialize};

pub use named::NAMED;
use setting::SettingSet;

use crate::invariant::InvariantId;

/// One handover and identity design: a name, what it claims, the setting of every safeguard, and
/// what it would take to change one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Design {
    /// What the design is called.
    pub name: String,
    /// What it is and why it does or does not work, in a sentence or two.
    pub summary: String,
    /// The report, article or system that it comes from.
    pub source: String,
    /// The invariants that it is known to break: the first one in the shortest run, the others
    /// before anything else in longer runs. Empty for a safe design.
    pub expect: Vec<InvariantId>,
    /// The settings that its team cannot change; never a claim.
    #[serde(deserialize_with = "changeable::fixed", skip_serializing_if = "changeable::is_unsaid")]
    pub fixed: setting::SettingSet,
    /// What the design claims. Only claims are checked.
    pub guarantee: guarantee::Guarantee,
    /// How the authority hands out leases.
    pub authority: authority::AuthoritySettings,
    /// How a lease ends and how it is kept.
    pub lease: lease::LeaseSettings,
    /// How a stale worker's write is kept out.
    pub fence: fence::FenceSettings,
    /// How an intent gets its operation id.
    pub identity: identity::IdentitySettings,
    /// What follows a timeout.
    pub recovery: recovery::RecoverySettings,
    /// What the destination compares, and how it keeps evidence.
    pub destination: destination::DestinationSettings,
    /// What a consent covers.
    pub approval: approval::ApprovalSettings,
    /// What changes cost its team, as far as it says so.
    #[serde(skip_serializing_if = "changeable::is_unsaid")]
    pub cost: changeable::Costs,
}

/// Every section of a design file but the guarantee, in order.
pub const SECTIONS: &[vocabulary::Section] = &[
    authority::AuthoritySettings::SECTION,
    lease::LeaseSettings::SECTION,
    fence::FenceSettings::SECTION,
    identity::IdentitySettings::SECTION,
    recovery::RecoverySettings::SECTION,
    destination::DestinationSettings::SECTION,
    approval::ApprovalSettings::SECTION,
];

/// Every section of a design file, in order.
pub fn sections() -> impl Iterator<Item = &'static vocabulary::Section> {
    std::iter::once(&guarantee::Guarantee::SECTION).chain(SECTIONS)
}

/// Why a design could not be had.
#[derive(Debug, thiserror::Error)]
pub enum DesignError {
    /// No design of that name comes with this crate.
    #[error("there is no design named {name:?}; the named designs are: {known}")]
    UnknownName {
        /// The name that was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The text is not a design.
    #[error("{file}:{line}: {problem}")]
    Malformed {
        /// Where the text came from.
        file: String,
        /// In which line it is wrong, counted from 1.
        line: usize,
        /// What is wrong, and what would be accepted.
        problem: String,
    },
    /// No setting of that name exists, or several do.
    #[error("{problem}")]
    UnknownSetting {
        /// What is wrong, and what would be accepted.
        problem: String,
    },
}

impl Design {
    /// Reads a design from TOML. `file` is only used in errors.
    ///
    /// # Errors
    ///
    /// When the text is not TOML, or has a section, setting or value that is not known: one
    /// line with the file, the line, the nearest word that is known, and all that are.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, DesignError> {
        read::read(file, text)
    }

    /// The design as TOML: its name, what it claims, and what differs from the safe defaults.
    /// [`from_toml`](Self::from_toml) gives it back.
    pub fn to_toml(&self) -> String {
        write::write(self, write::Extent::Differences)
    }

    /// The same with every setting, those marked that differ from the safe defaults.
    pub fn to_toml_in_full(&self) -> String {
        write::write(self, write::Extent::Everything)
    }

    /// The settings and claims in which two designs differ.
    pub fn differing(&self, other: &Self) -> SettingSet {
        [
            self.guarantee.differing(other.guarantee),
            self.authority.differing(&other.authority),
            self.lease.differing(&other.lease),
            self.fence.differing(&other.fence),
            self.identity.differing(&other.identity),
            self.recovery.differing(&other.recovery),
            self.destination.differing(&other.destination),
            self.approval.differing(&other.approval),
        ]
        .into_iter()
        .fold(SettingSet::default(), SettingSet::or)
    }

    /// The design of that name among those that come with this crate.
    ///
    /// # Errors
    ///
    /// When there is none of that name.
    pub fn named(name: &str) -> Result<Self, DesignError> {
        let (_, text) = NAMED.iter().find(|(known, _)| *known == name).ok_or_else(|| {
            DesignError::UnknownName {
                name: name.into(),
                known: NAMED.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", "),
            }
        })?;
        Self::from_toml(name, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_design_parses_and_bears_its_file_name() {
        for (name, text) in NAMED {
            let design = Design::from_toml(name, text).unwrap();
            assert_eq!(design.name, *name);
            assert!(!design.summary.is_empty(), "{name} has no summary");
            assert!(!design.source.is_empty(), "{name} has no source");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_there_are() {
        let message = Design::named("perfect").unwrap_err().to_string();
        assert!(message.contains("perfect") && message.contains("push-before-ready"), "{message}");
    }
}
