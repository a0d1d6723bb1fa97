//! Tests of a product that embeds `agentos-host`, built outside the workspace.
//!
//! Owns: the table of tests, and their `main`, because the host starts this program again to confine tools. Never: names a crate of the
//! product except the host.

mod cancel;
mod consent;
mod door;
mod llama;
mod selector;
mod threads;
mod world;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

/// End of a test that did not fail.
enum Ended {
    Passed,
    Skipped(String),
}

type Test = fn() -> Ended;

const TESTS: &[(&str, Test)] = &[
    ("two_runs_at_once", llama::two_runs_at_once),
    (
        "a_request_is_approved_at_once",
        consent::a_request_is_approved_at_once,
    ),
    (
        "a_request_waits_and_is_approved_later",
        consent::a_request_waits_and_is_approved_later,
    ),
    ("a_run_is_cancelled", cancel::a_run_is_cancelled),
    ("everything_is_send", threads::everything_is_send),
    (
        "a_selector_of_another_program_chooses_by_the_clock",
        selector::a_selector_of_another_program_chooses_by_the_clock,
    ),
];

/// Time limit of one test, far more than any machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    if let Some(code) = agentos_host::reexec_hook() {
        return code;
    }
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    let tests: Vec<_> = TESTS.iter().filter(|(name, _)| is_wanted(name)).collect();
    println!("running {} tests", tests.len());
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, test) in &tests {
        match catch_unwind(AssertUnwindSafe(test)) {
            Ok(Ended::Passed) => {
                passed += 1;
                println!("test {name} ... ok");
            }
            Ok(Ended::Skipped(reason)) => {
                skipped += 1;
                println!("test {name} ... skipped: {reason}");
            }
            Err(_) => {
                failed += 1;
                println!("test {name} ... FAILED");
            }
        }
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    let left_out = TESTS.len() - tests.len();
    println!(
        "test result: {word}. {passed} passed; {failed} failed; {skipped} ignored; {left_out} filtered out"
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs a test on a runtime of several threads, as a server has.
fn wait_for(test: impl Future<Output = ()>) -> Ended {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime can be started");
    let ended = runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await });
    runtime.shutdown_background();
    assert!(ended.is_ok(), "it does not end");
    Ended::Passed
}
