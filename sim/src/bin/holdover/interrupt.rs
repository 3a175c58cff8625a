//! Ctrl-C: the first asks for what has been found so far, the second ends at once.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Problem;

/// What a shell takes for "ended by an interrupt": 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// Is true from the first interrupt on.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Problem> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            process::exit(INTERRUPTED);
        }
        eprintln!("\ninterrupted: what has been found so far follows; once more ends at once");
    })?;
    Ok(flag)
}
