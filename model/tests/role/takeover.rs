//! Worker A stalls, B takes over, A wakes up.

use holdover_model::event::{Event, EventKind, LeaseEnd, Outcome, Rejection};
use holdover_model::lease::{Epoch, Holder};
use holdover_model::role::{Actor, Delay, Message, Signal};

use crate::cluster::{Cluster, Mail, rule, task, worker};

fn is_apply((_, _, message): &Mail) -> bool {
    matches!(message, Message::Apply { .. })
}

fn rejections(cluster: &Cluster) -> Vec<Rejection> {
    cluster
        .events
        .iter()
        .filter_map(|event| match event {
            Event::EffectRejected { reason, .. } => Some(*reason),
            _ => None,
        })
        .collect()
}

/// Agent 1 asks worker A, whose write is held back immediately before the destination.
fn paused_before_the_mutation() -> (Cluster, Vec<Mail>) {
    let mut cluster = Cluster::new(
        "push-before-ready",
        vec![task("one", "routing-rule"), task("two", "routing-rule")],
    );
    cluster.begin(1);
    let held = cluster.flow_except(is_apply);
    assert_eq!(held.len(), 1, "A's write is under way");
    assert_eq!(cluster.count(EventKind::TakeoverComplete), 1, "A has valid authority");
    assert_eq!(cluster.count(EventKind::EffectCommitted), 0, "nothing has happened yet");
    (cluster, held)
}

fn suspect_a(cluster: &mut Cluster) {
    let Actor::Worker(a) = worker("A") else { unreachable!("A is a worker") };
    cluster.signal(&Actor::Supervisor, Signal::Suspect(a));
}

#[test]
fn the_current_holder_writes() {
    let mut cluster = Cluster::new("push-before-ready", vec![task("one", "routing-rule")]);
    cluster.begin(1);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
    assert_eq!(cluster.destination.cell(&rule()).version.version.0, 1);
    assert_eq!(cluster.count(EventKind::EffectCommitted), 1);
}

#[test]
fn the_fence_advances_before_the_takeover_is_complete() {
    let (mut cluster, _held) = paused_before_the_mutation();
    suspect_a(&mut cluster);
    cluster.flow();
    let position = |wanted: &dyn Fn(&Event) -> bool| cluster.events.iter().position(wanted);
    let fenced = position(&|event| matches!(event, Event::FenceAdvanced { epoch: Epoch(2), .. }));
    let complete = position(
        &|event| matches!(event, Event::TakeoverComplete { holder, .. } if holder.epoch == Epoch(2)),
    );
    assert!(fenced.unwrap() < complete.unwrap());
}

#[test]
fn a_paused_write_is_rejected_before_the_successors_first_write() {
    let (mut cluster, held) = paused_before_the_mutation();
    suspect_a(&mut cluster);
    cluster.flow();
    let before = cluster.destination.cell(&rule());
    cluster.release(held);
    cluster.flow_except(|(_, to, _)| *to == worker("A"));
    assert_eq!(rejections(&cluster), [Rejection::StaleEpoch]);
    assert_eq!(cluster.destination.cell(&rule()), before, "a rejection leaves no trace");
}

#[test]
fn the_successors_value_survives_the_old_worker() {
    let (mut cluster, held) = paused_before_the_mutation();
    suspect_a(&mut cluster);
    cluster.flow();
    cluster.begin(2);
    cluster.flow();
    assert_eq!(cluster.outcome(2), Some(Outcome::Committed));
    let value = cluster.destination.cell(&rule()).value;
    cluster.release(held);
    cluster.flow();
    assert_eq!(cluster.destination.cell(&rule()).value, value);
    assert!(rejections(&cluster).contains(&Rejection::StaleEpoch));
    // A reads again, sees that the approved state is gone, and says so.
    assert_eq!(cluster.outcome(1), Some(Outcome::Failed));
}

#[test]
fn an_expired_lease_admits_nothing_even_without_a_successor() {
    let (mut cluster, held) = paused_before_the_mutation();
    cluster.expire_leases();
    let sealing =
        cluster.flow_except(|(_, _, message)| matches!(message, Message::Admitted { .. }));
    let expired = |cluster: &Cluster| {
        cluster
            .events
            .iter()
            .any(|event| matches!(event, Event::LeaseEnded { cause: LeaseEnd::Expired, .. }))
    };
    assert!(!expired(&cluster), "a lease is over only after the destination has sealed it");
    cluster.release(sealing);
    cluster.flow();
    assert!(expired(&cluster));
    cluster.release(held);
    cluster.flow_except(|(_, to, _)| *to == worker("A"));
    assert_eq!(rejections(&cluster), [Rejection::Sealed]);
}

#[test]
fn a_revoked_lease_admits_nothing() {
    let (mut cluster, held) = paused_before_the_mutation();
    cluster.signal(&Actor::Authority, Signal::Revoke(rule()));
    cluster.flow();
    cluster.release(held);
    cluster.flow_except(|(_, to, _)| *to == worker("A"));
    assert_eq!(rejections(&cluster), [Rejection::Sealed]);
}

#[test]
fn a_made_up_epoch_and_another_workers_epoch_are_rejected() {
    for (forger, reason) in [
        (Holder { worker: "worker-A".into(), epoch: Epoch(9) }, Rejection::UnknownEpoch),
        (Holder { worker: "worker-B".into(), epoch: Epoch(1) }, Rejection::OtherWorker),
    ] {
        let (mut cluster, mut held) = paused_before_the_mutation();
        if let (_, _, Message::Apply { holder, .. }) = &mut held[0] {
            *holder = forger;
        }
        cluster.release(held);
        cluster.flow_except(|(_, to, _)| *to == worker("A"));
        assert_eq!(rejections(&cluster), [reason]);
    }
}

#[test]
fn the_same_worker_gets_a_new_epoch_and_its_earlier_one_is_stale() {
    let (mut cluster, held) = paused_before_the_mutation();
    let acquire = Message::Acquire { resource: rule(), at: cluster.now, insists: false };
    cluster.deliver(worker("A"), &Actor::Authority, acquire);
    cluster.flow_except(|(_, to, _)| *to == worker("A"));
    let epochs: Vec<_> = cluster
        .events
        .iter()
        .filter_map(|event| match event {
            Event::LeaseGranted { lease, .. } => Some(lease.epoch),
            _ => None,
        })
        .collect();
    assert_eq!(epochs, [Epoch(1), Epoch(2)]);
    cluster.release(held);
    cluster.flow_except(|(_, to, _)| *to == worker("A"));
    assert_eq!(rejections(&cluster), [Rejection::StaleEpoch]);
}

#[test]
fn a_takeover_of_an_epoch_that_is_over_changes_nothing() {
    let (mut cluster, _held) = paused_before_the_mutation();
    let late =
        Message::TakeOver { resource: rule(), epoch: Epoch(0), successor: "worker-B".into() };
    cluster.deliver(Actor::Supervisor, &Actor::Authority, late);
    cluster.flow();
    assert_eq!(cluster.authority.tenure(&rule()).last_epoch, Epoch(1));
}

#[test]
fn a_release_that_names_another_epoch_changes_nothing() {
    let (mut cluster, _held) = paused_before_the_mutation();
    for (from, epoch) in [(worker("B"), 1), (worker("A"), 0), (worker("A"), 2)] {
        let release = Message::Release { resource: rule(), epoch: Epoch(epoch) };
        cluster.deliver(from, &Actor::Authority, release);
    }
    cluster.flow();
    assert!(cluster.authority.holder(&rule()).is_some());
}

#[test]
fn a_grant_that_is_over_before_it_could_be_used_is_refused() {
    let mut cluster = Cluster::new("push-before-ready", vec![task("one", "routing-rule")]);
    cluster.begin(1);
    let held = cluster.flow_except(|(_, _, message)| matches!(message, Message::Admitted { .. }));
    cluster.now = cluster.now.after(std::time::Duration::from_secs(5));
    cluster.release(held);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::TakeoverComplete), 0);
    assert_eq!(cluster.count(EventKind::LeaseEnded), 1);
}

#[test]
fn a_renewal_moves_the_deadline() {
    let (mut cluster, _held) = paused_before_the_mutation();
    cluster.now = cluster.now.after(std::time::Duration::from_millis(900));
    cluster.fire(&worker("A"), Delay::Renewal);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::LeaseRenewed), 1);
    cluster.now = cluster.now.after(std::time::Duration::from_millis(200));
    cluster.fire(&Actor::Authority, Delay::LeaseTerm);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::LeaseEnded), 0, "the first term is over, the second not");
}

#[test]
fn a_worker_that_does_not_get_on_does_not_renew() {
    let (mut cluster, _held) = paused_before_the_mutation();
    cluster.fire(&worker("A"), Delay::Renewal);
    cluster.flow();
    cluster.fire(&worker("A"), Delay::Renewal);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::LeaseRenewed), 1);
}

#[test]
fn a_takeover_by_a_stale_snapshot_takes_the_resource_from_whoever_has_it() {
    for (design, last_epoch) in [("push-before-ready", 2), ("stale-controller-cache", 3)] {
        let mut cluster = Cluster::new(design, vec![task("one", "routing-rule")]);
        cluster.begin(1);
        cluster.flow_except(is_apply);
        // A gets a newer lease than the one that the supervisor has seen.
        let acquire = Message::Acquire { resource: rule(), at: cluster.now, insists: false };
        cluster.deliver(worker("A"), &Actor::Authority, acquire);
        cluster.flow_except(|(_, to, _)| *to == worker("A"));
        let stale =
            Message::TakeOver { resource: rule(), epoch: Epoch(1), successor: "worker-B".into() };
        cluster.deliver(Actor::Supervisor, &Actor::Authority, stale);
        assert_eq!(cluster.authority.tenure(&rule()).last_epoch, Epoch(last_epoch), "{design}");
    }
}
