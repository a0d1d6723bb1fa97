//! `agentos recover`: what a person and a program are told.

use agentos_schema::{SchemaName, validate};

use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, run_in, seen, small_repo};

/// Ends a landing at the place with this number.
fn killed(repo: &agentos_testkit::repo::TestRepo, at: u64) {
    let cli = agentos().in_dir(repo.path());
    let (output, place) = cli.kill_at(at, &["apply", "-"], SLOPPY_FIX.as_bytes()).unwrap();
    assert!(output.code.is_none() && place.is_some(), "{output}");
}

#[test]
fn nothing_to_do_is_said_and_is_no_failure() {
    let repo = small_repo();
    insta::assert_snapshot!(seen(&run_in(&repo, &["recover"]), &repo), @"
    exit: 0
    --- stdout
    --- stderr
    nothing to recover
    ");
    let json = run_in(&repo, &["recover", "--json"]).json().unwrap();
    assert_eq!(json, serde_json::json!({ "version": 1, "recovered": null }));
}

#[test]
fn what_was_done_is_said_and_recorded() {
    let repo = small_repo();
    killed(&repo, 3);
    let json = run_in(&repo, &["recover", "--json"]).json().unwrap();
    assert_eq!(json["recovered"]["outcome"], "rolled-back", "{json}");
    assert!(validate(SchemaName::Recover, &json).is_ok(), "{json}");
    let listed = run_in(&repo, &["evidence", "list", "--json"]);
    assert_eq!(listed.code, Some(0));
    let tape = String::from_utf8(repo.read(".git/agentos/tape.jsonl")).unwrap();
    let last = tape.lines().last().unwrap();
    assert!(last.contains("\"kind\":\"recovered\""), "{last}");
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}

#[test]
fn the_next_landing_recovers_first_and_lands() {
    let repo = small_repo();
    killed(&repo, 3);
    let output = agentos()
        .in_dir(repo.path())
        .run_with_input(&["apply", "-"], SLOPPY_FIX.as_bytes())
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.starts_with("recovered: run "), "{output}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
}
