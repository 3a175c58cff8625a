//! `holdover repair`: the smallest changes after which a design keeps what it claims.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use holdover::report::repair::{Edited, Proposal};
use holdover_model::check::Judgement;
use holdover_model::repair::{Options, repair};

use crate::given::{DesignFlags, Written};
use crate::many::{Search, SearchFlags};
use crate::progress::Watch;
use crate::{Problem, Verdict, interrupt};

/// Looks for the smallest changes after which a design keeps what it claims, or what is demanded.
///
/// The cheapest come first: fewest changes, then what they cost (`holdover design --explain` says
/// what a change costs, and a design file can say otherwise). Each repair was explored in every
/// interleaving, without bounds of your own within the portfolio of `holdover check`, and comes as a
/// change of your own file.
///
/// Exit code 0: there is a repair, or nothing to repair. 1: there is none, or an interrupt came first
/// (Ctrl-C prints what has been found so far, twice ends at once). 2: the input was wrong.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    design: DesignFlags,
    /// Leave a setting, or all of a section, as it is; may be given several times.
    #[arg(long, value_name = "SETTING|SECTION")]
    fixed: Vec<String>,
    /// How many repairs to look for.
    #[arg(long, value_name = "N", default_value_t = Options::default().repairs_max)]
    repairs: usize,
    /// How many settings a repair may change.
    #[arg(long, value_name = "N", default_value_t = Options::default().changes_max)]
    changes: usize,
    /// Write the design with the cheapest repair into this file.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Write over a file that exists.
    #[arg(long, requires = "write")]
    force: bool,
    /// If there is no repair, write the answer that is safe, although it claims less.
    #[arg(long, requires = "write")]
    accept_safe_answer: bool,
    #[command(flatten)]
    search: SearchFlags,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, Problem> {
    let Written { design, text } = arguments.design.written()?;
    let design = arguments.fixed.iter().try_fold(design, |design, name| {
        design.fixing(name).map_err(|error| format!("--fixed: {error}"))
    })?;
    let design = arguments.design.demanding(design)?;
    let search = arguments.search.search()?;
    for (flag, number) in [("--repairs", arguments.repairs), ("--changes", arguments.changes)] {
        if number == 0 {
            return Err(format!("{flag} 0: at least one").into());
        }
    }
    if let Some(file) = &arguments.write {
        check_writable(file, arguments.force)?;
    }
    let stop = interrupt::flag()?;
    search.announce("repair", &design);
    let Search { scope, threads, memory_mib_max } = search;
    let watch = Watch::counting();
    let found = repair(
        &design,
        &Options {
            scope,
            repairs_max: arguments.repairs,
            changes_max: arguments.changes,
            threads,
            memory_mib_max,
            stop: Some(&stop),
            progress: &|at| {
                // What is known can be counted, and each of them may lead to others.
                let known = at.judged + at.waiting as u64;
                let remark = format!("{} changes, {} found, more may come", at.changes, at.found);
                watch.count(at.stage, at.judged, known, remark);
            },
        },
    );
    watch.finish();
    let proposal = Proposal::new(&found, &design, &text);
    let written =
        arguments.write.as_deref().map(|file| match worth_writing(arguments, &proposal) {
            Ok(edited) => write(file, edited, arguments.force).map(|()| (file, None)),
            Err(why_not) => Ok((file, Some(why_not))),
        });
    if arguments.json {
        let mut object = proposal.json()?;
        let is_written = matches!(written, Some(Ok((_, None))));
        object["written"] = serde_json::to_value(arguments.write.as_ref().filter(|_| is_written))?;
        crate::say(&serde_json::to_string_pretty(&object)?);
    } else {
        crate::say(&proposal.to_string());
    }
    // What was found is shown, also if it cannot be written.
    if let Some((file, why_not)) = written.transpose()? {
        let remark =
            why_not.map_or("written".to_owned(), |why_not| format!("not written: {why_not}"));
        eprintln!("{}: {remark}", file.display());
    }
    let is_found = found.verdict == Judgement::Safe || !found.repairs.is_empty();
    Ok(if is_found && found.is_complete { Verdict::Holds } else { Verdict::Found })
}

/// What goes into the file, or why nothing does.
fn worth_writing<'a>(
    arguments: &Arguments,
    proposal: &'a Proposal<'_>,
) -> Result<&'a Edited, &'static str> {
    match (proposal.repaired.first(), &proposal.safe_answer) {
        (Some(cheapest), _) => Ok(cheapest),
        (None, Some(answer)) if arguments.accept_safe_answer => Ok(answer),
        (None, Some(_)) => {
            Err("the safe answer claims less than is wanted; --accept-safe-answer writes it")
        }
        (None, None) => Err("there is no repair to write"),
    }
}

/// Whether a file could be written there: better known before a long search than after.
fn check_writable(file: &Path, may_exist: bool) -> Result<(), Problem> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let problem = match (file.metadata(), folder) {
        (Ok(metadata), _) if metadata.is_dir() => "is a folder".to_owned(),
        (Ok(_), _) if !may_exist => "exists already; --force writes over it".to_owned(),
        (Err(_), Some(folder)) if !folder.is_dir() => {
            format!("there is no folder {}", folder.display())
        }
        _ => return Ok(()),
    };
    Err(format!("--write {}: {problem}", file.display()).into())
}

fn write(file: &Path, edited: &Edited, may_exist: bool) -> Result<(), Problem> {
    // It may have come to exist in the meantime.
    let mut options = OpenOptions::new();
    options.write(true).truncate(true).create(may_exist).create_new(!may_exist);
    let written = options.open(file).and_then(|mut file| file.write_all(edited.toml.as_bytes()));
    written.map_err(|error| format!("--write {}: {error}", file.display()).into())
}
