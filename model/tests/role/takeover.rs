//! Worker A stalls, B takes over: what else has to be true around it. The old worker's write
//! itself is in `fixture`.

use std::time::Duration;

use holdover_model::event::{Event, EventKind, LeaseEnd, Outcome, Rejection};
use holdover_model::lease::Epoch;
use holdover_model::role::{Actor, Delay, Message};

use crate::cluster::{Cluster, for_both_designs, is, rule, task, worker};
use crate::fixture::paused_before_the_mutation;

for_both_designs! {
    the_fence_advances_before_the_takeover_is_complete
    a_write_that_is_let_in_when_the_fence_advances_is_aborted
    a_restart_of_the_ownership_service_makes_no_old_authority_valid_again
}

fn the_fence_advances_before_the_takeover_is_complete(design: &str) {
    let (mut cluster, _) = paused_before_the_mutation(design);
    cluster.suspect("A");
    cluster.flow();
    let position = |wanted: &dyn Fn(&Event) -> bool| cluster.events.iter().position(wanted);
    let fenced = position(&|event| matches!(event, Event::FenceAdvanced { epoch: Epoch(2), .. }));
    let complete = position(
        &|event| matches!(event, Event::TakeoverComplete { holder, .. } if holder.epoch == Epoch(2)),
    );
    assert!(fenced.unwrap() < complete.unwrap());
}

fn a_write_that_is_let_in_when_the_fence_advances_is_aborted(design: &str) {
    let (mut cluster, (from, to, message)) = paused_before_the_mutation(design);
    cluster.deliver(from, &to, message);
    assert_eq!(cluster.rejections(), [], "it is inside");
    cluster.suspect("A");
    while let Some((from, to, message)) = cluster.mail.pop_front() {
        cluster.deliver(from, &to, message);
    }
    assert_eq!(cluster.rejections()[0], Rejection::StaleEpoch);
    assert_eq!(cluster.rule().value, None);
}

fn a_restart_of_the_ownership_service_makes_no_old_authority_valid_again(design: &str) {
    let (mut cluster, (from, to, message)) = paused_before_the_mutation(design);
    cluster.suspect("A");
    cluster.flow();
    cluster.restart(&Actor::Authority);
    cluster.flow();
    assert_eq!(cluster.authority().tenure(&rule()).last_epoch, Epoch(2));
    cluster.deliver(from, &to, message);
    assert_eq!(cluster.rejections(), [Rejection::StaleEpoch]);
    // What is issued next was never issued before.
    let acquire = Message::Acquire { resource: rule(), at: cluster.now, insists: false };
    cluster.deliver(worker("B"), &Actor::Authority, acquire);
    assert_eq!(cluster.epochs(), [1, 2, 3].map(Epoch));
}

#[test]
fn an_authority_that_stops_before_the_fence_confirms_takes_the_handover_up_again() {
    let (mut cluster, (from, to, message)) = paused_before_the_mutation("push-before-ready");
    cluster.suspect("A");
    let lost = cluster.flow_except(is("admit"));
    assert_eq!(lost.len(), 1, "the fence does not hear of B");
    cluster.restart(&Actor::Authority);
    cluster.flow();
    assert_eq!(cluster.authority().holder(&rule()).unwrap().epoch, Epoch(2));
    cluster.deliver(from, &to, message);
    assert_eq!(cluster.rejections(), [Rejection::StaleEpoch]);
}

#[test]
fn who_asks_again_before_the_fence_confirms_gets_one_lease() {
    let mut cluster = Cluster::new("push-before-ready", Vec::new());
    let acquire = Message::Acquire { resource: rule(), at: cluster.now, insists: false };
    cluster.deliver(worker("A"), &Actor::Authority, acquire.clone());
    let unconfirmed = cluster.flow_except(is("admitted"));
    cluster.deliver(worker("A"), &Actor::Authority, acquire.clone());
    cluster.release(unconfirmed);
    cluster.flow();
    assert_eq!(cluster.epochs(), [Epoch(1)]);
    // Once it is told, to ask again means that it has not heard.
    cluster.deliver(worker("A"), &Actor::Authority, acquire);
    assert_eq!(cluster.epochs(), [1, 2].map(Epoch));
}

#[test]
fn a_lease_is_over_only_after_the_destination_has_sealed_it() {
    let (mut cluster, _) = paused_before_the_mutation("push-before-ready");
    cluster.expire_leases();
    let sealing = cluster.flow_except(is("admitted"));
    let is_expired = |cluster: &Cluster| {
        cluster
            .events
            .iter()
            .any(|event| matches!(event, Event::LeaseEnded { cause: LeaseEnd::Expired, .. }))
    };
    assert_eq!(cluster.rule().fence.admits, None);
    assert!(!is_expired(&cluster));
    cluster.release(sealing);
    cluster.flow();
    assert!(is_expired(&cluster));
}

#[test]
fn a_takeover_of_an_epoch_that_is_over_changes_nothing() {
    let (mut cluster, _) = paused_before_the_mutation("push-before-ready");
    let late =
        Message::TakeOver { resource: rule(), epoch: Epoch(0), successor: "worker-B".into() };
    cluster.deliver(Actor::Supervisor, &Actor::Authority, late);
    cluster.flow();
    assert_eq!(cluster.authority().tenure(&rule()).last_epoch, Epoch(1));
}

#[test]
fn a_release_that_names_another_epoch_changes_nothing() {
    let (mut cluster, _) = paused_before_the_mutation("push-before-ready");
    for (from, epoch) in [(worker("B"), 1), (worker("A"), 0), (worker("A"), 2)] {
        let release = Message::Release { resource: rule(), epoch: Epoch(epoch) };
        cluster.deliver(from, &Actor::Authority, release);
    }
    cluster.flow();
    assert!(cluster.authority().holder(&rule()).is_some());
}

#[test]
fn a_grant_that_is_over_before_it_could_be_used_is_refused() {
    let mut cluster = Cluster::new("push-before-ready", vec![task("one", "routing-rule")]);
    cluster.begin(1);
    let held = cluster.flow_except(is("admitted"));
    cluster.now = cluster.now.after(Duration::from_secs(5));
    cluster.release(held);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::TakeoverComplete), 0);
    assert_eq!(cluster.count(EventKind::LeaseEnded), 1);
}

#[test]
fn a_renewal_moves_the_deadline() {
    let (mut cluster, _) = paused_before_the_mutation("push-before-ready");
    cluster.now = cluster.now.after(Duration::from_millis(900));
    cluster.fire(&worker("A"), Delay::Renewal);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::LeaseRenewed), 1);
    cluster.now = cluster.now.after(Duration::from_millis(200));
    cluster.fire(&Actor::Authority, Delay::LeaseTerm);
    cluster.flow();
    assert_eq!(cluster.count(EventKind::LeaseEnded), 0, "the first term is over, the second not");
}

#[test]
fn a_worker_that_does_not_get_on_does_not_renew() {
    let (mut cluster, _) = paused_before_the_mutation("push-before-ready");
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
        cluster.flow_except(is("apply"));
        // A gets a newer lease than the one that the supervisor has seen.
        let acquire = Message::Acquire { resource: rule(), at: cluster.now, insists: false };
        cluster.deliver(worker("A"), &Actor::Authority, acquire);
        cluster.flow_except(|(_, to, _)| *to == worker("A"));
        let stale =
            Message::TakeOver { resource: rule(), epoch: Epoch(1), successor: "worker-B".into() };
        cluster.deliver(Actor::Supervisor, &Actor::Authority, stale);
        assert_eq!(cluster.authority().tenure(&rule()).last_epoch, Epoch(last_epoch), "{design}");
    }
}

#[test]
fn without_a_fence_a_suspicion_passes_nothing_on() {
    let mut cluster = Cluster::new("no-automatic-takeover", vec![task("one", "routing-rule")]);
    cluster.begin(1);
    let held = cluster.flow_except(is("apply"));
    cluster.suspect("A");
    cluster.flow();
    assert_eq!(cluster.epochs(), [Epoch(1)], "a person has to decide");
    cluster.release(held);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed), "A was only slow");
}

/// What is refused has to be let go of, or the job asks about it for ever.
#[test]
fn a_job_whose_lease_is_not_current_goes_on_under_the_newer_one() {
    let mut cluster = Cluster::new("adapter-check", vec![task("one", "routing-rule")]);
    cluster.begin(1);
    let question = cluster.flow_except(is("confirm"));
    let acquire = Message::Acquire { resource: rule(), at: cluster.now, insists: false };
    cluster.deliver(worker("A"), &Actor::Authority, acquire);
    cluster.flow();
    cluster.release(question);
    cluster.flow();
    assert_eq!(cluster.outcome(1), Some(Outcome::Committed));
}
