//! `cargo xtask ci`: all checks that a change must pass; a fresh clone needs no other preparation.
//!
//! Owns: the order of the steps and their output. Never: stops at the first failing step, so that one run shows every
//! failure; never builds a package twice with different features.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;
use xshell::Shell;

use crate::live_run::{LineKind, LiveRun, kind_of_build_line, kind_of_test_line, run_live};
use crate::metadata::Metadata;
use crate::python::{EVIDENCE, LLAMA, MCP};
use crate::tests_run::{TestRunner, TestTally};
use crate::{browser, disk, gates, say, schemas};

/// Runs every step. Returns true if all of them passed.
///
/// # Errors
/// Never at present: a step that cannot run has failed.
pub fn run(sh: &Shell) -> Result<bool> {
    let started = Instant::now();
    say(disk::describe_space(sh, &sh.current_dir()));
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
    match browser::prepare_browser(sh) {
        Ok(()) => say("the browser for the tests of the page: prepared"),
        Err(reason) => say(format_args!(
            "skipped: the browser for the tests of the page: {reason:#}"
        )),
    }
    let mut well = run_cargo(sh, &FORMAT, "fmt --all --check");
    well &= run_cargo(sh, &LINTS, "clippy --workspace --all-targets -- -D warnings");
    // All targets in one call: otherwise cargo selects features separately for each call and builds libraries again.
    let built = run_cargo(sh, &BUILD, "build --workspace --all-targets");
    well &= built;
    let mut tally = TestTally::default();
    if built {
        let began = TESTS.begin();
        let (output, passed) = run_tests(sh, prepared.first() == Some(&true));
        TESTS.end(passed, began);
        if !passed {
            say(&output);
        }
        tally = TestTally::read(&output).unwrap_or_default();
        // A run without a single test means that the runner's output was not recognised.
        well &= passed && tally.passed > 0;
        // The example is a workspace of its own, so the tests above do not build it.
        well &= run_step(&EMBEDDING, || test_embedding(sh));
        well &= run_step(&PROTOCOL, || judge_protocol(sh));
        well &= run_step(&GENERATED, || schemas::compare_or_write(sh, true));
        let options = gates::GateOptions {
            built: true,
            ..gates::GateOptions::default()
        };
        well &= run_step(&GATES, || gates::run(sh, &options));
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

/// A step, and the time that it takes on two cores the first time, for whoever waits.
struct Step {
    name: &'static str,
    usual: &'static str,
}

const FORMAT: Step = Step {
    name: "format",
    usual: "seconds",
};
const LINTS: Step = Step {
    name: "lints",
    usual: "4 minutes",
};
const BUILD: Step = Step {
    name: "build",
    usual: "6 minutes",
};
const TESTS: Step = Step {
    name: "tests",
    usual: "6 minutes",
};
const EMBEDDING: Step = Step {
    name: "embedding",
    usual: "2 minutes",
};
const PROTOCOL: Step = Step {
    name: "protocol",
    usual: "2 minutes",
};
const GENERATED: Step = Step {
    name: "generated",
    usual: "seconds",
};
const GATES: Step = Step {
    name: "gates",
    usual: "4 minutes",
};

impl Step {
    /// Prints that the step begins.
    fn begin(&self) -> Instant {
        say(format_args!(
            "{:<10} begins  ({} the first time)",
            self.name, self.usual
        ));
        Instant::now()
    }

    /// Prints the result of the step.
    fn end(&self, well: bool, began: Instant) {
        let word = if well { "ok" } else { "FAILED" };
        let seconds = began.elapsed().as_secs_f64();
        say(format_args!("{:<10} {word:<7} {seconds:.1} s", self.name));
    }
}

/// Runs a step of this program; an error counts as a failure and is printed.
fn run_step(step: &Step, work: impl FnOnce() -> Result<bool>) -> bool {
    let started = step.begin();
    let well = work().unwrap_or_else(|problem| {
        say(format_args!("error: {problem:#}"));
        false
    });
    step.end(well, started);
    well
}

/// Runs a step that is one call of cargo; its output is printed only if it fails.
fn run_cargo(sh: &Shell, step: &Step, args: &str) -> bool {
    let started = step.begin();
    let command = cargo_command(sh, args.split(' '));
    let LiveRun { output, well } = run_live(command, step.name, "packages", kind_of_build_line);
    step.end(well, started);
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

/// Exit status of a script that this machine cannot run. Its output is the reason.
const SKIPPED: i32 = 77;

/// Runs the conformance suite of the Model Context Protocol against the built programs. A machine without Python, Node or the network
/// skips it and says so.
///
/// # Errors
/// When the script cannot be started.
fn judge_protocol(sh: &Shell) -> Result<bool> {
    let python = match MCP.prepare_python(sh) {
        Ok(python) => python,
        Err(reason) => {
            say(format_args!("skipped: the conformance suite of MCP: {reason:#}"));
            return Ok(true);
        }
    };
    let script = sh.cmd(python).arg("scripts/mcp/conformance.py");
    let output = script.quiet().ignore_status().output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let is_skipped = output.status.code() == Some(SKIPPED);
    text.lines()
        .filter(|line| is_skipped || !line.starts_with("ok "))
        .for_each(say);
    if !output.status.success() && !is_skipped {
        say(String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.status.success() || is_skipped)
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
    let command = cargo_command(sh, runner.run_args(!server));
    let ran = run_live(command, TESTS.name, "tests", kind_of_test_line);
    (ran.output + &output, well && ran.well)
}

/// Makes a call of cargo.
fn cargo_command(sh: &Shell, args: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> Command {
    let command = sh
        .cmd("cargo")
        .args(args)
        .env("CARGO_TERM_COLOR", "never")
        // A snapshot that differs must fail here, not leave a `.snap.new` file in the tree.
        .env("INSTA_UPDATE", "no");
    command.quiet().into()
}

/// Runs cargo once. Returns its output, and whether it succeeded.
fn capture_cargo(sh: &Shell, args: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> (String, bool) {
    let run = run_live(cargo_command(sh, args), "cargo", "", |_| LineKind::Other);
    (run.output, run.well)
}
