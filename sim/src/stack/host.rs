//! Runs one role on one host: messages in, records to the disk, events out, messages out.
//!
//! The order within a step is what makes a role durable: its records are on the disk
//! before an event says so or a message leaves. What a design keeps late is written a while
//! later, when the message has left.
//!
//! A role whose disk fails stops at once, says nothing of what it could not keep, and is started
//! again, until its disk works. One whose log is damaged does not start.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use holdover_model::design::Design;
use holdover_model::role::{Actor, Context, Output, Role, Signal};
use rand_chacha::ChaCha8Rng;
use rand_core::Rng;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_local;

use super::log::LogError;
use super::peers::Peers;
use super::store::Store;
use super::timing::Timing;
use crate::time::{Instant, sleep, sleep_until, unix_now};
use crate::{point, world};

/// Where a role keeps its records.
const LOG: &str = "/role.log";

/// After this long, what is kept late is written: an answer has left by then.
const WRITE_BEHIND: Duration = Duration::from_millis(5);

/// When a role is started again whose disk has failed.
const RESTART_AFTER: Duration = Duration::from_millis(100);

/// What a role is run with.
pub(super) struct Seat {
    pub(super) actor: Actor,
    pub(super) design: Rc<Design>,
    pub(super) timing: Timing,
    /// Signals that the role is to get at a moment after the host's start.
    pub(super) begin: Vec<(Duration, Signal)>,
    /// Signals from outside the role.
    pub(super) stimuli: UnboundedReceiver<Signal>,
}

struct Driver<R: Role> {
    role: R,
    store: Store<R::Record>,
    peers: Peers,
    design: Rc<Design>,
    timing: Timing,
    timers: BTreeMap<Signal, Instant>,
    /// Records that are not kept yet, and when they are.
    late: Vec<R::Record>,
    late_due: Instant,
    entropy: ChaCha8Rng,
}

/// Runs the role until its host stops.
pub(super) async fn run<R: Role>(role: R, seat: Seat) {
    let Err(error) = serve(role, seat).await;
    match error {
        LogError::Damaged { .. } => panic!("{error}"),
        LogError::Disk { .. } => {
            tracing::error!(%error, "the role stops and starts again");
            world::fail_stop(RESTART_AFTER).await;
        }
    }
}

async fn serve<R: Role>(mut role: R, seat: Seat) -> Result<Infallible, LogError> {
    let Seat { actor, design, timing, begin, mut stimuli } = seat;
    let (store, records) = Store::open(Path::new(LOG))?;
    // A slow disk holds the process here, as at the end of each step.
    point("after-sync").await;
    for record in records {
        role.load(record);
    }
    let (peers, mut arrivals) = Peers::listen(actor, design.fence).await;
    let mut driver = Driver {
        role,
        store,
        peers,
        design,
        timing,
        timers: BTreeMap::new(),
        late: Vec::new(),
        late_due: Instant::now(),
        entropy: world::random("entropy"),
    };
    for (delay, signal) in begin {
        driver.timers.insert(signal, Instant::now() + delay);
    }
    driver.step(Role::resume).await?;
    let restores = world::restores();
    if restores > 0 {
        // At every start from then on: a role that knows of it already does nothing.
        driver.signal(Signal::Restored(restores)).await?;
    }
    loop {
        let next = driver.timers.iter().min_by_key(|(_, due)| **due);
        let (signal, due) = match next {
            Some((signal, due)) => (Some(signal.clone()), *due),
            None => (None, Instant::now()),
        };
        let (is_late, late_due) = (!driver.late.is_empty(), driver.late_due);
        tokio::select! {
            biased;
            Some(arrival) = arrivals.recv() => {
                world::show(&arrival);
                let (from, message) = arrival;
                driver
                    .step(|role, context, output| role.receive(context, from, message, output))
                    .await?;
            }
            Some(signal) = stimuli.recv() => driver.signal(signal).await?,
            () = sleep_until(due), if signal.is_some() => {
                let signal = signal.expect("the branch is only open with one");
                driver.timers.remove(&signal);
                if matches!(signal, Signal::Effect(..)) {
                    point("before-effect").await;
                }
                driver.signal(signal).await?;
            }
            () = sleep_until(late_due), if is_late => driver.keep_late().await?,
        }
    }
}

impl<R: Role> Driver<R> {
    async fn signal(&mut self, signal: Signal) -> Result<(), LogError> {
        self.step(|role, context, output| role.signal(context, signal, output)).await
    }

    async fn step(
        &mut self,
        act: impl FnOnce(&mut R, Context<'_>, &mut Output<R::Record>),
    ) -> Result<(), LogError> {
        // Records are kept in the order of their steps.
        self.keep_late().await?;
        let context = Context {
            design: self.design.asked(),
            now: unix_now(),
            lease_term: self.timing.lease_term(),
            entropy: self.entropy.next_u64(),
        };
        let mut output = Output::default();
        act(&mut self.role, context, &mut output);
        let is_kept = !output.records.is_empty();
        if is_kept {
            self.store.keep(&output.records).await?;
        }
        // Facts are true from the moment on at which they are durable, so nothing can come
        // between the two, nor between them.
        world::emit_together(output.events);
        if is_kept {
            // A slow disk holds the process here, before anybody is told.
            point("after-sync").await;
        }
        for (delay, signal) in output.timers {
            self.timers.insert(signal, Instant::now() + self.timing.of(delay));
        }
        for (to, message) in output.sends {
            self.peers.deliver(to, message).await;
        }
        for (delay, to, message) in output.sends_later {
            let (peers, delay) = (self.peers.clone(), self.timing.of(delay));
            spawn_local(async move {
                sleep(delay).await;
                peers.deliver(to, message).await;
            });
        }
        if !output.late_records.is_empty() {
            self.late = output.late_records;
            self.late_due = Instant::now() + WRITE_BEHIND;
        }
        Ok(())
    }

    async fn keep_late(&mut self) -> Result<(), LogError> {
        if !self.late.is_empty() {
            point("before-late-records").await;
            self.store.keep(&self.late).await?;
            self.late.clear();
        }
        Ok(())
    }
}
