//! What would make a design safe, or why nothing does: for people and for programs.

use std::fmt::{self, Write};

use holdover_model::check::Judgement;
use holdover_model::design::Design;
use holdover_model::design::change::Change;
use holdover_model::design::edit::{diff, edit};
use holdover_model::repair::{Impossible, Repair, Repairs};
use serde::Serialize;

use super::phrase::{self, bounds, count, paragraph};

/// A team's file with a repair in it.
#[derive(Clone, Debug, Serialize)]
pub struct Edited {
    /// The whole file.
    pub toml: String,
    /// The lines that differ from the file as it was.
    pub diff: String,
}

/// What was found, as changes of a team's file.
#[derive(Clone, Debug)]
pub struct Proposal<'a> {
    found: &'a Repairs,
    /// The design that was to be repaired.
    demanded: &'a Design,
    /// The file with each repair, the cheapest first.
    pub repaired: Vec<Edited>,
    /// The file with the answer that is safe, where there is no repair.
    pub safe_answer: Option<Edited>,
}

impl<'a> Proposal<'a> {
    /// What was found for a design, as changes of the text in which it is written, if only with
    /// other claims than those that are `demanded`.
    ///
    /// # Panics
    ///
    /// When the text is not a design.
    pub fn new(found: &'a Repairs, demanded: &'a Design, text: &str) -> Self {
        let written = Design::from_toml("the design", text).expect("the text was read before");
        let edited = |repair: &Repair| {
            let changes = written.differences(&repair.design);
            let toml = edit(text, &changes).expect("the text was read before");
            Edited { diff: diff(text, &toml), toml }
        };
        let safe_answer = found.impossible.as_ref().and_then(|found| found.safe_answer.as_ref());
        Self {
            found,
            demanded,
            repaired: found.repairs.iter().map(edited).collect(),
            safe_answer: safe_answer.map(edited),
        }
    }

    /// The same for programs: what was found, and beside the changes of each repair the new file
    /// and how it differs.
    ///
    /// # Errors
    ///
    /// When it cannot be said in JSON.
    pub fn json(&self) -> Result<serde_json::Value, serde_json::Error> {
        let mut object = serde_json::to_value(self.found)?;
        for (index, edited) in self.repaired.iter().enumerate() {
            add(&mut object["repairs"][index], edited);
        }
        if let Some(edited) = &self.safe_answer {
            add(&mut object["impossible"]["safe_answer"], edited);
        }
        Ok(object)
    }

    /// A repair, or the safe answer: its changes, what they cost, and the file with them.
    fn changes(&self, repair: &Repair, edited: &Edited) -> String {
        let mut text = String::new();
        for change in &repair.changes {
            let cost = if change.setting.is_claim() {
                "a claim".to_owned()
            } else {
                format!("cost {}", self.demanded.cost(change.setting))
            };
            let _ = writeln!(text, "  {}  ({cost})", phrase::change(*change));
        }
        let within = format!("  verified: every interleaving within {}", bounds(&repair.within));
        text + "\n" + &edited.diff + "\n" + &paragraph(&within, 4) + "\n"
    }

    fn repairs(&self) -> String {
        let found = &self.found.repairs;
        let each = found.iter().zip(&self.repaired).enumerate().map(|(index, (repair, edited))| {
            let changes = count(repair.changes.len(), "change");
            let title = format!("repair {}: {changes}, cost {}\n", index + 1, repair.cost);
            title + &self.changes(repair, edited)
        });
        each.collect::<Vec<_>>().join("\n")
    }

    /// Why there is no repair, and what can be had instead.
    fn impossible(&self, found: &Impossible) -> String {
        let design = &self.found.design;
        let mut text = String::new();
        let mut line = |line: String| {
            let _ = writeln!(text, "{}", paragraph(&line, 4));
        };
        line(if found.is_proved {
            format!("{design} CANNOT BE REPAIRED: whatever may be changed, something breaks")
        } else {
            format!(
                "{design}: NO REPAIR WAS FOUND: it may take more changes, or more --memory-mib, than \
                 were allowed"
            )
        });
        for claim in &found.unmet {
            let Change { setting, to } = claim.change;
            let wanted = phrase::change(Change { setting, to: self.demanded.value(setting) });
            let kept = phrase::value(to);
            line(if claim.is_proved {
                format!("  cannot be met: {wanted}; what can be kept is {kept}")
            } else {
                format!("  not known to be met: {wanted}; what can surely be kept is {kept}")
            });
        }
        for setting in &found.because {
            line(format!("  in the way, and fixed: {}", phrase::change(*setting)));
        }
        line(format!("  what stays: {}", found.violation));
        let (Some(answer), Some(edited)) = (&found.safe_answer, &self.safe_answer) else {
            return text + "no safe answer was found either\n";
        };
        text + "\nthe safe answer: nobody takes over automatically, and no more is claimed than can be \
                kept\n"
            + &self.changes(answer, edited)
    }
}

impl fmt::Display for Proposal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Repairs { design, verdict, within, violation, repairs, impossible, .. } = self.found;
        match (verdict, violation) {
            (Judgement::Safe, _) => {
                let within = bounds(within);
                let line =
                    format!("{design}: safe as it stands, nothing to repair, within {within}");
                writeln!(f, "{}", paragraph(&line, 2))?;
            }
            (_, Some(violation)) => {
                let line = paragraph(&format!("  {violation}"), 4);
                writeln!(f, "{design} is BROKEN as it stands\n{line}")?;
            }
            (_, None) => {
                let line = format!(
                    "{design}: NOT EXHAUSTED: whether it is broken as it stands is not known. It was \
                     interrupted, or a search needs more --memory-mib"
                );
                writeln!(f, "{}", paragraph(&line, 2))?;
            }
        }
        if !repairs.is_empty() {
            writeln!(f, "\n{}", self.repairs())?;
        }
        if let Some(impossible) = impossible {
            writeln!(f, "\n{}", self.impossible(impossible))?;
        }
        write!(f, "{}", summary(self.found))
    }
}

fn summary(found: &Repairs) -> String {
    let mut text = String::new();
    if !found.is_complete {
        let repairs = count(found.repairs.len(), "repair");
        let line =
            format!("PARTIAL: it was interrupted; {repairs} found so far, there may be others");
        let _ = writeln!(text, "{line}");
    }
    if found.undecided > 0 {
        let candidates = count(found.undecided, "candidate");
        let line = format!(
            "{candidates} not decided: a search needs more --memory-mib; each may be a repair, and \
             cheaper"
        );
        let _ = writeln!(text, "{}", paragraph(&line, 2));
    }
    if !found.repairs.is_empty() {
        if found.are_all {
            let _ = writeln!(text, "there is no other repair with as few changes");
        }
        let _ = writeln!(
            text,
            "what a file says of itself (name, summary, source, expect) is left as it is"
        );
    }
    if !found.fixed.is_empty() {
        let fixed: Vec<_> = found.fixed.iter().map(|setting| setting.to_string()).collect();
        let _ = writeln!(text, "{}", paragraph(&format!("fixed: {}", fixed.join(", ")), 2));
    }
    let _ = write!(
        text,
        "candidates: {} judged; searches: {} made, {} spared; {:.1} s",
        found.candidates, found.searches, found.searches_spared, found.seconds
    );
    text
}

fn add(repair: &mut serde_json::Value, edited: &Edited) {
    repair["toml"] = edited.toml.clone().into();
    repair["diff"] = edited.diff.clone().into();
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use holdover_model::check::{Bounds, Budget, Scope};
    use holdover_model::repair::{Options, Progress, repair};

    use super::*;

    #[test]
    fn a_claim_that_was_not_looked_at_to_the_end_is_not_called_impossible() {
        let text = "fixed = [\"fence\"]\n[fence]\nenforced-at = \"proxy\"\nin-flight-writes = \"left-running\"\n";
        let design = Design::from_toml("ours.toml", text).unwrap();
        let bounds = Bounds { operations: 1, ..Bounds::default() }.with(Budget::Takeovers, 1);
        let scope = || Scope::Own(vec![bounds.clone()]);
        let whole = repair(&design, &Options { scope: scope(), ..Options::default() });
        let said = Proposal::new(&whole, &design, text).to_string();
        assert!(said.contains("CANNOT BE REPAIRED") && !said.contains("PARTIAL"), "{said}");

        let stop = AtomicBool::new(false);
        let progress = |at: Progress| {
            if at.stage != "repairs" {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let options = Options {
            scope: scope(),
            stop: Some(&stop),
            progress: &progress,
            ..Options::default()
        };
        let partial = repair(&design, &options);
        let said = Proposal::new(&partial, &design, text).to_string();
        assert!(said.contains("PARTIAL: it was interrupted; 0 repairs found so far"), "{said}");
        assert!(!said.contains("CANNOT") && !said.contains("cannot be met"), "{said}");
    }
}
