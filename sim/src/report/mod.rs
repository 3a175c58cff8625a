//! What people and programs are told: on a terminal, as JSON, as a timeline.

pub mod accept;
pub mod check;
pub mod json;
pub mod terminal;
pub mod timeline;
