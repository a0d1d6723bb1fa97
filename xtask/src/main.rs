//! The automation of the workspace: `cargo xtask ci`, `gates`, `schemas`, `picture`, `bench`, `fuzz`, `install`, `dist`.
//!
//! Owns: the command line of the automation. Never: links a product crate except `agentos-chain`; the judged product is
//! built and run as a separate program.

mod bench;
mod boundary;
mod browser;
mod ci;
mod conformance;
mod disk;
mod dist;
mod fuzz;
mod gates;
mod install;
mod live_run;
mod messages;
mod metadata;
mod picture;
mod python;
mod rules;
mod schemas;
mod source;
mod tests_run;

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xshell::Shell;

/// Automation of the AgentOS workspace.
///
/// Exit codes: 0 success, 1 a check or a command failed, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: XtaskCommand,
}

#[derive(Debug, Subcommand)]
enum XtaskCommand {
    /// Runs all checks that a change must pass: format, lints, tests, generated files, gates.
    Ci,
    /// Runs all gates or the named ones; their evidence is in outputs/gates/.
    Gates(gates::GateOptions),
    /// Writes the generated files: JSON Schemas, the reference page, the table of gates.
    Schemas {
        /// Compares the generated files with the committed ones and writes nothing.
        #[arg(long)]
        check: bool,
    },
    /// Draws the picture of a terminal in the README from a real run.
    Picture,
    /// Measures the product next to its peers.
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Runs fuzz targets with `cargo fuzz`; new inputs and findings are in outputs/fuzz/.
    Fuzz(fuzz::FuzzOptions),
    /// Installs all programs of the product, of this version.
    Install,
    /// Builds the release archive with cargo-dist, including completions, manual pages and licences.
    Dist,
}

fn main() -> ExitCode {
    match run(&Cli::parse().verb) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            // If standard error is closed, the exit code still reports the failure.
            writeln!(std::io::stderr(), "error: {problem:#}").ok();
            ExitCode::FAILURE
        }
    }
}

/// Runs a command. Returns true if it succeeded and found no problem.
///
/// # Errors
/// When the command cannot do its work.
fn run(verb: &XtaskCommand) -> Result<bool> {
    let sh = Shell::new()?;
    // Paths in this program are relative to the repository, wherever it is called from.
    sh.change_dir(repository_root());
    match verb {
        XtaskCommand::Ci => ci::run(&sh),
        XtaskCommand::Gates(options) => gates::run(&sh, options),
        XtaskCommand::Schemas { check } => schemas::run(&sh, *check),
        XtaskCommand::Picture => picture::run(&sh),
        XtaskCommand::Bench(which) => bench::run(&sh, which),
        XtaskCommand::Fuzz(options) => fuzz::run(&sh, options),
        XtaskCommand::Install => install::run(&sh),
        XtaskCommand::Dist => dist::run(&sh),
    }
}

/// Returns the top folder of the repository, which contains this package.
fn repository_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Formats a time as RFC 3339 in UTC with milliseconds. A time before 1970 becomes 1970.
fn timestamp(at: SystemTime) -> String {
    // `humantime` panics on a time before 1970, and the clock of a machine can be wrong.
    humantime::format_rfc3339_millis(at.max(SystemTime::UNIX_EPOCH)).to_string()
}

/// Prints a line on standard output.
fn say(line: impl Display) {
    // A closed pipe must not end the work: the exit code still reports the result.
    writeln!(std::io::stdout(), "{line}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let cases: [(&str, &str); 12] = [
            (
                "gates boundary --require-live",
                "names: [\"boundary\"], require_live: true",
            ),
            ("gates --list", "list: true"),
            ("schemas --check", "Schemas { check: true }"),
            (
                "bench landing",
                "peers: Installed, out: \"outputs/bench/landing\"",
            ),
            ("bench landing --peers all --out x", "peers: All, out: \"x\""),
            ("bench executor", "Executor { out: \"outputs/bench/executor\" }"),
            ("bench evidence", "Evidence { out: \"outputs/bench/evidence\" }"),
            ("fuzz --list", "list: true"),
            ("fuzz keep all", "keep: Some(Keep { target: \"all\" })"),
            (
                "fuzz land",
                "target: Some(\"land\"), list: false, seconds: 300, jobs: 1",
            ),
            ("fuzz all --seconds 9 --jobs 2", "seconds: 9, jobs: 2"),
            ("dist", "Dist"),
        ];
        for (line, expected) in cases {
            let cli = Cli::try_parse_from(["xtask"].into_iter().chain(line.split(' '))).expect(line);
            let read = format!("{cli:?}");
            assert!(read.contains(expected), "{line}: {read}");
        }
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let cases = [
            ("speed", "unrecognized subcommand 'speed'"),
            ("gates nothing", "invalid value 'nothing'"),
            ("bench speed", "unrecognized subcommand 'speed'"),
            ("bench landing --peers some", "invalid value 'some'"),
            ("bench executor --peers all", "unexpected argument '--peers'"),
            ("bench landing --out", "a value is required for '--out <DIR>'"),
            ("fuzz", "required arguments were not provided"),
            ("fuzz keep", "required arguments were not provided"),
            ("fuzz land --seconds soon", "invalid value 'soon'"),
            ("fuzz land --jobs 0", "invalid value '0'"),
            ("fuzz land --fast 1", "unexpected argument '--fast'"),
        ];
        for (line, expected) in cases {
            let arguments = ["xtask"].into_iter().chain(line.split(' '));
            let problem = Cli::try_parse_from(arguments).expect_err(line).to_string();
            assert!(problem.contains(expected), "{line}: {problem}");
        }
    }
}
