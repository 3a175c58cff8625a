//! What can happen next, and how a timeline says it.

use crate::check::space::Space;
use crate::lease::Epoch;
use crate::role::worker::Stage;
use crate::role::{Actor, Signal};

/// One choice of the search, on numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// A message is delivered.
    Deliver(u32),
    /// A message is delivered, and a copy of it stays under way.
    Duplicate(u32),
    /// A message is lost.
    Lose(u32),
    /// A signal reaches the role in a slot.
    Signal(u8, u32),
    /// The role in a slot crashes and starts again.
    Crash(u8),
    /// The clock goes on by one lease term.
    Tick,
    /// The authority's records are copied.
    BackUp,
    /// The authority starts again with the copied records.
    Restore,
}

impl Action {
    /// To whom it happens.
    pub(crate) fn actor(self, space: &Space) -> Option<&Actor> {
        let actors = space.system.actors();
        match self {
            Self::Deliver(letter) | Self::Duplicate(letter) | Self::Lose(letter) => {
                actors.get(crate::check::space::receiver(letter))
            }
            Self::Signal(slot, _) | Self::Crash(slot) => actors.get(usize::from(slot)),
            Self::BackUp | Self::Restore => actors.iter().find(|actor| **actor == Actor::Authority),
            Self::Tick => None,
        }
    }

    /// The action in words, after the name of its actor.
    pub(crate) fn describe(self, space: &Space) -> String {
        let letter = |number| {
            let letter = space.letter(number);
            let from = space.system.speaker(usize::from(letter.from), &letter.message);
            (letter.message.kind(), from.name().to_owned())
        };
        match self {
            Self::Deliver(number) => {
                let (kind, from) = letter(number);
                format!("receives {kind} from {from}")
            }
            Self::Duplicate(number) => {
                let (kind, from) = letter(number);
                format!("receives {kind} from {from}, and a copy stays under way")
            }
            Self::Lose(number) => {
                let (kind, from) = letter(number);
                format!("never receives {kind} from {from}: it is lost")
            }
            Self::Signal(_, number) => describe_signal(&space.signal(number)),
            Self::Crash(_) => "crashes and starts again".into(),
            Self::Tick => "a lease term passes".into(),
            Self::BackUp => "is backed up".into(),
            Self::Restore => "is restored from its backup".into(),
        }
    }
}

fn describe_signal(signal: &Signal) -> String {
    let under = |Epoch(epoch): Epoch| format!("epoch {epoch}");
    match signal {
        Signal::LeaseDeadline(resource, epoch) => {
            format!("sees the term of {} on {resource} end", under(*epoch))
        }
        Signal::FenceResend(resource, epoch) => {
            format!("repeats the fence of {} on {resource}", under(*epoch))
        }
        Signal::Revoke(resource) => format!("is told to revoke the lease on {resource}"),
        Signal::JobTimeout(_, Stage::InFlight(attempt)) => {
            format!("waits no longer for the answer to {attempt}")
        }
        Signal::JobTimeout(_, stage) => format!("asks again {}", describe_stage(*stage)),
        Signal::RenewalDue(resource, epoch) => {
            format!("is due to renew {} on {resource}", under(*epoch))
        }
        Signal::LeaseIdle(resource, epoch) => {
            format!("finds {} on {resource} unused", under(*epoch))
        }
        Signal::LeaseLapsed(resource, epoch) => {
            format!("sees {} on {resource} lapse by its own clock", under(*epoch))
        }
        Signal::Restored(times) => format!("is restored for the {times}. time"),
        Signal::InventEpoch(resource) => format!("claims a higher epoch on {resource}"),
        Signal::Effect(operation_id, attempt) => {
            format!("lets {operation_id} {attempt} have its effect")
        }
        Signal::Recreate(resource) => format!("has {resource} deleted and made anew"),
        Signal::Misconfigure => "has its fence misconfigured".into(),
        Signal::Forget(operation_id) => format!("forgets {operation_id}"),
        Signal::Insert(_, worker) => format!("inserts what {worker} has claimed"),
        Signal::Suspect(worker) => format!("suspects {worker}"),
        Signal::Begin(_) => "begins".into(),
        Signal::TaskTimeout(_, 0) => "reads again".into(),
        Signal::TaskTimeout(..) => "waits no longer and asks the next worker".into(),
    }
}

fn describe_stage(stage: Stage) -> String {
    match stage {
        Stage::Acquiring => "for the lease".into(),
        Stage::Reading => "for the resource's state".into(),
        Stage::LookingUp => "whether the intent is known".into(),
        Stage::Claiming => "which operation this is".into(),
        Stage::Marking(after) => format!("to record the try after {after}"),
        Stage::Confirming(_) => "whether the lease is current".into(),
        Stage::InFlight(attempt) | Stage::Reconciling(attempt) => {
            format!("what became of {attempt}")
        }
        Stage::Closing(attempt) => format!("to record that nothing follows {attempt}"),
        Stage::Settling(attempt, _) => format!("to record the fate of {attempt}"),
    }
}
