//! The immutable record of one intended effect, and its hash.
//!
//! An operation id is only as good as the proof that two requests mean the same thing.
//! That proof is the *intent hash*: SHA-256 over a versioned prefix and the canonical
//! JSON (RFC 8785) of every field that changes authority or outcome. What describes an
//! attempt and not the effect (dispatch time, trace span, retry count, process id) has no
//! field here, so it cannot leak into the hash.

//!
//! A record comes in through [`Intent::from_json`], which refuses every text that two
//! readers could understand differently, and becomes evidence through [`Intent::seal`].

mod canonical;
mod digest;
mod error;
mod parse;
mod record;

pub use canonical::{IntentHash, SealedIntent};
pub use error::IntentError;
pub use record::{Intent, Payload, PayloadHash, Target};
