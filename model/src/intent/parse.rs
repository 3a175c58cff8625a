//! The strict reading of an intent.
//!
//! The rule behind every refusal: **what is accepted hashes as it was written**. A client
//! that canonicalises its own text with any RFC 8785 library gets the bytes that are
//! computed here. So nothing is optional, nothing is ignored, nothing is rounded, and no
//! number or digest has two forms. Objects are closed and hold no free-form values, which
//! also bounds how deep a text can nest.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::canonical::LARGEST_EXACT;
use super::{Intent, IntentError, PayloadHash, Target};
use crate::identity::{ApprovalId, RunId, StepId};
use crate::resource::{Incarnation, ResourceVersion, Version};

impl Intent {
    /// Reads a record as a client sends it to the gateway.
    ///
    /// Every field must be there exactly once, `expected_version` as `null` if the effect
    /// depends on no earlier state: a left-out field and a `null` are two texts and would
    /// have to be two hashes. Everything else is refused: other fields, floats, numbers
    /// beyond 2^53-1, lone surrogates, text after the record.
    ///
    /// ```
    /// use holdover_model::intent::Intent;
    ///
    /// let refused = Intent::from_json(r#"{"run_id": "cc-9021", "retry_count": 2}"#);
    /// assert_eq!(
    ///     refused.unwrap_err().to_string(),
    ///     "not an intent (line 1, column 35): unknown field \"retry_count\": \
    ///      what describes an attempt (dispatch time, trace span, retry count, process id) \
    ///      is no part of the intended effect; expected only run_id, step_id, principal, \
    ///      target, method, payload_hash, expected_version, approval_id, policy_version",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// When the text is not exactly one intent: what is wrong, where, and what is expected.
    pub fn from_json(text: &str) -> Result<Self, IntentError> {
        serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let problem = error.to_string();
            let place = format!(" at line {line} column {column}");
            let problem = problem.strip_suffix(&place).unwrap_or(&problem);
            IntentError::Text { line, column, problem: shortened(problem) }
        })
    }
}

/// Implements `Deserialize` for a struct as a closed object: every field once, no others.
///
/// Not derived, because a derived reader takes an absent `Option` for `None`, takes an
/// array of values for an object, and does not say which field a value was for.
macro_rules! closed_object {
    ($object:ident { $($field:ident: $read:ty),+ $(,)? }) => {
        impl<'de> Deserialize<'de> for $object {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const FIELDS: &[&str] = &[$(stringify!($field)),+];

                struct Members;

                impl<'de> Visitor<'de> for Members {
                    type Value = $object;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "an object with {}", FIELDS.join(", "))
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$object, A::Error> {
                        $(let mut $field: Option<$read> = None;)+
                        while let Some(name) = map.next_key::<String>()? {
                            match name.as_str() {
                                $(stringify!($field) => {
                                    if $field.is_some() {
                                        return Err(duplicate(stringify!($field)));
                                    }
                                    let value = map.next_value();
                                    $field = Some(value.map_err(|e| within(stringify!($field), &e))?);
                                })+
                                other => return Err(unknown(other, FIELDS)),
                            }
                        }
                        Ok($object {
                            $($field: $field.ok_or_else(|| missing(stringify!($field)))?.into(),)+
                        })
                    }

                    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<$object, A::Error> {
                        Ok($object {
                            $($field: seq
                                .next_element::<$read>()?
                                .ok_or_else(|| missing(stringify!($field)))?
                                .into(),)+
                        })
                    }
                }

                if deserializer.is_human_readable() {
                    deserializer.deserialize_map(Members)
                } else {
                    deserializer.deserialize_struct(stringify!($object), FIELDS, Members)
                }
            }
        }
    };
}

closed_object!(Intent {
    run_id: RunId,
    step_id: StepId,
    principal: String,
    target: Target,
    method: String,
    payload_hash: PayloadHash,
    expected_version: ExpectedVersion,
    approval_id: ApprovalId,
    policy_version: String,
});

closed_object!(Target { system: String, environment: String, resource: String });

closed_object!(State { incarnation: Exact, version: Exact });

/// A [`ResourceVersion`] as an intent may hold it.
struct State {
    incarnation: Exact,
    version: Exact,
}

struct ExpectedVersion(Option<ResourceVersion>);

impl From<ExpectedVersion> for Option<ResourceVersion> {
    fn from(expected: ExpectedVersion) -> Self {
        expected.0
    }
}

impl<'de> Deserialize<'de> for ExpectedVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let state = Option::<State>::deserialize(deserializer)?;
        Ok(Self(state.map(|State { incarnation, version }| ResourceVersion {
            incarnation: Incarnation(incarnation.0),
            version: Version(version.0),
        })))
    }
}

/// A whole number that every reader of JSON sees as the same number.
struct Exact(u64);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WholeNumber;

        impl Visitor<'_> for WholeNumber {
            type Value = Exact;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a whole number from 0 to 2^53-1 ({LARGEST_EXACT}), without sign, fraction or exponent"
                )
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Exact, E> {
                if value > LARGEST_EXACT {
                    return Err(E::custom(format_args!(
                        "the number {value} is too large, expected {}",
                        &self as &dyn serde::de::Expected,
                    )));
                }
                Ok(Exact(value))
            }

            /// For formats that have only signed numbers.
            fn visit_i64<E: Error>(self, value: i64) -> Result<Exact, E> {
                match u64::try_from(value) {
                    Ok(value) => self.visit_u64(value),
                    Err(_) => Err(E::custom(format_args!(
                        "the number {value} is negative, expected {}",
                        &self as &dyn serde::de::Expected,
                    ))),
                }
            }

            /// The value is not repeated: it may already be rounded.
            fn visit_f64<E: Error>(self, _: f64) -> Result<Exact, E> {
                Err(E::custom(format_args!(
                    "the number has a sign, a fraction or an exponent, or is too large, expected {}",
                    &self as &dyn serde::de::Expected,
                )))
            }
        }

        deserializer.deserialize_u64(WholeNumber)
    }
}

fn unknown<E: Error>(name: &str, fields: &[&str]) -> E {
    E::custom(format_args!(
        "unknown field {:?}: what describes an attempt (dispatch time, trace span, retry count, \
         process id) is no part of the intended effect; expected only {}",
        shortened(name),
        fields.join(", "),
    ))
}

fn duplicate<E: Error>(field: &str) -> E {
    E::custom(format_args!("duplicate field \"{field}\": expected once, however it is escaped"))
}

fn missing<E: Error>(field: &str) -> E {
    let hint = match field {
        "expected_version" => "; write null for an effect that depends on no earlier state",
        _ => "",
    };
    E::custom(format_args!("missing field \"{field}\": no field has a default{hint}"))
}

/// The same error with the field that it is about. `serde_json` finds the place at the end
/// of the message and keeps it.
fn within<E: Error>(field: &str, error: &E) -> E {
    E::custom(format_args!("{field}: {error}"))
}

/// A message that repeats a long text of the client, without the middle of it.
fn shortened(text: &str) -> String {
    const HEAD: usize = 100;
    const TAIL: usize = 300;
    let length = text.chars().count();
    if length <= HEAD + TAIL {
        return text.to_owned();
    }
    let head = text.chars().take(HEAD);
    head.chain(" ... ".chars()).chain(text.chars().skip(length - TAIL)).collect()
}
