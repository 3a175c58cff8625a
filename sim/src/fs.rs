//! The simulated disk as `std::fs`: change one import and the same code runs here.
//!
//! Each host has a disk of its own. What was synced survives a crash, the rest is lost; a
//! new file survives only if its directory was synced too ([`sync_dir`]).
//!
//! ```
//! // use std::fs::{File, OpenOptions};
//! use holdover::fs::{File, OpenOptions};
//! ```

pub use turmoil_fs::shim::std::fs::*;
