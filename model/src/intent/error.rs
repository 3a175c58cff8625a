//! Why something cannot be an intent.

use super::canonical::LARGEST_EXACT;

/// Why a text or a record cannot be an intent.
#[derive(Debug, thiserror::Error)]
pub enum IntentError {
    /// The text is not an intent.
    #[error("not an intent (line {line}, column {column}): {problem}")]
    Text {
        /// The line of the text, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// The field, what is wrong with it and what is expected there.
        problem: String,
    },
    /// A number that not every reader of JSON sees as the same number. The canonical form
    /// rounds it, and two intents that differ would share a hash.
    #[error(
        "{field} is {value}: canonical JSON keeps whole numbers exact only up to 2^53-1 ({LARGEST_EXACT})"
    )]
    Inexact {
        /// The field, with its path.
        field: &'static str,
        /// What it holds.
        value: u64,
    },
    /// A name that would make two targets one resource.
    #[error(
        "{field} is {value:?}: a slash would let it run into the next part of the resource's name; \
         only target.resource may have slashes"
    )]
    Slash {
        /// The field, with its path.
        field: &'static str,
        /// What it holds.
        value: String,
    },
    /// The record has no canonical form.
    #[error("the intent has no canonical form: {0}")]
    Canonical(#[from] serde_json::Error),
}
