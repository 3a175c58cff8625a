//! The cells of one use: everything that can go wrong in it, one at a time and in pairs.

use super::uses::Use;
use super::ways;
use crate::fault::PlannedFault;
use crate::plan::Plan;

/// Everything that can go wrong in a use, in an order.
pub(super) struct Block {
    used: Use,
    faults: Vec<Place>,
    /// For each fault, how many pairs there are of which neither is a later one.
    pairs_up_to: Vec<u64>,
}

/// Where a fault stands: few bytes, because there are thousands.
#[derive(Clone, Copy)]
struct Place {
    /// Which scene of the use.
    scene: usize,
    /// Which of the ways there are in that scene.
    way: usize,
}

impl Block {
    /// The faults of a use, the most telling first, and the turn of each.
    pub(super) fn new(mut used: Use) -> (Self, Vec<usize>) {
        let known = std::mem::take(&mut used.known);
        let mut ranked = Vec::new();
        for (number, scene) in used.scenes.iter().enumerate() {
            let first = ways::rank(&used, scene);
            let ways = 0..ways::ways(&used, scene).len();
            let new = ways.filter(|way| !known.contains(&used.fault(number, *way)));
            ranked.extend(new.map(|way| (first + way, Place { scene: number, way })));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let turns = ranked.iter().map(|(rank, _)| (rank + 1) * used.pace).collect();
        let faults: Vec<_> = ranked.into_iter().map(|(_, place)| place).collect();
        let mut of_scene = vec![0; used.scenes.len()];
        let mut pairs = 0;
        let pairs_up_to = (0_u64..)
            .zip(&faults)
            .map(|(before, fault)| {
                let same: &mut u64 = &mut of_scene[fault.scene];
                pairs += before - *same;
                *same += 1;
                pairs
            })
            .collect();
        (Self { used, faults, pairs_up_to }, turns)
    }

    /// What is done in it.
    pub(super) fn plan(&self) -> &Plan {
        &self.used.plan
    }

    /// How many faults there are.
    pub(super) fn singles(&self) -> u64 {
        self.faults.len() as u64
    }

    /// How many pairs of faults of different scenes.
    pub(super) fn pairs(&self) -> u64 {
        self.pairs_up_to.last().copied().unwrap_or(0)
    }

    /// The plan with one fault more.
    pub(super) fn single(&self, number: usize) -> Plan {
        self.plan_with(&[number])
    }

    /// How many pairs have had their turn.
    pub(super) fn pairs_within(&self, turns: u64) -> u64 {
        (turns / self.used.pace as u64).min(self.pairs())
    }

    /// The plan with the pair of a turn.
    pub(super) fn pair_of_turn(&self, turn: u64) -> Option<Plan> {
        let number = self.pairs_within(turn);
        let is_its_turn = number > self.pairs_within(turn - 1);
        is_its_turn.then(|| self.plan_with(&self.pair(number - 1)))
    }

    /// All pairs of the first faults come before any with a later one.
    fn pair(&self, number: u64) -> [usize; 2] {
        let other = self.pairs_up_to.partition_point(|pairs| *pairs <= number);
        let before = other.checked_sub(1).map_or(0, |last| self.pairs_up_to[last]);
        let is_elsewhere = |one: &usize| self.faults[*one].scene != self.faults[other].scene;
        let place = usize::try_from(number - before).expect("it is below a length");
        let one = (0..other).filter(is_elsewhere).nth(place);
        [one.expect("so many were counted"), other]
    }

    fn fault(&self, number: usize) -> PlannedFault {
        let Place { scene, way } = self.faults[number];
        self.used.fault(scene, way)
    }

    fn plan_with(&self, faults: &[usize]) -> Plan {
        let mut plan = self.used.plan.clone();
        plan.faults.extend(faults.iter().map(|number| self.fault(*number)));
        plan
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use holdover_model::design::Design;

    use super::*;
    use crate::search::matrix::uses::uses;

    #[test]
    fn every_two_faults_of_different_scenes_are_a_pair_once_and_early_ones_come_first() {
        let used = uses(&Design::default()).swap_remove(1);
        let (block, _) = Block::new(used);
        let pairs: Vec<_> = (0..block.pairs()).map(|number| block.pair(number)).collect();
        let scene = |number: usize| block.faults[number].scene;
        assert!(pairs.iter().all(|[one, other]| one < other && scene(*one) != scene(*other)));
        assert!(pairs.is_sorted_by_key(|[_, other]| *other));
        let different: BTreeSet<_> = pairs.iter().collect();
        assert_eq!(different.len(), pairs.len());
        let all = 0..block.faults.len();
        let of_one_scene =
            all.clone().map(|other| (0..other).filter(|one| scene(*one) == scene(other)).count());
        let expected = all.len() * (all.len() - 1) / 2 - of_one_scene.sum::<usize>();
        assert_eq!(pairs.len(), expected);
    }

    #[test]
    fn a_pair_has_one_turn_in_so_many_as_the_pace_says() {
        let used = uses(&Design::default()).swap_remove(0);
        let (block, _) = Block::new(used);
        let pace = block.used.pace as u64;
        assert!(pace > 1);
        let had = (1..=1_000).filter(|turn| block.pair_of_turn(*turn).is_some());
        assert_eq!(had.count() as u64, 1_000 / pace);
        assert!(block.pair_of_turn(pace * block.pairs()).is_some());
        assert!(block.pair_of_turn(pace * (block.pairs() + 1)).is_none());
    }
}
