//! The gates: judge the built program from outside and write evidence of the verdict.
//!
//! Owns: the steps of a gate, the gate's own measurement of a repository, and the files in `outputs/gates/`. Never: links
//! the judged product, uses a mock, or counts a check that could not be made as passed.
//! Start at [`main`].

mod checks;
mod child;
mod error;
mod kernel;
mod options;
mod product;
mod provider;
#[cfg(unix)]
mod rogue;
mod structure;
mod summary;
mod witness;

pub use error::GateError;
pub use summary::HealthSummary;

use std::io::Write;
use std::process::ExitCode;
use std::time::SystemTime;

use agentos_tool::Timestamp;
use agentos_verdict::{CheckStatus, GateResults, GateTape};
use clap::Parser;

use options::{GateOptions, GateRun};
use summary::JudgedGate;

/// Runs one gate as a program. Exit codes: 0 passed, or skipped without `--require-live`; 1 failed, or skipped with it; 2
/// the gate could not judge or its arguments are wrong.
#[must_use]
pub fn main() -> ExitCode {
    let options = GateOptions::parse();
    let done = match &options.schema {
        Some(schema) => schema.schema_text().map(|text| {
            write!(std::io::stdout(), "{text}").ok();
            ExitCode::SUCCESS
        }),
        None => options
            .gate_run()
            .and_then(|asked| Ok(print_results(&run(&asked)?, options.require_live))),
    };
    done.unwrap_or_else(|error| {
        let gate = options.gate.as_ref().map_or("", |gate| gate.name.as_str());
        // If standard error is closed, the exit code still reports the failure.
        writeln!(
            std::io::stderr(),
            "error: the gate `{gate}` could not judge: {error}"
        )
        .ok();
        ExitCode::from(2)
    })
}

/// Runs a gate and writes its evidence.
fn run(asked: &GateRun) -> Result<GateResults, GateError> {
    let (name, mode, out) = (asked.gate.name.as_str(), asked.mode, &asked.out);
    let began = now();
    // The tape begins before the first call, so that a gate that is killed leaves a record of its start.
    let mut tape = GateTape::begin_run(out, name, mode, began.as_str())?;
    let JudgedGate { checks, summary } = match &asked.gate.provider {
        Some(provider) => provider::judge_provider(asked, provider, &mut tape)?,
        #[cfg(unix)]
        // The rogue suite needs the user ids and file modes of Unix.
        None if name == rogue::NAME => rogue::judge_rogue(&asked.agentos, &mut tape)?.into(),
        None => kernel::make_checks(asked, &mut tape)?.into(),
    };
    let results = GateResults::new(name, began.as_str(), mode, checks);
    if let Some(mut summary) = summary {
        summary.gate_passed = results.status == CheckStatus::Passed;
        agentos_verdict::write_report(out, "health_summary.json", &summary)?;
    }
    tape.finish_run(now().as_str(), &results)?;
    Ok(results)
}

/// Returns the current time for a record.
fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

/// Prints the checks and the verdict, and returns the exit code for them.
fn print_results(results: &GateResults, require_live: bool) -> ExitCode {
    let mut out = std::io::stdout();
    for check in &results.checks {
        let (word, details) = (check.status.display_word(), check.details.join("; "));
        writeln!(out, "{word} {} {}: {details}", check.id, check.name).ok();
    }
    writeln!(out, "{} {}", results.status.display_word(), results.gate).ok();
    match results.status {
        CheckStatus::Passed => ExitCode::SUCCESS,
        // On most machines some servers are absent, so a skipped gate is no failure unless the caller requires
        // it.
        CheckStatus::Skipped if !require_live => ExitCode::SUCCESS,
        CheckStatus::Skipped | CheckStatus::Failed => ExitCode::FAILURE,
    }
}
