//! Judges many designs that are neighbours, and makes no search twice.
//!
//! A search is a function of the design's answers. Where it never asked for a setting, the search
//! of a design with another value of that setting is the same search: nothing breaks there,
//! either. The same holds where it did ask, if every step that did is the same step under the
//! other value. So whatever one search has shown about its neighbours is remembered, and not
//! searched for again. That is exact, and not a guess: see [`Asked`](crate::design::asked::Asked).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use crate::check::bounds::Bounds;
use crate::check::component::Step;
use crate::check::counterexample::Counterexample;
use crate::check::lens::Lens;
use crate::check::reduction::Manner;
use crate::check::system::System;
use crate::check::{Options, Reductions, explore_and};
use crate::design::Design;
use crate::design::setting::SettingSet;

/// That within a bound nothing breaks in a design, nor in any that agrees with it about what was
/// asked.
#[derive(Clone, Debug)]
struct Proof {
    design: Design,
    /// How it was searched: for a design that allows to leave out less, this is no proof.
    manner: Manner,
    asked: SettingSet,
    states: u64,
}

/// What is known of a design within one bound.
#[derive(Debug)]
pub(crate) enum Judged {
    /// Nothing breaks. The search that has shown it
    Holds {
        /// asked for these settings,
        asked: SettingSet,
        /// and was that of a neighbour: nothing within this bound tells the two apart.
        is_spared: bool,
    },
    /// A shortest counterexample.
    Breaks(Box<Counterexample>),
    /// The search came to no end.
    NotExhausted,
}

/// Judges designs, and remembers what it has seen.
pub(crate) struct Judge<'a> {
    memory_mib_max: usize,
    stop: Option<&'a AtomicBool>,
    proofs: RwLock<Vec<(Bounds, Vec<Proof>)>>,
    searches: AtomicU64,
    spared: AtomicU64,
}

impl<'a> Judge<'a> {
    /// A judge who knows nothing yet. Each search may take so much memory; once `stop` is true,
    /// none comes to an end.
    pub(crate) fn new(memory_mib_max: usize, stop: Option<&'a AtomicBool>) -> Self {
        Self {
            memory_mib_max,
            stop,
            proofs: RwLock::default(),
            searches: AtomicU64::new(0),
            spared: AtomicU64::new(0),
        }
    }

    /// Whether it was told to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// How many searches were made.
    pub(crate) fn searches(&self) -> u64 {
        self.searches.load(Ordering::Relaxed)
    }

    /// How many searches were not made, because an earlier one has shown the same.
    pub(crate) fn spared(&self) -> u64 {
        self.spared.load(Ordering::Relaxed)
    }

    /// How many states the design itself had within a bound, by the search that left out least.
    pub(crate) fn states(&self, design: &Design, bounds: &Bounds) -> Option<u64> {
        let known = self.proofs.read().unwrap_or_else(PoisonError::into_inner);
        let (_, proofs) = known.iter().find(|(known, _)| known == bounds)?;
        let own = proofs.iter().filter(|proof| proof.design == *design);
        own.map(|proof| proof.states).max()
    }

    /// Judges a design within one bound.
    pub(crate) fn within(&self, design: &Design, bounds: &Bounds) -> Judged {
        let manner = Manner::of(design, bounds, Reductions::all());
        if let Some(Proof { asked, .. }) = self.proof(design, bounds, manner) {
            self.spared.fetch_add(1, Ordering::Relaxed);
            return Judged::Holds { asked, is_spared: true };
        }
        self.search(design, bounds, manner, &[])
    }

    /// Judges a design, and with it those of its neighbours that take the same steps within this
    /// bound. What a search left out says nothing about a neighbour that does not allow to leave
    /// it out; so for such neighbours there is a search of its own, which is still one for all.
    pub(crate) fn survey(&self, design: &Design, bounds: &Bounds, neighbours: &[Design]) -> Judged {
        let own = Manner::of(design, bounds, Reductions::all());
        let mut groups: Vec<(Manner, Vec<&Design>)> = vec![(own, Vec::new())];
        for neighbour in neighbours {
            let manner = own.and(Manner::of(neighbour, bounds, Reductions::all()));
            match groups.iter_mut().find(|(known, _)| *known == manner) {
                Some((_, group)) => group.push(neighbour),
                None => groups.push((manner, vec![neighbour])),
            }
        }
        let mut groups = groups.into_iter();
        let (manner, group) = groups.next().expect("its own is the first");
        let judged = self.search(design, bounds, manner, &group);
        if matches!(judged, Judged::Holds { .. }) {
            groups.for_each(|(manner, group)| {
                self.search(design, bounds, manner, &group);
            });
        }
        judged
    }

    fn search(
        &self,
        design: &Design,
        bounds: &Bounds,
        manner: Manner,
        neighbours: &[&Design],
    ) -> Judged {
        if self.is_stopped() {
            return Judged::NotExhausted;
        }
        self.searches.fetch_add(1, Ordering::Relaxed);
        let mut options = Options {
            // Neighbours are searched at once instead: and one thread always asks the same.
            threads: 1,
            memory_mib_max: self.memory_mib_max,
            stop: self.stop,
            ..Options::default()
        };
        let mut alike = Vec::new();
        let examine = &mut |lens: &Lens<'_>| {
            let asked =
                neighbours.iter().filter_map(|other| Some((*other, asked_by(lens, other)?)));
            alike = asked.collect();
        };
        let (report, counterexample) = explore_and(design, bounds, manner, &mut options, examine);
        if let Some(counterexample) = counterexample {
            return Judged::Breaks(Box::new(counterexample));
        }
        if !report.exhausted {
            return Judged::NotExhausted;
        }
        let (asked, states) = (report.asked, report.unique_states);
        alike.push((design, asked));
        let proof =
            |(design, asked): (&Design, _)| Proof { design: design.clone(), manner, asked, states };
        self.learn(bounds, alike.into_iter().map(proof));
        Judged::Holds { asked, is_spared: false }
    }

    fn learn(&self, bounds: &Bounds, new: impl Iterator<Item = Proof>) {
        let mut known = self.proofs.write().unwrap_or_else(PoisonError::into_inner);
        match known.iter_mut().find(|(known, _)| known == bounds) {
            Some((_, proofs)) => proofs.extend(new),
            None => known.push((bounds.clone(), new.collect())),
        }
    }

    /// What a search has shown that left out no more than `manner`.
    fn proof(&self, design: &Design, bounds: &Bounds, manner: Manner) -> Option<Proof> {
        let known = self.proofs.read().unwrap_or_else(PoisonError::into_inner);
        let (_, proofs) = known.iter().find(|(known, _)| known == bounds)?;
        let covers = |proof: &&Proof| {
            // What an invariant checks depends on what is claimed.
            proof.manner.and(manner) == proof.manner
                && proof.design.guarantee == design.guarantee
                && !design.differing(&proof.design).meets(proof.asked)
        };
        proofs.iter().find(covers).cloned()
    }
}

/// What a neighbour is asked for in the same steps; `None` if it takes other ones.
fn asked_by(lens: &Lens<'_>, neighbour: &Design) -> Option<SettingSet> {
    let space = lens.space;
    let system = System::new(neighbour, space.system.bounds());
    let differing = neighbour.differing(space.system.design());
    if system.actors() != space.system.actors() {
        return None;
    }
    let mut steps = lens.steps_that_asked(differing);
    steps.try_fold(lens.asked.or(system.asked()), |asked, local| {
        let (slot, component, tick, input) = local;
        let (component, input) = (space.components.value(component), space.input(input));
        let [ours, theirs] = [&space.system, &system].map(|system| {
            let Step { component, sends, events, asked } =
                system.step(slot, &component, tick, &input);
            ((component, sends, events), asked)
        });
        (ours.0 == theirs.0).then_some(asked.or(theirs.1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::bounds::{Budget, Consents};
    use crate::check::{Judgement, check};
    use crate::design::change::Change;

    fn bounds() -> Vec<Bounds> {
        let one = Bounds { operations: 1, ..Bounds::default() };
        vec![
            one.clone().with(Budget::Takeovers, 1),
            one.clone().with(Budget::Expiries, 1),
            one.clone().with(Budget::Retries, 1).with(Budget::WorkerCrashes, 1),
            one.clone().with(Budget::AuthorityCrashes, 1),
            one.with(Budget::Recreations, 1),
            Bounds { consents: Consents::Shared, attempts_max: 1, ..Bounds::default() },
        ]
    }

    /// What is spared has to be what a search would have said.
    #[test]
    fn a_search_that_is_spared_would_have_found_nothing() {
        for name in ["push-before-ready", "co-located-gate", "expired-token-refused"] {
            let design = Design::named(name).unwrap();
            let changes: Vec<Change> = crate::design::setting::SettingId::safeguards()
                .flat_map(|setting| design.alternatives(setting))
                .collect();
            let neighbours: Vec<_> = changes.iter().map(|change| design.with(*change)).collect();
            let mut spared = 0;
            for bounds in bounds() {
                let judge = Judge::new(1024, None);
                assert!(matches!(
                    judge.survey(&design, &bounds, &neighbours),
                    Judged::Holds { .. }
                ));
                for (change, neighbour) in changes.iter().zip(&neighbours) {
                    let own = check(
                        neighbour,
                        std::slice::from_ref(&bounds),
                        Options { threads: 1, ..Options::default() },
                    );
                    let judged = match judge.within(neighbour, &bounds) {
                        Judged::Holds { is_spared, .. } => {
                            spared += usize::from(is_spared);
                            Judgement::Safe
                        }
                        Judged::Breaks(_) => Judgement::Violated,
                        Judged::NotExhausted => Judgement::NotExhausted,
                    };
                    assert_eq!(judged, own.verdict, "{name} with {change} within {bounds}");
                }
            }
            assert!(spared > 50, "{name}: only {spared} were spared");
        }
    }

    #[test]
    fn a_proof_says_nothing_about_another_claim() {
        let design = Design::named("highest-seen").unwrap();
        let modest = design.with(Change {
            setting: "guarantee.fenced-from".parse().unwrap(),
            to: crate::design::change::SettingValue::Word("never"),
        });
        let bounds = &bounds()[0];
        let judge = Judge::new(1024, None);
        assert!(matches!(judge.within(&modest, bounds), Judged::Holds { .. }));
        assert!(matches!(judge.within(&design, bounds), Judged::Breaks(_)));
    }

    #[test]
    fn once_it_is_stopped_nothing_is_known() {
        let stop = AtomicBool::new(true);
        let judge = Judge::new(1024, Some(&stop));
        assert!(matches!(judge.within(&Design::default(), &bounds()[0]), Judged::NotExhausted));
    }
}
