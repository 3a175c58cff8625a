//! What became of a design whose safeguards were taken away, for people.

use std::fmt::Write;

use holdover_model::ablate::{Ablated, Ablation, Cover, Finding, Pair};
use holdover_model::check::Judgement;
use holdover_model::design::setting::SettingId;

use super::phrase::{bounds, change, count, paragraph, value};
use super::table::table;

/// How wide the column of findings is.
const FINDING: usize = 14;

/// Where the column after it begins.
const INDENT: usize = 2 + FINDING + 1;

/// How many covers are named; the pairs name them all.
const COVERS_MAX: usize = 3;

/// What a finding says of its setting. Of several the first one counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    LoadBearing,
    Covered,
    NotKnown,
    NotNeeded,
    NotExercised,
}

impl Rank {
    const ALL: [(Self, &str); 5] = [
        (Self::LoadBearing, "load-bearing"),
        (Self::Covered, "covered"),
        (Self::NotKnown, "not known"),
        (Self::NotNeeded, "not needed"),
        (Self::NotExercised, "not exercised"),
    ];

    fn of(ablated: &Ablated) -> Self {
        match ablated.finding {
            Finding::LoadBearing { .. } => Self::LoadBearing,
            Finding::Covered { .. } => Self::Covered,
            Finding::Unexplained | Finding::NotExhausted | Finding::NotLookedAt => Self::NotKnown,
            Finding::NotNeeded => Self::NotNeeded,
            Finding::NotExercised => Self::NotExercised,
        }
    }
}

/// What each safeguard carries, and what that rests on. `wants_pairs` adds the pairs of changes
/// that break something together.
pub fn ablation(ablation: &Ablation, wants_pairs: bool) -> String {
    let mut text = as_it_stands(ablation);
    if ablation.ablated.is_empty() {
        return text;
    }
    for (setting, values) in settings(ablation) {
        let _ = writeln!(text, "{setting} = {}", value(values[0].from));
        for ablated in values {
            let line = format!(
                "  {:FINDING$} {}: {}",
                ablated.finding.as_str(),
                value(ablated.change.to),
                behind(&ablated.finding),
            );
            let _ = writeln!(text, "{}", paragraph(&line, INDENT));
        }
    }
    if wants_pairs {
        text.push_str(&pairs(&ablation.pairs));
    }
    text.push('\n');
    text + &summary(ablation)
}

/// What the design is with all its safeguards.
fn as_it_stands(ablation: &Ablation) -> String {
    let Ablation { design, bounds: explored, .. } = ablation;
    let within = bounds(explored);
    match (ablation.verdict, &ablation.violation) {
        (_, Some(violation)) => {
            format!("{design} is BROKEN as it stands, so nothing was taken away from it\n")
                + &paragraph(&format!("  {violation}"), 4)
        }
        (Judgement::Safe, None) => {
            paragraph(&format!("{design}: safe as it stands within {within}"), 2) + "\n\n"
        }
        (_, None) => paragraph(
            &format!(
                "{design}: NOT EXHAUSTED: whether it is safe as it stands is not known, so nothing \
                 was taken away from it. It was interrupted, or a search within {within} needs \
                 more --memory-mib"
            ),
            2,
        ),
    }
}

/// What was found for each setting, in the order of a design file.
fn settings(ablation: &Ablation) -> impl Iterator<Item = (SettingId, &[Ablated])> {
    let is_same = |a: &Ablated, b: &Ablated| a.change.setting == b.change.setting;
    ablation.ablated.chunk_by(is_same).map(|values| (values[0].change.setting, values))
}

/// What a finding rests on.
fn behind(finding: &Finding) -> String {
    match finding {
        Finding::LoadBearing { violation, steps, .. } => {
            format!(
                "{} in {}: {}",
                violation.invariant,
                count(*steps, "step"),
                violation.explanation
            )
        }
        Finding::Covered { by } => {
            let named: Vec<_> = by.iter().take(COVERS_MAX).map(covered).collect();
            let rest = match by.len() - named.len() {
                0 => String::new(),
                more => format!("; and by {more} more"),
            };
            named.join("; ") + &rest
        }
        Finding::NotNeeded => {
            "nothing breaks, and no other single safeguard explains it".to_owned()
        }
        Finding::NotExercised => {
            "not asked for, or no difference: says nothing about safety".to_owned()
        }
        Finding::Unexplained => {
            "nothing breaks; whether another safeguard covers it was not looked at".to_owned()
        }
        Finding::NotExhausted => "a search ran out of memory, so nothing is known".to_owned(),
        Finding::NotLookedAt => "interrupted before it was known".to_owned(),
    }
}

fn covered(by: &Cover) -> String {
    let Cover { change, invariant } = by;
    format!("by {}: with {} there, {invariant} breaks", change.setting, value(change.to))
}

/// Which changes break something together, as a table that Markdown understands, too.
fn pairs(pairs: &[Pair]) -> String {
    if pairs.is_empty() {
        return "\nno two changes break something that neither breaks alone\n".to_owned();
    }
    let header = ["one change", "with another", "breaks", "steps"].map(str::to_owned);
    let rows = pairs.iter().map(|pair| {
        let [one, other] = pair.changes.map(change);
        [one, other, pair.violation.invariant.to_string(), pair.steps.to_string()]
    });
    let rows: Vec<_> = std::iter::once(header).chain(rows).map(Vec::from).collect();
    format!("\npairs that break something together, and not alone\n\n{}", table(&rows))
}

fn summary(ablation: &Ablation) -> String {
    let mut text = String::new();
    if !ablation.is_complete {
        let _ = writeln!(text, "PARTIAL: it was interrupted, so this is not all there is to know");
    }
    let strongest: Vec<_> =
        settings(ablation).map(|(_, values)| values.iter().map(Rank::of).min()).collect();
    let counts = Rank::ALL.iter().filter_map(|(rank, name)| {
        let of = strongest.iter().filter(|strongest| **strongest == Some(*rank)).count();
        (of > 0 || *rank != Rank::NotKnown).then(|| format!("{of} {name}"))
    });
    let line = format!(
        "{}, {}: {}",
        ablation.design,
        count(strongest.len(), "setting"),
        counts.collect::<Vec<_>>().join(", ")
    );
    let _ = writeln!(text, "{}", paragraph(&line, 2));
    let line = format!("each value within {}{}", bounds(&ablation.bounds), fewer(ablation));
    let _ = writeln!(text, "{}", paragraph(&line, 2));
    let _ = write!(
        text,
        "searches: {} made, {} spared; {:.1} s",
        ablation.searches, ablation.searches_spared, ablation.seconds
    );
    text
}

/// How many values were judged within fewer bounds than the design as it stands.
fn fewer(ablation: &Ablation) -> String {
    let counts = || ablation.ablated.iter().map(|ablated| ablated.bounds);
    let fewer = counts().filter(|count| *count < ablation.bounds.len()).count();
    match (fewer, counts().min()) {
        (1.., Some(fewest)) => format!(
            "; {fewer} of {} within fewer, at least {fewest}: what would take hours there is left out",
            ablation.ablated.len()
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use holdover_model::ablate::{Options, Progress, ablate};
    use holdover_model::check::{Bounds, Budget, Scope};
    use holdover_model::design::Design;

    use super::*;

    #[test]
    fn what_was_interrupted_says_so_and_counts_as_not_known() {
        let design = Design::named("push-before-ready").unwrap();
        let bounds = Bounds { operations: 1, ..Bounds::default() }.with(Budget::Takeovers, 1);
        let stop = AtomicBool::new(false);
        let progress = |at: Progress| {
            if at.stage == "one at a time" && at.done == 3 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let found = ablate(
            &design,
            &Options {
                scope: Scope::Own(vec![bounds]),
                threads: 1,
                stop: Some(&stop),
                progress: &progress,
                ..Options::default()
            },
        );
        let text = ablation(&found, false);
        assert!(text.contains("PARTIAL: it was interrupted"), "{text}");
        assert!(text.contains("interrupted before it was known"), "{text}");
        assert!(text.contains(" not known, 0 not needed, "), "{text}");
    }
}
