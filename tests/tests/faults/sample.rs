//! One fault of each kind, for tests that go through all of them.

use holdover::fault::{DiskFault, Fault, FaultKind};

/// A fault of this kind that strikes `from` and what it sends to `to`. Both reach the point
/// `before-work` and send messages of the kind `job`.
pub(crate) fn sample(kind: FaultKind, from: &str, to: &str, for_us: u64) -> Fault {
    let (host, from, to) = (from.to_owned(), from.to_owned(), to.to_owned());
    match kind {
        FaultKind::Freeze => Fault::Freeze { host, for_us },
        FaultKind::Stall => Fault::Stall { host, point: "before-work".into(), for_us },
        FaultKind::Crash => Fault::Crash { host, restart_after_us: for_us },
        FaultKind::CrashLoop => {
            Fault::CrashLoop { host, times: 2, down_us: for_us / 3, up_us: for_us / 3 }
        }
        FaultKind::ClockStep => {
            Fault::ClockStep { host, by_us: i64::try_from(for_us).expect("small") }
        }
        FaultKind::ClockDrift => Fault::ClockDrift { host, ppm: -200_000, for_us },
        FaultKind::Partition => Fault::Partition { a: vec![from], b: vec![to], for_us },
        FaultKind::PartitionOneWay => Fault::PartitionOneWay { from, to, for_us },
        FaultKind::PartitionGroups => {
            Fault::PartitionGroups { groups: vec![vec![from], vec![to], vec![]], for_us }
        }
        FaultKind::Delay => Fault::Delay { from, to, extra_us: for_us / 5, for_us },
        FaultKind::Late => Fault::Late { from, to, extra_us: for_us },
        FaultKind::SlowLink => Fault::SlowLink { from, to, bytes_per_s: 1_000, for_us },
        FaultKind::Reset => Fault::Reset { a: from, b: to },
        FaultKind::LoseRequest => Fault::LoseRequest { from, to },
        FaultKind::LoseResponse => Fault::LoseResponse { from, to },
        FaultKind::LoseDatagrams => Fault::LoseDatagrams { from, to, percent: 50, for_us },
        FaultKind::DuplicateDatagrams => {
            Fault::DuplicateDatagrams { from, to, percent: 50, for_us }
        }
        FaultKind::ReorderDatagrams => {
            Fault::ReorderDatagrams { from, to, percent: 50, extra_us: for_us / 5, for_us }
        }
        FaultKind::LoseMessage => Fault::LoseMessage { from, to, kind: "job".into(), times: 1 },
        FaultKind::Redeliver => Fault::Redeliver { from, to, kind: "job".into(), after_us: for_us },
        FaultKind::Tear => {
            Fault::Disk(DiskFault::Tear { host, kept_bytes: 1, restart_after_us: for_us })
        }
        FaultKind::Fail => Fault::Disk(DiskFault::Fail { host, for_us }),
        FaultKind::Slow => Fault::Disk(DiskFault::Slow { host, by_us: for_us / 5, for_us }),
        FaultKind::Fill => Fault::Disk(DiskFault::Fill { host, free_bytes: 0, for_us }),
        FaultKind::Restore => {
            Fault::Disk(DiskFault::Restore { host, age_us: 0, restart_after_us: for_us })
        }
    }
}
