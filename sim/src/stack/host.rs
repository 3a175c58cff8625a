//! Runs one role on one host: messages in, records to the disk, events out, messages out.
//!
//! The order within a step is what makes a role durable: its records are on the disk
//! before an event says so or a message leaves.

use std::collections::BTreeMap;
use std::rc::Rc;

use holdover_model::design::Design;
use holdover_model::role::{Actor, Context, Output, Role, Signal};
use rand_chacha::ChaCha8Rng;
use rand_core::Rng;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_local;

use super::peers::Peers;
use super::store::Store;
use super::timing::Timing;
use crate::message::{Delivery, delivery};
use crate::time::{Instant, sleep, sleep_until, unix_now};
use crate::{point, world};

/// What a role is run with.
pub(super) struct Seat {
    pub(super) actor: Actor,
    pub(super) design: Rc<Design>,
    pub(super) timing: Timing,
    /// Signals that the role is to get at a moment after the host's start.
    pub(super) begin: Vec<(std::time::Duration, Signal)>,
    /// Signals from outside the role.
    pub(super) stimuli: UnboundedReceiver<Signal>,
}

struct Driver<R: Role> {
    role: R,
    store: Store,
    peers: Peers,
    design: Rc<Design>,
    timing: Timing,
    timers: BTreeMap<Signal, Instant>,
    entropy: ChaCha8Rng,
}

/// Runs the role until its host stops.
pub(super) async fn run<R: Role>(mut role: R, seat: Seat) {
    let Seat { actor, design, timing, begin, mut stimuli } = seat;
    let (store, records) = Store::open().expect("the simulated disk works");
    for record in records {
        role.load(record);
    }
    let (peers, mut arrivals) = Peers::listen(actor, design.fence.is_co_located()).await;
    let entropy = world::random("entropy");
    let mut driver =
        Driver { role, store, peers, design, timing, timers: BTreeMap::new(), entropy };
    for (delay, signal) in begin {
        driver.timers.insert(signal, Instant::now() + delay);
    }
    driver.step(Role::resume).await;
    loop {
        let next = driver.timers.iter().min_by_key(|(_, due)| **due);
        let (signal, due) = match next {
            Some((signal, due)) => (Some(signal.clone()), *due),
            None => (None, Instant::now()),
        };
        tokio::select! {
            biased;
            Some((from, message)) = arrivals.recv() => {
                driver
                    .step(|role, context, output| role.receive(context, from, message, output))
                    .await;
            }
            Some(signal) = stimuli.recv() => {
                driver.step(|role, context, output| role.signal(context, signal, output)).await;
            }
            () = sleep_until(due), if signal.is_some() => {
                let signal = signal.expect("the branch is only open with one");
                driver.timers.remove(&signal);
                if matches!(signal, Signal::Effect(..)) {
                    point("before-effect").await;
                }
                driver.step(|role, context, output| role.signal(context, signal, output)).await;
            }
        }
    }
}

impl<R: Role> Driver<R> {
    async fn step(&mut self, act: impl FnOnce(&mut R, Context<'_>, &mut Output<R::Record>)) {
        let context = Context {
            design: &self.design,
            now: unix_now(),
            lease_term: self.timing.lease_term(),
            entropy: self.entropy.next_u64(),
        };
        let mut output = Output::default();
        act(&mut self.role, context, &mut output);
        if !output.records.is_empty() {
            self.store.keep(&output.records).expect("the simulated disk works");
        }
        for event in output.events {
            world::emit(event);
        }
        for (delay, signal) in output.timers {
            self.timers.insert(signal, Instant::now() + self.timing.of(delay));
        }
        for (to, message) in output.sends {
            point(message.point_before()).await;
            match delivery(to.name(), message.kind()) {
                Delivery::Once => self.peers.send(&to, message),
                Delivery::Never => {}
                Delivery::AgainAfter(pause) => {
                    self.peers.send(&to, message.clone());
                    let peers = self.peers.clone();
                    spawn_local(async move {
                        sleep(pause).await;
                        peers.send(&to, message);
                    });
                }
            }
        }
        if !output.late_records.is_empty() {
            point("before-late-records").await;
            self.store.keep(&output.late_records).expect("the simulated disk works");
        }
    }
}
