//! One setting with another value: what tells two designs apart, and leads from one to the other.
//!
//! A setting is a field of its own type, so roles cannot ask for one that is not there. Whoever
//! goes through all settings (what each of them carries, which of them would repair a design)
//! wants them as data instead; here is the way from one to the other.
//!
//! ```
//! use holdover_model::design::Design;
//!
//! let broken = Design::named("fence-without-drain").unwrap();
//! let check = "fence.in-flight-writes".parse().unwrap();
//! let changes = broken.alternatives(check);
//! assert_eq!(changes[0].to_string(), "fence.in-flight-writes = \"drained\"");
//! let repaired = broken.with(changes[0]);
//! assert_eq!(broken.differences(&repaired), changes);
//! ```

use std::fmt;

use serde::{Serialize, Serializer};

use crate::design::Design;
use crate::design::binds::Binds;
use crate::design::setting::SettingId;
use crate::design::vocabulary::Setting;

/// The value of a setting, as a design file says it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SettingValue {
    /// A word of the vocabulary.
    Word(&'static str),
    /// Yes or no.
    Truth(bool),
    /// Fields of an intent.
    Fields(Binds),
}

/// One setting with another value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Change {
    /// Which setting, or claim.
    pub setting: SettingId,
    /// Its new value: one that the setting can have.
    pub to: SettingValue,
}

impl Setting {
    /// What a word means as its value; `None` if it is not one of its words.
    pub(super) fn value(&self, word: &str) -> Option<SettingValue> {
        let known = self.values.iter().find(|value| value.name == word)?;
        Some(if self.is_truth() {
            SettingValue::Truth(known.name == "true")
        } else if self.listable.is_empty() {
            SettingValue::Word(known.name)
        } else {
            SettingValue::Fields(Binds::default())
        })
    }
}

impl Design {
    /// The value of a setting, or claim.
    pub fn value(&self, setting: SettingId) -> SettingValue {
        self.part(setting.section().name).value(setting.setting().name)
    }

    /// The same design with another value of a setting, or claim.
    ///
    /// # Panics
    ///
    /// When the setting cannot have that value.
    #[must_use]
    pub fn with(&self, change: Change) -> Self {
        let mut changed = self.clone();
        let Change { setting, to } = change;
        let is_set = changed.part_mut(setting.section().name).set(setting.setting().name, to);
        assert!(is_set, "{setting} cannot be {to}");
        changed
    }

    /// The same design with several changes, one after the other.
    ///
    /// # Panics
    ///
    /// When a setting cannot have the value that it is changed to.
    #[must_use]
    pub fn with_all(&self, changes: impl IntoIterator<Item = Change>) -> Self {
        changes.into_iter().fold(self.clone(), |design, change| design.with(change))
    }

    /// Every other value of a setting, or claim, in the order of the vocabulary. Of the sets of
    /// fields that an identity may cover, that is the whole, and those that have one field more or
    /// one less.
    pub fn alternatives(&self, setting: SettingId) -> Vec<Change> {
        let present = self.value(setting);
        let values: Vec<_> = match present {
            SettingValue::Fields(binds) => {
                binds.alternatives().into_iter().map(SettingValue::Fields).collect()
            }
            SettingValue::Word(_) | SettingValue::Truth(_) => {
                let words = setting.setting().values.iter();
                words.filter_map(|word| setting.setting().value(word.name)).collect()
            }
        };
        let others = values.into_iter().filter(|value| *value != present);
        others.map(|to| Change { setting, to }).collect()
    }

    /// The changes of settings and claims that lead from this design to another one.
    pub fn differences(&self, other: &Self) -> Vec<Change> {
        SettingId::all()
            .map(|setting| Change { setting, to: other.value(setting) })
            .filter(|change| self.value(change.setting) != change.to)
            .collect()
    }
}

/// A section whose settings are found by their names.
pub(super) trait Settings {
    /// The value of the setting of that name.
    fn value(&self, name: &str) -> SettingValue;
    /// Sets the setting of that name, if it can have the value: says whether it can.
    fn set(&mut self, name: &str, to: SettingValue) -> bool;
}

/// A type whose values are those of a setting.
pub(super) trait Valued: Copy {
    /// As a design file says it.
    fn said(self) -> SettingValue;
    /// What is said so; `None` if it is not a value of this setting.
    fn meant(said: SettingValue) -> Option<Self>;
}

impl Valued for bool {
    fn said(self) -> SettingValue {
        SettingValue::Truth(self)
    }

    fn meant(said: SettingValue) -> Option<Self> {
        if let SettingValue::Truth(truth) = said { Some(truth) } else { None }
    }
}

impl Valued for Binds {
    fn said(self) -> SettingValue {
        SettingValue::Fields(self)
    }

    fn meant(said: SettingValue) -> Option<Self> {
        if let SettingValue::Fields(binds) = said { Some(binds) } else { None }
    }
}

/// Which value is said with which word.
macro_rules! words {
    ($setting:ident { $($word:literal => $value:ident,)+ }) => {
        impl $crate::design::change::Valued for $setting {
            fn said(self) -> $crate::design::change::SettingValue {
                $crate::design::change::SettingValue::Word(match self {
                    $(Self::$value => $word,)+
                })
            }

            fn meant(said: $crate::design::change::SettingValue) -> Option<Self> {
                match said {
                    $($crate::design::change::SettingValue::Word($word) => Some(Self::$value),)+
                    _ => None,
                }
            }
        }
    };
}
pub(super) use words;

/// Which field of a section has which name.
macro_rules! names {
    ($section:ident { $($name:literal => $field:ident,)+ }) => {
        impl $crate::design::change::Settings for $section {
            fn value(&self, name: &str) -> $crate::design::change::SettingValue {
                match name {
                    $($name => $crate::design::change::Valued::said(self.$field),)+
                    _ => unreachable!("a setting belongs to its section"),
                }
            }

            fn set(&mut self, name: &str, to: $crate::design::change::SettingValue) -> bool {
                match name {
                    $($name => $crate::design::change::Valued::meant(to)
                        .map(|value| self.$field = value)
                        .is_some(),)+
                    _ => unreachable!("a setting belongs to its section"),
                }
            }
        }
    };
}
pub(super) use names;

macro_rules! parts {
    ($($section:ident)+) => {
        impl Design {
            fn part(&self, section: &str) -> &dyn Settings {
                match section {
                    $(stringify!($section) => &self.$section,)+
                    _ => unreachable!("a section belongs to a design"),
                }
            }

            fn part_mut(&mut self, section: &str) -> &mut dyn Settings {
                match section {
                    $(stringify!($section) => &mut self.$section,)+
                    _ => unreachable!("a section belongs to a design"),
                }
            }
        }
    };
}

parts! { guarantee authority lease fence identity recovery destination approval }

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "{word:?}"),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Fields(binds) => write!(f, "{binds}"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.setting, self.to)
    }
}

impl Serialize for SettingValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Word(word) => serializer.serialize_str(word),
            Self::Truth(truth) => serializer.serialize_bool(*truth),
            Self::Fields(binds) => binds.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{NAMED, sections};

    /// The safe design, and one in which every setting that it can is another one.
    fn starts() -> Vec<Design> {
        let safe = Design::default();
        let other = SettingId::all().fold(safe.clone(), |design, setting| {
            design.with(*design.alternatives(setting).last().unwrap())
        });
        vec![safe, other]
    }

    #[test]
    fn every_value_can_be_set_and_is_what_the_strict_reader_reads() {
        for start in starts() {
            for setting in SettingId::all() {
                for change in start.alternatives(setting) {
                    assert_ne!(start.value(setting), change.to);
                    let changed = start.with(change);
                    assert_eq!(changed.value(setting), change.to);
                    assert_eq!(start.differences(&changed), [change]);
                    assert_eq!(start, changed.with(Change { setting, to: start.value(setting) }));
                    let read = Design::from_toml("one line", &change.to_string()).unwrap();
                    assert_eq!(read, Design::default().with(change));
                }
            }
        }
    }

    #[test]
    fn the_alternatives_are_the_vocabulary_without_the_present_value() {
        for start in starts() {
            for (section, setting) in
                sections().flat_map(|section| section.settings.iter().map(move |s| (section, s)))
            {
                let id = SettingId::of(section.name, setting.name);
                if setting.listable.is_empty() {
                    let known = setting.values.iter().map(|word| setting.value(word.name).unwrap());
                    let others: Vec<_> = known.filter(|value| *value != start.value(id)).collect();
                    let offered: Vec<_> = start.alternatives(id).iter().map(|one| one.to).collect();
                    assert_eq!(offered, others, "{id}");
                    assert_eq!(offered.len(), setting.values.len() - 1, "{id}");
                }
            }
        }
    }

    #[test]
    fn an_identity_is_offered_everything_then_a_field_more_then_a_field_less() {
        let offered = |line: &str| -> Vec<String> {
            let design = Design::from_toml("binds", line).unwrap();
            let changes = design.alternatives(SettingId::of("identity", "binds"));
            changes.iter().map(|change| change.to.to_string()).collect()
        };
        let every = offered("");
        assert_eq!(every.len(), Binds::FIELDS.len(), "{every:?}");
        assert!(every.iter().all(|set| set.matches('"').count() == 2 * (Binds::FIELDS.len() - 1)));

        let two = offered("identity.binds = [\"run-id\", \"step-id\"]");
        assert_eq!(two[0], "\"every-field\"");
        assert_eq!(two[1], "[\"run-id\", \"step-id\", \"principal\"]");
        assert_eq!(two[two.len() - 2..], ["[\"step-id\"]", "[\"run-id\"]"]);
        assert_eq!(two.len(), 1 + (Binds::FIELDS.len() - 2) + 2);

        let one = offered("identity.binds = [\"method\"]");
        assert_eq!(one.len(), 1 + (Binds::FIELDS.len() - 1), "never the empty set: {one:?}");

        let but_one = format!("identity.binds = {:?}", &Binds::FIELDS[1..]);
        let whole = offered(&but_one).iter().filter(|set| *set == "\"every-field\"").count();
        assert_eq!(whole, 1);
    }

    #[test]
    fn the_differences_of_two_designs_lead_from_one_to_the_other() {
        let designs: Vec<_> =
            NAMED.iter().map(|(name, text)| Design::from_toml(name, text).unwrap()).collect();
        for (from, to) in designs.iter().flat_map(|a| designs.iter().map(move |b| (a, b))) {
            let arrived = from.differences(to).into_iter().fold(from.clone(), |d, c| d.with(c));
            assert!(arrived.differences(to).is_empty());
            assert_eq!(arrived.name, from.name, "what it is called is no setting");
        }
    }

    #[test]
    fn a_change_as_data_says_setting_and_value() {
        let design = Design::default();
        let written = |name: &str| {
            let change = *design.alternatives(SettingId::named(name).unwrap()).last().unwrap();
            serde_json::to_string(&change).unwrap()
        };
        assert_eq!(written("fence.check"), r#"{"setting":"fence.check","to":"any-higher"}"#);
        assert_eq!(written("guarantee.expiry"), r#"{"setting":"guarantee.expiry","to":false}"#);
        assert!(written("identity.binds").ends_with(r#""to":["run-id","step-id","principal","target","method","payload-hash","expected-version","approval-id"]}"#));
    }

    #[test]
    #[should_panic(expected = "fence.check cannot be \"drained\"")]
    fn a_value_of_another_setting_is_not_taken() {
        let setting = SettingId::of("fence", "check");
        let _ = Design::default().with(Change { setting, to: SettingValue::Word("drained") });
    }
}
