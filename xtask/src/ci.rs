//! `cargo xtask ci`: all checks that a change must pass; a fresh clone needs no other preparation.
//!
//! Owns: the order of the steps and their output. Never: stops at the first failing step, so that one run shows every
//! failure; never builds a package twice with different features.

use std::time::Instant;

use anyhow::Result;
use xshell::Shell;

use crate::metadata::Metadata;
use crate::python::{EVIDENCE, LLAMA};
use crate::tests_run::{TestRunner, TestTally};
use crate::{gates, say, schemas};

/// Runs every step. Returns true if all of them passed.
///
/// # Errors
/// Never at present: a step that cannot run has failed.
pub fn run(sh: &Shell) -> Result<bool> {
    let started = Instant::now();
    let prepared = [
        (&LLAMA, "the real llama.cpp server for tests and gates"),
        (&EVIDENCE, "the independent verifier of evidence"),
    ]
    // A machine without Python or without network still runs the rest; what needs them is skipped and named.
    .map(|(environment, what)| {
        let python = environment.prepare_python(sh);
        match &python {
            Ok(python) => say(format_args!("{what}: {}", python.display())),
            Err(reason) => say(format_args!("skipped: {what}: {reason:#}")),
        }
        python.is_ok()
    });
    let mut well = run_cargo(sh, "format", "fmt --all --check");
    well &= run_cargo(
        sh,
        "lints",
        "clippy --quiet --workspace --all-targets -- -D warnings",
    );
    // All targets in one call: otherwise cargo selects features separately for each call and builds libraries again.
    let built = run_cargo(sh, "build", "build --quiet --workspace --all-targets");
    well &= built;
    let mut tally = TestTally::default();
    if built {
        let began = Instant::now();
        let (output, passed) = run_tests(sh, prepared.first() == Some(&true));
        print_step("tests", passed, began);
        if !passed {
            say(&output);
        }
        tally = TestTally::read(&output).unwrap_or_default();
        // A run without a single test means that the runner's output was not recognised.
        well &= passed && tally.passed > 0;
        // The example is a workspace of its own, so the tests above do not build it.
        well &= run_step("embedding", || test_embedding(sh));
        well &= run_step("generated", || schemas::compare_or_write(sh, true));
        let options = gates::GateOptions {
            built: true,
            ..gates::GateOptions::default()
        };
        well &= run_step("gates", || gates::run(sh, &options));
    } else {
        say("skipped: tests, embedding, generated files and gates, because the workspace does not build");
    }
    let word = if well {
        "all steps passed"
    } else {
        "some steps failed"
    };
    say(format_args!("{word}, {:.0} s", started.elapsed().as_secs_f64()));
    let TestTally {
        passed,
        failed,
        skipped,
    } = tally;
    say(format_args!(
        "tests: {passed} passed, {failed} failed, {skipped} skipped"
    ));
    Ok(well)
}

/// Runs a step of this program; an error counts as a failure and is printed.
fn run_step(name: &str, work: impl FnOnce() -> Result<bool>) -> bool {
    let started = Instant::now();
    let well = work().unwrap_or_else(|problem| {
        say(format_args!("error: {problem:#}"));
        false
    });
    print_step(name, well, started);
    well
}

/// Runs a step that is one call of cargo; its output is printed only if it fails.
fn run_cargo(sh: &Shell, name: &str, args: &str) -> bool {
    let started = Instant::now();
    let (output, well) = capture_cargo(sh, args.split(' '));
    print_step(name, well, started);
    if !well {
        say(&output);
    }
    well
}

/// Builds and tests the example product that embeds `agentos-host`.
///
/// # Errors
/// When cargo cannot read either workspace or the lock file cannot be copied.
fn test_embedding(sh: &Shell) -> Result<bool> {
    let workspace = Metadata::load(sh)?;
    // The same versions, target folder and features as the workspace, so that cargo builds no outside package a second time.
    sh.copy_file("Cargo.lock", "scripts/embed/Cargo.lock")?;
    let _folder = sh.push_dir("scripts/embed");
    let foreign = Metadata::load(sh)?;
    let (ours, mut parted) = (workspace.outside_features(), foreign.outside_features());
    parted.retain(|id, on| ours.get(id) != Some(on));
    for id in parted.keys() {
        say(format_args!(
            "built twice, because `scripts/embed/Cargo.toml` selects different features: {id}"
        ));
    }
    let (output, well) = capture_cargo(
        sh,
        ["test", "--quiet", "--target-dir", &workspace.target_directory],
    );
    // The tests print which of them the machine cannot run; that must be visible even if the rest passed.
    let shown = output
        .lines()
        .filter(|line| !well || line.contains("... skipped: "));
    shown.for_each(say);
    Ok(well && parted.is_empty())
}

/// Prints the result of one step.
fn print_step(name: &str, well: bool, started: Instant) {
    let word = if well { "ok" } else { "FAILED" };
    let seconds = started.elapsed().as_secs_f64();
    say(format_args!("{name:<10} {word:<7} {seconds:.1} s"));
}

/// Runs the tests, with nextest if it is installed. Without a real server, the tests that need it are skipped and named.
/// Returns the output and whether the tests passed.
fn run_tests(sh: &Shell, server: bool) -> (String, bool) {
    let has_nextest = capture_cargo(sh, ["nextest", "--version"]).1;
    let runner = if has_nextest {
        TestRunner::Nextest
    } else {
        TestRunner::Cargo
    };
    let mut well = true;
    let mut output = String::new();
    if !server {
        let (listed, is_listed) = capture_cargo(sh, runner.list_args());
        for test in runner.parse_list(&listed) {
            say(format_args!("skipped: {test}: there is no llama.cpp server"));
        }
        if !is_listed {
            well = false;
            output = listed;
        }
    }
    let (ran, passed) = capture_cargo(sh, runner.run_args(!server));
    (ran + &output, well && passed)
}

/// Runs cargo once. Returns its standard output and error output, and whether it succeeded.
fn capture_cargo(sh: &Shell, args: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> (String, bool) {
    let command = sh
        .cmd("cargo")
        .args(args)
        .env("CARGO_TERM_COLOR", "never")
        // A snapshot that differs must fail here, not leave a `.snap.new` file in the tree.
        .env("INSTA_UPDATE", "no");
    match command.quiet().ignore_status().output() {
        Ok(output) => {
            // Both streams: nextest writes its summary to standard error, cargo's runner to standard output.
            let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
            (
                String::from_utf8_lossy(&both).into_owned(),
                output.status.success(),
            )
        }
        Err(error) => (error.to_string(), false),
    }
}
