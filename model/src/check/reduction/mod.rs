//! Ways to look at fewer states and still see every violation.
//!
//! Each can be switched off, and each says in its file why it is sound.

pub(crate) mod dead_message;
pub(crate) mod partial_order;
pub(crate) mod symmetry;
