//! Messages of a named kind, which a fault can lose or repeat.
//!
//! A network knows bytes. Where a queue loses one kind of message, or hands the same job out
//! twice, the code under test has to say what it is about to send: once, at the place where
//! it sends. Outside of a simulation every message is delivered once.

use std::time::Duration;

use crate::world::context;

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the sender has to do what it says"]
pub enum Delivery {
    /// It is sent.
    Once,
    /// It is not sent, and the sender takes it for sent.
    Never,
    /// It is sent, and sent once more after this time.
    AgainAfter(Duration),
}

/// Asks what becomes of a message of this kind that is about to be sent to a host.
///
/// ```
/// use holdover::message::{Delivery, delivery};
///
/// assert_eq!(delivery("worker-A", "perform"), Delivery::Once);
/// ```
pub fn delivery(to: &str, kind: &str) -> Delivery {
    context::with_current(|core, host| core.delivery(host, to, kind)).unwrap_or(Delivery::Once)
}
