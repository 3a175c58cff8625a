//! A diary of what hosts did, and when: the effect of a fault on code that knows nothing of it.

use std::cell::RefCell;
use std::rc::Rc;

use holdover::world;

/// What a host did, after the simulated millisecond in which it did it.
pub type Entry = (u64, String);

/// What hosts did, in order. Clones are the same diary.
#[derive(Clone, Default)]
pub struct Diary(Rc<RefCell<Vec<Entry>>>);

impl Diary {
    /// Notes what a host does now.
    ///
    /// # Panics
    ///
    /// When this is no host.
    pub fn note(&self, what: impl Into<String>) {
        // By the world's own time: the clocks of hosts may lie.
        let since_start = world::since_start().expect("only hosts keep a diary");
        let at_ms = u64::try_from(since_start.as_millis()).expect("no run takes so long");
        self.0.borrow_mut().push((at_ms, what.into()));
    }

    /// All of it.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.borrow().clone()
    }

    /// When this was noted.
    pub fn times(&self, what: &str) -> Vec<u64> {
        self.0.borrow().iter().filter(|entry| entry.1 == what).map(|entry| entry.0).collect()
    }

    /// Compares all of it.
    ///
    /// # Panics
    ///
    /// When it says something else.
    #[track_caller]
    pub fn says(&self, expected: &[(u64, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(at, what)| (*at, (*what).into())).collect();
        assert_eq!(*self.0.borrow(), expected);
    }
}
