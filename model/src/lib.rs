//! What must be true of worker takeover and operation identity.
//!
//! Everything here is pure: no sockets, no files, no clocks, no threads. The crate
//! `holdover` drives it on a simulated network; nothing here knows that.
//!
//! * [`identity`], [`resource`], [`lease`], [`envelope`], [`receipt`]: the words.
//! * [`intent`]: the immutable record of one intended effect, and its hash.
//! * [`event`]: the evidence vocabulary, in which roles, world and invariants meet.

pub mod envelope;
pub mod event;
pub mod identity;
pub mod intent;
pub mod lease;
pub mod receipt;
pub mod resource;
