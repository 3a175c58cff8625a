//! The numbers in a plan, and the rounder and smaller ones that are tried in their place.

use crate::fault::{DiskFault, Fault, Trigger};
use crate::plan::Plan;

/// The shortest duration that is tried: a fault that lasts no time is none, and below a
/// millisecond a reader learns nothing.
pub(super) const DURATION_US_MIN: u64 = 1_000;

/// What a number means, which says what is simpler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// A duration in microseconds, or a clock's error in millionths.
    Size,
    /// A moment in microseconds since the start.
    Moment,
    /// A count that starts at one.
    Count,
    /// How many in a hundred: all of them is simplest.
    Percent,
}

/// One number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Number {
    pub(super) value: u64,
    pub(super) meaning: Meaning,
}

impl Number {
    /// How far it is from the simplest value.
    pub(super) fn weight(self) -> u64 {
        match self.meaning {
            Meaning::Size | Meaning::Moment | Meaning::Count => self.value,
            Meaning::Percent => 100_u64.saturating_sub(self.value),
        }
    }

    /// The values to try in its place, the simplest first.
    pub(super) fn simpler(self) -> Vec<u64> {
        let rounder = || {
            let round = round().skip_while(|us| *us < DURATION_US_MIN);
            let mut values: Vec<_> = round.take_while(|us| *us < self.value).collect();
            // What is rounder and hardly less, where all that is much less is too little.
            let largest = values.last().copied().unwrap_or(0);
            let cut = [100, 1_000, 10_000, 100_000].map(|unit| self.value - self.value % unit);
            values
                .extend(cut.into_iter().rev().filter(|us| (largest + 1..self.value).contains(us)));
            values.dedup();
            values
        };
        match self.meaning {
            Meaning::Size => rounder(),
            Meaning::Moment => {
                std::iter::once(0).chain(rounder()).take_while(|us| *us < self.value).collect()
            }
            Meaning::Count => (1..self.value).collect(),
            Meaning::Percent => (self.value < 100).then_some(100).into_iter().collect(),
        }
    }
}

/// 1, 2, 5, 10, 20, 50 and so on: numbers that a reader takes in at a glance.
fn round() -> impl Iterator<Item = u64> {
    (0..12).flat_map(|exponent| [1, 2, 5].map(|digit| digit * 10_u64.pow(exponent)))
}

/// The numbers of a plan in a fixed order: the faults' durations first, as they matter most.
pub(super) fn of(plan: &Plan) -> Vec<Number> {
    let mut numbers = Vec::new();
    visit(&mut plan.clone(), &mut |number| numbers.push(*number));
    numbers
}

/// Sets the number with an index in that order.
pub(super) fn set(plan: &mut Plan, index: usize, value: u64) {
    let mut next = 0;
    visit(plan, &mut |number| {
        if next == index {
            number.value = value;
        }
        next += 1;
    });
}

type Visit<'a> = &'a mut dyn FnMut(&mut Number);

fn visit(plan: &mut Plan, each: Visit<'_>) {
    for planned in &mut plan.faults {
        visit_fault(&mut planned.fault, each);
    }
    for planned in &mut plan.faults {
        match &mut planned.trigger {
            Trigger::At { at_us } => unsigned(at_us, Meaning::Moment, each),
            Trigger::Point { nth, .. }
            | Trigger::BeforePacket { nth, .. }
            | Trigger::Event { nth, .. } => unsigned(nth, Meaning::Count, each),
        }
    }
    for task in &mut plan.tasks {
        unsigned(&mut task.begin_at_us, Meaning::Moment, each);
    }
}

fn visit_fault(fault: &mut Fault, each: Visit<'_>) {
    let duration = |us: &mut u64, each: Visit<'_>| unsigned(us, Meaning::Size, each);
    match fault {
        Fault::Freeze { for_us, .. }
        | Fault::Stall { for_us, .. }
        | Fault::Partition { for_us, .. }
        | Fault::PartitionOneWay { for_us, .. }
        | Fault::PartitionGroups { for_us, .. }
        | Fault::SlowLink { for_us, .. }
        | Fault::Crash { restart_after_us: for_us, .. }
        | Fault::Late { extra_us: for_us, .. }
        | Fault::Redeliver { after_us: for_us, .. } => duration(for_us, each),
        Fault::CrashLoop { times, down_us, up_us, .. } => {
            count(times, each);
            duration(down_us, each);
            duration(up_us, each);
        }
        Fault::ClockStep { by_us, .. } => {
            let mut size = by_us.unsigned_abs();
            duration(&mut size, each);
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            *by_us = if *by_us < 0 { -size } else { size };
        }
        Fault::ClockDrift { ppm, for_us, .. } => {
            let mut size = u64::from(ppm.unsigned_abs());
            unsigned(&mut size, Meaning::Size, each);
            let size = i32::try_from(size).unwrap_or(i32::MAX);
            *ppm = if *ppm < 0 { -size } else { size };
            duration(for_us, each);
        }
        Fault::Delay { extra_us, for_us, .. } => {
            duration(extra_us, each);
            duration(for_us, each);
        }
        Fault::LoseDatagrams { percent, for_us, .. }
        | Fault::DuplicateDatagrams { percent, for_us, .. } => {
            unsigned(percent, Meaning::Percent, each);
            duration(for_us, each);
        }
        Fault::ReorderDatagrams { percent, extra_us, for_us, .. } => {
            unsigned(percent, Meaning::Percent, each);
            duration(extra_us, each);
            duration(for_us, each);
        }
        Fault::LoseMessage { times, .. } => count(times, each),
        Fault::Reset { .. } | Fault::LoseRequest { .. } | Fault::LoseResponse { .. } => {}
        Fault::Disk(fault) => match fault {
            DiskFault::Fail { for_us, .. } => duration(for_us, each),
            DiskFault::Tear { kept_bytes: bytes, restart_after_us: for_us, .. }
            | DiskFault::Fill { free_bytes: bytes, for_us, .. } => {
                unsigned(bytes, Meaning::Count, each);
                duration(for_us, each);
            }
            DiskFault::Slow { by_us: us, for_us, .. }
            | DiskFault::Restore { age_us: us, restart_after_us: for_us, .. } => {
                duration(us, each);
                duration(for_us, each);
            }
        },
    }
}

fn unsigned(value: &mut u64, meaning: Meaning, each: Visit<'_>) {
    let mut number = Number { value: *value, meaning };
    each(&mut number);
    *value = number.value;
}

fn count(value: &mut u32, each: Visit<'_>) {
    let mut wide = u64::from(*value);
    unsigned(&mut wide, Meaning::Count, each);
    *value = u32::try_from(wide).unwrap_or(u32::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simpler(value: u64, meaning: Meaning) -> Vec<u64> {
        Number { value, meaning }.simpler()
    }

    #[test]
    fn what_is_tried_is_smaller_rounder_and_in_order() {
        assert_eq!(simpler(7_300, Meaning::Size), [1_000, 2_000, 5_000, 7_000]);
        assert_eq!(
            simpler(117_767, Meaning::Moment),
            [0, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 110_000, 117_000, 117_700]
        );
        assert_eq!(simpler(1_000, Meaning::Size), [] as [u64; 0], "that is the shortest");
        assert_eq!(simpler(500, Meaning::Size), [] as [u64; 0], "by hand it may be shorter");
        assert_eq!(simpler(4, Meaning::Count), [1, 2, 3]);
        assert_eq!(simpler(37, Meaning::Percent), [100]);
        assert_eq!(simpler(100, Meaning::Percent), [] as [u64; 0]);
    }
}
