//! Every moment of a quiet run with every fault, singly and in pairs.
//!
//! Most of these bugs need one fault at the right moment, some need two (Yuan et al., *Simple
//! Testing Can Prevent Most Critical Failures*, OSDI 2014). There are so few moments in a run that
//! all can be tried, which no draw of times would do: a worker that is frozen in the millisecond
//! before its write leaves is one cell here.
//!
//! The cells stand in an order in which what has been seen to break systems comes first: each kind
//! of moment at its first occurrence with the most telling fault, then with the next, then later
//! occurrences; and pairs of what comes first come early, too. Whoever runs only a part of the
//! matrix so runs the better part.

use holdover_model::design::Design;
use holdover_model::event::EventKind;

use super::census::{self, Moment};
use crate::fault::{DiskFault, Fault, PlannedFault, Trigger};
use crate::plan::{Plan, PlannedTask, Revocation};
use crate::stack::{AGENTS, Change, Effect, Forgery, Misuse, SERVICES, WORKERS, role_of};

/// Longer than a lease, a suspicion and an agent's patience.
const LONG_US: u64 = 1_200_000;

/// Longer than a suspicion, so that there is a successor, and shorter than a lease and than an
/// agent's patience, so that it has not written yet.
const TAKEN_OVER_US: u64 = 600_000;

/// Longer than a try waits for its answer, shorter than a suspicion.
const SHORT_US: u64 = 300_000;

/// How long a machine takes to boot that does so at once.
const BOOT_US: u64 = 10_000;

/// The latency of every packet.
const LATENCY_US: u64 = 2_000;

/// Every cell of the matrix, and the plan that each is.
pub struct Matrix {
    /// Ways to use the system in which nothing goes wrong by itself.
    uses: Vec<Plan>,
    /// The cells in which nothing or one thing goes wrong, in their order.
    singles: Vec<Single>,
    /// What can go wrong in each use, in the order of its cells.
    faults: Vec<Vec<PlannedFault>>,
}

/// What there is in a cell whose place is not known yet.
enum Cell {
    Quiet(Box<Plan>),
    Fault(PlannedFault),
}

/// A cell in which nothing or one thing goes wrong.
enum Single {
    Quiet(Box<Plan>),
    /// One of the faults of a use, by their places.
    Fault {
        of_use: usize,
        fault: usize,
    },
}

impl Matrix {
    /// The matrix of a design: its moments are those of quiet runs of that design.
    pub fn new(design: &Design) -> Self {
        let uses = uses(design);
        let mut ranked: Vec<(Rank, Cell)> = careless(design)
            .into_iter()
            .enumerate()
            .map(|(place, plan)| {
                (Rank { turn: 1 + place / 4, of_use: 0, place }, Cell::Quiet(Box::new(plan)))
            })
            .collect();
        for (of_use, plan) in uses.iter().enumerate() {
            let rank = Rank { turn: 2 * of_use, of_use, place: 0 };
            ranked.push((rank, Cell::Quiet(Box::new(plan.clone()))));
            let moments = census::take(plan);
            for (place, moment) in moments.iter().enumerate() {
                let before = &moments[..place];
                let occurrence = before.iter().filter(|known| known.is_like(moment)).count();
                let opens = moment.opens(before);
                let later = moment.importance() + 3 * occurrence + USES[of_use];
                for (way, fault) in ways(plan, moment, opens).into_iter().enumerate() {
                    let fault = PlannedFault { trigger: moment.trigger(), fault };
                    let rank = Rank { turn: way + later, of_use, place: place + 1 };
                    ranked.push((rank, Cell::Fault(fault)));
                }
            }
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let mut faults = vec![Vec::new(); uses.len()];
        let mut single = |(rank, cell): (Rank, Cell)| match cell {
            Cell::Quiet(plan) => Single::Quiet(plan),
            Cell::Fault(fault) => {
                let of_use: &mut Vec<_> = &mut faults[rank.of_use];
                of_use.push(fault);
                Single::Fault { of_use: rank.of_use, fault: of_use.len() - 1 }
            }
        };
        let singles = ranked.into_iter().map(&mut single).collect();
        Self { uses, singles, faults }
    }

    pub(super) fn empty() -> Self {
        Self { uses: Vec::new(), singles: Vec::new(), faults: Vec::new() }
    }

    /// How many cells have no fault, but another use of the system each.
    pub fn quiet(&self) -> u64 {
        self.singles.len() as u64 - self.with_one_fault()
    }

    /// How many cells have one fault.
    pub fn with_one_fault(&self) -> u64 {
        self.faults.iter().map(|faults| faults.len() as u64).sum()
    }

    /// How many cells have two.
    pub fn with_two_faults(&self) -> u64 {
        self.faults.iter().map(|faults| pairs(faults.len())).sum()
    }

    /// How many cells there are.
    pub fn cells(&self) -> u64 {
        self.singles.len() as u64 + self.with_two_faults()
    }

    /// The plan of a cell; `None` beyond the last.
    ///
    /// Every third cell is one with two faults, as long as there are others.
    pub fn plan(&self, cell: u64) -> Option<Plan> {
        let singles = self.singles.len() as u64;
        let (threes, odd) = (singles / 2, singles % 2);
        match (cell / 3, cell % 3) {
            (three, 2) if three < threes => self.pair(three),
            (three, place) if three < threes => Some(self.single(2 * three + place)),
            _ if cell < 3 * threes + odd => Some(self.single(singles - 1)),
            _ => self.pair(cell - singles),
        }
    }

    fn single(&self, number: u64) -> Plan {
        match &self.singles[index(number)] {
            Single::Quiet(plan) => Plan::clone(plan),
            Single::Fault { of_use, fault } => {
                let fault = self.faults[*of_use][*fault].clone();
                Plan { faults: vec![fault], ..self.uses[*of_use].clone() }
            }
        }
    }

    fn pair(&self, number: u64) -> Option<Plan> {
        let (of_use, one, other) = self.place_of_pair(number)?;
        let faults = &self.faults[of_use];
        let faults = vec![faults[one].clone(), faults[other].clone()];
        Some(Plan { faults, ..self.uses[of_use].clone() })
    }

    /// The use and the two faults of a cell with two: the uses take turns until they are through.
    fn place_of_pair(&self, mut number: u64) -> Option<(usize, usize, usize)> {
        let of_use = |of_use: &usize| pairs(self.faults[*of_use].len());
        let mut left: Vec<usize> = (0..self.uses.len()).filter(|index| of_use(index) > 0).collect();
        let mut done = 0;
        loop {
            let fewest = left.iter().map(of_use).min()?;
            let here = (fewest - done) * left.len() as u64;
            if number < here {
                let chosen = left[index(number % left.len() as u64)];
                let (one, other) = triangular(done + number / left.len() as u64);
                return Some((chosen, index(one), index(other)));
            }
            number -= here;
            done = fewest;
            left.retain(|index| of_use(index) > done);
        }
    }
}

/// How many pairs so many have.
fn pairs(count: usize) -> u64 {
    let count = count as u64;
    count * count.saturating_sub(1) / 2
}

/// The pair at a place in the list (0, 1), (0, 2), (1, 2), (0, 3), ...: all pairs of the first n
/// come before any with a later one.
fn triangular(place: u64) -> (u64, u64) {
    let mut other = (2 * place + 1).isqrt().max(1);
    while other * (other - 1) / 2 > place {
        other -= 1;
    }
    while (other + 1) * other / 2 <= place {
        other += 1;
    }
    (place - other * (other - 1) / 2, other)
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a list of that many was made")
}

/// When a cell's turn comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    turn: usize,
    of_use: usize,
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

    /// Whether the sender of a message has opened the connection: it spoke first.
    fn opens(&self, before: &[Self]) -> bool {
        let Self::Message { from, to, .. } = self else { return false };
        let first = before.iter().find_map(|moment| match moment {
            Self::Message { from: f, to: t, .. } if [(f, t), (t, f)].contains(&(from, to)) => {
                Some(f)
            }
            _ => None,
        });
        first.is_none_or(|first| first == from)
    }

    /// How many turns later than the most telling moments its turn comes.
    fn importance(&self) -> usize {
        match self {
            Self::Message { kind, .. } => match kind.as_str() {
                "apply" | "applied" => 0,
                "dispatch" | "ready" | "admit" => 3,
                "claim" | "entry" | "may-dispatch" | "settle" | "acquire" => 6,
                _ => 9,
            },
            Self::Point { .. } => 6,
            Self::Event { kind: EventKind::LeaseGranted | EventKind::EffectCommitted, .. } => 3,
            Self::Event { .. } => 10,
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
fn ways(plan: &Plan, moment: &Moment, opens: bool) -> Vec<Fault> {
    let freeze = |host: &str, for_us| Fault::Freeze { host: host.into(), for_us };
    let crash = |host: &str, restart_after_us| Fault::Crash { host: host.into(), restart_after_us };
    match moment {
        Moment::Message { from, to, kind, .. } => {
            let (f, t) = (|| from.clone(), || to.clone());
            let lose = |times| Fault::LoseMessage { from: f(), to: t(), kind: kind.clone(), times };
            let again =
                Fault::Redeliver { from: f(), to: t(), kind: kind.clone(), after_us: BOOT_US };
            let broken = if opens {
                Fault::LoseRequest { from: f(), to: t() }
            } else {
                Fault::LoseResponse { from: t(), to: f() }
            };
            let mut ways = if opens {
                vec![
                    freeze(from, TAKEN_OVER_US),
                    again,
                    lose(1),
                    crash(from, BOOT_US),
                    freeze(from, LONG_US),
                ]
            } else {
                vec![lose(1), broken.clone(), crash(from, BOOT_US), again]
            };
            if role_of(from) == "worker" && role_of(to) == "destination" {
                // The supervisor hears nothing of a worker that lives.
                let (from, to) = (f(), "supervisor".into());
                let silence =
                    Fault::LoseDatagrams { from, to, percent: 100, for_us: TAKEN_OVER_US };
                let is_inside_for_long = plan.timing.effect_us >= TAKEN_OVER_US;
                ways.insert(if is_inside_for_long { 0 } else { ways.len() }, silence);
            }
            let stall =
                |for_us| Fault::Stall { host: f(), point: format!("before-{kind}"), for_us };
            if plan.timing.agent_timeout_us < TAKEN_OVER_US {
                ways.insert(0, stall(TAKEN_OVER_US));
            }
            ways.extend([
                Fault::PartitionOneWay { from: f(), to: t(), for_us: SHORT_US },
                lose(2),
                stall(LONG_US),
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
            if opens {
                ways.push(broken);
            } else {
                ways.push(freeze(from, LONG_US));
            }
            ways
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
        Moment::Event { host, .. } => {
            let h = || host.clone();
            let step = |by_us| Fault::ClockStep { host: h(), by_us };
            let (long_us, ppm) = (i64::try_from(LONG_US).unwrap_or(i64::MAX), 300_000);
            let mut ways = vec![
                step(long_us),
                step(-long_us),
                Fault::ClockDrift { host: h(), ppm, for_us: LONG_US },
                Fault::ClockDrift { host: h(), ppm: -ppm, for_us: LONG_US },
                Fault::CrashLoop { host: h(), times: 3, down_us: BOOT_US, up_us: BOOT_US },
            ];
            // What plans restore: an authority that has its store for itself.
            if host == "authority" && !plan.design.fence.asked().is_co_located() {
                let restore = |age_us| {
                    Fault::Disk(DiskFault::Restore { host: h(), age_us, restart_after_us: BOOT_US })
                };
                ways.splice(0..0, [restore(BOOT_US), restore(LONG_US)]);
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

fn task(agent: usize, begin_at_us: u64, effect: Effect) -> PlannedTask {
    PlannedTask { agent: AGENTS[agent].into(), begin_at_us, effect, misuse: None }
}

fn quiet(design: &Design, tasks: Vec<PlannedTask>) -> Plan {
    Plan::quiet(design, tasks, LATENCY_US)
}

/// How many turns later the cells of each of the [`uses`] come.
const USES: [usize; 7] = [1, 0, 0, 1, 1, 0, 0];

/// Ways to use the system that have in common that nothing is wrong with them.
fn uses(design: &Design) -> Vec<Plan> {
    let quiet = |tasks| quiet(design, tasks);
    let mut uses = vec![
        quiet(vec![
            // The two halves of the identity article leave in the same millisecond.
            task(0, 0, Effect::BillingLimit),
            task(1, 0, Effect::WebhookDestination),
            // Two want the same.
            task(0, 50_000, Effect::RoutingRule),
            task(1, 60_000, Effect::RoutingRule),
            // And once more, when leases have come to an end.
            task(1, 700_000, Effect::BillingLimit),
            task(0, 750_000, Effect::Invoice),
        ]),
        quiet(vec![task(0, 0, Effect::RoutingRule)]),
        quiet(vec![task(0, 0, Effect::Invoice)]),
        quiet(vec![task(0, 0, Effect::Invoice), task(1, 0, Effect::Invoice)]),
        quiet(vec![task(0, 0, Effect::RoutingRule), task(1, 0, Effect::RoutingRule)]),
    ];
    // An agent that asks the next worker while the first is still at it.
    let mut impatient = quiet(vec![task(0, 0, Effect::RoutingRule)]);
    impatient.timing.agent_timeout_us = SHORT_US / 2;
    uses.push(impatient);
    if design.fence.asked().is_pushed() {
        // A mutation that is still inside the destination when its worker is replaced.
        let mut slow = quiet(vec![task(0, 0, Effect::RoutingRule)]);
        slow.timing.effect_us = TAKEN_OVER_US;
        slow.timing.attempt_timeout_us = TAKEN_OVER_US + SHORT_US / 6;
        uses.push(slow);
    }
    uses
}

/// Uses with which something is wrong, on the side of those who ask.
fn careless(design: &Design) -> Vec<Plan> {
    let two = [task(0, 0, Effect::BillingLimit), task(1, 400_000, Effect::RoutingRule)];
    let misused = |misuse| {
        let mut plan = quiet(design, two.to_vec());
        plan.tasks[1].misuse = Some(misuse);
        plan
    };
    let mut plans = vec![misused(Misuse::ApprovalReplayed { of_task: 0 })];
    plans.extend(Change::ALL.iter().map(|changed| misused(Misuse::IdReused { changed: *changed })));
    plans.push(misused(Misuse::ClaimedAtOnce { times: 8 }));
    if design.guarantee.rejects_invented_epochs {
        plans.extend(Forgery::ALL.iter().map(|lease| misused(Misuse::Forged { lease: *lease })));
    }
    if design.guarantee.revocation {
        let mut revoked = quiet(design, vec![task(0, 0, Effect::RoutingRule)]);
        revoked.revocations.push(Revocation { at_us: 14_000, effect: Effect::RoutingRule });
        plans.push(revoked);
    }
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
                assert_eq!(triangular(place), (one, other));
                place += 1;
            }
        }
        assert_eq!(triangular(u64::from(u32::MAX)).1, 92_682);
    }

    #[test]
    fn every_cell_is_another_plan_that_can_be_run() {
        let design = Design::default();
        let matrix = Matrix::new(&design);
        let some = matrix.singles.len() as u64 * 2;
        let plans: Vec<_> = (0..some).map(|cell| matrix.plan(cell).unwrap()).collect();
        assert!(plans.iter().all(|plan| plan.validate().is_ok()));
        let different: BTreeSet<_> = plans.iter().map(ToString::to_string).collect();
        assert_eq!(different.len(), plans.len());
        let faults = |count| plans.iter().filter(|plan| plan.faults.len() == count).count() as u64;
        assert_eq!((faults(0), faults(1)), (matrix.quiet(), matrix.with_one_fault()));
        assert!(matrix.plan(matrix.cells() - 1).is_some());
        assert!(matrix.plan(matrix.cells()).is_none());
    }

    /// What stands in no cell cannot be found: kinds that act over time only are the swarm's.
    #[test]
    fn every_kind_of_fault_that_strikes_at_a_moment_is_there() {
        let kinds: BTreeSet<_> = Matrix::new(&Design::default())
            .faults
            .iter()
            .flatten()
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
