//! What must be true of worker takeover and operation identity.
//!
//! Everything here is pure: no sockets, no files, no clocks, and no threads but those that search. The crate
//! `holdover` drives it on a simulated network; nothing here knows that.
//!
//! * [`identity`], [`resource`], [`lease`], [`envelope`], [`receipt`]: the words.
//! * [`intent`]: the immutable record of one intended effect, and its hash.
//! * [`event`]: the evidence vocabulary, in which roles, world and invariants meet.
//! * [`design`]: the safeguards as settings, each with the function that decides.
//! * [`role`]: the protocol as pure state machines that ask the design.
//! * [`invariant`]: what must hold, as folds over events.
//! * [`check`]: the exhaustive checker.
//! * [`ablate`]: which safeguards carry the load.
//! * [`repair`]: the smallest changes that make a design keep what it claims.
//! * [`parallel`]: independent searches on several threads.

pub mod ablate;
pub mod check;
pub mod design;
pub mod envelope;
pub mod event;
pub mod identity;
pub mod intent;
pub mod invariant;
pub mod lease;
pub mod parallel;
pub mod receipt;
pub mod repair;
pub mod resource;
pub mod role;
