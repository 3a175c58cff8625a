//! What a check found.

use std::fmt;

use serde::Serialize;

use crate::check::bounds::Bounds;
use crate::check::counterexample::{Counterexample, Moment};
use crate::check::{Assumptions, Reductions};
use crate::design::setting::{SettingId, SettingSet};
use crate::invariant::InvariantId;

/// The answer in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// No invariant can be broken within the bounds; every one of them was exhausted.
    Safe,
    /// An invariant was broken.
    Violated,
    /// No violation was found, but not everything within the bounds was looked at.
    NotExhausted,
}

impl Judgement {
    /// The judgement in verdicts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Violated => "violated",
            Self::NotExhausted => "not-exhausted",
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What was done within one bound.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BoundReport {
    /// The bound.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// How many different states there were.
    pub unique_states: u64,
    /// How many states there were, repetitions included.
    pub generated_states: u64,
    /// How many steps the farthest state was away from the start.
    pub depth: usize,
    /// How long it took.
    pub seconds: f64,
    /// What it took, at most.
    pub peak_memory_mib: f64,
    /// Whether everything within the bound was looked at.
    pub exhausted: bool,
    /// Whether operations were taken to be symmetric; they are not in every design.
    pub symmetric: bool,
    /// The settings that had a say in any step. Whatever the others are, it is the same search.
    #[serde(skip)]
    pub asked: SettingSet,
}

/// What a check found.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// The design that was checked.
    pub design: String,
    /// The answer.
    pub verdict: Judgement,
    /// What was explored, bound by bound.
    pub bounds: Vec<BoundReport>,
    /// The ways in which fewer states were looked at.
    pub reductions: Reductions,
    /// What was assumed that restricts behaviour.
    pub assumptions: Assumptions,
    /// A shortest run that breaks an invariant.
    pub counterexample: Option<Counterexample>,
}

impl Verdict {
    /// The invariant that was broken.
    pub fn invariant(&self) -> Option<InvariantId> {
        self.counterexample.as_ref().map(|found| found.violation.invariant)
    }

    /// How many different states there were in all.
    pub fn unique_states(&self) -> u64 {
        self.bounds.iter().map(|report| report.unique_states).sum()
    }

    /// How many states there were in all, repetitions included.
    pub fn generated_states(&self) -> u64 {
        self.bounds.iter().map(|report| report.generated_states).sum()
    }

    /// How many steps the farthest state was away from the start.
    pub fn depth(&self) -> usize {
        self.bounds.iter().map(|report| report.depth).max().unwrap_or(0)
    }

    /// The settings, claims apart, that no role asked for in any step: whatever they were, it would
    /// be the same search, so it says nothing about them.
    pub fn never_asked(&self) -> SettingSet {
        let asked = self.bounds.iter().fold(SettingSet::default(), |all, it| all.or(it.asked));
        SettingId::safeguards().filter(|id| !asked.contains(*id)).collect()
    }

    /// How long it took.
    pub fn seconds(&self) -> f64 {
        self.bounds.iter().map(|report| report.seconds).sum()
    }

    /// What it took, at most.
    pub fn peak_memory_mib(&self) -> f64 {
        self.bounds.iter().map(|report| report.peak_memory_mib).fold(0.0, f64::max)
    }
}

/// A verdict as data.
#[derive(Serialize)]
struct AsData<'a> {
    design: &'a str,
    verdict: Judgement,
    invariant: Option<InvariantId>,
    explanation: Option<&'a str>,
    bounds: &'a [BoundReport],
    reductions: Reductions,
    assumptions: Assumptions,
    never_asked: SettingSet,
    unique_states: u64,
    generated_states: u64,
    depth: usize,
    seconds: f64,
    peak_memory_mib: f64,
    counterexample: Option<&'a [Moment]>,
}

impl Serialize for Verdict {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let found = self.counterexample.as_ref();
        AsData {
            design: &self.design,
            verdict: self.verdict,
            invariant: self.invariant(),
            explanation: found.map(|found| found.violation.explanation.as_str()),
            bounds: &self.bounds,
            reductions: self.reductions,
            assumptions: self.assumptions,
            never_asked: self.never_asked(),
            unique_states: self.unique_states(),
            generated_states: self.generated_states(),
            depth: self.depth(),
            seconds: self.seconds(),
            peak_memory_mib: self.peak_memory_mib(),
            counterexample: found.map(|found| found.steps.as_slice()),
        }
        .serialize(serializer)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.design, self.verdict)?;
        for report in &self.bounds {
            let mark = if report.exhausted { "exhausted" } else { "not exhausted" };
            writeln!(f, "  {mark}: {}", report.bounds)?;
            write!(
                f,
                "    {} states, {} generated, depth {}, {:.1} s, {:.0} MiB",
                report.unique_states,
                report.generated_states,
                report.depth,
                report.seconds,
                report.peak_memory_mib,
            )?;
            let is_asymmetric = self.reductions.symmetry && !report.symmetric;
            writeln!(f, "{}", if is_asymmetric { "; operations are not symmetric" } else { "" })?;
        }
        if self.assumptions != Assumptions::none() {
            writeln!(f, "  assumed: {}", self.assumptions)?;
        }
        if let Some(counterexample) = &self.counterexample {
            writeln!(f, "{counterexample}")?;
        }
        Ok(())
    }
}
