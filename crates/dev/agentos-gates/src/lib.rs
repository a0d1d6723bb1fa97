//! Gates: judge the shipped program from outside and write evidence of the judgement.
//!
//! Owns: the five checks of a connectivity gate, the gate's own measurement of a repository, and the files under
//! `outputs/gates/`. Never: links what it judges, uses a mock, or counts a check that could not run as passed.
//! Start at [`main`].

mod checks;
mod error;
mod evidence;
mod gate;
pub mod kernel;
mod options;
mod product;
mod results;
#[cfg(unix)]
pub mod rogue;
mod shapes;
mod structure;
mod witness;

pub use error::GateError;
pub use gate::{GateSpec, LLAMACPP, LMSTUDIO, OTHERS};
pub use results::{Check, CheckStatus, Counts, GateResults, HealthSummary, Mode};

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Runs one gate as a program: 0 passed, or skipped without `--require-live`; 1 failed, or skipped with it; 2 the
/// gate itself broke or was used wrongly.
#[must_use]
pub fn main(spec: &GateSpec, args: impl Iterator<Item = OsString>) -> ExitCode {
    let environment = options::Environment::of_process(spec);
    match options::Options::parse(spec, args, environment) {
        Ok(options::Request::Help(text)) => {
            write!(std::io::stdout(), "{text}").ok();
            ExitCode::SUCCESS
        }
        Ok(options::Request::Schema(name)) => match shapes::schema(name) {
            Ok(text) => {
                write!(std::io::stdout(), "{text}").ok();
                ExitCode::SUCCESS
            }
            Err(error) => broke(spec, &error),
        },
        Ok(options::Request::Run(options)) => match gate::run(spec, &options) {
            Ok(results) => show(&results, options.require_live),
            Err(error) => broke(spec, &error),
        },
        Err(error) => broke(spec, &error),
    }
}

/// Runs one of the gates that share a binary, named by the first argument.
#[must_use]
pub fn main_of_others(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let name = args.next().unwrap_or_default();
    match OTHERS.iter().find(|spec| name.to_str() == Some(spec.name)) {
        Some(spec) => main(spec, args),
        None => {
            let known: Vec<&str> = OTHERS.iter().map(|spec| spec.name).collect();
            // A closed pipe changes nothing: the exit code tells.
            writeln!(
                std::io::stderr(),
                "error: the first argument names one of `{}`",
                known.join("`, `")
            )
            .ok();
            ExitCode::from(2)
        }
    }
}

fn broke(spec: &GateSpec, error: &GateError) -> ExitCode {
    // A closed pipe changes nothing: the exit code tells.
    writeln!(
        std::io::stderr(),
        "error: the gate `{}` broke: {error}",
        spec.name
    )
    .ok();
    ExitCode::from(2)
}

fn show(results: &GateResults, require_live: bool) -> ExitCode {
    let mut out = std::io::stdout();
    for check in &results.checks {
        let details = check.details.join("; ");
        writeln!(
            out,
            "{} {} {}: {details}",
            check.status.word(),
            check.id,
            check.name
        )
        .ok();
    }
    writeln!(out, "{} {}", results.status.word(), results.gate).ok();
    match results.status {
        CheckStatus::Passed => ExitCode::SUCCESS,
        CheckStatus::Skipped if !require_live => ExitCode::SUCCESS,
        CheckStatus::Skipped | CheckStatus::Failed => ExitCode::FAILURE,
    }
}
