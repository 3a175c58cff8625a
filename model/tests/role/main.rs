//! The roles together, message by message: the stories of the two articles, and what each
//! role does when things arrive late, twice or not at all.
//!
//! * `fixture`: the ten cases of the stale-worker article's fixture, for both safe designs.
//! * `takeover`: what else happens around a takeover.

mod cluster;
mod fixture;
mod host;
mod takeover;
