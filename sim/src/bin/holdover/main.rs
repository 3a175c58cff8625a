//! The `holdover` command.
//!
//! Exit codes: 0 all held, 1 something was found, 2 the input was wrong.

mod accept;
mod check;
mod design;
mod replay;
mod situations;
mod sweep;
mod zoo;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use holdover_model::check::Options;
use holdover_model::design::Design;

/// Exhaustive checking and deterministic simulation testing of worker takeover and operation
/// identity.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    // Boxed, because it has a flag for everything that can be bounded.
    Check(Box<check::Arguments>),
    Zoo(zoo::Arguments),
    Design(design::Arguments),
    Sweep(sweep::Arguments),
    Replay(replay::Arguments),
    Situations(situations::Arguments),
    Accept(accept::Arguments),
}

/// What a command found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    Found,
}

/// Why a command could not do its work: one line for the reader.
type Problem = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| refuse(&error));
    let result = match arguments.command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Zoo(arguments) => zoo::run(&arguments),
        Command::Design(arguments) => design::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Situations(arguments) => situations::run(&arguments),
        Command::Accept(arguments) => accept::run(&arguments),
    };
    match result {
        Ok(Verdict::Holds) => ExitCode::SUCCESS,
        Ok(Verdict::Found) => ExitCode::from(1),
        Err(problem) => {
            eprintln!("holdover: {}", one_line(&problem.to_string()));
            ExitCode::from(2)
        }
    }
}

/// Help and versions in full, wrong usage in one line.
fn refuse(error: &clap::Error) -> ! {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let text = error.to_string();
    let problem = text.split("\nUsage:").next().unwrap_or_default();
    let problem = problem.split("\nFor more information").next().unwrap_or_default();
    eprintln!("holdover: {}", one_line(problem.trim_start_matches("error: ")));
    std::process::exit(2)
}

/// Prints a text. Whoever reads it may have heard enough and gone: that is no error.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A named design, or one from a file: whatever ends in `.toml` is a file. `argument` is only
/// used in errors.
fn design(argument: &str, name: &str) -> Result<Design, Problem> {
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Ok(
            Design::named(name).map_err(|error| format!("{argument}: {error}; or FILE.toml"))?
        );
    }
    let text = std::fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
    let mut design = Design::from_toml(name, &text)?;
    if design.name.is_empty() {
        design.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    Ok(design)
}

/// How many threads to use: what was asked for, or one per core.
fn threads(asked: Option<usize>) -> Result<usize, Problem> {
    match asked {
        Some(0) => Err("--threads 0: there has to be at least one".into()),
        Some(threads) => Ok(threads),
        None => Ok(Options::default().threads),
    }
}
