//! A release build has no places to be killed at, and confines with no program but itself.
//!
//! Owns: looking into the release build beside the debug build, if there is one: `cargo build --release -p agentos`
//! makes it.

use std::path::Path;

use agentos_testkit::cli::Cli;

use crate::support::{LIB_FIXED, SLOPPY_FIX, small_repo};

/// The variables, what is said at a place, and the names of two places.
const WORDS: [&str; 5] = [
    "AGENTOS_FAIL_POINT",
    "AGENTOS_TEST_HELPER",
    "fail point reached",
    "journal in place",
    "receipt durable",
];

fn holds(program: &Path) -> [bool; 5] {
    let bytes = std::fs::read(program).unwrap();
    WORDS.map(|word| bytes.windows(word.len()).any(|at| at == word.as_bytes()))
}

#[test]
fn a_release_build_has_no_fail_points() {
    let debug = Path::new(env!("CARGO_BIN_EXE_agentos"));
    let release = debug.parent().unwrap().with_file_name("release").join("agentos");
    assert_eq!(holds(debug), [true; 5], "what is looked for is in a debug build");
    if !release.exists() {
        eprintln!("skipped: there is no release build; `cargo build --release -p agentos` makes it");
        return;
    }
    assert_eq!(holds(&release), [false; 5], "{WORDS:?}");
    let repo = small_repo();
    let cli = Cli::new(release).unwrap().in_dir(repo.path());
    let (output, place) = cli.kill_at(1, &["apply", "-"], SLOPPY_FIX.as_bytes()).unwrap();
    assert_eq!((output.code, place), (Some(0), None), "{output}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
}
