//! What a design claims. Only claims are checked.

use serde::{Deserialize, Serialize};

use crate::design::DesignError;
use crate::design::change::{Settings, names, words};
use crate::design::read::refusal;
use crate::design::setting::{SettingId, SettingSet};
use crate::design::vocabulary::{Section, Setting, Value};

/// What a design claims.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[expect(clippy::struct_excessive_bools, reason = "a claim is made or not")]
pub struct Guarantee {
    /// From which moment on the old holder cannot change the resource any more.
    pub fenced_from: FencedFrom,
    /// Whether an expired lease admits no effect, even if nobody succeeds to it.
    pub expiry: bool,
    /// Whether a revoked or released lease admits no effect, even if nobody succeeds to it.
    pub revocation: bool,
    /// Whether a successor takes over without a person.
    pub automatic_takeover: bool,
    /// Whether an intent keeps one operation id, whoever retries it.
    pub stable_identity: bool,
    /// Whether outcomes are definite: unknown leaves only by a reconcile, nothing completes
    /// without a receipt, and what counts as failed has no effect.
    pub definite_outcomes: bool,
    /// Whether an epoch that a worker made up admits no effect.
    pub rejects_invented_epochs: bool,
}

/// A claim that is made, if nothing is said, or is not.
macro_rules! truth {
    ($name:literal: $meaning:literal, true: $if_true:literal, false: $if_false:literal) => {
        Setting {
            name: $name,
            meaning: $meaning,
            values: &[
                Value { name: "true", meaning: $if_true },
                Value { name: "false", meaning: $if_false },
            ],
            listable: &[],
        }
    };
}

impl Guarantee {
    /// The section as data.
    pub const SECTION: Section = Section {
        name: "guarantee",
        meaning: "What a design claims. Only claims are checked.",
        settings: &[
            Setting {
                name: "fenced-from",
                meaning: "From which moment on the old holder cannot change the resource any more.",
                values: &[
                    Value {
                        name: "ready",
                        meaning: "The moment the successor is told that it is ready.",
                    },
                    Value {
                        name: "grant",
                        meaning: "The moment the authority records the new lease.",
                    },
                    Value {
                        name: "first-write",
                        meaning: "The moment the successor's first effect commits.",
                    },
                    Value {
                        name: "never",
                        meaning: "Nothing keeps an old write from landing: people have to.",
                    },
                ],
                listable: &[],
            },
            truth!(
                "expiry": "Whether an expired lease admits no effect, even if nobody succeeds to it.",
                true: "An effect under an expired lease is a violation.",
                false: "An expired lease may be used until somebody succeeds to it."
            ),
            truth!(
                "revocation":
                    "Whether a revoked or released lease admits no effect, even if nobody succeeds to it.",
                true: "An effect under a revoked or released lease is a violation.",
                false: "A revoked or released lease may be used until somebody succeeds to it."
            ),
            truth!(
                "automatic-takeover": "Whether a successor takes over without a person.",
                true: "A supervisor's suspicion is enough.",
                false: "Whoever holds the resource keeps it until a person decides."
            ),
            truth!(
                "stable-identity": "Whether an intent keeps one operation id, whoever retries it.",
                true: "A second operation id for an intent is a violation.",
                false: "A retry may be an operation of its own."
            ),
            truth!(
                "definite-outcomes":
                    "Whether outcomes are definite: unknown leaves only by a reconcile, nothing \
                     completes without a receipt, and what counts as failed has no effect.",
                true: "An outcome that is concluded from silence is a violation.",
                false: "Silence may be taken for an answer."
            ),
            truth!(
                "rejects-invented-epochs": "Whether an epoch that a worker made up admits no effect.",
                true: "An effect under an epoch that was never issued to its worker is a violation.",
                false: "Workers are taken to be honest about their epochs."
            ),
        ],
    };

    /// The claims in which two designs differ.
    pub(crate) fn differing(self, other: Self) -> SettingSet {
        let differs = [
            ("fenced-from", self.fenced_from != other.fenced_from),
            ("expiry", self.expiry != other.expiry),
            ("revocation", self.revocation != other.revocation),
            ("automatic-takeover", self.automatic_takeover != other.automatic_takeover),
            ("stable-identity", self.stable_identity != other.stable_identity),
            ("definite-outcomes", self.definite_outcomes != other.definite_outcomes),
            (
                "rejects-invented-epochs",
                self.rejects_invented_epochs != other.rejects_invented_epochs,
            ),
        ];
        let id = |name| SettingId::of(Self::SECTION.name, name);
        differs.iter().filter(|(_, differs)| *differs).map(|(name, _)| id(name)).collect()
    }

    /// These claims with another value for one of them, given as `claim=value`.
    ///
    /// # Errors
    ///
    /// When there is no such claim or value: one line with what would be accepted.
    pub fn demand(mut self, demand: &str) -> Result<Self, DesignError> {
        let unknown = |problem| DesignError::UnknownSetting { problem };
        let (name, word) = demand.split_once('=').ok_or_else(|| {
            unknown(format!("{demand:?} is not CLAIM=VALUE, such as fenced-from=grant"))
        })?;
        let claim = Self::SECTION.setting(name).ok_or_else(|| {
            let claims = Self::SECTION.settings.iter().map(|claim| claim.name);
            unknown(refusal(name, "a claim", claims))
        })?;
        let value = claim.value(word).ok_or_else(|| {
            let words = claim.values.iter().map(|value| value.name);
            unknown(format!("{name}: {}", refusal(word, "a value", words)))
        })?;
        self.set(name, value);
        Ok(self)
    }
}

names! { Guarantee {
    "fenced-from" => fenced_from,
    "expiry" => expiry,
    "revocation" => revocation,
    "automatic-takeover" => automatic_takeover,
    "stable-identity" => stable_identity,
    "definite-outcomes" => definite_outcomes,
    "rejects-invented-epochs" => rejects_invented_epochs,
} }

words! { FencedFrom {
    "ready" => Ready,
    "grant" => Grant,
    "first-write" => FirstWrite,
    "never" => Never,
} }

impl Default for Guarantee {
    fn default() -> Self {
        Self {
            fenced_from: FencedFrom::default(),
            expiry: true,
            revocation: true,
            automatic_takeover: true,
            stable_identity: true,
            definite_outcomes: true,
            rejects_invented_epochs: true,
        }
    }
}

/// From which moment on the old holder cannot change the resource any more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FencedFrom {
    /// The moment the authority records the new lease.
    Grant,
    /// The moment the successor is told that it is ready.
    #[default]
    Ready,
    /// The moment the successor's first effect commits.
    FirstWrite,
    /// No moment: nothing keeps an old write from landing.
    Never,
}
