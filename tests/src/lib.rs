//! What the tests in `tests/` have in common.

mod diary;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

pub use diary::{Diary, Entry};
use holdover::world::{RunEnd, World};

/// Runs code on a new host of a world for ten simulated seconds, and gives what it returned.
///
/// # Panics
///
/// When the run ends before that, or the code does not.
pub fn result_on<T: 'static, F: Future<Output = T> + 'static>(
    world: &mut World,
    host: &str,
    code: impl Fn() -> F + 'static,
) -> T {
    let result = Rc::new(RefCell::new(None));
    let (slot, code) = (Rc::clone(&result), Rc::new(code));
    world.host(host, move || {
        let (code, slot) = (Rc::clone(&code), Rc::clone(&slot));
        async move {
            let output = code().await;
            *slot.borrow_mut() = Some(output);
        }
    });
    assert_eq!(world.run_for(Duration::from_secs(10)), RunEnd::Deadline);
    result.take().expect("the code has finished")
}
