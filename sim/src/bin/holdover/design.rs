//! `holdover design`: what can be written into a design file, and what is in one.

use holdover_model::design::cost::{Cost, Effort};
use holdover_model::design::explain::{Explanation, explain, explain_all};
use holdover_model::design::{NAMED, sections};

use crate::{Problem, Verdict};

/// Lists every setting, explains one, or prints a design in full.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which design to print: a name, or a file that ends in .toml.
    #[arg(value_name = "NAME|FILE", conflicts_with = "explain")]
    design: Option<String>,
    /// Explain a setting: such as fence.check, or check.
    #[arg(long, value_name = "SETTING")]
    explain: Option<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let (text, json) = match (&arguments.explain, &arguments.design) {
        (Some(setting), _) => {
            let explanation = explain(setting).map_err(|error| format!("--explain: {error}"))?;
            (explanation.to_string(), serde_json::to_string_pretty(&explanation)?)
        }
        (None, Some(name)) => {
            let design = crate::design("NAME", name)?;
            (design.to_toml_in_full(), serde_json::to_string_pretty(&design)?)
        }
        (None, None) => {
            let all: Vec<Explanation> = explain_all().collect();
            (vocabulary(&all), serde_json::to_string_pretty(&all)?)
        }
    };
    crate::say(if arguments.json { &json } else { text.trim_end() });
    Ok(Verdict::Holds)
}

/// Every setting with its values, section by section, and the names of the designs.
fn vocabulary(all: &[Explanation]) -> String {
    let width = all.iter().map(|one| one.setting.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for section in sections() {
        let meaning = section.meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.push(format!("[{}]  {meaning}", section.name));
        for one in all.iter().filter(|one| one.section == section.name) {
            let values: Vec<_> = one.values.iter().map(|value| value.name).collect();
            let or = if one.listable.is_empty() { "" } else { ", or a list" };
            lines.push(format!("  {:width$}  {}{or}", one.setting, values.join(", ")));
        }
        lines.push(String::new());
    }
    lines.push("The first value is what holds if nothing is said.\n".into());
    lines.push(format!(
        "A file lists in `fixed` which settings or sections its team cannot change, and says under \
         [cost] what a change costs it, from 1 to {}. Where it says nothing:",
        Cost::MAX
    ));
    lines.extend(Effort::ALL.map(|effort| format!("  {}  {}", effort.cost(), effort.meaning())));
    let names: Vec<_> = NAMED.iter().map(|(name, _)| *name).collect();
    lines.push(format!("\nNamed designs:\n{}", names.join(", ")));
    lines.join("\n")
}
