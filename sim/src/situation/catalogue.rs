//! Every situation that comes with this software, and the page that lists them.

use std::fmt::Write as _;

use super::{Situation, approval, authority, clock, crash, identity, liveness, outcome, ownership};

/// Every situation, family by family, with the heading of each family.
fn families() -> [(&'static str, Vec<Situation>); 8] {
    [
        ("A worker that is late, and its successor", ownership::situations().into()),
        ("An authority that comes back", authority::situations().into()),
        ("A mutation whose answer does not come", outcome::situations().into()),
        ("Claims that come together, and an id that comes again", identity::situations()),
        ("A worker that crashes with an operation under way", crash::situations().into()),
        ("A consent that is shown twice", approval::situations().into()),
        ("Clocks that are set", clock::situations().into()),
        ("A worker that looks alive", liveness::situations().into()),
    ]
}

/// The situations that come with this software, and that every sweep counts.
pub fn catalogue() -> Vec<Situation> {
    families().into_iter().flat_map(|(_, situations)| situations).collect()
}

/// The page that describes them.
pub fn to_markdown() -> String {
    let mut text = String::from(
        "# Situations\n\n\
         Named moments that a run has to come to, so that nothing passes because nothing happened. \
         Every sweep counts\nin how many runs each was reached, and names those that were not; \
         `holdover sweep --require NAME` fails without\nit, `--require all` without any of them. \
         A situation says what happened, not whether it was dealt with well:\nthat is for the \
         invariants.\n\n\
         This page is rendered from `sim/src/situation`: `HOLDOVER_RENDER=1 cargo test -p \
         holdover-tests --test\nsituations page`. How to add your own is in the documentation of \
         `holdover::situation`.\n",
    );
    for (heading, situations) in families() {
        let _ = writeln!(text, "\n## {heading}\n");
        for situation in situations {
            let _ = writeln!(text, "* `{}`: {}", situation.name(), situation.meaning());
            if let Some(source) = situation.source() {
                let _ = writeln!(text, "  From: {source}.");
            }
        }
    }
    text
}
