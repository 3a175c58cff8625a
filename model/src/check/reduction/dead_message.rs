//! Removal of messages that can never matter again.
//!
//! **Why it is sound.** A message is removed only if its delivery, now or at any later
//! time, would change no role and no invariant's memory, and what it would send is itself
//! such a message or equals one that is still under way. Then every run with the message
//! is matched by the run in which it stays undelivered for ever. Each rule rests on
//! something that only grows:
//!
//! * *The fate of one try* (applied, rejected). A worker heeds it only while that try is in
//!   flight. It sends a try when the ledger says so, and the ledger, which has one entry for
//!   each intent and whose count of tries never goes back, says so once; so the fate is dead
//!   if that try is not in flight now, and no word of the ledger is under way to the worker.
//! * *The fate of all tries up to one* (reconciled). A worker heeds it only while it waits
//!   for just that. Which try that is, it learns from the ledger; so the fate is dead if it
//!   does not wait for it now, the ledger has gone on to a later try or closed the
//!   operation, and no older word of the ledger is under way to that worker.
//! * *Anything else about an intent* to a worker that has no job for it, and to which no
//!   request for it is or can come under way.
//! * *A lease* with an earlier epoch than one that its worker has held since it started,
//!   if that worker cannot crash any more.
//! * *Refusals and leases* to a worker that has no job at all, likewise: it would hold a
//!   lease and do nothing with it.
//! * *A question for a resource's state*, if the answer is dead.
//! * *Mutations and questions* about a try that the destination has closed: it changes
//!   nothing any more, and the answer is a dead fate.
//! * *Leases* (release, renew, take over) that name an epoch which is no longer current:
//!   epochs are issued once. The same holds for the destination's word about its fence.
//! * *Words to the fence* that it has heard already: they change nothing, and the answer
//!   was given when the fence changed. It matters only if it is still under way, for none
//!   is lost and the authority does not forget.
//!
//! Where a design or a bound breaks what a rule rests on, the rule is not used: see
//! [`Rules`].
//!
//! What is removed can no longer help to settle an operation. Settling is therefore judged
//! a little too strictly, never too mildly.

use crate::check::bounds::{Bounds, Budget, Consents};
use crate::check::component::Machine;
use crate::check::lens::{InputNumber, Lens};
use crate::check::space::{Purse, receiver, sender};
use crate::design::Design;
use crate::design::fence::{Advance, EnforcedAt, FenceSettings};
use crate::design::identity::IdentitySettings;
use crate::design::recovery::{OnTimeout, RecoverySettings, Resend};
use crate::intent::IntentHash;
use crate::role::Message;
use crate::role::relevance::Fate;

/// Which rules a design and a bound allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
pub(crate) struct Rules {
    /// One entry in the ledger for each intent, and its count of tries never goes back.
    pub(crate) ledger_is_sole: bool,
    /// The jobs of a worker have nothing to do with each other but for the lease that it
    /// holds: they make up no ids, and none waits for a word, or sends anything again after one,
    /// that another one asked for.
    pub(crate) jobs_are_apart: bool,
    /// An epoch that has gone never comes back.
    pub(crate) epochs_are_new: bool,
    /// The fence's answer reaches the authority, which does not forget it.
    pub(crate) fence_is_heard: bool,
    /// A worker neither renews a lease nor gives it back before its jobs are done.
    pub(crate) leases_stay: bool,
}

impl Rules {
    /// The rules for a design within a bound.
    pub(crate) fn of(design: &Design, bounds: &Bounds) -> Self {
        let budgets = &bounds.budgets;
        let is_argued = is_argued_for(design, bounds);
        let epochs_are_new = is_argued && budgets[Budget::Restores] == 0;
        let ledger_is_sole = is_argued && design.identity == IdentitySettings::default();
        Self {
            leases_stay: budgets[Budget::Renewals] == 0 && budgets[Budget::Idles] == 0,
            ledger_is_sole,
            jobs_are_apart: ledger_is_sole
                && design.fence.enforced_at != EnforcedAt::Adapter
                && design.recovery.resend == Resend::OnePlace,
            epochs_are_new,
            fence_is_heard: epochs_are_new
                && budgets[Budget::Losses] == 0
                && budgets[Budget::AuthorityCrashes] == 0,
        }
    }
}

impl Rules {
    /// The rules that are in both.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            ledger_is_sole: self.ledger_is_sole && other.ledger_is_sole,
            jobs_are_apart: self.jobs_are_apart && other.jobs_are_apart,
            epochs_are_new: self.epochs_are_new && other.epochs_are_new,
            fence_is_heard: self.fence_is_heard && other.fence_is_heard,
            leases_stay: self.leases_stay && other.leases_stay,
        }
    }
}

/// Whether the arguments above were made for a design: they are about how roles behave that
/// differ from the safe ones in these settings only, where nobody else touches what the
/// destination keeps.
///
/// Where a try is sent again by a second path, that is done while it is in flight: its fate is
/// dead no sooner and no later.
pub(crate) fn is_argued_for(design: &Design, bounds: &Bounds) -> bool {
    let safe = Design::default();
    let fence = FenceSettings {
        enforced_at: design.fence.enforced_at,
        check: design.fence.check,
        advance: match design.fence.advance {
            // In one store a fence cannot be late, and there are fewer messages.
            Advance::WithGrant if design.fence.asked().is_co_located() => Advance::WithGrant,
            Advance::OnFirstWrite => Advance::OnFirstWrite,
            _ => safe.fence.advance,
        },
        ..safe.fence
    };
    let identity = IdentitySettings {
        allocated_by: design.identity.allocated_by,
        on_mismatch: design.identity.on_mismatch,
        ..safe.identity
    };
    let recovery = RecoverySettings {
        on_timeout: match design.recovery.on_timeout {
            OnTimeout::AssumeFailed => OnTimeout::AssumeFailed,
            _ => safe.recovery.on_timeout,
        },
        resend: design.recovery.resend,
        ..safe.recovery
    };
    let is_undisturbed = [
        Budget::Recreations,
        Budget::Misconfigurations,
        Budget::Forgettings,
        Budget::InventedEpochs,
    ]
    .iter()
    .all(|budget| bounds.budgets[*budget] == 0);
    // A consent that several operations share ties them together in the ledger.
    is_undisturbed
        && bounds.consents != Consents::Shared
        && design.fence == fence
        && design.identity == identity
        && design.recovery == recovery
        && design.authority == safe.authority
        && design.lease == safe.lease
        && design.destination == safe.destination
}

/// What a message is, as far as reductions care.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A request for an effect, to a worker.
    Perform,
    /// The ledger's word, to a worker.
    View,
    /// The destination's word about tries.
    Fate(Fate),
    /// To the ledger.
    ToLedger,
    /// A try, or a question about tries, to the destination.
    ToDestination,
    /// About a lease of the past, perhaps: to the authority.
    Lease,
    /// Between supervisor and authority.
    Supervision,
    /// To the fence.
    Admit,
    /// An answer to an agent.
    Answered,
    /// A resource's state.
    State,
    /// A question for it.
    Read,
    /// A lease.
    Ready,
    /// Whether a lease is current: a question or its answer.
    Confirmation,
    /// The destination's word about its fence.
    Fence,
    /// A request for a lease.
    Acquire,
    /// Its refusal.
    Denied,
}

impl Kind {
    /// Whether somebody has asked for it, and may wait for it no longer.
    pub(crate) fn is_reply(self) -> bool {
        match self {
            Self::View
            | Self::Fate(_)
            | Self::Answered
            | Self::State
            | Self::Confirmation
            | Self::Fence
            | Self::Denied => true,
            Self::Perform
            | Self::ToLedger
            | Self::ToDestination
            | Self::Lease
            | Self::Supervision
            | Self::Admit
            | Self::Read
            | Self::Ready
            | Self::Acquire => false,
        }
    }
}

/// What a message is, and which intent it is about.
pub(crate) fn classify(message: &Message) -> (Kind, Option<IntentHash>) {
    match message {
        Message::Perform { intent, .. } => (Kind::Perform, Some(intent.hash())),
        Message::Entry { intent_hash, .. }
        | Message::NotFound { intent_hash }
        | Message::MayDispatch { intent_hash, .. } => (Kind::View, Some(*intent_hash)),
        Message::Applied { intent_hash, attempt_id, .. }
        | Message::Rejected { intent_hash, attempt_id, .. } => {
            (Kind::Fate(Fate::OfTry(*attempt_id)), Some(*intent_hash))
        }
        Message::Reconciled { intent_hash, attempt_id, .. } => {
            (Kind::Fate(Fate::UpTo(*attempt_id)), Some(*intent_hash))
        }
        Message::Claim { intent, .. } => (Kind::ToLedger, Some(intent.hash())),
        Message::LookUp { intent_hash }
        | Message::Dispatch { intent_hash, .. }
        | Message::Settle { intent_hash, .. }
        | Message::Close { intent_hash, .. } => (Kind::ToLedger, Some(*intent_hash)),
        Message::Apply { envelope, .. } => (Kind::ToDestination, Some(envelope.intent_hash)),
        Message::Reconcile { intent_hash, .. } => (Kind::ToDestination, Some(*intent_hash)),
        Message::Release { .. } | Message::Renew { .. } => (Kind::Lease, None),
        Message::Admitted { .. } => (Kind::Fence, None),
        Message::Confirm { .. } | Message::Confirmed { .. } => (Kind::Confirmation, None),
        Message::Inspect { .. } | Message::Holding { .. } | Message::TakeOver { .. } => {
            (Kind::Supervision, None)
        }
        Message::Admit { .. } => (Kind::Admit, None),
        Message::Answered { intent_hash, .. } => (Kind::Answered, Some(*intent_hash)),
        Message::State { intent_hash, .. } => (Kind::State, *intent_hash),
        Message::Read { intent_hash, .. } => (Kind::Read, *intent_hash),
        Message::Ready { .. } => (Kind::Ready, None),
        Message::Acquire { .. } => (Kind::Acquire, None),
        Message::Denied { .. } => (Kind::Denied, None),
    }
}

/// Whether the receiver by itself can tell that a message about a lease, to the fence, or
/// to the destination will change nothing there, whenever it comes: a worker, as long as it
/// does not crash.
pub(crate) fn is_done_with(receiver: &Machine, message: &Message) -> bool {
    if let Some(authority) = receiver.authority() {
        return match message {
            Message::Release { resource, epoch }
            | Message::Renew { resource, epoch, .. }
            | Message::TakeOver { resource, epoch, .. } => {
                let (current, last) = authority.epochs(resource);
                current != Some(*epoch) && *epoch <= last
            }
            Message::Admitted { resource, epoch, sealed } => {
                authority.has_done_with(resource, *epoch, *sealed)
            }
            _ => false,
        };
    }
    if let (Some(worker), Message::Ready { lease }) = (receiver.worker(), message) {
        return worker.has_moved_beyond(lease);
    }
    let Some(destination) = receiver.destination() else { return false };
    match message {
        Message::Admit { resource, epoch, holder } => {
            destination.cell(resource).fence.covers(*epoch, holder.is_none())
        }
        Message::Apply { envelope, .. } => {
            destination.has_effect(&envelope.operation_id)
                || destination.has_closed(&envelope.operation_id, envelope.attempt_id)
        }
        Message::Reconcile { operation_id, attempt_id, .. } => {
            destination.has_effect(operation_id)
                || destination.has_closed(operation_id, *attempt_id)
        }
        _ => false,
    }
}

impl Lens<'_> {
    /// Removes every dead message of a state that ends `words`.
    pub(crate) fn remove_dead_messages(
        &mut self,
        words: &mut Vec<u32>,
        start: usize,
        purse: Purse,
    ) {
        let first = start + self.space.head();
        let mut place = first;
        // Without one message another may be dead too, so every removal starts anew.
        while place < words.len() {
            if self.is_dead(&words[start..], words[place], purse) {
                words.remove(place);
                place = first;
            } else {
                place += 1;
            }
        }
    }

    fn is_dead(&mut self, state: &[u32], letter: u32, purse: Purse) -> bool {
        let (rules, slot) = (self.space.rules, receiver(letter));
        let facts = self.facts(letter);
        match facts.kind {
            Kind::View => self.is_stranger(state, slot, facts.key, purse),
            Kind::State => {
                !self.space.is_agent(slot) && self.is_stranger(state, slot, facts.key, purse)
            }
            Kind::Denied => self.is_retired(state, slot, purse),
            Kind::Ready => {
                let is_disregarded = purse.left[Budget::WorkerCrashes] == 0
                    && self.is_done_with(state[slot], letter);
                is_disregarded || rules.leases_stay && self.is_retired(state, slot, purse)
            }
            Kind::Read => {
                let asker = sender(letter);
                !self.space.is_agent(asker) && self.is_stranger(state, asker, facts.key, purse)
            }
            Kind::Fate(fate) => self.is_dead_fate(state, slot, facts.key, fate, purse),
            Kind::ToDestination => {
                self.is_answered_already(state, letter, purse)
                    && facts.answer.is_some_and(|fate| {
                        self.is_dead_fate(state, sender(letter), facts.key, fate, purse)
                    })
            }
            Kind::Lease | Kind::Fence | Kind::Supervision => {
                rules.epochs_are_new && self.is_done_with(state[slot], letter)
            }
            Kind::Admit => rules.fence_is_heard && self.is_done_with(state[slot], letter),
            _ => false,
        }
    }

    /// Whether what the destination says to a message is settled: to hear it changes nothing.
    pub(crate) fn is_answered_already(&mut self, state: &[u32], letter: u32, purse: Purse) -> bool {
        let slot = receiver(letter);
        if !self.is_done_with(state[slot], letter) {
            return false;
        }
        let outcome = self.step(slot, state[slot], purse.tick, InputNumber::Letter(letter));
        let monitor = state[self.space.slots()];
        outcome.component == state[slot] && self.observe(monitor, outcome.events) == monitor
    }

    /// Whether a worker has no job and will never have one.
    fn is_retired(&mut self, state: &[u32], worker: usize, purse: Purse) -> bool {
        self.is_idle(state[worker]) && !self.job_can_come(state, purse, worker)
    }

    /// Whether a worker has no job for an intent and will never have one.
    fn is_stranger(&mut self, state: &[u32], worker: usize, key: u32, purse: Purse) -> bool {
        if self.has_job(state[worker], key) || self.can_be_asked_again(state, purse, key) {
            return false;
        }
        let is_request = |lens: &mut Self, letter: u32| {
            let facts = lens.facts(letter);
            receiver(letter) == worker && facts.kind == Kind::Perform && facts.key == key
        };
        !state[self.space.head()..].iter().any(|letter| is_request(self, *letter))
    }

    /// Whether a fate can mean nothing to a worker any more.
    fn is_dead_fate(
        &mut self,
        state: &[u32],
        worker: usize,
        key: u32,
        fate: Fate,
        purse: Purse,
    ) -> bool {
        if self.is_stranger(state, worker, key, purse) {
            return true;
        }
        if !self.space.rules.ledger_is_sole {
            return false;
        }
        let is_awaited = self.awaited_fate(state[worker], key) == Some(fate);
        let is_open = match fate {
            Fate::OfTry(_) => false,
            Fate::UpTo(attempt) => self
                .first_open_attempt(state[self.space.ledger], key)
                .is_some_and(|first| attempt >= first),
        };
        let is_view = |lens: &mut Self, letter: u32| {
            let facts = lens.facts(letter);
            receiver(letter) == worker && facts.kind == Kind::View && facts.key == key
        };
        !is_awaited
            && !is_open
            && !state[self.space.head()..].iter().any(|letter| is_view(self, *letter))
    }

    /// Whether an agent may still ask somebody, or somebody else, for anything.
    pub(crate) fn any_can_ask(&mut self, state: &[u32], purse: Purse) -> bool {
        (0..self.space.agents()).any(|slot| purse.lets_ask_again() || !self.has_asked(state[slot]))
    }

    /// Whether a worker can get another job.
    pub(crate) fn job_can_come(&mut self, state: &[u32], purse: Purse, worker: usize) -> bool {
        self.any_can_ask(state, purse)
            || state[self.space.head()..].iter().any(|letter| {
                receiver(*letter) == worker && self.facts(*letter).kind == Kind::Perform
            })
    }

    /// Whether an agent may still ask somebody, or somebody else, for this intent.
    pub(crate) fn can_be_asked_again(&mut self, state: &[u32], purse: Purse, key: u32) -> bool {
        purse.lets_ask_again()
            && !(0..self.space.agents()).any(|slot| self.has_answer(state[slot], key))
    }
}

/// What the destination answers to a message.
pub(crate) fn answer(message: &Message) -> Option<Fate> {
    match message {
        Message::Apply { envelope, .. } => Some(Fate::OfTry(envelope.attempt_id)),
        Message::Reconcile { attempt_id, .. } => Some(Fate::UpTo(*attempt_id)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashSet, VecDeque};
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::*;
    use crate::check::expand::Successors;
    use crate::check::intern::QuickHasher;
    use crate::check::space::Space;
    use crate::check::system::System;
    use crate::check::{Assumptions, Reductions};

    /// Every reachable combination of roles, invariants and budgets, whatever is under way,
    /// and whatever a worker holds that has nothing to do and never will.
    fn cores(design: &Design, bounds: &Bounds, dead_messages: bool) -> HashSet<u64> {
        let reductions = Reductions { dead_messages, ..Reductions::none() };
        let space = Space::new(System::new(design, bounds), reductions, Assumptions::none());
        let rules = Rules::of(design, bounds);
        let mut lens = Lens::new(&space);
        let initial = lens.initial().unwrap();
        let mut seen = HashSet::from([initial.clone()]);
        let mut open = VecDeque::from([initial]);
        let mut successors = Successors::default();
        let mut cores = HashSet::new();
        while let Some(state) = open.pop_front() {
            let purse = space.purse_of(&state);
            let components: Vec<_> = (0..space.slots())
                .map(|slot| {
                    let is_retired = rules.leases_stay
                        && (space.agents()..space.supervisor).contains(&slot)
                        && lens.is_retired(&state, slot, purse);
                    (!is_retired).then(|| space.components.value(state[slot]))
                })
                .collect();
            let core = (components, space.monitor_of(&state), purse);
            cores.insert(BuildHasherDefault::<QuickHasher>::default().hash_one(core));
            lens.expand(&state, &mut successors);
            for (_, successor) in successors.iter() {
                if let Some(successor) = successor
                    && seen.insert(successor.to_vec())
                {
                    open.push_back(successor.to_vec());
                }
            }
        }
        cores
    }

    /// Every named design, and what no named design has alone.
    fn designs() -> Vec<Design> {
        let named = crate::design::NAMED.iter().map(|(name, _)| Design::named(name).unwrap());
        let mut resending = Design { name: "resending".into(), ..Design::default() };
        resending.recovery.resend = Resend::SecondPath;
        named.chain([resending]).collect()
    }

    #[test]
    fn without_dead_messages_the_same_can_happen() {
        let one = Bounds { operations: 1, ..Bounds::default() };
        for bounds in [
            one.clone().with(Budget::Takeovers, 1),
            one.clone().with(Budget::Retries, 1).with(Budget::WorkerCrashes, 1),
            one.clone().with(Budget::AuthorityCrashes, 1).with(Budget::Expiries, 1),
            one.with(Budget::Revocations, 1),
            Bounds { attempts_max: 1, ..Bounds::default() },
        ] {
            for design in designs() {
                let all = cores(&design, &bounds, false);
                let some = cores(&design, &bounds, true);
                let differ = all.symmetric_difference(&some).count();
                assert_eq!(differ, 0, "{} within {bounds}, of {}", design.name, all.len());
            }
        }
    }
}
