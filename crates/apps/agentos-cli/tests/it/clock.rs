//! A clock that is wrong by decades: the program goes on, with the nearest time that can be written.

use std::path::Path;

use agentos_testkit::cli::{CliOutput, program};
use agentos_testkit::repo::{TestRepo, write_file};

use crate::support::{SLOPPY_FIX, agentos, small_repo};

/// Where Debian's package `faketime` and Homebrew put the library.
const LIBRARIES: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];

/// Runs the program with a clock that stands at `time`. `None`, said on screen, if there is no libfaketime.
fn at(repo: &TestRepo, time: &str, args: &[&str]) -> Option<CliOutput> {
    let Some(library) = LIBRARIES.iter().find(|library| Path::new(library).exists()) else {
        eprintln!("skipped: no libfaketime here to set a clock with");
        return None;
    };
    let cli = agentos().in_dir(repo.path());
    let output = program(env!("CARGO_BIN_EXE_agentos"))
        .args(args)
        .current_dir(repo.path())
        .env_clear()
        .envs(cli.world())
        .env("LD_PRELOAD", library)
        .env("FAKETIME", time)
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .output()
        .unwrap();
    Some(CliOutput {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[test]
fn a_clock_before_1970_or_after_9999_lands_and_is_recorded() {
    for (time, began) in [
        ("1960-01-01 00:00:00", "1970-01-01T00:00:00"),
        ("1969-12-31 23:00:00", "1970-01-01T00:00:00"),
        ("2200-01-01 00:00:00", "2200-01-01T00:00:00"),
        ("+8500y", "9999-12-31T23:59:59"),
    ] {
        let repo = small_repo();
        let patch = repo.outside().join("fix.diff");
        write_file(&patch, SLOPPY_FIX);
        let Some(output) = at(&repo, time, &["apply", patch.to_str().unwrap()]) else {
            return;
        };
        assert!(!output.stderr.contains("panicked"), "{time}: {output}");
        assert_eq!(output.code, Some(0), "{time}: {output}");
        let cli = agentos().in_dir(repo.path());
        let list = cli.run(&["evidence", "list", "--json"]).unwrap();
        assert!(list.stdout.contains(began), "{time}: {list}");
        let verified = cli.run(&["evidence", "verify"]).unwrap();
        assert_eq!(verified.code, Some(0), "{time}: {verified}");
    }
}

#[test]
fn a_clock_before_1970_cannot_check_a_certificate() {
    let repo = small_repo();
    let call = [
        "tool",
        "health",
        "-p",
        "openai",
        "--base-url",
        "https://127.0.0.1:9/v1",
        "--model",
        "m",
    ];
    let Some(output) = at(&repo, "1960-01-01 00:00:00", &call) else {
        return;
    };
    assert!(!output.stderr.contains("panicked"), "{output}");
    assert!(
        output
            .to_string()
            .contains("the clock of this machine is set to a time before 1970"),
        "{output}"
    );
}
