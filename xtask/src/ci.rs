//! `cargo xtask ci`: everything that a change must pass, from a fresh clone on.
//!
//! Owns: the order of the steps and what is shown of them. Never: stops at the first failing step, so that one
//! run tells everything; and never builds the same thing twice with other features.

use std::time::Instant;

use anyhow::Result;
use xshell::Shell;

use crate::metadata::Metadata;
use crate::python::{EVIDENCE, LLAMA};
use crate::tests_run::{Runner, Tally};
use crate::{gates, say, schemas};

/// Runs every step. Returns true when all went well.
pub fn run(sh: &Shell) -> Result<bool> {
    let started = Instant::now();
    let prepared = [
        (&LLAMA, "the real llama.cpp server of tests and gates"),
        (&EVIDENCE, "the second verifier of evidence"),
    ]
    .map(|(environment, what)| {
        let python = environment.prepare(sh);
        match &python {
            Ok(python) => say(format_args!("{what}: {}", python.display())),
            Err(reason) => say(format_args!("skipped: {what}: {reason:#}")),
        }
        python.is_ok()
    });
    let mut well = cargo(sh, "format", "fmt --all --check");
    well &= cargo(
        sh,
        "lints",
        "clippy --quiet --workspace --all-targets -- -D warnings",
    );
    // All targets at once: the tests and the gates then share every library.
    let built = cargo(sh, "build", "build --quiet --workspace --all-targets");
    well &= built;
    let mut tally = Tally::default();
    if built {
        let began = Instant::now();
        let (output, passed) = tests(sh, prepared.first() == Some(&true));
        report("tests", passed, began);
        if !passed {
            say(&output);
        }
        tally = Tally::read(&output).unwrap_or_default();
        well &= passed && tally.passed > 0;
        well &= step("embedding", || embedding(sh));
        well &= step("generated", || schemas::compare_or_write(sh, true));
        let options = gates::Options {
            built: true,
            ..gates::Options::default()
        };
        well &= step("gates", || gates::run(sh, &options));
    } else {
        say("skipped: tests, embedding, generated files and gates, since the workspace does not build");
    }
    let word = if well { "all is well" } else { "not all is well" };
    say(format_args!("{word} in {:.0} s", started.elapsed().as_secs_f64()));
    let Tally {
        passed,
        failed,
        skipped,
    } = tally;
    say(format_args!(
        "{passed} passed, {failed} failed, {skipped} skipped"
    ));
    Ok(well)
}

/// Runs one step that is ours.
fn step(name: &str, work: impl FnOnce() -> Result<bool>) -> bool {
    let started = Instant::now();
    let well = work().unwrap_or_else(|problem| {
        say(format_args!("error: {problem:#}"));
        false
    });
    report(name, well, started);
    well
}

/// Runs one call of cargo; its output is shown only when it fails.
fn cargo(sh: &Shell, name: &str, args: &str) -> bool {
    let started = Instant::now();
    let (output, well) = capture(sh, args.split(' '));
    report(name, well, started);
    if !well {
        say(&output);
    }
    well
}

/// Builds and tests a foreign product around the host. Locked versions, target folder and features are the workspace's, so that what
/// others wrote is built once.
fn embedding(sh: &Shell) -> Result<bool> {
    let workspace = Metadata::load(sh)?;
    sh.copy_file("Cargo.lock", "scripts/embed/Cargo.lock")?;
    let _folder = sh.push_dir("scripts/embed");
    let foreign = Metadata::load(sh)?;
    let (ours, mut parted) = (workspace.features(), foreign.features());
    parted.retain(|id, on| ours.get(id) != Some(on));
    for id in parted.keys() {
        say(format_args!(
            "built a second time, since `scripts/embed/Cargo.toml` asks for other features: {id}"
        ));
    }
    let (output, well) = capture(
        sh,
        ["test", "--quiet", "--target-dir", &workspace.target_directory],
    );
    let shown = output
        .lines()
        .filter(|line| !well || line.contains("... skipped: "));
    shown.for_each(say);
    Ok(well && parted.is_empty())
}

fn report(name: &str, well: bool, started: Instant) {
    let word = if well { "ok" } else { "FAILED" };
    let seconds = started.elapsed().as_secs_f64();
    say(format_args!("{name:<10} {word:<7} {seconds:.1} s"));
}

/// Runs the tests, by nextest where it is installed. Without a real server those that need it are left out and named.
fn tests(sh: &Shell, server: bool) -> (String, bool) {
    let has_nextest = capture(sh, ["nextest", "--version"]).1;
    let runner = if has_nextest {
        Runner::Nextest
    } else {
        Runner::Cargo
    };
    let mut well = true;
    let mut output = String::new();
    if !server {
        let (listed, is_listed) = capture(sh, runner.list_args());
        for test in runner.listed(&listed) {
            say(format_args!("skipped: {test}: no llama.cpp server"));
        }
        if !is_listed {
            well = false;
            output = listed;
        }
    }
    let (ran, passed) = capture(sh, runner.run_args(!server));
    (ran + &output, well && passed)
}

/// Returns both streams of one call of cargo and whether it went well.
fn capture(sh: &Shell, args: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> (String, bool) {
    let command = sh
        .cmd("cargo")
        .args(args)
        .env("CARGO_TERM_COLOR", "never")
        .env("INSTA_UPDATE", "no");
    match command.quiet().ignore_status().output() {
        Ok(output) => {
            let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
            (
                String::from_utf8_lossy(&both).into_owned(),
                output.status.success(),
            )
        }
        Err(error) => (error.to_string(), false),
    }
}
