//! The roles together, message by message: the stories of the two articles, and what each
//! role does when things arrive late, twice or not at all.
//!
//! Of the stale-worker article:
//!
//! * `fixture`: the ten cases of its fixture, for both safe designs.
//! * `takeover`: what else its acceptance table asks of a takeover.
//!
//! Of the operation-identity article:
//!
//! * `race`: its four cases.
//! * `collision`: its collision receipt, and what a collision stops.
//! * `ledger`: an operation's life, from its claim until it is forgotten.
//! * `reconcile`: what follows an unknown outcome.

mod cluster;
mod collision;
mod fixture;
mod host;
mod ledger;
mod race;
mod reconcile;
mod takeover;
