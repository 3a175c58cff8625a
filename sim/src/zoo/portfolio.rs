//! The bounds that a design is checked within if nothing else is said.
//!
//! Budgets multiply, so the faults are not all allowed at once: each bound puts its budget on
//! faults that meet in reports, the smallest first, so that what is broken is found soon and
//! what is safe is looked at from every side.

use holdover_model::check::{Bounds, Budget};

/// Every bound of the portfolio, the smallest first.
pub fn portfolio() -> Vec<Bounds> {
    let one = || Bounds { operations: 1, ..Bounds::default() };
    let two = Bounds::default;
    vec![
        one().with(Budget::Takeovers, 1),
        one().with(Budget::Expiries, 1).with(Budget::Revocations, 1),
        two(),
    ]
}
