//! `holdover ablate`: which safeguards carry the load.

use holdover::report;
use holdover_model::ablate::{Ablation, Finding, Options, ablate};
use holdover_model::check::Judgement;

use crate::given::DesignFlags;
use crate::many::{Search, SearchFlags};
use crate::progress::Watch;
use crate::{Problem, Verdict, interrupt};

/// Takes each safeguard of a design away, one at a time, and says what for it is there.
///
/// Every setting gets every other value, all else equal, and every interleaving is explored: without
/// bounds of your own within the portfolio of `holdover check`. A safeguard is load-bearing if
/// something breaks, covered if something breaks once another one is gone, too, not needed if
/// neither, and not exercised if nobody asked for it. All of that holds within the bounds.
///
/// Exit code 0: the design is safe as it stands, and everything was looked at. 1: it is broken as it
/// stands, or not everything was looked at: a search ran out of memory, or there was an interrupt
/// (Ctrl-C prints what has been found so far, twice ends at once). 2: the input was wrong.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    design: DesignFlags,
    /// Try every pair of changes, and list those that break something which neither breaks alone.
    #[arg(long)]
    pairs: bool,
    #[command(flatten)]
    search: SearchFlags,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let design = arguments.design.demanded()?;
    let search = arguments.search.search()?;
    let stop = interrupt::flag()?;
    search.announce("ablate", &design);
    let Search { scope, threads, memory_mib_max } = search;
    let watch = Watch::counting();
    let ablation = ablate(
        &design,
        &Options {
            scope,
            pairs: arguments.pairs,
            threads,
            memory_mib_max,
            stop: Some(&stop),
            progress: &|at| watch.count(at.stage, at.done as u64, at.of as u64, at.what),
        },
    );
    watch.finish();
    if arguments.json {
        crate::say(&serde_json::to_string_pretty(&ablation)?);
    } else {
        crate::say(&report::ablate::ablation(&ablation, arguments.pairs));
        if ablation.verdict == Judgement::Violated {
            let design = arguments.design.as_arguments();
            crate::say(&format!("what would make it safe says: holdover repair {design}"));
        }
    }
    Ok(if is_known(&ablation) { Verdict::Holds } else { Verdict::Found })
}

/// Whether the design is safe as it stands, and something is known of each of its safeguards.
fn is_known(ablation: &Ablation) -> bool {
    let is_exhausted = |finding: &Finding| !matches!(finding, Finding::NotExhausted);
    ablation.verdict == Judgement::Safe
        && ablation.is_complete
        && ablation.ablated.iter().all(|ablated| is_exhausted(&ablated.finding))
}
