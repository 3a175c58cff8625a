//! One role, and what of it survives a crash.

use holdover_model::event::Event;
use holdover_model::role::{Actor, Context, Delay, Message, Output, Role, Signal};

/// A role and its durable twin: the role as it will be after a crash.
#[derive(Clone)]
pub(crate) struct Host<R> {
    live: R,
    kept: R,
}

/// What reaches a role.
#[allow(clippy::large_enum_variant, reason = "lives for one step")]
pub(crate) enum Input {
    Message(Actor, Message),
    Signal(Signal),
    /// It crashes and starts again.
    Start,
}

/// What a role wants done after a step, but for the records, which are kept already.
pub(crate) struct Done {
    pub(crate) events: Vec<Event>,
    pub(crate) sends: Vec<(Actor, Message)>,
    pub(crate) timers: Vec<(Delay, Signal)>,
}

impl<R: Role> Host<R> {
    pub(crate) fn new(role: R) -> Self {
        Self { kept: role.clone(), live: role }
    }

    pub(crate) fn role(&self) -> &R {
        &self.live
    }

    pub(crate) fn step(&mut self, context: Context<'_>, input: Input) -> Done {
        let mut output = Output::default();
        match input {
            Input::Message(from, message) => self.live.receive(context, from, message, &mut output),
            Input::Signal(signal) => self.live.signal(context, signal, &mut output),
            Input::Start => {
                self.live = self.kept.clone();
                self.live.resume(context, &mut output);
            }
        }
        for record in output.records.into_iter().chain(output.late_records) {
            self.kept.load(record);
        }
        let later = output.sends_later.into_iter().map(|(_, to, message)| (to, message));
        let sends = output.sends.into_iter().chain(later).collect();
        Done { events: output.events, sends, timers: output.timers }
    }
}
