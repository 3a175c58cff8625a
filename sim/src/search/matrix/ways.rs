//! What can go wrong at a moment, and how soon each of it is worth a run.

use holdover_model::event::EventKind;

use super::uses::{Scene, Use};
use crate::fault::{DiskFault, Fault};
use crate::plan::Plan;
use crate::search::census::Moment;
use crate::stack::{hosts, role_of};

/// Longer than a lease, a suspicion and an agent's patience.
const LONG_US: u64 = 1_200_000;

/// Longer than a suspicion, so that there is a successor, and shorter than a lease and than an
/// agent's patience, so that it has not written yet.
pub(super) const TAKEN_OVER_US: u64 = 600_000;

/// Longer than a try waits for its answer, shorter than a suspicion.
pub(super) const SHORT_US: u64 = 300_000;

/// How long a machine takes to boot that does so at once. As much later a second copy of a message
/// comes: the first was acted on, and what follows from it is under way.
const BOOT_US: u64 = 10_000;

/// By how many ranks a scene comes later for each time that something like it has happened before.
const FOR_EACH_BEFORE: usize = 3;

/// The rank of the first way in a scene of a use; the next have the next. The lower, the more
/// telling.
pub(super) fn rank(used: &Use, scene: &Scene) -> usize {
    let importance = match &scene.moment {
        Moment::Message { kind, .. } if used.about.contains(&kind.as_str()) => 0,
        // There are few of them, and it takes a fault to come there at all.
        _ if used.recovers() => 1,
        Moment::Message { kind, .. } => match kind.as_str() {
            "dispatch" | "ready" | "admit" => 2,
            "claim" | "entry" | "may-dispatch" | "settle" | "acquire" => 4,
            _ => 6,
        },
        Moment::Event { kind: EventKind::LeaseGranted | EventKind::EffectCommitted, .. } => 2,
        Moment::Point { .. } => 4,
        Moment::Event { .. } => 6,
    };
    importance + FOR_EACH_BEFORE * scene.occurrence
}

/// What can go wrong in a scene of a use, the most telling first.
pub(super) fn ways(used: &Use, scene: &Scene) -> Vec<Fault> {
    match &scene.moment {
        Moment::Message { from, to, kind, .. } => {
            about_a_message(used, from, to, kind, scene.opens)
        }
        Moment::Point { host, name, .. } => at_a_point(host, name),
        Moment::Event { host, .. } => after_an_event(&used.plan, host),
    }
}

fn freeze(host: &str, for_us: u64) -> Fault {
    Fault::Freeze { host: host.into(), for_us }
}

fn crash(host: &str, restart_after_us: u64) -> Fault {
    Fault::Crash { host: host.into(), restart_after_us }
}

fn stall(host: &str, point: &str, for_us: u64) -> Fault {
    Fault::Stall { host: host.into(), point: point.into(), for_us }
}

fn about_a_message(used: &Use, from: &str, to: &str, kind: &str, opens: bool) -> Vec<Fault> {
    let (f, t, point) = (|| from.to_owned(), || to.to_owned(), format!("before-{kind}"));
    let lose = |times| Fault::LoseMessage { from: f(), to: t(), kind: kind.into(), times };
    let again = Fault::Redeliver { from: f(), to: t(), kind: kind.into(), after_us: BOOT_US };
    let mut ways = if opens {
        vec![
            freeze(from, TAKEN_OVER_US),
            again,
            lose(1),
            crash(from, BOOT_US),
            freeze(from, LONG_US),
        ]
    } else {
        let broken = Fault::LoseResponse { from: t(), to: f() };
        vec![lose(1), crash(from, BOOT_US), broken, again]
    };
    if used.recovers() {
        // A second try has to be told from what comes of the first a second time.
        ways.sort_by_key(|way| !matches!(way, Fault::Redeliver { .. }));
    }
    if role_of(from) == "worker" && role_of(to) == "destination" {
        // The supervisor hears nothing of a worker that lives.
        let supervisor = "supervisor".to_owned();
        let silence =
            Fault::LoseDatagrams { from: f(), to: supervisor, percent: 100, for_us: TAKEN_OVER_US };
        let is_inside_for_long = used.plan.timing.effect_us >= TAKEN_OVER_US;
        ways.insert(if is_inside_for_long { 0 } else { ways.len() }, silence);
    }
    if used.plan.timing.agent_timeout_us < TAKEN_OVER_US {
        ways.insert(0, stall(from, &point, TAKEN_OVER_US));
    }
    ways.extend([
        Fault::PartitionOneWay { from: f(), to: t(), for_us: SHORT_US },
        lose(2),
        stall(from, &point, LONG_US),
        Fault::Late { from: f(), to: t(), extra_us: SHORT_US },
        crash(to, BOOT_US),
        freeze(from, SHORT_US),
        crash(from, SHORT_US),
        Fault::Partition { a: vec![f()], b: others(from), for_us: LONG_US },
        freeze(to, LONG_US),
        Fault::Reset { a: f(), b: t() },
        Fault::Delay { from: f(), to: t(), extra_us: SHORT_US, for_us: SHORT_US },
        Fault::SlowLink { from: f(), to: t(), bytes_per_s: 2_000, for_us: LONG_US },
    ]);
    ways.push(if opens {
        Fault::LoseRequest { from: f(), to: t() }
    } else {
        freeze(from, LONG_US)
    });
    ways
}

fn at_a_point(host: &str, name: &str) -> Vec<Fault> {
    let h = || host.to_owned();
    let mut ways = vec![
        freeze(host, LONG_US),
        crash(host, BOOT_US),
        freeze(host, SHORT_US),
        stall(host, name, LONG_US),
    ];
    if name == "before-sync" {
        ways.extend(
            [
                DiskFault::Tear { host: h(), kept_bytes: 7, restart_after_us: BOOT_US },
                DiskFault::Fail { host: h(), for_us: SHORT_US },
                DiskFault::Fill { host: h(), free_bytes: 7, for_us: SHORT_US },
                DiskFault::Slow { host: h(), by_us: SHORT_US / 4, for_us: SHORT_US },
            ]
            .map(Fault::Disk),
        );
    }
    ways
}

fn after_an_event(plan: &Plan, host: &str) -> Vec<Fault> {
    let h = || host.to_owned();
    let step = |by_us| Fault::ClockStep { host: h(), by_us };
    let drift = |ppm| Fault::ClockDrift { host: h(), ppm, for_us: LONG_US };
    let restore =
        |age_us| Fault::Disk(DiskFault::Restore { host: h(), age_us, restart_after_us: BOOT_US });
    // What is evidence has to be there afterwards.
    let mut ways = vec![crash(host, BOOT_US)];
    // What plans restore: an authority that has its store for itself.
    if host == "authority" && !plan.design.fence.asked().is_co_located() {
        ways.extend([restore(BOOT_US), restore(LONG_US)]);
    }
    let (long_us, ppm) = (i64::try_from(LONG_US).unwrap_or(i64::MAX), 300_000);
    ways.extend([
        step(long_us),
        step(-long_us),
        drift(ppm),
        drift(-ppm),
        Fault::CrashLoop { host: h(), times: 3, down_us: BOOT_US, up_us: BOOT_US },
    ]);
    ways
}

/// Everybody else.
fn others(host: &str) -> Vec<String> {
    hosts().filter(|other| *other != host).map(str::to_owned).collect()
}
