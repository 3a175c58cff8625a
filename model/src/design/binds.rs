//! Which fields of an intent its identity covers.
//!
//! A fingerprint over the body alone takes the same change to another resource for the same
//! operation (`Universal-Commerce-Protocol/samples#166`).

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::design::vocabulary::{Setting, Value};
use crate::intent::Intent;

macro_rules! fields {
    ($($name:literal: $field:ident)*) => {
        const FIELDS: &[&str] = &[$($name),*];

        fn is_same_field(name: &str, a: &Intent, b: &Intent) -> bool {
            match name {
                $($name => a.$field == b.$field,)*
                _ => unreachable!("every name is in the list"),
            }
        }
    };
}

fields! {
    "run-id": run_id
    "step-id": step_id
    "principal": principal
    "target": target
    "method": method
    "payload-hash": payload_hash
    "expected-version": expected_version
    "approval-id": approval_id
    "policy-version": policy_version
}

const EVERY_FIELD: &str = "every-field";

/// A set of an intent's fields.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Binds {
    /// One bit per field, in the order of the record.
    bits: u16,
}

impl Binds {
    const EVERYTHING: Self = Self { bits: (1 << FIELDS.len()) - 1 };

    /// The setting as data.
    pub const SETTING: Setting = Setting {
        name: "binds",
        meaning: " Which fields of an intent its identity covers: \"every-field\", or a list of fields.\n",
        values: &[Value { name: EVERY_FIELD, meaning: " All that change authority or outcome.\n" }],
        listable: FIELDS,
    };

    /// The names of the fields that can be listed.
    pub const FIELDS: &[&str] = FIELDS;

    /// These fields only.
    ///
    /// # Errors
    ///
    /// The first name that is not a field.
    pub fn only<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let mut bits = 0;
        for name in names {
            let index = FIELDS.iter().position(|field| *field == name).ok_or(name)?;
            bits |= 1 << index;
        }
        Ok(Self { bits })
    }

    /// Whether the whole intent is covered.
    pub fn is_everything(self) -> bool {
        self == Self::EVERYTHING
    }

    /// Whether two intents are the same as far as these fields go.
    pub fn is_same(self, a: &Intent, b: &Intent) -> bool {
        self.names().all(|name| is_same_field(name, a, b))
    }

    /// The whole, the sets that have one field more than this one, and those that have one less:
    /// each once, and never the empty one.
    pub(super) fn alternatives(self) -> Vec<Self> {
        let fields = || (0..FIELDS.len()).map(|index| 1 << index);
        let more = fields().filter(|field| self.bits & field == 0).map(|field| self.bits | field);
        let less = fields().filter(|field| self.bits & field != 0).map(|field| self.bits & !field);
        let whole = (!self.is_everything()).then_some(Self::EVERYTHING);
        let others = more.chain(less).map(|bits| Self { bits });
        whole
            .into_iter()
            .chain(others.filter(|set| !set.is_everything() && set.bits != 0))
            .collect()
    }

    /// Their names, in the order of the record.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        FIELDS
            .iter()
            .enumerate()
            .filter(move |(index, _)| self.bits & (1 << index) != 0)
            .map(|(_, name)| *name)
    }
}

impl Default for Binds {
    fn default() -> Self {
        Self::EVERYTHING
    }
}

impl fmt::Display for Binds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_everything() {
            write!(f, "{EVERY_FIELD:?}")
        } else {
            f.debug_list().entries(self.names()).finish()
        }
    }
}

impl fmt::Debug for Binds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl Serialize for Binds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            self.bits.serialize(serializer)
        } else if self.is_everything() {
            serializer.serialize_str(EVERY_FIELD)
        } else {
            serializer.collect_seq(self.names())
        }
    }
}

impl<'de> Deserialize<'de> for Binds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Text {
            One(String),
            Many(Vec<String>),
        }
        if !deserializer.is_human_readable() {
            let bits = u16::deserialize(deserializer)?;
            return Ok(Self { bits: bits & Self::EVERYTHING.bits });
        }
        let expected = || format!("expected \"{EVERY_FIELD}\" or a list of {}", FIELDS.join(", "));
        match Text::deserialize(deserializer) {
            Ok(Text::One(text)) if text == EVERY_FIELD => Ok(Self::EVERYTHING),
            Ok(Text::One(text)) => Err(D::Error::custom(format!("{text:?}: {}", expected()))),
            Ok(Text::Many(names)) => Self::only(names.iter().map(String::as_str))
                .map_err(|name| D::Error::custom(format!("{name:?}: {}", expected()))),
            Err(_) => Err(D::Error::custom(expected())),
        }
    }
}
