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
mod llama;
mod metadata;
mod picture;
mod report;
mod rules;
mod schemas;
mod source;
mod tests_run;
mod verifier;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Automation of the AgentOS workspace

Usage: cargo xtask <COMMAND>

Commands:
  ci                               everything a change must pass: format, lints, tests, generated files, gates
  gates [NAME]... [--list] [--require-live] [--json]
                                   run the gates, all or the named ones; evidence goes to outputs/gates/
  schemas [--check]                write the JSON Schemas and the reference page, or compare them with what is committed
  picture                          draw the terminal of the README from a real run
  bench landing [--peers WHICH]    measure landing beside its peers; the report goes to outputs/bench/landing/
        [--out DIR]                or there; WHICH is all, installed (the default) or none
  bench evidence [--out DIR]       measure verifying tapes of 100,000 and a million records, and appending beside the
                                   disk's own rate; the report goes to outputs/bench/evidence/ or there
  bench executor [--out DIR]       measure landing in git beside `git apply --index && git commit`, at three sizes of
                                   repository; the report goes to outputs/bench/executor/ or there
  fuzz TARGET|all [--seconds N]    run a fuzz target, or all, for so long (300 seconds each unless stated); needs
        [--jobs N]                 `cargo fuzz`; N run at a time; what is learned and found goes to outputs/fuzz/
  fuzz --list                      name the fuzz targets
  fuzz keep TARGET|all             make the committed corpus anew from what the last runs learned
  dist                             build the product as it is released and pack it with completions, manual pages,
                                   licences and a checksum; needs GNU tar and gzip

Options:
  --require-live  a gate that had to be skipped, because no server answered, fails
  -h, --help      this text

Exit codes: 0 all is well, 1 something is not, 2 wrong usage
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = root();
    let outcome = match args.as_slice() {
        [] | ["-h" | "--help" | "help"] | [_, "-h" | "--help"] => {
            say(HELP.trim_end());
            Ok(true)
        }
        ["ci"] => Ok(ci::run(&root)),
        ["schemas"] => schemas::run(&root, false),
        ["schemas", "--check"] => schemas::run(&root, true),
        ["picture"] => picture::run(&root),
        ["dist"] => dist::run(&root),
        ["bench", rest @ ..] => match bench::Options::parse(rest) {
            Ok(options) => bench::run(&root, &options),
            Err(problem) => return usage(&problem),
        },
        ["fuzz", rest @ ..] => match fuzz::Options::parse(rest) {
            Ok(options) => fuzz::run(&root, &options),
            Err(problem) => return usage(&problem),
        },
        ["gates", rest @ ..] => match gates::Options::parse(rest) {
            Ok(options) => Ok(gates::run(&root, &options)),
            Err(problem) => return usage(&problem),
        },
        [other, ..] => return usage(&format!("`{other}` is not understood here")),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            complain(&format!("error: {problem}"));
            ExitCode::FAILURE
        }
    }
}

fn usage(problem: &str) -> ExitCode {
    complain(&format!("error: {problem}\n\n{HELP}"));
    ExitCode::from(2)
}

/// The top of the repository: the folder above this package.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Prints a line of the answer. A closed pipe ends nothing: the exit code still tells.
fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").ok();
}

/// Prints what went wrong.
fn complain(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}
