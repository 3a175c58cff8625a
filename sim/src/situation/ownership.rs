//! A worker that is late, and its successor.

use std::collections::{BTreeMap, BTreeSet};

use holdover_model::event::{Event, EventKind, LeaseEnd, Rejection};
use holdover_model::lease::Holder;
use holdover_model::resource::ResourceId;
use holdover_model::role::Message;

use super::tenure::{DECISIONS, Tenures, Try, arrived, decided};
use super::{Detector, Situation};
use crate::fault::Fault;
use crate::world::{Sight, SightKind};

const CHECKLIST: &str = "The stale-worker article, release checklist";

pub(super) fn situations() -> [Situation; 6] {
    let dispatched = [SightKind::Event(EventKind::Dispatched)];
    let stale = || [&Tenures::KINDS[..], &DECISIONS, &[SightKind::Shown]].concat();
    [
        Situation::new(
            "worker-paused-before-mutation",
            "A worker with valid authority stops immediately before its mutation leaves.",
            PausedBeforeMutation::default,
        )
        .from(CHECKLIST)
        .watching(&[&Tenures::KINDS[..], &dispatched, &[SightKind::Held]].concat()),
        Situation::new(
            "lease-expired-while-paused",
            "A lease expires while its holder, or the task that works under it, is stopped.",
            ExpiredWhilePaused::default,
        )
        .from("etcd-io/etcd#10811; the stale-worker article: \"A lease is not proof that the old process stopped\"")
        .watching(&[
            SightKind::Event(EventKind::LeaseEnded),
            SightKind::Frozen,
            SightKind::Thawed,
            SightKind::Held,
            SightKind::Ended,
            SightKind::Down,
        ]),
        Situation::new(
            "takeover-complete-before-first-write",
            "A successor is told that it is ready and has not written yet, and a write of an earlier holder is still on its way.",
            TakeoverBeforeFirstWrite::default,
        )
        .from("The stale-worker article: \"after the authority grants B ownership but before B's first write arrives\"")
        .watching(&[&DECISIONS[..], &dispatched, &[SightKind::Event(EventKind::TakeoverComplete)]].concat()),
        Situation::new(
            "stale-write-before-first-write",
            "A write of an earlier holder arrives after its successor was ready and before that has written.",
            || StaleWrite::new(false),
        )
        .from(CHECKLIST)
        .watching(&stale()),
        Situation::new(
            "stale-write-after-first-write",
            "A write of an earlier holder arrives after its successor has written.",
            || StaleWrite::new(true),
        )
        .from(CHECKLIST)
        .watching(&stale()),
        Situation::new(
            "stale-write-inside-the-destination",
            "The fence moves on while a write of the earlier holder is already inside the destination.",
            Inside::default,
        )
        .from("pravega/pravega#2052")
        .watching(
            &[&DECISIONS[..], &[
                SightKind::Event(EventKind::FenceAdvanced),
                SightKind::Shown,
                SightKind::Down,
            ]]
            .concat(),
        ),
    ]
}

#[derive(Default)]
struct PausedBeforeMutation {
    tenures: Tenures,
    /// What each worker was about to send last.
    leaving: BTreeMap<String, (ResourceId, Holder)>,
}

impl Detector for PausedBeforeMutation {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match sight {
            Sight::Event(record) => {
                self.tenures.sees(&record.event);
                if let Event::Dispatched { resource, holder, .. } = &record.event {
                    let leaving = (resource.clone(), holder.clone());
                    self.leaving.insert(record.host.to_string(), leaving);
                }
                false
            }
            Sight::Held { host, point: "before-apply", .. } => {
                self.leaving.get(*host).is_some_and(|(resource, holder)| {
                    let tenure = self.tenures.of(resource);
                    tenure.is_some_and(|tenure| tenure.is_current && tenure.holder == *holder)
                })
            }
            _ => false,
        }
    }
}

#[derive(Default)]
struct ExpiredWhilePaused {
    frozen: BTreeSet<String>,
    stalled: BTreeSet<String>,
}

impl Detector for ExpiredWhilePaused {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Event(record) => {
                if let Event::LeaseEnded { holder, cause: LeaseEnd::Expired, .. } = &record.event {
                    let worker = holder.worker.as_str();
                    return self.frozen.contains(worker) || self.stalled.contains(worker);
                }
            }
            Sight::Frozen { host, .. } => {
                self.frozen.insert(host.to_owned());
            }
            Sight::Held { host, is_alone: true, .. } => {
                self.stalled.insert(host.to_owned());
            }
            Sight::Thawed { host, .. } => {
                self.frozen.remove(host);
            }
            Sight::Ended { fault: Fault::Stall { host, .. }, .. } => {
                self.stalled.remove(host);
            }
            Sight::Down { host, .. } => {
                self.frozen.remove(host);
                self.stalled.remove(host);
            }
            _ => {}
        }
        false
    }
}

#[derive(Default)]
struct TakeoverBeforeFirstWrite {
    on_their_way: BTreeMap<Try, (ResourceId, Holder)>,
}

impl Detector for TakeoverBeforeFirstWrite {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        let Sight::Event(record) = sight else { return false };
        match &record.event {
            Event::Dispatched { envelope, resource, holder } => {
                let key = (envelope.operation_id.clone(), envelope.attempt_id);
                self.on_their_way.insert(key, (resource.clone(), holder.clone()));
            }
            Event::TakeoverComplete { resource, holder } => {
                return self.on_their_way.values().any(|(of, under)| {
                    of == resource && under.worker != holder.worker && under.epoch < holder.epoch
                });
            }
            event => {
                if let Some(key) = decided(event) {
                    self.on_their_way.remove(&key);
                }
            }
        }
        false
    }
}

/// A write under an epoch that is not the latest any more, when it arrives.
struct StaleWrite {
    /// Whether the successor must have written.
    after: bool,
    tenures: Tenures,
    /// Which stale writes have arrived and are not decided about, and whether the successor had
    /// written by then.
    arrived: BTreeMap<Try, bool>,
}

impl StaleWrite {
    fn new(after: bool) -> Self {
        Self { after, tenures: Tenures::default(), arrived: BTreeMap::new() }
    }
}

impl Detector for StaleWrite {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Shown { what, .. } => {
                if let Some((_, Message::Apply { envelope, resource, holder, .. })) = arrived(what)
                    && let Some(tenure) = self.tenures.of(resource)
                    && holder.epoch < tenure.holder.epoch
                {
                    let key = (envelope.operation_id.clone(), envelope.attempt_id);
                    self.arrived.insert(key, tenure.has_written);
                }
            }
            Sight::Event(record) => {
                self.tenures.sees(&record.event);
                let was_written = decided(&record.event).and_then(|key| self.arrived.remove(&key));
                // A repeated or closed try is answered for what it is, whatever its epoch.
                let is_about_epoch = match &record.event {
                    Event::EffectCommitted { .. } => true,
                    Event::EffectRejected { reason, .. } => matches!(
                        reason,
                        Rejection::StaleEpoch
                            | Rejection::UnknownEpoch
                            | Rejection::OtherWorker
                            | Rejection::Sealed
                    ),
                    _ => false,
                };
                return is_about_epoch && was_written == Some(self.after);
            }
            _ => {}
        }
        false
    }
}

#[derive(Default)]
struct Inside {
    inside: BTreeMap<Try, Arrival>,
    /// How many messages have arrived anywhere.
    messages: u64,
}

/// A write that has arrived.
struct Arrival {
    at_ns: u64,
    /// How many messages had arrived by then, itself included.
    messages: u64,
    host: String,
    resource: ResourceId,
    holder: Holder,
}

impl Detector for Inside {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Shown { at_ns, host, what } => {
                self.messages += 1;
                if let Some((_, Message::Apply { envelope, resource, holder, .. })) = arrived(what)
                {
                    let arrival = Arrival {
                        at_ns,
                        messages: self.messages,
                        host: host.to_owned(),
                        resource: resource.clone(),
                        holder: holder.clone(),
                    };
                    let key = (envelope.operation_id.clone(), envelope.attempt_id);
                    self.inside.insert(key, arrival);
                }
            }
            Sight::Down { host, .. } => self.inside.retain(|_, arrival| arrival.host != host),
            Sight::Event(record) => match &record.event {
                Event::FenceAdvanced { resource, admits, .. } => {
                    return self.inside.values().any(|arrival| {
                        // A store that looks at the clock may seal in the very step in which a
                        // write arrives; that one never was inside.
                        let was_let_in =
                            arrival.at_ns < record.at_ns || arrival.messages < self.messages;
                        was_let_in
                            && arrival.resource == *resource
                            && admits.as_ref() != Some(&arrival.holder)
                    });
                }
                event => {
                    if let Some(key) = decided(event) {
                        self.inside.remove(&key);
                    }
                }
            },
            _ => {}
        }
        false
    }
}
