//! Partial order: of the orders of steps that make no difference, one is explored.
//!
//! **Why it is sound.** Some steps can be taken at once without excluding anything. If one
//! is possible, the search takes it (or each of a few) and nothing else; every run in which
//! it is taken later or never is matched by a run in which it is taken now, for
//!
//! * it commutes with every other step that is possible now or later, until it is taken,
//!   also in what the invariants remember; and
//! * if it is never taken, then taking it only leaves more messages under way, and a
//!   message that is not delivered is as good as one that was never sent.
//!
//! None of them can be repeated without end, so no other step is put off for ever. These
//! are the steps, with what makes them commute:
//!
//! * *The resource's state reaches an agent*: it waits for nothing else, and the version
//!   is in the message.
//! * *An agent begins*, if the clock cannot go on any more: only the clock could make a
//!   later beginning differ.
//! * *An answer reaches an agent* that cannot ask again, if no other answer can come, or
//!   all answers follow from the one entry of the ledger.
//! * *The supervisor hears what a suspect holds*, and *the authority hears whose lease to
//!   pass on*: the supervisor has no state, and the authority compares the epoch. So a
//!   takeover that succeeds would have come out the same if the question before it had
//!   been asked only now, and one that does not succeed changes nothing.
//! * *A worker is suspected*, each of them: the only thing that follows is a question under
//!   way, and the budget serves nothing else.
//! * *An agent asks the next worker*, each that may: once all have asked, no other use of
//!   the budget can come up. It adds a request under way; an answer to an earlier one
//!   counts as before.
//! * *A request reaches the ledger*, if nobody else has anything to say to it about that
//!   intent, now or later: the ledger treats intents separately. Or if the ledger will say
//!   the same for ever, because the operation is closed.
//! * *A question reaches the destination* to which the answer is settled: the operation has
//!   had its effect, or the try is closed. *A worker's question for a resource's state*, if
//!   the answer is, now and for ever, that the state to be replaced is gone.
//! * *The ledger's word reaches a worker*, or *the state that it asked for*, if it is the
//!   only one that can be under way for its job. A job has its own lease, so the step
//!   depends on nothing else and touches nothing else, with the exceptions that
//!   [`Reach`] names: where it looks for a lease, or ends, the worker's lease must not be
//!   able to change before, and no job to come.
//! * *A fate reaches a worker* that waits for it, if the destination can say nothing else
//!   about that intent to it. The try could also time out, before the fate comes. But a
//!   timeout commutes with what the destination does, and was possible before that; so it is
//!   looked at where the destination has not acted yet. (Therefore a *mutation* is never
//!   delivered at once, even if the answer to it is settled.)
//! * *A lease reaches a worker* with its only job, if no other lease or job can come to it.
//! * *The destination's word about its fence reaches the authority*, if time cannot pass:
//!   all that was possible before is possible after, and only more is claimed.
//! * *A refused worker asks again* for a lease: it adds a request under way.
//! * *A request reaches an idle worker* without a lease, if no other can come to it.
//!
//! For the same reason a request for a lease that would be refused is not delivered: the
//! worker would only hear that and ask again, and so be where it was.
//!
//! Losses, duplications and crashes of the roles concerned are steps that would not
//! commute; while a budget for them is left, the rule is not used. A suspicion or request that
//! is taken early must not make a state look settled that would be wedged without it, so
//! settling is judged as if the supervisor's messages were lost.
//!
//! Where a try is sent again by a second path, a new lease has a worker send what is in flight
//! again, so that a fate does not commute with a lease: there the reduction is not used.
//!
//! A step that is taken at once belongs to the step before it: the state in between is not
//! kept. So a step of this search may be several, and a run may get longer by steps that
//! are taken early. Therefore a counterexample is searched again without this reduction.

use crate::check::bounds::{Bounds, Budget, Budgets};
use crate::check::expand::Successors;
use crate::check::facts::Facts;
use crate::check::lens::{InputNumber, Lens, Outcome};
use crate::check::reduction::dead_message::{self, Kind};
use crate::check::space::{NONE, Purse, receiver, sender};
use crate::check::system::Leave;
use crate::design::Design;
use crate::design::recovery::Resend;
use crate::role::relevance::{Fate, Reach};

/// Whether the arguments above were made for a design.
pub(crate) fn is_argued_for(design: &Design, bounds: &Bounds) -> bool {
    dead_message::is_argued_for(design, bounds) && design.recovery.resend == Resend::OnePlace
}

/// What the budgets that are left allow to be taken at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
pub(crate) struct Commuting {
    /// Nothing is lost, doubled or sent twice.
    is_reliable: bool,
    agents_stay: bool,
    ledger_stays: bool,
    supervisor_stays: bool,
    leases_stay: bool,
    authority_waits: bool,
}

impl Commuting {
    pub(crate) fn after(left: &Budgets) -> Self {
        let is_none = |budgets: &[Budget]| budgets.iter().all(|budget| left[*budget] == 0);
        Self {
            is_reliable: is_none(&[Budget::Losses, Budget::Duplications, Budget::Resends]),
            agents_stay: is_none(&[Budget::AgentCrashes]),
            ledger_stays: is_none(&[Budget::LedgerCrashes]),
            supervisor_stays: is_none(&[Budget::SupervisorCrashes]),
            leases_stay: is_none(&[Budget::Renewals, Budget::Idles]),
            authority_waits: is_none(&[
                Budget::Expiries,
                Budget::Restores,
                Budget::AuthorityCrashes,
            ]),
        }
    }
}

impl Lens<'_> {
    /// Adds the steps that can be taken at once in place of all others; none if there are
    /// no such steps.
    pub(crate) fn expand_at_once(&mut self, state: &[u32], purse: Purse, out: &mut Successors) {
        let commuting = Commuting::after(&purse.left);
        if !commuting.is_reliable {
            return;
        }
        let head = self.space.head();
        for index in head..state.len() {
            let letter = state[index];
            let is_at_once = match self.facts(letter).kind {
                Kind::State | Kind::Answered if self.space.is_agent(receiver(letter)) => {
                    commuting.agents_stay
                        && (self.facts(letter).kind == Kind::State
                            || self.is_only_answer(state, purse, index))
                }
                Kind::Supervision => commuting.supervisor_stays && self.facts(letter).is_last,
                Kind::ToLedger => {
                    commuting.ledger_stays
                        && commuting.agents_stay
                        && self.space.rules.ledger_is_sole
                        && (self.is_sole_writer(state, purse, index)
                            || self.is_for_closed(state, purse, index))
                }
                Kind::View => {
                    commuting.leases_stay
                        && self.is_only_word(state, index)
                        && self.is_independent(state, purse, index)
                }
                Kind::State => {
                    commuting.leases_stay
                        && self.is_only_state(state, index)
                        && self.is_independent(state, purse, index)
                }
                Kind::Fate(fate) => {
                    commuting.leases_stay
                        && self.space.rules.jobs_are_apart
                        && self.is_only_fate(state, index, fate)
                        && self.is_independent(state, purse, index)
                }
                Kind::Ready => commuting.leases_stay && self.is_only_lease(state, purse, index),
                Kind::ToDestination => {
                    let is_question = matches!(self.facts(letter).answer, Some(Fate::UpTo(_)));
                    is_question && self.is_answered_already(state, letter, purse)
                }
                Kind::Read => commuting.leases_stay && self.finds_gone(state, purse, index),
                Kind::Fence => commuting.authority_waits,
                Kind::Perform => commuting.agents_stay && self.is_only_request(state, purse, index),
                _ => false,
            };
            if is_at_once {
                self.delivery(state, purse, index, out);
                return;
            }
        }
        for slot in self.space.agents()..self.space.supervisor {
            self.signals(state, purse, slot, &|leave| leave == Leave::Poll, out);
            if out.len() > 0 {
                out.keep_first();
                return;
            }
        }
        if commuting.agents_stay && purse.left[Budget::Expiries] == 0 {
            for slot in 0..self.space.agents() {
                self.signals(state, purse, slot, &|leave| leave == Leave::Free, out);
                if out.len() > 0 {
                    return;
                }
            }
        }
        if commuting.supervisor_stays && purse.left[Budget::Takeovers] > 0 {
            self.stimuli(state, purse, &|budget| budget == Budget::Takeovers, out);
            if out.len() > 0 {
                return;
            }
        }
        let all_have_asked = (0..self.space.agents()).all(|slot| self.has_asked(state[slot]));
        if commuting.agents_stay && purse.left[Budget::Retries] > 0 && all_have_asked {
            let is_retry = |leave| leave == Leave::Spends(Budget::Retries);
            for slot in 0..self.space.agents() {
                self.signals(state, purse, slot, &is_retry, out);
            }
        }
    }

    /// Whether an agent will never hear anything else about its intent.
    fn is_only_answer(&mut self, state: &[u32], purse: Purse, index: usize) -> bool {
        if purse.left[Budget::Retries] > 0 {
            return false;
        }
        let key = self.facts(state[index]).key;
        let mut workers = self.space.agents()..self.space.supervisor;
        // Workers answer when the ledger has closed the operation: they agree.
        self.space.rules.ledger_is_sole
            || workers.all(|slot| !self.has_job(state[slot], key))
                && !self.any_other(state, index, |facts, _| {
                    facts.key == key && matches!(facts.kind, Kind::Answered | Kind::Perform)
                })
    }

    /// Whether no other worker has or can get anything to say to the ledger about the
    /// intent of this message, and nothing else about it is under way to the ledger.
    fn is_sole_writer(&mut self, state: &[u32], purse: Purse, index: usize) -> bool {
        let letter = state[index];
        let key = self.facts(letter).key;
        let writer = sender(letter);
        let has_rival = self.any_other(state, index, |facts, other| {
            facts.key == key
                && match facts.kind {
                    Kind::ToLedger => true,
                    Kind::Perform => receiver(other) != writer,
                    _ => false,
                }
        });
        if has_rival {
            return false;
        }
        let workers = self.space.agents()..self.space.supervisor;
        workers.filter(|slot| *slot != writer).all(|slot| !self.has_job(state[slot], key))
            && !self.can_be_asked_again(state, purse, key)
    }

    /// Whether a message to the ledger is about an operation of which it will say the same
    /// for ever.
    fn is_for_closed(&mut self, state: &[u32], purse: Purse, index: usize) -> bool {
        let (letter, ledger) = (state[index], self.space.ledger);
        let key = self.facts(letter).key;
        self.has_closed(state[ledger], key) && {
            let input = InputNumber::Letter(letter);
            let outcome = self.step(ledger, state[ledger], purse.tick, input);
            outcome.component == state[ledger] && outcome.events == NONE
        }
    }

    /// Whether a worker that asks for the resource's state will learn, now and for ever, that
    /// the one that it was to replace is gone.
    fn finds_gone(&mut self, state: &[u32], purse: Purse, index: usize) -> bool {
        let (letter, worker) = (state[index], sender(state[index]));
        let key = self.facts(letter).key;
        if self.space.is_agent(worker) {
            return false;
        }
        let (place, tick) = (self.space.destination, purse.tick);
        let answer = self.step(place, state[place], tick, InputNumber::Letter(letter));
        let [answer] = *self.sends(answer) else { return false };
        let informed = self.step(worker, state[worker], tick, InputNumber::Letter(answer));
        self.finds_state_gone(informed.component, key)
    }

    /// Whether the ledger's word is the only one that a worker can hear about an intent.
    fn is_only_word(&mut self, state: &[u32], index: usize) -> bool {
        let letter = state[index];
        let (key, worker) = (self.facts(letter).key, receiver(letter));
        !self.any_other(state, index, |facts, other| {
            facts.key == key
                && match facts.kind {
                    Kind::View => receiver(other) == worker,
                    Kind::ToLedger => sender(other) == worker,
                    _ => false,
                }
        })
    }

    /// Whether the state is the only one that a worker can hear about an intent.
    fn is_only_state(&mut self, state: &[u32], index: usize) -> bool {
        let (key, worker) = (self.facts(state[index]).key, receiver(state[index]));
        !self.any_other(state, index, |facts, other| {
            facts.key == key
                && match facts.kind {
                    Kind::State => receiver(other) == worker,
                    Kind::Read => sender(other) == worker,
                    _ => false,
                }
        })
    }

    /// Whether the fate is that of the try that is under way, and the destination will say
    /// nothing else about the intent that the worker could hear before.
    fn is_only_fate(&mut self, state: &[u32], index: usize, fate: Fate) -> bool {
        let (key, worker) = (self.facts(state[index]).key, receiver(state[index]));
        self.awaited_fate(state[worker], key) == Some(fate)
            && !self.has_inside(state[self.space.destination], key)
            && !self.any_other(state, index, |facts, other| {
                facts.key == key
                    && match facts.kind {
                        Kind::Fate(_) => receiver(other) == worker,
                        Kind::ToDestination => sender(other) == worker,
                        _ => false,
                    }
            })
    }

    /// Whether the step of a job after a message does not depend on anything else that can
    /// reach its worker before, and nothing else on it.
    fn is_independent(&mut self, state: &[u32], purse: Purse, index: usize) -> bool {
        let (letter, worker) = (state[index], receiver(state[index]));
        let key = self.facts(letter).key;
        let outcome = self.step(worker, state[worker], purse.tick, InputNumber::Letter(letter));
        let Some(reach) = self.reach_of(state[worker], letter, outcome.component) else {
            return false;
        };
        let is_apart = self.space.rules.jobs_are_apart && !self.can_be_joined(state, purse, index);
        match reach {
            Reach::Job => is_apart || self.is_sole_job(state, purse, worker),
            Reach::LosesLease => {
                is_apart
                    && !self.job_can_come(state, purse, worker)
                    && self.others_have_leases(state[worker], key)
            }
            Reach::SeeksLease => {
                self.is_sole_job(state, purse, worker)
                    && !self.lease_can_change(state, purse, worker, index)
            }
            Reach::Ends => {
                (is_apart || self.jobs(state[worker]) == 1)
                    && !self.job_can_come(state, purse, worker)
                    && !self.lease_can_change(state, purse, worker, index)
            }
        }
    }

    /// Whether another request for the intent of this message can reach its receiver.
    fn can_be_joined(&mut self, state: &[u32], purse: Purse, index: usize) -> bool {
        let (key, worker) = (self.facts(state[index]).key, receiver(state[index]));
        self.can_be_asked_again(state, purse, key)
            || self.any_other(state, index, |facts, other| {
                facts.kind == Kind::Perform && facts.key == key && receiver(other) == worker
            })
    }

    /// Whether a worker with its only job waits for a lease, and no other can come to it.
    fn is_only_lease(&mut self, state: &[u32], purse: Purse, index: usize) -> bool {
        let worker = receiver(state[index]);
        self.awaits_lease(state[worker])
            && self.is_sole_job(state, purse, worker)
            && !self.lease_can_change(state, purse, worker, index)
    }

    /// Whether a worker has one job and will never have another.
    fn is_sole_job(&mut self, state: &[u32], purse: Purse, worker: usize) -> bool {
        self.jobs(state[worker]) == 1 && !self.job_can_come(state, purse, worker)
    }

    /// Whether anything but the message at `index` can give a worker a lease, or take it.
    fn lease_can_change(
        &mut self,
        state: &[u32],
        purse: Purse,
        worker: usize,
        index: usize,
    ) -> bool {
        purse.left[Budget::Takeovers] > 0
            || self.is_installing_for(state[self.space.authority], worker)
            || self.any_other(state, index, |facts, other| match facts.kind {
                Kind::Ready => receiver(other) == worker,
                Kind::Acquire => sender(other) == worker,
                Kind::Confirmation | Kind::Supervision => true,
                _ => false,
            })
    }

    /// Whether any message under way, but for the one at `index`, is like this.
    fn any_other(
        &mut self,
        state: &[u32],
        index: usize,
        is_like_this: impl Fn(Facts, u32) -> bool,
    ) -> bool {
        (self.space.head()..state.len())
            .any(|place| place != index && is_like_this(self.facts(state[place]), state[place]))
    }

    /// Whether a request reaches a worker that does nothing and holds nothing, and is the
    /// last that can reach it.
    fn is_only_request(&mut self, state: &[u32], purse: Purse, index: usize) -> bool {
        let worker = receiver(state[index]);
        purse.left[Budget::WorkerCrashes] == 0
            && self.is_unoccupied(state[worker])
            && !self.any_can_ask(state, purse)
            && !self.any_other(state, index, |facts, other| {
                facts.kind == Kind::Perform && receiver(other) == worker
            })
    }

    /// Whether delivering this message would only have a worker ask for a lease again.
    pub(crate) fn is_refused(
        &mut self,
        state: &[u32],
        purse: Purse,
        letter: u32,
        outcome: Outcome,
    ) -> bool {
        Commuting::after(&purse.left).is_reliable
            && self.facts(letter).kind == Kind::Acquire
            && outcome.component == state[receiver(letter)]
            && self
                .sends(outcome)
                .to_vec()
                .iter()
                .all(|sent| self.facts(*sent).kind == Kind::Denied)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashSet, VecDeque};
    use std::hash::{BuildHasher, BuildHasherDefault, Hash};

    use super::*;
    use crate::check::intern::QuickHasher;
    use crate::check::space::{Space, fingerprint};
    use crate::check::system::System;
    use crate::check::{Assumptions, Reductions};

    fn hash(value: impl Hash) -> u64 {
        BuildHasherDefault::<QuickHasher>::default().hash_one(value)
    }

    /// What a search has come across.
    #[derive(Default)]
    struct Seen {
        states: usize,
        /// All roles, the invariants' memory and the budgets, whatever is under way.
        cores: HashSet<u64>,
        /// The same, once every step that can be taken at once has been. A retry and a
        /// suspicion are such steps, but may have come too late; so only where none is left.
        settled_cores: HashSet<u64>,
        /// What the destination keeps.
        stores: HashSet<u64>,
    }

    fn explore(design: &Design, bounds: &Bounds, partial_order: bool) -> Seen {
        let reductions = Reductions { partial_order, symmetry: false, dead_messages: true };
        let space = Space::new(System::new(design, bounds), reductions, Assumptions::none());
        assert!(space.reductions.dead_messages, "{} is not argued for", design.name);
        let mut lens = Lens::new(&space);
        let core = |state: &[u32]| {
            let components: Vec<_> =
                (0..space.slots()).map(|slot| space.components.value(state[slot])).collect();
            hash((components, space.monitor_of(state), space.purse_of(state)))
        };
        let is_spent = |purse: Purse| {
            [Budget::Retries, Budget::Takeovers].iter().all(|budget| purse.left[*budget] == 0)
        };
        let initial = lens.initial().unwrap();
        let mut visited = HashSet::from([fingerprint(&initial)]);
        let mut open = VecDeque::from([initial]);
        let (mut successors, mut ahead) = (Successors::default(), Successors::default());
        let mut seen = Seen::default();
        while let Some(state) = open.pop_front() {
            seen.states += 1;
            seen.cores.insert(core(&state));
            seen.stores.insert(hash(space.components.value(state[space.destination])));
            let mut settled = Some(state.clone());
            while let Some(state) = settled.take() {
                ahead.clear();
                lens.expand_at_once(&state, space.purse_of(&state), &mut ahead);
                match ahead.iter().next() {
                    None if is_spent(space.purse_of(&state)) => {
                        seen.settled_cores.insert(core(&state));
                    }
                    None => {}
                    Some((_, next)) => settled = next.map(<[u32]>::to_vec),
                }
            }
            lens.expand(&state, &mut successors);
            for (_, successor) in successors.iter() {
                if let Some(successor) = successor
                    && visited.insert(fingerprint(successor))
                {
                    open.push_back(successor.to_vec());
                }
            }
        }
        seen
    }

    /// Designs for which the arguments are made: the safe ones, and one broken one for each
    /// setting in which they may differ.
    const ARGUED: [&str; 7] = [
        "push-before-ready",
        "co-located-gate",
        "highest-seen",
        "adapter-check",
        "run-and-millisecond",
        "newest-wins",
        "timeout-means-failed",
    ];

    #[test]
    fn whatever_can_happen_happens_in_one_of_the_orders_that_are_left() {
        let one = Bounds { operations: 1, ..Bounds::default() };
        let two = Bounds { attempts_max: 1, ..Bounds::default() };
        for bounds in [
            one.clone().with(Budget::Takeovers, 1),
            one.clone().with(Budget::Retries, 1),
            one.clone().with(Budget::Expiries, 1),
            one.with(Budget::AuthorityCrashes, 1),
            two,
        ] {
            for name in ARGUED {
                let design = Design::named(name).unwrap();
                let (all, some) =
                    (explore(&design, &bounds, false), explore(&design, &bounds, true));
                assert!(some.states < all.states, "{name} within {bounds}: nothing is left out");
                assert!(
                    all.settled_cores.is_subset(&some.cores),
                    "{name} within {bounds}: {} of {} are never reached",
                    all.settled_cores.difference(&some.cores).count(),
                    all.settled_cores.len(),
                );
            }
        }
    }

    /// A crash makes a step that was put off one that is never taken. Roles may then have
    /// got further than without the reduction, but what has become of the resource is the
    /// same.
    #[test]
    fn the_same_can_become_of_the_resource() {
        let one = Bounds { operations: 1, ..Bounds::default() };
        let two = Bounds { attempts_max: 1, ..Bounds::default() };
        for bounds in [
            one.clone().with(Budget::WorkerCrashes, 1).with(Budget::Retries, 1),
            one.clone().with(Budget::WorkerCrashes, 1).with(Budget::Takeovers, 1),
            Bounds { attempts_max: 1, ..one }.with(Budget::Retries, 1).with(Budget::Takeovers, 1),
            two.clone().with(Budget::WorkerCrashes, 1),
            two.with(Budget::Takeovers, 1),
        ] {
            for name in ARGUED {
                let design = Design::named(name).unwrap();
                let (all, some) =
                    (explore(&design, &bounds, false), explore(&design, &bounds, true));
                let missing = all.stores.difference(&some.stores).count();
                assert_eq!(missing, 0, "{name} within {bounds}, of {}", all.stores.len());
            }
        }
    }
}
