//! The exhaustive checker: what it finds, and that another checker finds the same.

mod assumptions;
mod invariants;
mod plain;
mod reductions;
mod settings;
mod stateright;
mod verdicts;
