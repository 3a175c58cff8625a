//! Which faults a plan has: a random subset of the kinds, each at an interesting moment.

use holdover_model::event::EventKind;

use super::{Draw, Profile};
use crate::fault::catalogue::{
    BACKUP_AGE_US, BYTES_PER_S, CRASH_DOWN_US, CRASH_UP_US, CRASHES, DISK_US, DRIFT_PPM,
    FREE_BYTES, MESSAGES, PERCENT, Range, STEP_US, TORN_BYTES,
};
use crate::fault::{DiskFault, Fault, FaultKind, PlannedFault, Trigger};
use crate::stack::{AGENTS, SERVICES, WORKERS, hosts};

/// Who keeps what it must not lose.
const DURABLE: [&str; 5] = ["authority", "ledger", "destination", "agent-1", "agent-2"];

/// Who opens a connection to whom.
const CONVERSATIONS: [(&str, &str); 10] = [
    ("agent-1", "worker-A"),
    ("agent-2", "worker-B"),
    ("worker-A", "destination"),
    ("worker-B", "destination"),
    ("worker-A", "ledger"),
    ("worker-B", "ledger"),
    ("worker-A", "authority"),
    ("worker-B", "authority"),
    ("authority", "destination"),
    ("supervisor", "authority"),
];

/// The moments that the protocol turns on, and who reaches them.
const POINTS: [(&str, &str); 24] = [
    ("destination", "before-effect"),
    ("worker-A", "before-apply"),
    ("worker-B", "before-apply"),
    ("worker-A", "before-dispatch"),
    ("worker-B", "before-dispatch"),
    ("worker-A", "before-settle"),
    ("worker-B", "before-settle"),
    ("worker-A", "before-reconcile"),
    ("worker-B", "before-claim"),
    ("destination", "before-applied"),
    ("destination", "before-admitted"),
    ("destination", "before-reconciled"),
    ("authority", "before-admit"),
    ("authority", "before-ready"),
    ("ledger", "before-entry"),
    ("ledger", "before-may-dispatch"),
    ("supervisor", "before-take-over"),
    ("authority", "before-sync"),
    ("ledger", "before-sync"),
    ("destination", "before-sync"),
    ("authority", "after-sync"),
    ("destination", "after-sync"),
    ("authority", "before-late-records"),
    ("destination", "before-late-records"),
];

/// Events after which something going wrong is interesting.
const EVENTS: [EventKind; 8] = [
    EventKind::LeaseGranted,
    EventKind::TakeoverComplete,
    EventKind::LeaseEnded,
    EventKind::OperationClaimed,
    EventKind::Dispatched,
    EventKind::EffectCommitted,
    EventKind::OutcomeUnknown,
    EventKind::Reconciled,
];

/// What is worth losing or repeating on the way there, and on the way back.
const MESSAGES_BETWEEN: [(&str, &str, &[&str], &[&str]); 10] = [
    ("agent-1", "worker-A", &["perform"], &["answered"]),
    ("agent-2", "worker-B", &["perform"], &["answered"]),
    ("worker-A", "destination", &["apply", "reconcile", "read"], &["applied", "reconciled"]),
    ("worker-B", "destination", &["apply", "reconcile", "read"], &["applied", "rejected"]),
    ("worker-A", "ledger", &["claim", "dispatch", "settle"], &["entry", "may-dispatch"]),
    ("worker-B", "ledger", &["claim", "dispatch", "settle"], &["entry", "may-dispatch"]),
    ("worker-A", "authority", &["acquire", "renew", "release"], &["ready", "denied"]),
    ("worker-B", "authority", &["acquire", "renew", "release"], &["ready", "denied"]),
    ("authority", "destination", &["admit"], &["admitted"]),
    ("supervisor", "authority", &["inspect", "take-over"], &["holding"]),
];

impl Draw<'_> {
    pub(super) fn faults(&mut self, all: &[FaultKind]) -> Vec<PlannedFault> {
        let Profile { faults_min, faults_max, control_one_in, .. } = *self.profile;
        if self.between(1, control_one_in.max(1)) == 1 {
            return Vec::new();
        }
        let mut kinds: Vec<_> =
            all.iter().copied().filter(|_| self.is_uniform() || self.is_heads()).collect();
        if kinds.is_empty() {
            kinds.push(self.pick(all));
        }
        let count = self.between(faults_min, faults_max);
        (0..count)
            .map(|_| {
                let kind = self.pick(&kinds);
                let mut planned = self.fault(kind);
                if self.is_uniform() {
                    let at_us = self.between(0, self.profile.heal_at_us());
                    planned.trigger = Trigger::At { at_us };
                }
                planned
            })
            .collect()
    }

    pub(super) fn fault(&mut self, kind: FaultKind) -> PlannedFault {
        let Profile { fault_us_min, fault_us_max, .. } = *self.profile;
        let for_us = self.between_log(fault_us_min, fault_us_max);
        let (from, to) = self.pick(&CONVERSATIONS);
        let (mut from, mut to) = (from.to_owned(), to.to_owned());
        let trigger = match kind {
            // A lost packet is the one that the trigger has caught.
            FaultKind::LoseRequest | FaultKind::Late => self.before_packet(&from, &to),
            FaultKind::LoseResponse => self.before_packet(&to, &from),
            FaultKind::Stall => self.at_point(),
            FaultKind::Tear | FaultKind::Fail | FaultKind::Slow | FaultKind::Fill => {
                return self.disk(kind, for_us, (&from, &to));
            }
            _ => self.trigger(&from, &to),
        };
        if is_datagrams(kind) {
            (from, to) = ("supervisor".into(), self.pick(&WORKERS).into());
        }
        let may_turn = matches!(kind, FaultKind::PartitionOneWay | FaultKind::SlowLink);
        if (may_turn || is_datagrams(kind)) && self.is_heads() {
            (from, to) = (to, from);
        }
        let fault = match kind {
            FaultKind::Freeze => Fault::Freeze { host: self.whom(&trigger), for_us },
            FaultKind::Crash => {
                Fault::Crash { host: self.whom(&trigger), restart_after_us: for_us }
            }
            FaultKind::CrashLoop => Fault::CrashLoop {
                host: self.whom(&trigger),
                times: u32::try_from(self.within(CRASHES)).unwrap_or(u32::MAX),
                down_us: self.within(CRASH_DOWN_US),
                up_us: self.within(CRASH_UP_US),
            },
            FaultKind::Stall => {
                let (host, point) = match &trigger {
                    Trigger::Point { host, name, .. } => (host.clone(), name.clone()),
                    _ => unreachable!("a stall is triggered at its point"),
                };
                Fault::Stall { host, point, for_us }
            }
            FaultKind::ClockStep => {
                let by_us = self.either_way(STEP_US);
                Fault::ClockStep { host: self.whom(&trigger), by_us }
            }
            FaultKind::ClockDrift => {
                let ppm = i32::try_from(self.either_way(DRIFT_PPM)).unwrap_or(i32::MAX);
                Fault::ClockDrift { host: self.whom(&trigger), ppm, for_us }
            }
            FaultKind::Partition => Fault::Partition { a: vec![from], b: vec![to], for_us },
            FaultKind::PartitionOneWay => Fault::PartitionOneWay { from, to, for_us },
            FaultKind::PartitionGroups => Fault::PartitionGroups { groups: self.groups(), for_us },
            FaultKind::Delay => Fault::Delay { from, to, extra_us: self.extra_us(), for_us },
            FaultKind::Late => Fault::Late { from, to, extra_us: self.extra_us() },
            FaultKind::SlowLink => {
                Fault::SlowLink { from, to, bytes_per_s: self.within(BYTES_PER_S), for_us }
            }
            FaultKind::Reset => Fault::Reset { a: from, b: to },
            FaultKind::LoseRequest => Fault::LoseRequest { from, to },
            FaultKind::LoseResponse => Fault::LoseResponse { from, to },
            FaultKind::LoseDatagrams => {
                Fault::LoseDatagrams { from, to, percent: self.within(PERCENT), for_us }
            }
            FaultKind::DuplicateDatagrams => {
                Fault::DuplicateDatagrams { from, to, percent: self.within(PERCENT), for_us }
            }
            FaultKind::ReorderDatagrams => {
                let (percent, extra_us) = (self.within(PERCENT), self.extra_us());
                Fault::ReorderDatagrams { from, to, percent, extra_us, for_us }
            }
            FaultKind::LoseMessage => {
                let (from, to, kind) = self.message();
                let times = u32::try_from(self.within(MESSAGES)).unwrap_or(u32::MAX);
                Fault::LoseMessage { from, to, kind, times }
            }
            FaultKind::Redeliver => {
                let (from, to, kind) = self.message();
                Fault::Redeliver { from, to, kind, after_us: self.extra_us() }
            }
            FaultKind::Restore => Fault::Disk(DiskFault::Restore {
                host: "authority".into(),
                age_us: self.within(BACKUP_AGE_US),
                restart_after_us: for_us,
            }),
            FaultKind::Tear | FaultKind::Fail | FaultKind::Slow | FaultKind::Fill => {
                unreachable!("it has returned above, with a trigger of its own")
            }
        };
        PlannedFault { trigger, fault }
    }

    fn disk(&mut self, kind: FaultKind, for_us: u64, (from, to): (&str, &str)) -> PlannedFault {
        let host = self.pick(&DURABLE).to_owned();
        // Half of them strike between a write and its sync; without that, nothing is torn.
        let trigger = if self.is_heads() {
            let nth = self.between_log(1, 16);
            Trigger::Point { host: host.clone(), name: "before-sync".into(), nth }
        } else {
            self.trigger(from, to)
        };
        let fault = match kind {
            FaultKind::Tear => {
                let kept_bytes = self.within(TORN_BYTES);
                DiskFault::Tear { host, kept_bytes, restart_after_us: for_us }
            }
            FaultKind::Fail => DiskFault::Fail { host, for_us },
            FaultKind::Slow => DiskFault::Slow { host, by_us: self.within(DISK_US), for_us },
            _ => DiskFault::Fill { host, free_bytes: self.within(FREE_BYTES), for_us },
        };
        PlannedFault { trigger, fault: Fault::Disk(fault) }
    }

    fn within(&mut self, range: Range) -> u64 {
        self.between_log(range.min, range.max)
    }

    fn either_way(&mut self, range: Range) -> i64 {
        let size = i64::try_from(self.within(range)).unwrap_or(i64::MAX);
        if self.is_heads() { size } else { -size }
    }

    /// How much later something comes: long enough to matter, and over before all heals.
    fn extra_us(&mut self) -> u64 {
        self.between_log(self.profile.fault_us_min, self.profile.fault_us_max / 2)
    }

    /// A message of a kind, in one direction or the other.
    fn message(&mut self) -> (String, String, String) {
        let (from, to, there, back) = self.pick(&MESSAGES_BETWEEN);
        if self.is_heads() {
            (from.into(), to.into(), self.pick(there).into())
        } else {
            (to.into(), from.into(), self.pick(back).into())
        }
    }

    /// Three parts, of which one may be empty, and perhaps a bridge between them.
    fn groups(&mut self) -> Vec<Vec<String>> {
        let mut groups = vec![Vec::new(); 3];
        for host in hosts() {
            match self.between(0, 6) {
                6 => {}
                number => {
                    let group = usize::try_from(number % 3).expect("it is at most 2");
                    groups[group].push(host.to_owned());
                }
            }
        }
        groups
    }

    fn before_packet(&mut self, from: &str, to: &str) -> Trigger {
        let nth = self.between_log(1, 12);
        Trigger::BeforePacket { from: from.into(), to: to.into(), nth }
    }

    fn at_point(&mut self) -> Trigger {
        let (host, name) = self.pick(&POINTS);
        Trigger::Point { host: host.into(), name: name.into(), nth: self.between_log(1, 4) }
    }

    fn trigger(&mut self, from: &str, to: &str) -> Trigger {
        match self.between(0, 3) {
            0 => Trigger::At { at_us: self.between(0, self.profile.fault_within_us) },
            1 => self.at_point(),
            2 => self.before_packet(from, to),
            _ => {
                let kind = self.pick(&EVENTS);
                Trigger::Event { kind, nth: self.between_log(1, 6), host: None }
            }
        }
    }

    /// Whom a process fault strikes: whoever its trigger is about, or anybody.
    fn whom(&mut self, trigger: &Trigger) -> String {
        match trigger {
            Trigger::Point { host, .. } => host.clone(),
            Trigger::BeforePacket { from, .. } => from.clone(),
            // Workers are who is replaced, so they are struck as often as all others.
            Trigger::At { .. } | Trigger::Event { .. } if self.is_heads() => {
                self.pick(&WORKERS).into()
            }
            Trigger::At { .. } | Trigger::Event { .. } => {
                self.pick(&[&SERVICES[..], &AGENTS[..]].concat()).into()
            }
        }
    }
}

fn is_datagrams(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::LoseDatagrams | FaultKind::DuplicateDatagrams | FaultKind::ReorderDatagrams
    )
}
