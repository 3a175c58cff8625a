//! Every moment of a quiet run with every fault, singly and in pairs.
//!
//! Most of these bugs need one fault at the right moment, some need two (Yuan et al., *Simple
//! Testing Can Prevent Most Critical Failures*, OSDI 2014). There are so few moments in a run that
//! all can be tried, which no draw of times would do: a worker that is frozen in the millisecond
//! before its write leaves is one cell here.
//!
//! The cells stand in an order in which what has been seen to break systems comes first: each kind
//! of moment at its first occurrence with the most telling fault, then with the next, then later
//! occurrences. Whoever runs only a part of the matrix so runs the better part.

use holdover_model::design::Design;
use holdover_model::event::EventKind;

use super::census::{self, Moment};
use crate::fault::{DiskFault, Fault, PlannedFault, Trigger};
use crate::plan::{Plan, PlannedTask, Profile, Revocation};
use crate::random::Seed;
use crate::stack::{AGENTS, Change, Effect, Forgery, Misuse, SERVICES, WORKERS, role_of};
use crate::world::{LinkProfile, Order};

/// Longer than a lease, a suspicion and an agent's patience.
const LONG_US: u64 = 1_200_000;

/// Longer than a try waits for its answer, shorter than a suspicion.
const SHORT_US: u64 = 300_000;

/// How long a machine takes to boot that does so at once.
const BOOT_US: u64 = 10_000;

/// The latency of every packet.
const LATENCY_US: u64 = 2_000;

/// What may be sent just before or after something goes wrong, what is known to matter most first.
const MESSAGES: [&str; 14] = [
    "apply",
    "applied",
    "ready",
    "dispatch",
    "may-dispatch",
    "admit",
    "claim",
    "entry",
    "settle",
    "perform",
    "acquire",
    "reconcile",
    "take-over",
    "admitted",
];

/// Every cell of the matrix, and the plan that each is.
pub struct Matrix {
    /// A quiet plan for each way to use the system, the plainest first.
    quiet: Vec<Plan>,
    /// What goes wrong in each cell of one fault.
    faults: Vec<PlannedFault>,
}

impl Matrix {
    /// The matrix of a design: its moments are those of a quiet run of that design.
    pub fn new(design: &Design) -> Self {
        let quiet = quiet(design);
        let moments = census::take(&quiet[0]);
        let mut ranked: Vec<(Rank, PlannedFault)> = Vec::new();
        for (place, moment) in moments.iter().enumerate() {
            let occurrence = moments[..place].iter().filter(|known| known.is_like(moment)).count();
            for (way, fault) in ways(design, moment).into_iter().enumerate() {
                let rank = Rank { turn: way + 4 * occurrence, kind: moment.importance(), place };
                ranked.push((rank, PlannedFault { trigger: moment.trigger(), fault }));
            }
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        Self { quiet, faults: ranked.into_iter().map(|(_, fault)| fault).collect() }
    }

    pub(super) fn empty() -> Self {
        Self { quiet: Vec::new(), faults: Vec::new() }
    }

    /// How many cells have no fault, but another use of the system each.
    pub fn quiet(&self) -> u64 {
        self.quiet.len() as u64
    }

    /// How many cells have one fault.
    pub fn singles(&self) -> u64 {
        self.faults.len() as u64
    }

    /// How many cells have two.
    pub fn pairs(&self) -> u64 {
        self.singles() * self.singles().saturating_sub(1) / 2
    }

    /// How many cells there are.
    pub fn cells(&self) -> u64 {
        self.quiet() + self.singles() + self.pairs()
    }

    /// The plan of a cell; `None` beyond the last.
    pub fn plan(&self, cell: u64) -> Option<Plan> {
        if cell < self.quiet() {
            return Some(self.quiet[index(cell)].clone());
        }
        let cell = cell - self.quiet();
        let faults = if cell < self.singles() {
            vec![self.faults[index(cell)].clone()]
        } else {
            let (one, other) = pair(cell - self.singles());
            if other >= self.singles() {
                return None;
            }
            vec![self.faults[index(one)].clone(), self.faults[index(other)].clone()]
        };
        let mut plan = self.quiet.first()?.clone();
        plan.faults = faults;
        Some(plan)
    }
}

/// The pair at a place in the list (0, 1), (0, 2), (1, 2), (0, 3), ...: all pairs of the first n
/// come before any with a later one.
fn pair(place: u64) -> (u64, u64) {
    let mut other = 1 + (2 * place + 1).isqrt().saturating_sub(1);
    while other * (other - 1) / 2 > place {
        other -= 1;
    }
    while (other + 1) * other / 2 <= place {
        other += 1;
    }
    (place - other * (other - 1) / 2, other)
}

fn index(cell: u64) -> usize {
    usize::try_from(cell).expect("a list of that many was made")
}

/// When a cell's turn comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    turn: usize,
    kind: usize,
    place: usize,
}

impl Moment {
    /// Whether it is the same thing once more, or on another host of the same role.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Message { from, to, kind, .. },
                Self::Message { from: f, to: t, kind: k, .. },
            ) => kind == k && role_of(from) == role_of(f) && role_of(to) == role_of(t),
            (Self::Point { host, name, .. }, Self::Point { host: h, name: n, .. }) => {
                name == n && role_of(host) == role_of(h)
            }
            (Self::Event { kind, .. }, Self::Event { kind: k, .. }) => kind == k,
            _ => false,
        }
    }

    /// Its place among what is known to matter, 0 the most.
    fn importance(&self) -> usize {
        match self {
            Self::Message { kind, .. } => {
                let known = MESSAGES.iter().position(|known| known == kind);
                known.unwrap_or(MESSAGES.len())
            }
            Self::Point { .. } => MESSAGES.len() / 2,
            Self::Event { .. } => MESSAGES.len() + 1,
        }
    }

    fn trigger(&self) -> Trigger {
        match self.clone() {
            Self::Message { from, kind, nth, .. } => {
                Trigger::Point { host: from, name: format!("before-{kind}"), nth }
            }
            Self::Point { host, name, nth } => Trigger::Point { host, name, nth },
            Self::Event { host, kind, nth } => Trigger::Event { kind, nth, host: Some(host) },
        }
    }
}

/// What can go wrong at a moment, the most telling first.
fn ways(design: &Design, moment: &Moment) -> Vec<Fault> {
    let freeze = |host: &str, for_us| Fault::Freeze { host: host.into(), for_us };
    let crash = |host: &str, restart_after_us| Fault::Crash { host: host.into(), restart_after_us };
    match moment {
        Moment::Message { from, to, kind, .. } => {
            let (f, t) = (|| from.clone(), || to.clone());
            let point = format!("before-{kind}");
            vec![
                freeze(from, LONG_US),
                Fault::LoseMessage { from: f(), to: t(), kind: kind.clone(), times: 1 },
                crash(from, BOOT_US),
                Fault::LoseMessage { from: f(), to: t(), kind: kind.clone(), times: 2 },
                Fault::PartitionOneWay { from: f(), to: t(), for_us: SHORT_US },
                Fault::Stall { host: f(), point, for_us: LONG_US },
                crash(to, BOOT_US),
                Fault::Redeliver { from: f(), to: t(), kind: kind.clone(), after_us: SHORT_US },
                Fault::Late { from: f(), to: t(), extra_us: SHORT_US },
                crash(from, SHORT_US),
                Fault::Partition { a: vec![f()], b: others(from), for_us: LONG_US },
                freeze(from, SHORT_US),
                freeze(to, LONG_US),
                Fault::Reset { a: f(), b: t() },
                Fault::LoseRequest { from: f(), to: t() },
                Fault::LoseResponse { from: f(), to: t() },
                Fault::Delay { from: f(), to: t(), extra_us: SHORT_US, for_us: SHORT_US },
                Fault::SlowLink { from: f(), to: t(), bytes_per_s: 2_000, for_us: LONG_US },
            ]
        }
        Moment::Point { host, name, .. } => {
            let h = || host.clone();
            let mut ways = vec![
                freeze(host, SHORT_US),
                crash(host, BOOT_US),
                freeze(host, LONG_US),
                Fault::Stall { host: h(), point: name.clone(), for_us: LONG_US },
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
        Moment::Event { host, kind, .. } => {
            let h = || host.clone();
            let step = |by_us| Fault::ClockStep { host: h(), by_us };
            let (long_us, drift) = (i64::try_from(LONG_US).unwrap_or(i64::MAX), 300_000);
            let mut ways = vec![
                step(long_us),
                step(-long_us),
                Fault::ClockDrift { host: h(), ppm: drift, for_us: LONG_US },
                Fault::ClockDrift { host: h(), ppm: -drift, for_us: LONG_US },
                Fault::CrashLoop { host: h(), times: 3, down_us: BOOT_US, up_us: BOOT_US },
            ];
            // What plans restore: an authority that has its store for itself.
            if host == "authority" && !design.fence.is_co_located() {
                let restore = |age_us| {
                    let host = h();
                    Fault::Disk(DiskFault::Restore { host, age_us, restart_after_us: BOOT_US })
                };
                let first = usize::from(*kind != EventKind::LeaseGranted);
                ways.splice(first..first, [restore(BOOT_US), restore(LONG_US)]);
            }
            if role_of(host) == "worker" {
                // The supervisor hears nothing of a worker that lives.
                let (from, to) = (h(), "supervisor".into());
                ways.push(Fault::LoseDatagrams { from, to, percent: 100, for_us: LONG_US });
            }
            ways
        }
    }
}

/// Everybody else.
fn others(host: &str) -> Vec<String> {
    let all = [&WORKERS[..], &SERVICES[..], &AGENTS[..]].concat();
    all.into_iter().filter(|other| *other != host).map(str::to_owned).collect()
}

/// Plans in which nothing goes wrong, each with another use of the system.
fn quiet(design: &Design) -> Vec<Plan> {
    let Profile { fault_within_us, fault_us_max, timing, .. } = Profile::default();
    let task = |agent: usize, begin_at_us, effect| PlannedTask {
        agent: AGENTS[agent].into(),
        begin_at_us,
        effect,
        misuse: None,
    };
    let plain = Plan {
        seed: Seed(0),
        heal_at_us: fault_within_us + fault_us_max,
        order: Order::Uniform,
        link: LinkProfile { latency_us_min: LATENCY_US, latency_us_max: LATENCY_US },
        timing,
        design: design.clone(),
        tasks: vec![
            // The two halves of the identity article leave in the same millisecond.
            task(0, 0, Effect::BillingLimit),
            task(1, 0, Effect::WebhookDestination),
            // Two want the same.
            task(0, 50_000, Effect::RoutingRule),
            task(1, 60_000, Effect::RoutingRule),
            // And once more, when leases have come to an end.
            task(1, 700_000, Effect::BillingLimit),
            task(0, 750_000, Effect::Invoice),
        ],
        revocations: Vec::new(),
        faults: Vec::new(),
    };
    let misused = |task: usize, misuse| {
        let mut plan = plain.clone();
        plan.tasks[task].misuse = Some(misuse);
        plan
    };
    let last = plain.tasks.len() - 1;
    let mut plans = vec![plain.clone()];
    plans.extend(
        Change::ALL.iter().map(|changed| misused(2, Misuse::IdReused { changed: *changed })),
    );
    plans.push(misused(last, Misuse::ApprovalReplayed { of_task: 0 }));
    plans.push(misused(2, Misuse::ClaimedAtOnce { times: 8 }));
    plans.extend(Forgery::ALL.iter().map(|lease| misused(4, Misuse::Forged { lease: *lease })));
    let mut at_once = plain.clone();
    at_once.tasks.iter_mut().for_each(|task| task.begin_at_us = 0);
    plans.push(at_once);
    let mut revoked = plain;
    revoked.revocations.push(Revocation { at_us: 62_000, effect: Effect::RoutingRule });
    plans.push(revoked);
    plans
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fault::FaultKind;

    #[test]
    fn every_pair_has_its_place() {
        let mut place = 0;
        for other in 1..60 {
            for one in 0..other {
                assert_eq!(pair(place), (one, other));
                place += 1;
            }
        }
        assert_eq!(pair(u64::from(u32::MAX)).1, 92_682);
    }

    #[test]
    fn every_cell_is_another_plan_that_can_be_run() {
        let design = Design::default();
        let matrix = Matrix::new(&design);
        let whole = matrix.quiet() + matrix.singles();
        let plans: Vec<_> = (0..whole).map(|cell| matrix.plan(cell).unwrap()).collect();
        assert!(plans.iter().all(|plan| plan.validate().is_ok()));
        let different: BTreeSet<_> =
            plans.iter().map(|plan| (&plan.tasks, &plan.revocations, &plan.faults)).collect();
        assert_eq!(different.len(), plans.len());
        assert!(matrix.plan(matrix.cells() - 1).is_some());
        assert!(matrix.plan(matrix.cells()).is_none());
    }

    /// What stands in no cell cannot be found: kinds that act over time only are the swarm's.
    #[test]
    fn every_kind_of_fault_that_strikes_at_a_moment_is_there() {
        let kinds: BTreeSet<_> = Matrix::new(&Design::default())
            .faults
            .iter()
            .map(|planned| planned.fault.kind())
            .collect();
        let missing: Vec<_> = FaultKind::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
        let over_time = [
            FaultKind::PartitionGroups,
            FaultKind::DuplicateDatagrams,
            FaultKind::ReorderDatagrams,
        ];
        assert_eq!(missing, over_time.iter().collect::<Vec<_>>());
    }
}
