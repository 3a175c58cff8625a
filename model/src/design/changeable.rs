//! What a team says of its own settings: which it cannot change, and what a change costs it.
//!
//! The destination may be somebody else's, the proxy be bought. A repair that begins there is of
//! no use, so a design file can say so, setting by setting or for a whole section.
//!
//! ```
//! use holdover_model::design::Design;
//!
//! let design = Design::from_toml("ours.toml", r#"
//!     fixed = ["fence.enforced-at", "destination"]
//!     [cost]
//!     "identity" = 10
//!     "identity.retention" = 2
//! "#).unwrap();
//! let setting = |name: &str| name.parse().unwrap();
//! assert!(design.is_fixed(setting("destination.dedupe")));
//! assert!(!design.is_fixed(setting("fence.check")));
//! assert_eq!(design.cost(setting("identity.claim")).get(), 10);
//! assert_eq!(design.cost(setting("identity.retention")).get(), 2);
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::design::cost::{Cost, effort};
use crate::design::read::refusal;
use crate::design::setting::{SettingId, SettingSet};
use crate::design::{Design, DesignError, SECTIONS, guarantee::Guarantee};

impl Design {
    /// Whether its team cannot change a setting.
    pub fn is_fixed(&self, setting: SettingId) -> bool {
        self.fixed.contains(setting)
    }

    /// The same design with one more setting, or section, that cannot be changed.
    ///
    /// # Errors
    ///
    /// When there is no such setting or section, or it is a claim: one line with what would be
    /// accepted.
    pub fn fixing(mut self, name: &str) -> Result<Self, DesignError> {
        self.fixed = self.fixed.or(Part::named(name)?.settings());
        Ok(self)
    }

    /// What it costs its team to change a setting: what the file says of it, or of its section, or
    /// else what such a change [usually](super::cost) takes.
    ///
    /// # Panics
    ///
    /// For a claim: it is what has to be kept.
    pub fn cost(&self, setting: SettingId) -> Cost {
        self.cost.said(setting).unwrap_or_else(|| {
            let (effort, _) = effort(setting).expect("a claim has no cost");
            effort.cost()
        })
    }
}

/// What a team says that changes cost; the more special word counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Costs {
    said: BTreeMap<Part, Cost>,
}

impl Costs {
    fn said(&self, setting: SettingId) -> Option<Cost> {
        let of_section = || self.said.get(&Part::Section(setting.section().name));
        self.said.get(&Part::Setting(setting)).or_else(of_section).copied()
    }

    /// Adds what a setting, or each of a section, costs.
    ///
    /// # Errors
    ///
    /// When nothing that can be changed has that name, or its cost was said before.
    pub(super) fn say(&mut self, name: &str, cost: Cost) -> Result<(), DesignError> {
        let part = Part::named(name)?;
        match self.said.insert(part, cost) {
            None => Ok(()),
            Some(_) => Err(unknown(format!("the cost of {part} is given twice"))),
        }
    }
}

/// Settings that are spoken of together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Part {
    /// All of a section.
    Section(&'static str),
    /// One.
    Setting(SettingId),
}

impl Part {
    /// The section of that name, or the setting: `section.setting`, or the setting alone where
    /// only one section has it.
    ///
    /// # Errors
    ///
    /// When there is none, or it is a claim: one line with what would be accepted.
    pub(super) fn named(name: &str) -> Result<Self, DesignError> {
        if let Some(section) = SECTIONS.iter().find(|section| section.name == name) {
            return Ok(Self::Section(section.name));
        }
        let is_claim = |id: SettingId| id.is_claim();
        match SettingId::named(name) {
            Ok(setting) if !setting.is_claim() => Ok(Self::Setting(setting)),
            _ if name == Guarantee::SECTION.name || SettingId::named(name).is_ok_and(is_claim) => {
                Err(unknown(format!(
                    "{name:?} is what is claimed, so it is checked and not changed, and is neither \
                     fixed nor has a cost; to check another claim, use --demand"
                )))
            }
            _ => {
                let settings = SettingId::safeguards();
                let settings: Vec<_> = settings.map(|id| id.to_string()).collect();
                let known = SECTIONS.iter().map(|section| section.name);
                let known = known.chain(settings.iter().map(String::as_str));
                Err(unknown(refusal(name, "a setting or a section", known)))
            }
        }
    }

    /// Its settings.
    pub(super) fn settings(self) -> SettingSet {
        let is_in = |id: &SettingId| match self {
            Self::Section(name) => id.section().name == name,
            Self::Setting(setting) => *id == setting,
        };
        SettingId::all().filter(is_in).collect()
    }
}

fn unknown(problem: String) -> DesignError {
    DesignError::UnknownSetting { problem }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Section(name) => f.pad(name),
            Self::Setting(setting) => setting.fmt(f),
        }
    }
}

/// Reads a list of settings and sections.
pub(super) fn fixed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SettingSet, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().try_fold(SettingSet::default(), |fixed, name| {
        let part =
            Part::named(name).map_err(|problem| D::Error::custom(format!("fixed: {problem}")))?;
        Ok(fixed.or(part.settings()))
    })
}

/// Whether nothing is said, so that nothing has to be written.
pub(super) fn is_unsaid<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Serialize for Costs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.said.iter().map(|(part, cost)| (part.to_string(), cost)))
    }
}

impl<'de> Deserialize<'de> for Costs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut costs = Self::default();
        for (name, cost) in BTreeMap::<String, Cost>::deserialize(deserializer)? {
            costs
                .say(&name, cost)
                .map_err(|problem| D::Error::custom(format!("cost: {problem}")))?;
        }
        Ok(costs)
    }
}
