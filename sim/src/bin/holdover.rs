//! The `holdover` command.

fn main() {}
