//! `cargo xtask ci`: everything that a change must pass, from a fresh clone on.
//!
//! Owns: the order of the steps and what is shown of them. Never: stops at the first failing step, so that one
//! run tells everything; and never builds the same thing twice with other features.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::tests_run::{Runner, Tally};
use crate::{gates, llama, say, schemas, tests_run, verifier};

/// Runs every step. True when all went well.
pub fn run(root: &Path) -> bool {
    let started = Instant::now();
    let mut well = true;
    let server = llama::prepare(root);
    match &server {
        Ok(found) => say(&format!("llama.cpp server {found}")),
        Err(reason) => say(&format!(
            "skipped: tests and gates that need a real llama.cpp server: {reason}"
        )),
    }
    match verifier::prepare(root) {
        Ok(found) => say(&format!("Python for the second verifier {found}")),
        Err(reason) => say(&format!("skipped: the second verifier of evidence: {reason}")),
    }
    well &= cargo(root, "format", &["fmt", "--all", "--check"]).is_some();
    let lints = [
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    well &= cargo(root, "lints", &lints).is_some();
    // All targets at once: the tests and the gates then share every library.
    let built = cargo(
        root,
        "build",
        &["build", "--quiet", "--workspace", "--all-targets"],
    )
    .is_some();
    well &= built;
    let mut tally = Tally::default();
    if built {
        let (output, passed) = tests(root, server.is_ok());
        tally = Tally::read(&output).unwrap_or_default();
        well &= passed && tally.passed > 0;
        well &= step("schemas", || schemas::compare_or_write(root, true));
        let options = gates::Options {
            built: true,
            ..gates::Options::default()
        };
        well &= step("gates", || Ok(gates::run(root, &options)));
    } else {
        say("skipped: tests, schemas and gates, since the workspace does not build");
    }
    say(&format!(
        "{} in {:.0} s",
        if well { "all is well" } else { "not all is well" },
        started.elapsed().as_secs_f64()
    ));
    say(&format!(
        "{} passed, {} failed, {} skipped",
        tally.passed, tally.failed, tally.skipped
    ));
    well
}

/// One step that is ours.
fn step(name: &str, work: impl FnOnce() -> Result<bool, String>) -> bool {
    let started = Instant::now();
    let well = work().unwrap_or_else(|problem| {
        say(&format!("error: {problem}"));
        false
    });
    report(name, well, started);
    well
}

/// One call of cargo; its output is shown only when it fails.
fn cargo(root: &Path, name: &str, args: &[&str]) -> Option<String> {
    let started = Instant::now();
    let (output, well) = capture(root, args);
    report(name, well, started);
    if !well {
        say(&output);
    }
    well.then_some(output)
}

fn report(name: &str, well: bool, started: Instant) {
    let word = if well { "ok" } else { "FAILED" };
    say(&format!(
        "{name:<10} {word:<7} {:.1} s",
        started.elapsed().as_secs_f64()
    ));
}

/// The tests, by nextest where it is installed. Without a real server those that need it are left out and named.
fn tests(root: &Path, server: bool) -> (String, bool) {
    let runner = if capture(root, &["nextest", "--version"]).1 {
        Runner::Nextest
    } else {
        Runner::Cargo
    };
    let started = Instant::now();
    let listed = (!server).then(|| capture(root, &runner.list_args()));
    let left_out = listed
        .as_ref()
        .map(|(output, _)| tests_run::real_server_tests(output))
        .unwrap_or_default();
    left_out
        .iter()
        .for_each(|test| say(&format!("skipped: {test}: no llama.cpp server")));
    let args = runner.run_args(!server);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (mut output, mut well) = capture(root, &args);
    if let Some((said, false)) = &listed {
        output.push_str(said);
        well = false;
    }
    report("tests", well, started);
    if !well {
        say(&output);
    }
    (output, well)
}

/// Both streams of one call and whether it went well.
fn capture(root: &Path, args: &[&str]) -> (String, bool) {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .args(args)
        .current_dir(root)
        .env("CARGO_TERM_COLOR", "never")
        .env("INSTA_UPDATE", "no")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => {
            let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
            (
                String::from_utf8_lossy(&both).into_owned(),
                output.status.success(),
            )
        }
        Err(error) => (format!("`cargo` cannot be run: {error}"), false),
    }
}
