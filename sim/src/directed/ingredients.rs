//! The faults that may do in the world what a step did in the checker.

use std::collections::BTreeMap;

use holdover_model::check::{Counterexample, Happening, Post};
use holdover_model::design::Design;
use holdover_model::event::EventKind;
use holdover_model::role::worker::Stage;
use holdover_model::role::{Actor, Signal};

use crate::fault::{DiskFault, Fault, PlannedFault, Trigger};

/// Longer than a lease and an agent's patience.
const LONG_US: u64 = 1_000_000;

/// Longer than a suspicion, shorter than a lease: ownership passes on, and nobody has asked again.
const MEDIUM_US: u64 = 600_000;

/// Longer than a try waits for its answer, shorter than a suspicion.
const SHORT_US: u64 = 300_000;

/// How long a process is down that crashes.
const DOWN_US: [u64; 2] = [10_000, 500_000];

/// How old a backup is: from before the last grant, or from before all of them.
const BACKUP_AGE_US: [u64; 2] = [10_000, 1_000_000];

/// So often a point is passed at most where the checker does not say how often.
const POINTS_MAX: u64 = 4;

/// What to try for a counterexample, the likeliest first.
pub(super) fn of(design: &Design, counterexample: &Counterexample) -> Vec<PlannedFault> {
    let late = late(counterexample);
    let told =
        counterexample.steps.iter().enumerate().flat_map(|(index, step)| match &step.happening {
            Happening::Loss(post) => lost(design, post),
            Happening::Delivery { post, is_doubled: true } => doubled(design, post),
            Happening::Crash => crashes(counterexample, index, &step.actor),
            Happening::Restore => restores(counterexample, index, &step.actor),
            Happening::Signal(Signal::Suspect(worker)) => suspected(worker.as_str(), &late, design),
            _ => vec![],
        });
    let mut faults: Vec<PlannedFault> = told.collect();
    // Each way of being late for all messages, before the next way.
    let ways = late.iter().map(|post| ways_to_be_late(design, post)).collect::<Vec<_>>();
    let most = ways.iter().map(Vec::len).max().unwrap_or(0);
    faults.extend(
        (0..most).flat_map(|way| ways.iter().filter_map(move |ways| ways.get(way).cloned())),
    );
    let mut known = Vec::new();
    for fault in faults {
        if !known.contains(&fault) {
            known.push(fault);
        }
    }
    known
}

/// The messages that were delivered late or not at all, or whose effect or answer was late: the
/// latest first.
fn late(counterexample: &Counterexample) -> Vec<&Post> {
    let end = counterexample.steps.len();
    let since = |post: &Post, index: usize| index - post.sent_at.map_or(0, |sent_at| sent_at + 1);
    let steps = || counterexample.steps.iter().enumerate();
    let delivered = steps().filter_map(|(index, step)| match &step.happening {
        Happening::Delivery { post, .. } => Some((since(post, index), post)),
        _ => None,
    });
    let never = counterexample.under_way.iter().map(|post| (since(post, end), post));
    let unanswered = steps().filter_map(|(index, step)| {
        let Happening::Signal(signal) = &step.happening else { return None };
        let kind = awaited(signal)?;
        let is_it = |post: &&Post| {
            let is_from = post.from.name() == step.actor || matches!(signal, Signal::Effect(..));
            post.kind == kind && is_from && post.sent_at < Some(index)
        };
        let post = posts(counterexample).filter(is_it).max_by_key(|post| post.sent_at)?;
        Some((since(post, index), post))
    });
    let mut late: Vec<_> = delivered.chain(never).chain(unanswered).collect();
    late.retain(|(steps, _)| *steps > 0);
    late.sort_by_key(|(steps, _)| std::cmp::Reverse(*steps));
    let mut posts: Vec<&Post> = Vec::new();
    for (_, post) in late {
        if !posts.contains(&post) {
            posts.push(post);
        }
    }
    posts
}

/// Every message of a run.
fn posts(counterexample: &Counterexample) -> impl Iterator<Item = &Post> {
    let moved = counterexample.steps.iter().filter_map(|step| match &step.happening {
        Happening::Delivery { post, .. } | Happening::Loss(post) => Some(post),
        _ => None,
    });
    moved.chain(&counterexample.under_way)
}

/// The kind of message of which a timer says that its effect or its answer is late.
fn awaited(signal: &Signal) -> Option<&'static str> {
    Some(match signal {
        Signal::Effect(..) => "apply",
        Signal::TaskTimeout(_, 1..) => "perform",
        Signal::JobTimeout(_, stage) => match stage {
            Stage::Acquiring => "acquire",
            Stage::Reading => "read",
            Stage::LookingUp => "look-up",
            Stage::Claiming => "claim",
            Stage::Marking(_) => "dispatch",
            Stage::Confirming(_) => "confirm",
            Stage::InFlight(_) => "apply",
            Stage::Reconciling(_) => "reconcile",
            Stage::Closing(_) => "close",
            Stage::Settling(..) => "settle",
        },
        _ => return None,
    })
}

/// On which host an actor is.
fn host(design: &Design, actor: &Actor) -> String {
    match actor {
        Actor::Destination if design.fence.asked().is_co_located() => "authority".into(),
        actor => actor.name().into(),
    }
}

/// Immediately before a message is sent.
fn before(design: &Design, post: &Post) -> Trigger {
    let name = format!("before-{}", post.kind);
    Trigger::Point { host: host(design, &post.from), name, nth: post.nth }
}

fn ways_to_be_late(design: &Design, post: &Post) -> Vec<PlannedFault> {
    let (from, to) = (host(design, &post.from), host(design, &post.to));
    let (f, t) = (|| from.clone(), || to.clone());
    let mut ways = vec![
        Fault::Freeze { host: f(), for_us: MEDIUM_US },
        Fault::Freeze { host: f(), for_us: LONG_US },
        Fault::PartitionOneWay { from: f(), to: t(), for_us: LONG_US },
        Fault::LoseMessage { from: f(), to: t(), kind: post.kind.into(), times: 1 },
        Fault::LoseResponse { from: f(), to: t() },
        Fault::Freeze { host: t(), for_us: LONG_US },
        Fault::PartitionOneWay { from: f(), to: t(), for_us: SHORT_US },
        Fault::Redeliver { from: f(), to: t(), kind: post.kind.into(), after_us: SHORT_US },
        Fault::Stall { host: f(), point: format!("before-{}", post.kind), for_us: LONG_US },
        Fault::Late { from: f(), to: t(), extra_us: SHORT_US },
        Fault::Freeze { host: f(), for_us: SHORT_US },
    ];
    ways.extend(DOWN_US.map(|restart_after_us| Fault::Crash { host: t(), restart_after_us }));
    ways.extend(DOWN_US.map(|restart_after_us| Fault::Crash { host: f(), restart_after_us }));
    let ways = ways.into_iter().map(|fault| PlannedFault { trigger: before(design, post), fault });
    // The mutation has arrived, but whoever sent it says nothing more.
    let silent = (post.kind == "apply").then(|| PlannedFault {
        trigger: Trigger::Point { host: f(), name: "before-settle".into(), nth: post.nth },
        fault: Fault::Freeze { host: f(), for_us: LONG_US },
    });
    // It has arrived, and what comes of it is not on the disk for a while.
    let unkept = (1..=POINTS_MAX).map(|nth| PlannedFault {
        trigger: Trigger::Point { host: t(), name: "before-sync".into(), nth },
        fault: Fault::Freeze { host: t(), for_us: LONG_US },
    });
    ways.chain(silent).chain(unkept).collect()
}

fn lost(design: &Design, post: &Post) -> Vec<PlannedFault> {
    let (from, to, kind) = (host(design, &post.from), host(design, &post.to), post.kind.to_owned());
    let fault = Fault::LoseMessage { from, to, kind, times: 1 };
    vec![PlannedFault { trigger: before(design, post), fault }]
}

fn doubled(design: &Design, post: &Post) -> Vec<PlannedFault> {
    let again = |after_us| PlannedFault {
        trigger: before(design, post),
        fault: Fault::Redeliver {
            from: host(design, &post.from),
            to: host(design, &post.to),
            kind: post.kind.into(),
            after_us,
        },
    };
    [50_000, SHORT_US, LONG_US].map(again).into()
}

/// A worker is suspected because its heartbeat is not heard, from the moment on at which a message
/// is sent that is late, or from the beginning.
fn suspected(worker: &str, late: &[&Post], design: &Design) -> Vec<PlannedFault> {
    let triggers = late.iter().map(|post| before(design, post)).take(3);
    let unheard = |trigger| PlannedFault {
        trigger,
        fault: Fault::LoseDatagrams {
            from: worker.into(),
            to: "supervisor".into(),
            percent: 100,
            for_us: LONG_US,
        },
    };
    triggers.chain([Trigger::At { at_us: 0 }]).map(unheard).collect()
}

/// The moments after the last step of an actor before a step, and around what it keeps.
fn moments(counterexample: &Counterexample, before: usize, actor: &str) -> Vec<Trigger> {
    let mut triggers = Vec::new();
    let last = (0..before).rev().find(|index| counterexample.steps[*index].actor == actor);
    if let Some(last) = last {
        let mut seen: BTreeMap<EventKind, u64> = BTreeMap::new();
        for (index, step) in counterexample.steps[..=last].iter().enumerate() {
            for event in step.events.iter().filter(|_| step.actor == actor) {
                let nth = seen.entry(event.kind()).or_default();
                *nth += 1;
                if index == last {
                    let host = Some(actor.to_owned());
                    triggers.push(Trigger::Event { kind: event.kind(), nth: *nth, host });
                }
            }
        }
        for post in posts(counterexample) {
            if post.sent_at == Some(last) && post.from.name() == actor {
                triggers.push(Trigger::BeforePacket {
                    from: actor.into(),
                    to: post.to.name().into(),
                    nth: post.nth,
                });
                let name = format!("before-{}", post.kind);
                triggers.push(Trigger::Point { host: actor.into(), name, nth: post.nth });
            }
        }
    }
    for name in ["before-late-records", "after-sync"] {
        for nth in 1..=POINTS_MAX {
            triggers.push(Trigger::Point { host: actor.into(), name: name.into(), nth });
        }
    }
    triggers
}

fn crashes(counterexample: &Counterexample, index: usize, actor: &str) -> Vec<PlannedFault> {
    let crash = |trigger: Trigger| {
        DOWN_US.map(|restart_after_us| PlannedFault {
            trigger: trigger.clone(),
            fault: Fault::Crash { host: actor.into(), restart_after_us },
        })
    };
    moments(counterexample, index, actor).into_iter().flat_map(crash).collect()
}

fn restores(counterexample: &Counterexample, index: usize, actor: &str) -> Vec<PlannedFault> {
    let restore = |trigger: Trigger| {
        BACKUP_AGE_US.map(|age_us| PlannedFault {
            trigger: trigger.clone(),
            fault: Fault::Disk(DiskFault::Restore {
                host: actor.into(),
                age_us,
                restart_after_us: DOWN_US[0],
            }),
        })
    };
    moments(counterexample, index, actor).into_iter().flat_map(restore).collect()
}
