//! The `holdover` command.
//!
//! Exit codes: 0 all held, 1 something was found, 2 the input was wrong.

mod replay;
mod sweep;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use holdover_model::design::Design;

/// Deterministic simulation testing of worker takeover and operation identity.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sweep(sweep::Arguments),
    Replay(replay::Arguments),
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
    let result = match Arguments::parse().command {
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
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

/// Prints a text. Whoever reads it may have heard enough and gone: that is no error.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A named design, or one from a file: whatever ends in `.toml` is a file.
fn design(name: &str) -> Result<Design, Problem> {
    if Path::new(name).extension().is_none_or(|extension| extension != "toml") {
        return Ok(Design::named(name).map_err(|error| format!("--design: {error}; or FILE.toml"))?);
    }
    let text = std::fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
    Ok(Design::from_toml(name, &text)?)
}
