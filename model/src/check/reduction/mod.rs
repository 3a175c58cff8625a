//! Ways to look at fewer states and still see every violation.
//!
//! Each can be switched off, and each says in its file why it is sound.

use crate::check::Reductions;
use crate::check::bounds::Bounds;
use crate::design::Design;

pub(crate) mod dead_message;
pub(crate) mod partial_order;
pub(crate) mod symmetry;

/// How a space is looked at: with which reductions, and by which of their rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Manner {
    pub(crate) reductions: Reductions,
    pub(crate) rules: dead_message::Rules,
}

impl Manner {
    /// As few states as a design within a bound allows, of the reductions that are wanted.
    pub(crate) fn of(design: &Design, bounds: &Bounds, wanted: Reductions) -> Self {
        let reductions = Reductions {
            dead_messages: wanted.dead_messages && dead_message::is_argued_for(design, bounds),
            partial_order: wanted.partial_order && partial_order::is_argued_for(design, bounds),
            ..wanted
        };
        Self { reductions, rules: dead_message::Rules::of(design, bounds) }
    }

    /// What both allow.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        let (a, b) = (self.reductions, other.reductions);
        let reductions = Reductions {
            dead_messages: a.dead_messages && b.dead_messages,
            symmetry: a.symmetry && b.symmetry,
            partial_order: a.partial_order && b.partial_order,
        };
        Self { reductions, rules: self.rules.and(other.rules) }
    }
}
