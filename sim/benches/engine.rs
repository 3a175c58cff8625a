//! The engine beside turmoil.

fn main() {}
