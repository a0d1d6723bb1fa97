//! Automation of the workspace: `cargo xtask ci`, `gates`, `schemas`, `picture`, `bench`, `fuzz`, `dist`.
//!
//! Owns: the command line of the automation. Never: links a product crate; what is judged is built and run from
//! outside.

mod bench;
mod boundary;
mod ci;
mod dist;
mod fuzz;
mod gates;
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
/// Exit codes: 0 all is well, 1 something is not, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Runs everything that a change must pass: format, lints, tests, generated files, gates.
    Ci,
    /// Runs the gates, all or the named ones; evidence goes to outputs/gates/.
    Gates(gates::Options),
    /// Writes the generated files: JSON Schemas, the reference page, the table of the gates.
    Schemas {
        /// Compares them with what is committed instead.
        #[arg(long)]
        check: bool,
    },
    /// Draws the terminal of the README from a real run.
    Picture,
    /// Measures the product next to its peers.
    #[command(subcommand)]
    Bench(bench::Which),
    /// Runs fuzz targets; needs `cargo fuzz`. What is learned and found goes to outputs/fuzz/.
    Fuzz(fuzz::Options),
    /// Builds the release archive by cargo-dist, with completions, manual pages and licences in it.
    Dist,
}

fn main() -> ExitCode {
    match run(&Cli::parse().verb) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            // A closed pipe changes nothing: the exit code tells.
            writeln!(std::io::stderr(), "error: {problem:#}").ok();
            ExitCode::FAILURE
        }
    }
}

/// Returns true if all is well.
fn run(verb: &Verb) -> Result<bool> {
    let sh = Shell::new()?;
    sh.change_dir(root());
    match verb {
        Verb::Ci => ci::run(&sh),
        Verb::Gates(options) => gates::run(&sh, options),
        Verb::Schemas { check } => schemas::run(&sh, *check),
        Verb::Picture => picture::run(&sh),
        Verb::Bench(which) => bench::run(&sh, which),
        Verb::Fuzz(options) => fuzz::run(&sh, options),
        Verb::Dist => dist::run(&sh),
    }
}

/// Returns the top of the repository: the folder above this package.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Formats a time as RFC 3339 with milliseconds; one before 1970, on which `humantime` panics, as 1970.
fn timestamp(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at.max(SystemTime::UNIX_EPOCH)).to_string()
}

/// Prints a line of the answer. A closed pipe ends nothing: the exit code still tells.
fn say(line: impl Display) {
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
    fn what_is_not_understood_is_told() {
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
