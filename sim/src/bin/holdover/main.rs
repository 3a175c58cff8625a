//! The `holdover` command.
//!
//! Exit codes: 0 all held, 1 something was found, 2 the input was wrong.

mod ablate;
mod accept;
mod bounds;
mod check;
mod design;
mod given;
mod interrupt;
mod many;
mod progress;
mod repair;
mod replay;
mod situations;
mod sweep;
mod zoo;

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use given::design;
use holdover_model::check::Options;

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
    // Boxed, because they have a flag for everything that can be bounded.
    Check(Box<check::Arguments>),
    Ablate(Box<ablate::Arguments>),
    Repair(Box<repair::Arguments>),
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
        Command::Ablate(arguments) => ablate::run(&arguments),
        Command::Repair(arguments) => repair::run(&arguments),
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

/// How many threads to use: what was asked for, or one per core.
fn threads(asked: Option<usize>) -> Result<usize, Problem> {
    match asked {
        Some(0) => Err("--threads 0: there has to be at least one".into()),
        Some(threads) => Ok(threads),
        None => Ok(Options::default().threads),
    }
}

/// How much memory a search may take, if it may take any.
fn memory_mib(asked: usize) -> Result<usize, Problem> {
    match asked {
        0 => Err("--memory-mib 0: a search needs some memory".into()),
        _ => Ok(asked),
    }
}
