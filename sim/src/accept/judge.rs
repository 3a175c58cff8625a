//! What one row of the acceptance table makes of one run.

use std::collections::BTreeSet;

use crate::world::Sight;

/// What a row makes of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The run did not come to what the row is about. It says nothing.
    NotExercised,
    /// It did, and the evidence that the row requires has not come.
    Open,
    /// It did, and the evidence is there.
    Right,
    /// It did, and the answer was wrong: what happened, in one sentence.
    Wrong(String),
}

/// Judges one row in one run. Open is not right: evidence that is missing stays missing.
pub trait Judge {
    /// Takes the next sight of the run.
    fn sees(&mut self, sight: &Sight<'_>);

    /// What is to be said so far.
    fn verdict(&self) -> Verdict;
}

/// The cases of a row in one run: a run can come to what the row is about more than once.
#[derive(Debug)]
pub(super) struct Docket<K> {
    open: BTreeSet<K>,
    right: usize,
    wrong: Option<String>,
}

impl<K> Default for Docket<K> {
    fn default() -> Self {
        Self { open: BTreeSet::new(), right: 0, wrong: None }
    }
}

impl<K: Ord + Clone> Docket<K> {
    /// The run comes to what the row is about.
    pub(super) fn open(&mut self, case: K) {
        self.open.insert(case);
    }

    /// The case comes to nothing, because something else has put an end to it.
    pub(super) fn drop(&mut self, case: &K) {
        self.open.remove(case);
    }

    /// All cases of a kind come to nothing.
    pub(super) fn drop_if(&mut self, comes_to_nothing: impl Fn(&K) -> bool) {
        self.open.retain(|case| !comes_to_nothing(case));
    }

    /// The evidence for an open case is there.
    pub(super) fn is_right(&mut self, case: &K) {
        self.right += usize::from(self.open.remove(case));
    }

    /// The answer to an open case was wrong.
    pub(super) fn is_wrong(&mut self, case: &K, what: impl FnOnce() -> String) {
        if self.open.remove(case) {
            self.wrong.get_or_insert_with(what);
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        match &self.wrong {
            Some(what) => Verdict::Wrong(what.clone()),
            None if !self.open.is_empty() => Verdict::Open,
            None if self.right > 0 => Verdict::Right,
            None => Verdict::NotExercised,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_never_counts_as_right() {
        let mut cases = Docket::default();
        assert_eq!(cases.verdict(), Verdict::NotExercised);
        cases.open(1);
        cases.open(2);
        cases.is_right(&1);
        assert_eq!(cases.verdict(), Verdict::Open, "the evidence for one of two is not enough");
        cases.is_right(&2);
        assert_eq!(cases.verdict(), Verdict::Right);
        cases.is_right(&3);
        cases.is_wrong(&3, || "nobody opened it".into());
        assert_eq!(cases.verdict(), Verdict::Right);
        cases.open(3);
        cases.is_wrong(&3, || "wrong".into());
        cases.open(4);
        cases.is_right(&4);
        assert_eq!(cases.verdict(), Verdict::Wrong("wrong".into()), "and wrong stays wrong");
    }

    #[test]
    fn a_case_that_comes_to_nothing_shows_nothing() {
        let mut cases = Docket::default();
        cases.open(1);
        cases.drop(&1);
        cases.is_right(&1);
        assert_eq!(cases.verdict(), Verdict::NotExercised);
        cases.open(2);
        cases.drop_if(|_| true);
        assert_eq!(cases.verdict(), Verdict::NotExercised);
    }
}
