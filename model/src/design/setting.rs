//! Which setting, in one small number; and sets of settings.
//!
//! What a run asked a design ([`Asked`](crate::design::asked::Asked)), what a team cannot change,
//! and what a repair changes are all sets of settings.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::design::read::refusal;
use crate::design::vocabulary::{Section, Setting};
use crate::design::{DesignError, SECTIONS, guarantee::Guarantee};

/// Every section: what is claimed, then what is set.
static ALL: [&[Section]; 2] = [&[Guarantee::SECTION], SECTIONS];

/// A setting, or a claim, of a design.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SettingId(u8);

impl SettingId {
    /// The setting of that name. Meant for constants: there, a wrong name does not compile.
    ///
    /// # Panics
    ///
    /// When there is no such setting.
    pub(crate) const fn of(section: &str, setting: &str) -> Self {
        let (mut number, mut part) = (0, 0);
        while part < ALL.len() {
            let mut place = 0;
            while place < ALL[part].len() {
                let candidate = &ALL[part][place];
                let mut index = 0;
                while index < candidate.settings.len() {
                    if is_same(candidate.name, section)
                        && is_same(candidate.settings[index].name, setting)
                    {
                        assert!((number as u32) < u64::BITS, "a set of settings has 64 bits");
                        return Self(number);
                    }
                    number += 1;
                    index += 1;
                }
                place += 1;
            }
            part += 1;
        }
        panic!("there is no such setting")
    }

    /// Every setting, the claims first, in the order of a design file.
    pub fn all() -> impl Iterator<Item = Self> {
        let count: usize =
            ALL.iter().flat_map(|part| part.iter()).map(|section| section.settings.len()).sum();
        (0..count).map(|number| Self(u8::try_from(number).expect("there are fewer than 64")))
    }

    /// Every setting that is no claim, in the order of a design file.
    pub fn safeguards() -> impl Iterator<Item = Self> {
        Self::all().filter(|setting| !setting.is_claim())
    }

    /// The setting of that name: `section.setting`, or the setting alone where only one section
    /// has it.
    ///
    /// # Errors
    ///
    /// When there is no such setting, or several sections have one of that name: one line with
    /// what would be accepted.
    pub fn named(name: &str) -> Result<Self, DesignError> {
        let is_meant = |id: &Self| name == id.setting().name || name == id.to_string();
        let mut matching = Self::all().filter(is_meant);
        let problem = match (matching.next(), matching.next()) {
            (Some(id), None) => return Ok(id),
            (Some(_), Some(_)) => candidates(name, "a setting of several sections", is_meant),
            (None, _) if Self::all().any(|id| id.section().name == name) => {
                candidates(name, "a section", |id| id.section().name == name)
            }
            (None, _) => {
                let known: Vec<_> = Self::all().map(|id| id.to_string()).collect();
                refusal(name, "a setting", known.iter().map(String::as_str))
            }
        };
        Err(DesignError::UnknownSetting { problem })
    }

    /// The section that it is in.
    pub fn section(self) -> &'static Section {
        self.entry().0
    }

    /// What it is.
    pub fn setting(self) -> &'static Setting {
        self.entry().1
    }

    /// Whether it says what a design claims, and not what it does.
    pub fn is_claim(self) -> bool {
        self.section().name == Guarantee::SECTION.name
    }

    fn entry(self) -> (&'static Section, &'static Setting) {
        let sections = ALL.iter().flat_map(|part| part.iter());
        sections
            .flat_map(|section| section.settings.iter().map(move |setting| (section, setting)))
            .nth(usize::from(self.0))
            .expect("the number of a setting")
    }
}

fn candidates(name: &str, what: &str, is_one: impl Fn(&SettingId) -> bool) -> String {
    let accepted: Vec<_> = SettingId::all().filter(is_one).map(|id| id.to_string()).collect();
    format!("{name:?} is {what}; accepted: {}", accepted.join(", "))
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

impl fmt::Display for SettingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (section, setting) = self.entry();
        f.pad(&format!("{}.{}", section.name, setting.name))
    }
}

impl fmt::Debug for SettingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for SettingId {
    type Err = DesignError;

    fn from_str(name: &str) -> Result<Self, DesignError> {
        Self::named(name)
    }
}

impl Serialize for SettingId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A set of settings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SettingSet {
    /// One bit per setting.
    bits: u64,
}

impl SettingSet {
    /// Whether a setting is in it.
    pub fn contains(self, id: SettingId) -> bool {
        self.bits & 1 << id.0 != 0
    }

    /// Whether no setting is in it.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Whether a setting is in both.
    pub fn meets(self, other: Self) -> bool {
        self.bits & other.bits != 0
    }

    /// The same with another setting.
    #[must_use]
    pub fn with(self, id: SettingId) -> Self {
        Self { bits: self.bits | 1 << id.0 }
    }

    /// The same without a setting.
    #[must_use]
    pub fn without(self, id: SettingId) -> Self {
        Self { bits: self.bits & !(1 << id.0) }
    }

    /// What is in either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { bits: self.bits | other.bits }
    }

    /// Its settings, in the order of a design file.
    pub fn iter(self) -> impl Iterator<Item = SettingId> {
        (0..64).map(SettingId).filter(move |id| self.contains(*id))
    }
}

impl FromIterator<SettingId> for SettingSet {
    fn from_iter<I: IntoIterator<Item = SettingId>>(ids: I) -> Self {
        ids.into_iter().fold(Self::default(), Self::with)
    }
}

impl fmt::Debug for SettingSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for SettingSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As a list of known length: some formats write that first.
        serializer.collect_seq(self.iter().collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_number_of_its_own_and_is_found_by_its_name() {
        let all: Vec<_> = SettingId::all().collect();
        for id in &all {
            assert_eq!(SettingId::named(&id.to_string()).unwrap(), *id);
            assert_eq!(SettingId::of(id.section().name, id.setting().name), *id);
        }
        let set: SettingSet = all.iter().copied().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), all);
        assert!(!set.without(all[3]).contains(all[3]));
    }

    #[test]
    fn a_setting_that_several_sections_have_needs_its_section() {
        let problem = SettingId::named("durabilty").unwrap_err().to_string();
        assert!(problem.contains("authority.durability"), "{problem}");
        let problem = SettingId::named("fence").unwrap_err().to_string();
        assert!(problem.contains("fence.check"), "{problem}");
    }
}
