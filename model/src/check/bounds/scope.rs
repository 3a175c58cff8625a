//! Within which bounds designs are judged, if there are many of them.

use crate::check::bounds::{Bounds, portfolio, small_portfolio};
use crate::design::Design;

/// Within which bounds designs are judged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// Those that a check goes through if nothing else is said: see [`portfolio`].
    #[default]
    Portfolio,
    /// Small ones, for many designs: see [`small_portfolio`].
    Small,
    /// These.
    Own(Vec<Bounds>),
}

impl Scope {
    /// The bounds for one design, in the order in which they are explored.
    pub fn bounds(&self, design: &Design) -> Vec<Bounds> {
        match self {
            Self::Portfolio => portfolio(design),
            Self::Small => small_portfolio(design),
            Self::Own(bounds) => bounds.clone(),
        }
    }
}
