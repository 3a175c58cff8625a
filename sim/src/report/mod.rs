//! What people and programs are told: on a terminal, as JSON, as a timeline.

pub mod ablate;
pub mod accept;
pub mod check;
mod in_world;
pub mod json;
mod phrase;
pub mod repair;
mod simulated;
mod table;
pub mod terminal;
pub mod timeline;

pub use in_world::{InWorld, InWorldReport};
pub use simulated::{simulated, simulated_summary};
