//! What will happen and when, in one total order.
//!
//! Two things at the same instant happen in the order in which they were scheduled: that
//! sequence number is what makes the order total, and with it every run repeatable.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A queue of happenings, ordered by time, then by when they were scheduled.
#[derive(Debug)]
pub(super) struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    next_sequence: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at_ns: u64,
    sequence: u64,
    what: T,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), next_sequence: 0 }
    }

    pub(super) fn push(&mut self, at_ns: u64, what: T) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.heap.push(Entry { at_ns, sequence, what });
    }

    /// When the next thing happens.
    pub(super) fn next_at_ns(&self) -> Option<u64> {
        self.heap.peek().map(|entry| entry.at_ns)
    }

    /// Everything that is to happen, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.heap.iter().map(|entry| &entry.what)
    }

    /// Takes the next thing that happens at exactly this time.
    pub(super) fn pop_at(&mut self, at_ns: u64) -> Option<T> {
        if self.next_at_ns() == Some(at_ns) {
            self.heap.pop().map(|entry| entry.what)
        } else {
            None
        }
    }
}

// Reversed, since `BinaryHeap` gives the greatest first and the earliest is wanted.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.sequence).cmp(&(self.at_ns, self.sequence))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_ties_keep_their_order() {
        let mut queue = Queue::new();
        for (at_ns, name) in [(5, "c"), (1, "a"), (5, "d"), (3, "b")] {
            queue.push(at_ns, name);
        }
        let mut order = Vec::new();
        while let Some(at_ns) = queue.next_at_ns() {
            order.extend(queue.pop_at(at_ns));
        }
        assert_eq!(order, ["a", "b", "c", "d"]);
    }
}
