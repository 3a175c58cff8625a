//! The ten cases of the stale-worker article's fixture, each for both safe designs.
//!
//! In the fixture, ownership and value live behind one lock: that is `co_located`. Where they
//! live apart, `push_before_ready` has to come to the same answers.

use holdover_model::design::Design;
use holdover_model::design::authority::Time;
use holdover_model::event::{Event, EventKind, LeaseEnd, Outcome, Rejection};
use holdover_model::lease::{Epoch, Holder, Timestamp};
use holdover_model::resource::{ResourceId, ResourceVersion};
use holdover_model::role::{Actor, Delay, Message, Signal};

use crate::cluster::{
    Cluster, Mail, TERM, for_both_designs, is, rule, target, task, worker, worker_id,
};

for_both_designs! {
    the_current_holder_writes
    takeover_before_the_successors_first_write
    the_successor_writes_then_the_old_worker
    expiry_without_a_replacement
    immediate_revocation
    a_made_up_higher_epoch
    the_right_epoch_from_another_worker
    a_lease_for_another_resource
    the_same_worker_acquires_again_and_its_earlier_epoch_comes_back
    a_timestamp_chosen_by_the_worker_does_not_revive_a_lease
    a_timestamp_chosen_by_the_worker_revives_a_lease_where_it_is_believed
}

fn the_current_holder_writes(design: &str) {
    let (mut cluster, write) = paused_before_the_mutation(design);
    let (_, _, Message::Apply { envelope, payload, .. }) = &write else { unreachable!() };
    let (envelope, value) = (envelope.clone(), payload.hash());
    cluster.release([write]);
    cluster.flow();

    let receipts: Vec<_> = cluster
        .events
        .iter()
        .filter_map(|event| match event {
            Event::EffectCommitted { receipt, .. } => Some(receipt),
            _ => None,
        })
        .collect();
    let [receipt] = receipts[..] else { panic!("one effect, not {}", receipts.len()) };
    assert_eq!(receipt.operation_id, envelope.operation_id);
    assert_eq!(receipt.intent_hash, envelope.intent_hash);
    assert_eq!(receipt.attempt_id, envelope.attempt_id);
    assert_eq!(receipt.resource, rule());
    assert_eq!(receipt.holder, holder("A", 1));
    assert_eq!(receipt.version_before, ResourceVersion::default());
    assert_eq!(receipt.version_after, ResourceVersion::default().next());
    assert_eq!(receipt.payload_hash, value);
    assert_eq!(cluster.rule().version, receipt.version_after);
    assert_eq!(cluster.rule().value, Some(value));
    assert_eq!(cluster.rejections(), []);
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
}

fn takeover_before_the_successors_first_write(design: &str) {
    let (mut cluster, write) = paused_before_the_mutation(design);
    cluster.suspect("A");
    cluster.flow();
    assert_eq!(cluster.authority().holder(&rule()), Some(holder("B", 2)), "B is ready");
    assert_eq!(cluster.rule().value, None, "and has written nothing");
    is_refused(&mut cluster, write, Rejection::StaleEpoch);
}

fn the_successor_writes_then_the_old_worker(design: &str) {
    let (mut cluster, write) = paused_before_the_mutation(design);
    cluster.suspect("A");
    cluster.flow();
    cluster.begin(2);
    let written = cluster.flow_except(is("applied"));
    let [(_, _, Message::Applied { receipt, .. })] = &written[..] else { panic!("B wrote") };
    assert_eq!(receipt.holder, holder("B", 2));
    let value = cluster.rule().value;
    assert_eq!(value, Some(receipt.payload_hash));
    is_refused(&mut cluster, write, Rejection::StaleEpoch);
    assert_eq!(cluster.rule().value, value, "B's rule survives");

    cluster.release(written);
    cluster.flow();
    assert_eq!(cluster.outcome(2), Some(Outcome::Committed));
    cluster.fire(&worker("A"), Delay::Poll);
    cluster.flow();
    // A reads again, sees that the approved state is gone, and says so.
    assert_eq!(cluster.outcome(1), Some(Outcome::Failed));
    assert_eq!(cluster.rule().value, value);
}

fn expiry_without_a_replacement(design: &str) {
    let (mut cluster, write) = paused_before_the_mutation(design);
    cluster.expire_leases();
    cluster.flow();
    assert_eq!(ends(&cluster), [LeaseEnd::Expired]);
    assert_eq!(cluster.authority().holder(&rule()), None, "nobody has succeeded");
    is_refused(&mut cluster, write, Rejection::Sealed);
}

fn immediate_revocation(design: &str) {
    let (mut cluster, write) = paused_before_the_mutation(design);
    // No time passes: by the clock, A's lease has its whole term left.
    cluster.signal(&Actor::Authority, Signal::Revoke(rule()));
    cluster.flow();
    assert_eq!(ends(&cluster), [LeaseEnd::Revoked]);
    is_refused(&mut cluster, write, Rejection::Sealed);
}

fn a_made_up_higher_epoch(design: &str) {
    for made_up in [2, 9, u64::MAX] {
        let (mut cluster, write) = paused_before_the_mutation(design);
        let forged = under(holder("A", made_up), write);
        is_refused(&mut cluster, forged, Rejection::UnknownEpoch);
    }
}

fn the_right_epoch_from_another_worker(design: &str) {
    let (mut cluster, write) = paused_before_the_mutation(design);
    let (_, to, message) = under(holder("B", 1), write);
    is_refused(&mut cluster, (worker("B"), to, message), Rejection::OtherWorker);
}

fn a_lease_for_another_resource(design: &str) {
    let webhook = || target("webhook").resource_id();

    let (mut cluster, write) = paused_before_the_mutation(design);
    let rule_before = cluster.rule();
    is_refused(&mut cluster, to_resource(webhook(), write), Rejection::UnknownEpoch);
    assert_eq!(cluster.rule(), rule_before);

    // The webhook is B's, under the very number under which the rule is A's.
    let (mut cluster, write) = paused_before_the_mutation(design);
    cluster.begin(4);
    let of_b = cluster.flow_except(is("apply"));
    assert_eq!(cluster.authority().holder(&webhook()), Some(holder("B", 1)));
    is_refused(&mut cluster, to_resource(webhook(), write), Rejection::OtherWorker);
    assert_eq!(cluster.rule(), rule_before);
    is_admitted(cluster, of_b.into_iter().next().expect("B's own write"));
}

fn the_same_worker_acquires_again_and_its_earlier_epoch_comes_back(design: &str) {
    let (mut cluster, write) = paused_before_the_mutation(design);
    let now = cluster.now;
    acquire(&mut cluster, "A", now);
    assert_eq!(cluster.epochs(), [Epoch(1), Epoch(2)]);
    is_admitted(cluster.clone(), under(holder("A", 2), write.clone()));
    is_refused(&mut cluster, write, Rejection::StaleEpoch);
}

/// Times that A could write into a message: long ago, when its lease was valid, far ahead.
fn chosen_by_a(cluster: &Cluster) -> [Timestamp; 3] {
    [Timestamp::default(), cluster.now, cluster.now.after(TERM * 1000)]
}

fn a_timestamp_chosen_by_the_worker_does_not_revive_a_lease(design: &str) {
    let (paused, write) = paused_before_the_mutation(design);
    for at in chosen_by_a(&paused) {
        let mut cluster = paused.clone();
        cluster.expire_leases();
        cluster.flow();
        renew(&mut cluster, at);
        assert_eq!(cluster.count(EventKind::LeaseRenewed), 0, "{at:?}");
        assert_eq!(ends(&cluster), [LeaseEnd::Expired]);
        is_refused(&mut cluster, write.clone(), Rejection::Sealed);
        // Nor does it keep the lease from anybody else.
        acquire(&mut cluster, "B", at);
        assert_eq!(cluster.authority().holder(&rule()), Some(holder("B", 2)));

        // Before the end, it makes the term no longer: that counts from the authority's time.
        let mut cluster = paused.clone();
        renew(&mut cluster, at);
        let Some(Event::LeaseRenewed { lease }) = cluster.events.last() else { panic!("{at:?}") };
        assert_eq!(lease.expires_at, cluster.now.after(TERM), "{at:?}");
        // And it does not make B's turn come sooner.
        let far_ahead = cluster.now.after(TERM * 1000);
        acquire(&mut cluster, "B", far_ahead);
        assert_eq!(cluster.authority().holder(&rule()), Some(holder("A", 1)));
    }
}

/// What the setting is good for: the same story with `authority.time = "caller-supplied"`.
fn a_timestamp_chosen_by_the_worker_revives_a_lease_where_it_is_believed(design: &str) {
    let mut design = Design::named(design).unwrap();
    design.authority.time = Time::CallerSupplied;
    let (mut cluster, write) = paused(design);
    let [.., far_ahead] = chosen_by_a(&cluster);
    cluster.expire_leases();
    cluster.flow();
    renew(&mut cluster, far_ahead);
    assert_eq!(cluster.count(EventKind::LeaseRenewed), 1);
    let is_denied = |cluster: &mut Cluster, at| {
        let acquire = Message::Acquire { resource: rule(), at, insists: false };
        cluster.deliver(worker("B"), &Actor::Authority, acquire);
        let (_, to, message) = cluster.mail.pop_back().expect("an answer");
        to == worker("B") && message.kind() == "denied"
    };
    for terms in [0, 10, 100] {
        let later = cluster.now.after(TERM * terms);
        assert!(is_denied(&mut cluster, later), "held valid {terms} terms after its end");
    }
    is_admitted(cluster, write);
}

/// What "greater than the previous number" is worth: A writes after B was told that it is
/// ready, for B has not written yet.
#[test]
#[should_panic(expected = "no-stale-effect")]
fn the_highest_epoch_seen_admits_the_old_worker_before_the_successors_first_write() {
    let (mut cluster, write) = paused_before_the_mutation("highest-seen");
    cluster.suspect("A");
    cluster.flow();
    is_admitted(cluster, write);
}

/// And it admits whatever number an untrusted caller invents, so it does not claim otherwise.
#[test]
fn the_highest_epoch_seen_admits_a_made_up_higher_epoch() {
    let (cluster, write) = paused_before_the_mutation("highest-seen");
    is_admitted(cluster, under(holder("A", 9), write));
}

/// So does every destination that compares numbers instead of holders, whatever it claims.
#[test]
#[should_panic(expected = "no-forged-epoch")]
fn a_made_up_higher_epoch_is_found_out_where_it_is_said_to_be_rejected() {
    let (cluster, write) = paused_before_the_mutation("invented-epoch");
    is_admitted(cluster, under(holder("A", 9), write));
}

/// Where ownership and value are one, a write is compared with the expiry itself: it does
/// not take a deadline that fires in time.
#[test]
fn expiry_is_compared_at_the_gate_even_if_the_deadline_is_late() {
    let (mut cluster, (from, to, message)) = paused_before_the_mutation("co-located-gate");
    cluster.now = cluster.now.after(TERM);
    let before = cluster.rule();
    cluster.deliver(from.clone(), &to, message.clone());
    assert_eq!(cluster.rejections(), [Rejection::Sealed]);
    assert_eq!(ends(&cluster), [LeaseEnd::Expired]);
    let after = cluster.rule();
    assert_eq!((after.version, after.value), (before.version, before.value));

    // The same if the term ends between the moment it was let in and its effect.
    let (mut cluster, _) = paused_before_the_mutation("co-located-gate");
    cluster.deliver(from, &to, message);
    cluster.now = cluster.now.after(TERM);
    assert!(cluster.take_inner_step());
    assert_eq!(cluster.rejections(), [Rejection::Sealed]);
    assert_eq!(cluster.count(EventKind::EffectCommitted), 0);
}

fn holder(letter: &str, epoch: u64) -> Holder {
    Holder { worker: worker_id(letter), epoch: Epoch(epoch) }
}

/// Agent 1 asks worker A, whose write is held back immediately before the destination.
/// Let go at once, it would be admitted.
pub(crate) fn paused_before_the_mutation(design: &str) -> (Cluster, Mail) {
    paused(Design::named(design).unwrap())
}

fn paused(design: Design) -> (Cluster, Mail) {
    let tasks = vec![
        task("one", "routing-rule"),
        task("two", "routing-rule"),
        task("three", "webhook"),
        task("four", "webhook"),
    ];
    let mut cluster = Cluster::with_workers(design, &["A", "B"], tasks);
    cluster.begin(1);
    let mut held = cluster.flow_except(is("apply"));
    let write = held.pop().expect("A's write is under way");
    assert_eq!(held, []);
    assert_eq!(cluster.authority().holder(&rule()), Some(holder("A", 1)), "A is the holder");
    assert_eq!(cluster.count(EventKind::EffectCommitted), 0, "nothing has happened yet");
    is_admitted(cluster.clone(), write.clone());
    (cluster, write)
}

/// The same write, shown under another lease.
fn under(other: Holder, (from, to, mut message): Mail) -> Mail {
    if let Message::Apply { holder, .. } = &mut message {
        *holder = other;
    }
    (from, to, message)
}

/// The same write, to another resource.
fn to_resource(other: ResourceId, (from, to, mut message): Mail) -> Mail {
    if let Message::Apply { resource, .. } = &mut message {
        *resource = other;
    }
    (from, to, message)
}

/// A asks for more time, and says what time it is.
fn renew(cluster: &mut Cluster, at: Timestamp) {
    let renew = Message::Renew { resource: rule(), epoch: Epoch(1), at };
    cluster.deliver(worker("A"), &Actor::Authority, renew);
}

/// A worker acquires the rule; A itself hears nothing of it.
fn acquire(cluster: &mut Cluster, letter: &str, at: Timestamp) {
    let acquire = Message::Acquire { resource: rule(), at, insists: false };
    cluster.deliver(worker(letter), &Actor::Authority, acquire);
    cluster.flow_except(|(_, to, _)| *to == worker("A"));
}

/// How leases ended, in order.
fn ends(cluster: &Cluster) -> Vec<LeaseEnd> {
    let cause = |event: &Event| match event {
        Event::LeaseEnded { cause, .. } => Some(*cause),
        _ => None,
    };
    cluster.events.iter().filter_map(cause).collect()
}

/// The write arrives and is refused for this reason: nothing changes, the worker is told,
/// and the refusal, with who and what was refused, is the one thing on record.
#[track_caller]
fn is_refused(cluster: &mut Cluster, (from, to, message): Mail, reason: Rejection) {
    let Message::Apply { envelope, resource, holder, .. } = message.clone() else {
        panic!("{} is no write", message.kind())
    };
    let before = cluster.destination().cell(&resource);
    let so_far = cluster.events.len();
    cluster.deliver(from.clone(), &to, message);
    assert!(!cluster.take_inner_step(), "it is not let in");
    assert_eq!(cluster.destination().cell(&resource), before, "a rejection leaves no trace");
    let told = Message::Rejected {
        operation_id: envelope.operation_id.clone(),
        intent_hash: envelope.intent_hash,
        attempt_id: envelope.attempt_id,
        reason,
    };
    assert_eq!(cluster.mail.back(), Some(&(Actor::Destination, from, told)));
    let version = before.version;
    let recorded =
        Event::EffectRejected { envelope, resource, holder, reason, version, payload: None };
    assert_eq!(cluster.events[so_far..], [recorded]);
}

/// The write arrives and has its effect.
#[track_caller]
fn is_admitted(mut cluster: Cluster, (from, to, message): Mail) {
    let Message::Apply { resource, payload, .. } = message.clone() else {
        panic!("{} is no write", message.kind())
    };
    let before = cluster.destination().cell(&resource).version;
    cluster.deliver(from, &to, message);
    assert!(cluster.take_inner_step(), "it is let in");
    let after = cluster.destination().cell(&resource);
    assert_eq!((after.version, after.value), (before.next(), Some(payload.hash())));
}
