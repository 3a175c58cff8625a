//! How long it takes to find what is broken in a design, by which kind of search.
//!
//! A search that finds nothing says little until it is known what it finds. Here every broken
//! design that the world can show is looked for again and again, from different seeds, until one
//! of the invariants that it is known to break breaks; and every safe design has to survive. The
//! baseline is what one would write first: all kinds of faults, at random times.

use std::collections::BTreeMap;
use std::fmt;

use holdover_model::design::{Design, NAMED};
use holdover_model::parallel;
use serde::Serialize;

use super::why_not_in_the_world;
use crate::plan::Profile;
use crate::search::{Mix, Search, features};
use crate::stack;

/// A kind of search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The matrix alone. It draws nothing, so once is enough.
    Matrix,
    /// Seeds alone.
    Swarm,
    /// Seeds and mutants of what reached something new.
    Feedback,
    /// The default [`Mix`] of all three.
    Mix,
    /// The baseline: no triggers, no swarm, no order bias; every kind of fault may strike at any
    /// time.
    Uniform,
}

impl Method {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::Matrix, Self::Swarm, Self::Feedback, Self::Mix, Self::Uniform];

    /// Its name in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Swarm => "swarm",
            Self::Feedback => "feedback",
            Self::Mix => "mix",
            Self::Uniform => "uniform",
        }
    }

    fn search(self, design: &Design, base: u64) -> Search {
        let mix = match self {
            Self::Matrix => Mix { matrix: 1, swarm: 0, mutation: 0 },
            Self::Swarm | Self::Uniform => Mix::SWARM,
            Self::Feedback => Mix { matrix: 0, swarm: 1, mutation: 1 },
            Self::Mix => Mix::default(),
        };
        let profile = match self {
            Self::Uniform => Profile::uniform(),
            _ => Profile::default(),
        };
        Search::new(design, profile, mix, base)
    }
}

/// How much is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// From how many different bases each search that draws begins.
    pub bases: u64,
    /// After how many runs it gives up.
    pub runs_max: u64,
    /// How many runs a safe design has to survive.
    pub survives: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bases: 20, runs_max: 1_000, survives: 5_000 }
    }
}

/// One design is done with one kind of search.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    /// Which.
    pub what: Looked<'a>,
    /// How many there are.
    pub of: u64,
}

/// Where was looked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Looked<'a> {
    /// The design.
    pub design: &'a str,
    /// The kind of search; a safe design has none.
    pub method: Option<Method>,
}

impl fmt::Display for Looked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.design, self.method.map_or("safe", Method::as_str))
    }
}

/// How many seeds lie between two bases, so that no two searches run the same seed.
const BASES_APART: u64 = 1_000_000;

/// How many runs it took from each base; `None` where it was not found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Detections(pub Vec<Option<u64>>);

impl Detections {
    /// So many runs are enough in this part of the cases, in hundredths; `None` if in fewer of
    /// them it was found at all.
    pub fn percentile(&self, percent: usize) -> Option<u64> {
        let mut runs = self.0.clone();
        // What was not found took longer than anything that was.
        runs.sort_unstable_by_key(|runs| runs.unwrap_or(u64::MAX));
        let place = (runs.len() * percent).div_ceil(100).max(1) - 1;
        *runs.get(place)?
    }
}

/// One broken design, and how it was looked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Hunt {
    /// The design.
    pub design: String,
    /// The invariant that was found broken first, by whichever search.
    pub found: Option<&'static str>,
    /// How many runs each kind of search took.
    pub methods: BTreeMap<Method, Detections>,
}

/// One safe design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Survivor {
    /// The design.
    pub design: String,
    /// How many runs it survived.
    pub runs: u64,
    /// What was found all the same, with the number of the run; `None` if it is as safe as it is
    /// said to be.
    pub found: Option<(u64, &'static str)>,
}

/// What the zoo showed in the world.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Simulated {
    /// The broken designs that the world can show.
    pub hunts: Vec<Hunt>,
    /// The safe ones.
    pub survivors: Vec<Survivor>,
    /// Those that it cannot show, and why not.
    pub not_in_the_world: BTreeMap<String, String>,
}

impl Simulated {
    /// Whether every broken design was found by the default mix, in half of the cases at least,
    /// and every safe one survived.
    pub fn agrees(&self) -> bool {
        self.hunts.iter().all(|hunt| hunt.methods[&Method::Mix].percentile(50).is_some())
            && self.survivors.iter().all(|survivor| survivor.found.is_none())
    }

    /// The median over all hunts of the median of one kind of search; `None` if it is beyond the
    /// limit.
    pub fn median(&self, method: Method) -> Option<u64> {
        let medians = self.hunts.iter().map(|hunt| hunt.methods[&method].percentile(50));
        Detections(medians.collect()).percentile(50)
    }
}

/// Looks for what is broken in every named design, on so many threads. `seen` is told of each
/// design as soon as it is done with one method.
///
/// # Panics
///
/// When a named design is malformed: the crate's own tests see to it that none is.
pub fn simulate(
    methods: &[Method],
    limits: Limits,
    threads: usize,
    seen: &(dyn Fn(Done<'_>) + Sync),
) -> Simulated {
    let mut simulated = Simulated::default();
    let mut jobs = Vec::new();
    for (name, _) in NAMED {
        let design = Design::named(name).expect("a named design is well formed");
        if let Some(why_not) = why_not_in_the_world(name) {
            simulated.not_in_the_world.insert((*name).into(), why_not.to_string());
        } else if design.expect.is_empty() {
            jobs.push(Job { design, method: None });
        } else {
            let of_design = |method: &Method| Job { design: design.clone(), method: Some(*method) };
            jobs.extend(methods.iter().map(of_design));
        }
    }
    let found = parallel::map(threads, &jobs, |job| {
        let found = job.run(limits);
        let what = Looked { design: &job.design.name, method: job.method };
        seen(Done { what, of: jobs.len() as u64 });
        found
    });
    for (job, found) in jobs.iter().zip(found) {
        simulated.add(&job.design.name, job.method, found, limits);
    }
    simulated
}

/// One design, with one kind of search; a safe one has none.
struct Job {
    design: Design,
    method: Option<Method>,
}

/// The runs after which something was found, from each base, and what.
type Found = Vec<Option<(u64, &'static str)>>;

impl Job {
    fn run(&self, limits: Limits) -> Found {
        let bases = match self.method {
            Some(Method::Matrix) | None => 1,
            Some(_) => limits.bases,
        };
        let runs_max = if self.method.is_some() { limits.runs_max } else { limits.survives };
        let of_base = |base| {
            let method = self.method.unwrap_or(Method::Mix);
            let search = method.search(&self.design, base * BASES_APART);
            first_detection(search, &self.design, runs_max)
        };
        (0..bases).map(of_base).collect()
    }
}

/// The number of the first run that breaks one of the invariants that the design is known to
/// break, from 1, and the invariant; of a safe design, of the first that breaks any.
fn first_detection(
    mut search: Search,
    design: &Design,
    runs_max: u64,
) -> Option<(u64, &'static str)> {
    let mut lessons = Vec::new();
    for number in 0..runs_max {
        if number % crate::search::ROUND == 0 {
            lessons
                .drain(..)
                .for_each(|(plan, reached): (_, Vec<_>)| search.learn(&plan, &reached));
        }
        let (_, plan) = search.plan(number);
        let run = stack::run(&plan).expect("generated plans name only hosts that exist");
        let found = run.finding.as_ref().map(stack::Finding::class);
        let is_known = |found: &&str| design.expect.iter().any(|id| id.as_str() == *found);
        match found {
            Some(found) if design.expect.is_empty() || is_known(&found) => {
                return Some((number + 1, found));
            }
            None if search.is_learning() => lessons.push((plan, features(&run))),
            _ => {}
        }
    }
    None
}

impl Simulated {
    fn add(&mut self, design: &str, method: Option<Method>, found: Found, limits: Limits) {
        let Some(method) = method else {
            let (design, found) = (design.to_owned(), found[0]);
            self.survivors.push(Survivor { design, runs: limits.survives, found });
            return;
        };
        if self.hunts.last().is_none_or(|hunt| hunt.design != design) {
            let design = design.to_owned();
            self.hunts.push(Hunt { design, found: None, methods: BTreeMap::new() });
        }
        let hunt = self.hunts.last_mut().expect("one was just added");
        hunt.found = hunt.found.or(found.iter().flatten().next().map(|(_, found)| *found));
        let runs = found.into_iter().map(|found| found.map(|(runs, _)| runs)).collect();
        hunt.methods.insert(method, Detections(runs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_counts_what_was_not_found_as_longer_than_anything() {
        let runs = |runs: &[Option<u64>]| Detections(runs.to_vec());
        let some = runs(&[Some(4), Some(2), Some(8), Some(6)]);
        assert_eq!((some.percentile(50), some.percentile(90)), (Some(4), Some(8)));
        let few = runs(&[None, Some(3), None, Some(1), None]);
        assert_eq!((few.percentile(40), few.percentile(50)), (Some(3), None));
        assert_eq!(runs(&[]).percentile(50), None);
    }
}
