//! The steps of a counterexample as data: which message each is about, and when that was sent.
//!
//! A search only knows which messages are under way. That one of them was late, and how late,
//! shows only once a run is followed from its beginning.

use std::collections::BTreeMap;

use crate::check::action::Action;
use crate::check::space::{Space, receiver, sender};
use crate::role::{Actor, Signal};

/// A message, and when it was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Post {
    /// Which kind of message.
    pub kind: &'static str,
    /// Who has sent it.
    pub from: Actor,
    /// To whom.
    pub to: Actor,
    /// In which step it was sent, counted from 0; `None` if it was there from the beginning.
    pub sent_at: Option<usize>,
    /// The how-many-th of its kind from this sender it is, counted from 1.
    pub nth: u64,
}

/// What a step is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happening {
    /// A message is delivered.
    Delivery {
        /// The message.
        post: Post,
        /// Whether a copy of it stays under way.
        is_doubled: bool,
    },
    /// A message is lost.
    Loss(Post),
    /// A timer fires, or something happens from outside.
    Signal(Signal),
    /// The actor crashes and starts again.
    Crash,
    /// All clocks go on by one lease term.
    Term,
    /// The authority is backed up.
    BackUp,
    /// The authority is restored from its backup.
    Restore,
}

/// The messages under way, in the order in which they were sent.
#[derive(Clone, Default)]
pub(crate) struct Mail {
    under_way: Vec<(u32, Post)>,
    sent: BTreeMap<(Actor, &'static str), u64>,
}

impl Mail {
    /// Messages are sent.
    pub(crate) fn send(&mut self, space: &Space, letters: &[u32], sent_at: Option<usize>) {
        for number in letters {
            let letter = space.letter(*number);
            let kind = letter.message.kind();
            let from = space.system.speaker(sender(*number), &letter.message);
            let to = space.system.actors()[receiver(*number)].clone();
            let nth = self.sent.entry((from.clone(), kind)).or_default();
            *nth += 1;
            self.under_way.push((*number, Post { kind, from, to, sent_at, nth: *nth }));
        }
    }

    /// What an action is; the message that it is about is under way no more.
    pub(crate) fn happening(&mut self, space: &Space, action: Action) -> Happening {
        match action {
            Action::Deliver(letter) => {
                Happening::Delivery { post: self.take(letter), is_doubled: false }
            }
            Action::Duplicate(letter) => {
                let post = self.take(letter);
                self.under_way.push((letter, post.clone()));
                Happening::Delivery { post, is_doubled: true }
            }
            Action::Lose(letter) => Happening::Loss(self.take(letter)),
            Action::Signal(_, signal) => Happening::Signal(space.signal(signal).as_ref().clone()),
            Action::Crash(_) => Happening::Crash,
            Action::Tick => Happening::Term,
            Action::BackUp => Happening::BackUp,
            Action::Restore => Happening::Restore,
        }
    }

    /// What was sent and not delivered.
    pub(crate) fn under_way(self) -> Vec<Post> {
        self.under_way.into_iter().map(|(_, post)| post).collect()
    }

    fn take(&mut self, letter: u32) -> Post {
        let place = self.under_way.iter().position(|(number, _)| *number == letter);
        self.under_way.remove(place.expect("only what was sent is delivered")).1
    }
}
