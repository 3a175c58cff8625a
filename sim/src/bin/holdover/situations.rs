//! `holdover situations`: what a sweep counts.

use holdover::situation::{Situation, catalogue};
use serde::Serialize;

use crate::{Problem, Verdict};

/// Lists the situations: named moments that every sweep counts and can be told to require.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print a JSON list instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    meaning: &'a str,
    source: Option<&'a str>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let situations = catalogue();
    if arguments.json {
        let row = |one| {
            let one: &Situation = one;
            Row { name: one.name(), meaning: one.meaning(), source: one.source() }
        };
        let rows: Vec<_> = situations.iter().map(row).collect();
        crate::say(&serde_json::to_string_pretty(&rows)?);
    } else {
        for one in &situations {
            crate::say(&format!("{}\n    {}", one.name(), one.meaning()));
        }
    }
    Ok(Verdict::Holds)
}
