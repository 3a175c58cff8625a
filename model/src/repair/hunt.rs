//! The search for repairs: the cheapest candidates first, as far as conflicts leave them open.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::check::judge::{Judge, Judged};
use crate::check::{Bounds, Scope, small_portfolio};
use crate::design::Design;
use crate::design::change::Change;
use crate::parallel;
use crate::repair::candidate::{Candidate, Domain};
use crate::repair::conflict::Conflict;
use crate::repair::{Options, Progress, Repair};

/// What hunts have in common: what they have learnt.
pub(super) struct Hunter<'a> {
    pub(super) judge: Judge<'a>,
    options: &'a Options<'a>,
    conflicts: Vec<Conflict>,
    /// How often something broke within a bound: where it often did, is looked first.
    hits: Vec<(Bounds, u64)>,
    pub(super) judged: u64,
}

/// What a hunt found.
pub(super) struct Hunted {
    /// The cheapest first.
    pub(super) repairs: Vec<Repair>,
    /// What breaks in the design as it stands, if something does.
    pub(super) conflict: Option<Conflict>,
    /// Whether there is nothing more to be found among what may be changed.
    pub(super) is_exhausted: bool,
    /// Whether there is nothing more to be found that takes as few changes.
    pub(super) are_all: bool,
    /// How many candidates were not decided.
    pub(super) undecided: usize,
}

impl<'a> Hunter<'a> {
    pub(super) fn new(options: &'a Options<'a>) -> Self {
        Self {
            judge: Judge::new(options.memory_mib_max, options.stop),
            options,
            conflicts: Vec::new(),
            hits: Vec::new(),
            judged: 0,
        }
    }

    /// Looks for so many repairs, all with as few changes as the first.
    pub(super) fn hunt(
        &mut self,
        stage: &'static str,
        domain: &Domain,
        repairs_max: usize,
    ) -> Hunted {
        let mut hunted = Hunted {
            repairs: Vec::new(),
            conflict: None,
            is_exhausted: true,
            are_all: false,
            undecided: 0,
        };
        let mut found: Vec<Candidate> = Vec::new();
        let mut open = BTreeSet::from([Candidate::default()]);
        while found.len() < repairs_max
            && !self.judge.is_stopped()
            && let Some(candidate) = open.pop_first()
        {
            if found.iter().any(|found| candidate.contains(found)) {
                continue;
            }
            if found.first().is_some_and(|found| found.size() < candidate.size()) {
                break;
            }
            self.judged += 1;
            let design = candidate.design(domain);
            if let Some(conflict) = self.refuting(&design, domain, &candidate).cloned() {
                self.branch(&candidate, &conflict, domain, &mut open, &mut hunted);
                continue;
            }
            (self.options.progress)(Progress {
                stage,
                judged: self.judged,
                waiting: open.len() + 1,
                changes: candidate.size(),
                found: found.len(),
            });
            match self.verdict(&design, domain) {
                Verdict::Holds(within) => {
                    let (changes, cost) = (candidate.changes().to_vec(), candidate.cost());
                    hunted.repairs.push(Repair { changes, cost, within, design });
                    found.push(candidate);
                }
                Verdict::Breaks(within, conflict) => {
                    self.hit(within);
                    self.branch(&candidate, &conflict, domain, &mut open, &mut hunted);
                    self.conflicts.push(*conflict);
                }
                Verdict::Unknown => hunted.undecided += 1,
            }
        }
        let is_decided = hunted.undecided == 0 && !self.judge.is_stopped();
        let could_be_another = |left: &Candidate| {
            found.first().is_none_or(|first| left.size() == first.size())
                && !found.iter().any(|found| left.contains(found))
        };
        hunted.are_all = is_decided && !open.iter().any(could_be_another);
        hunted.is_exhausted &= is_decided && open.is_empty();
        hunted
    }

    /// The conflict that refutes a design, of several the one that leaves the fewest ways out.
    fn refuting(
        &self,
        design: &Design,
        domain: &Domain,
        candidate: &Candidate,
    ) -> Option<&Conflict> {
        let refuting = self.conflicts.iter().filter(|conflict| conflict.refutes(design));
        refuting.min_by_key(|conflict| ways_out(candidate, conflict, domain).count())
    }

    /// Opens every candidate that has one change more, of a setting that is to blame.
    fn branch(
        &mut self,
        candidate: &Candidate,
        conflict: &Conflict,
        domain: &Domain,
        open: &mut BTreeSet<Candidate>,
        hunted: &mut Hunted,
    ) {
        if candidate.size() == 0 {
            hunted.conflict = Some(conflict.clone());
        }
        let ways_out: Vec<_> = ways_out(candidate, conflict, domain).collect();
        if candidate.size() < self.options.changes_max {
            open.extend(ways_out.into_iter().map(|change| candidate.with(change, domain)));
        } else if !ways_out.is_empty() {
            hunted.is_exhausted = false;
        }
    }

    fn verdict(&self, design: &Design, domain: &Domain) -> Verdict {
        let mut bounds = match &self.options.scope {
            Scope::Own(bounds) => bounds.clone(),
            Scope::Small | Scope::Portfolio => small_portfolio(design),
        };
        let hits = |bounds: &Bounds| {
            self.hits.iter().find(|(known, _)| known == bounds).map_or(0, |(_, hits)| *hits)
        };
        bounds.sort_by_key(|bounds| std::cmp::Reverse(hits(bounds)));
        if self.options.scope == Scope::Portfolio {
            let larger = self.options.scope.bounds(design);
            let larger: Vec<_> =
                larger.into_iter().filter(|larger| !bounds.contains(larger)).collect();
            bounds.extend(larger);
        }
        // Once something has broken, what comes later does not matter.
        let broken = AtomicUsize::new(usize::MAX);
        let places: Vec<_> = bounds.iter().enumerate().collect();
        let judged = parallel::map(self.options.threads, &places, |(place, bounds)| {
            if broken.load(Ordering::Relaxed) < *place {
                return None;
            }
            let judged = self.judge.within(design, bounds);
            if matches!(judged, Judged::Breaks(_)) {
                broken.fetch_min(*place, Ordering::Relaxed);
            }
            Some(judged)
        });
        let is_known = judged.iter().all(|judged| !matches!(judged, Some(Judged::NotExhausted)));
        for (bounds, judged) in bounds.iter().zip(judged) {
            if let Some(Judged::Breaks(found)) = judged {
                let conflict = Conflict::new(design, &found, domain);
                return Verdict::Breaks(bounds.clone(), Box::new(conflict));
            }
        }
        if is_known { Verdict::Holds(bounds) } else { Verdict::Unknown }
    }

    fn hit(&mut self, bounds: Bounds) {
        match self.hits.iter_mut().find(|(known, _)| *known == bounds) {
            Some((_, hits)) => *hits += 1,
            None => self.hits.push((bounds, 1)),
        }
    }
}

/// What is known of a candidate.
enum Verdict {
    /// Nothing breaks within these bounds.
    Holds(Vec<Bounds>),
    /// Something breaks within this bound.
    Breaks(Bounds, Box<Conflict>),
    /// A search came to no end.
    Unknown,
}

/// The changes that take away what a conflict rests on.
fn ways_out(
    candidate: &Candidate,
    conflict: &Conflict,
    domain: &Domain,
) -> impl Iterator<Item = Change> {
    let changed = candidate.changed();
    let blamed = conflict.because().iter().filter(move |setting| !changed.contains(*setting));
    blamed.flat_map(|setting| {
        let own = domain.design.value(setting);
        let others = domain.values(setting).iter().filter(move |value| **value != own);
        others.map(move |to| Change { setting, to: *to })
    })
}
