//! Every moment of a few runs with every fault, singly and in pairs.
//!
//! Most of these bugs need one fault at the right moment, some need two (Yuan et al., *Simple
//! Testing Can Prevent Most Critical Failures*, OSDI 2014). There are so few moments in a run that
//! all can be tried, which no draw of times would do: a worker that is frozen in the millisecond
//! before its write leaves is one cell here. So is every moment that there is only because
//! something has gone wrong before.
//!
//! The cells stand in an order in which what has been seen to break systems comes first: each kind
//! of moment at its first occurrence with the most telling fault, then with the next, then later
//! occurrences; and pairs of what comes first come early, too. Most uses have most moments in
//! common, so one of them goes ahead and the others follow at a slower pace. Whoever runs only a
//! part of the matrix so runs the better part.

mod block;
mod uses;
mod ways;

use holdover_model::design::Design;

use crate::plan::Plan;
use block::Block;

/// How many of the [careless uses](uses::careless) have their turn at once.
const CARELESS_AT_ONCE: usize = 3;

/// Every cell of the matrix, and the plan that each is.
pub struct Matrix {
    /// What can go wrong in each use.
    blocks: Vec<Block>,
    /// The cells in which nothing or one thing goes wrong, in their order.
    singles: Vec<Single>,
}

/// A cell in which nothing or one thing goes wrong.
enum Single {
    Quiet(Box<Plan>),
    /// One of the faults of a block, by their places.
    Fault {
        block: usize,
        fault: usize,
    },
}

impl Matrix {
    /// The matrix of a design: its moments are those of runs of that design, which happen now.
    pub fn new(design: &Design) -> Self {
        let mut blocks = Vec::new();
        let mut ranked = Vec::new();
        for (number, used) in uses::uses(design).into_iter().enumerate() {
            if !used.recovers() {
                ranked.push((1 + number, Single::Quiet(Box::new(used.plan.clone()))));
            }
            let (block, turns) = Block::new(used);
            let fault = |(fault, turn)| (turn, Single::Fault { block: number, fault });
            ranked.extend(turns.into_iter().enumerate().map(fault));
            blocks.push(block);
        }
        let careless = uses::careless(design).into_iter().enumerate();
        ranked
            .extend(careless.map(|(place, plan)| {
                (1 + place / CARELESS_AT_ONCE, Single::Quiet(Box::new(plan)))
            }));
        // What has the same turn keeps its order.
        ranked.sort_by_key(|(turn, _)| *turn);
        Self { blocks, singles: ranked.into_iter().map(|(_, single)| single).collect() }
    }

    pub(super) fn empty() -> Self {
        Self { blocks: Vec::new(), singles: Vec::new() }
    }

    /// How many cells have so many faults.
    pub fn cells_with(&self, faults: usize) -> u64 {
        let quiet = |single: &&Single| matches!(single, Single::Quiet(_));
        let quiet = if faults == 0 { self.singles.iter().filter(quiet).count() as u64 } else { 0 };
        let of_block = |block: &Block| match faults.checked_sub(block.plan().faults.len()) {
            Some(1) => block.singles(),
            Some(2) => block.pairs(),
            _ => 0,
        };
        quiet + self.blocks.iter().map(of_block).sum::<u64>()
    }

    /// How many cells there are.
    pub fn cells(&self) -> u64 {
        self.singles.len() as u64 + self.pairs()
    }

    fn pairs(&self) -> u64 {
        self.blocks.iter().map(Block::pairs).sum()
    }

    /// The plan of a cell; `None` beyond the last.
    ///
    /// Every third cell is one of a pair, as long as there are others.
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
        let number = usize::try_from(number).expect("a list of that many was made");
        match &self.singles[number] {
            Single::Quiet(plan) => Plan::clone(plan),
            Single::Fault { block, fault } => self.blocks[*block].single(*fault),
        }
    }

    /// The plan of a pair, in the order of their turns.
    fn pair(&self, number: u64) -> Option<Plan> {
        if number >= self.pairs() {
            return None;
        }
        let within = |turns| self.blocks.iter().map(|block| block.pairs_within(turns)).sum::<u64>();
        // The first turn within which that many have had theirs: it lies in this range.
        let (mut low, mut high) = (1, 1);
        while within(high) <= number {
            (low, high) = (high + 1, 2 * high);
        }
        while low < high {
            let middle = low.midpoint(high);
            if within(middle) > number { high = middle } else { low = middle + 1 }
        }
        let place = usize::try_from(number - within(low - 1)).expect("there are few blocks");
        self.blocks.iter().filter_map(|block| block.pair_of_turn(low)).nth(place)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fault::FaultKind;

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
        assert_eq!([faults(0), faults(1)], [0, 1].map(|count| matrix.cells_with(count)));
        assert!(faults(2) > 0 && faults(3) > 0);
        assert_eq!((0..=3).map(|count| matrix.cells_with(count)).sum::<u64>(), matrix.cells());
    }

    #[test]
    fn every_cell_has_a_plan_up_to_the_last() {
        let matrix = Matrix::new(&Design::default());
        let cells = matrix.cells();
        let mut some = (0..1_000).map(|part| cells / 1_000 * part).chain([cells - 1]);
        assert!(some.all(|cell| matrix.plan(cell).is_some()));
        assert!(matrix.plan(cells).is_none());
    }

    /// What stands in no cell cannot be found: kinds that act over time only are the swarm's.
    #[test]
    fn every_kind_of_fault_that_strikes_at_a_moment_is_there() {
        let matrix = Matrix::new(&Design::default());
        let kinds: BTreeSet<_> = matrix
            .blocks
            .iter()
            .flat_map(|block| {
                (0..block.singles()).map(|number| block.single(usize::try_from(number).unwrap()))
            })
            .flat_map(|plan| plan.faults)
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
