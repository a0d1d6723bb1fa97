//! The walk through the queue of requests at a terminal: land, skip, deny, choose, edit, and leave.

#![cfg(unix)]

use agentos_testkit::repo::{TestRepo, set_mode, write_file};
use serde_json::Value;

use crate::support::{WORKFLOW_EDIT, agentos, answer_on_terminal, pipe_in, run_in, small_repo};

/// The end of every question of the walk.
const QUESTION: &str = "[q]uit: ";
const FILE: &str = ".github/workflows/ci.yml";

/// Calls `agentos approve` on a terminal and types a line at each question. Returns the exit code and the screen. `None`,
/// with a word on screen, if no terminal can be made.
fn walk(repo: &TestRepo, editor: &str, lines: &[&str]) -> Option<(Option<i32>, String)> {
    let line = format!("EDITOR='{editor}' exec {} approve", env!("CARGO_BIN_EXE_agentos"));
    answer_on_terminal(&agentos(), repo.path(), (100, 50), &line, QUESTION, lines)
}

/// A workflow of twenty lines.
fn workflow() -> String {
    (1..=20).map(|number| format!("l{number}\n")).collect()
}

/// Two hunks of that workflow, far apart.
const TWO_HUNKS: &str = "--- a/.github/workflows/ci.yml\n+++ b/.github/workflows/ci.yml\n@@ -1,4 +1,4 @@\n-l1\n+L1\n l2\n l3\n l4\n\
                         @@ -17,4 +17,4 @@\n l17\n l18\n l19\n-l20\n+L20\n";

/// A repository in which the two hunks wait for a person.
fn asked_for_hunks() -> TestRepo {
    let repo = small_repo();
    repo.write(FILE, workflow());
    repo.commit_all("workflow");
    assert_eq!(pipe_in(&repo, &["apply", "-"], TWO_HUNKS).code, Some(4));
    repo
}

/// The states of all requests, the oldest first.
fn states(repo: &TestRepo) -> Vec<String> {
    let all = run_in(repo, &["approve", "--all", "--json"]).json().unwrap();
    let requests = all["requests"].as_array().unwrap().iter();
    requests
        .map(|one| one["state"].as_str().unwrap().to_owned())
        .collect()
}

/// How the change that the last run landed differs from its request.
fn last_drift(repo: &TestRepo) -> Value {
    let story = run_in(repo, &["evidence", "show", "@", "--json"]).json().unwrap();
    let records = story["records"].as_array().unwrap();
    let consent = records.iter().find(|record| record["kind"] == "consent").unwrap();
    assert_eq!(consent["body"]["consent"]["hashes"], consent["body"]["hashes"]);
    consent["body"]["drift"]["change"].clone()
}

#[test]
fn each_request_is_answered_in_its_turn() {
    let other = WORKFLOW_EDIT.replace("ci.yml", "other.yml");
    let third = WORKFLOW_EDIT.replace("ci.yml", "third.yml");
    let cases: [(&[&str], i32, [&str; 3]); 5] = [
        (&["n\n", "y\n", "d\n"], 0, ["open", "approved", "denied"]),
        // The second one lands on the commit of the first one.
        (&["y\n", "y\n", "\n"], 0, ["approved", "approved", "open"]),
        (
            &["what\n", "s\n", "e\n", "f\n", "d\n", "q\n"],
            0,
            ["denied", "open", "open"],
        ),
        (&["\x03"], 130, ["open", "open", "open"]),
        (&["n\n", "\x04"], 130, ["open", "open", "open"]),
    ];
    for (lines, code, expected) in cases {
        let repo = small_repo();
        for edit in [WORKFLOW_EDIT, &other, &third] {
            assert_eq!(pipe_in(&repo, &["apply", "-"], edit).code, Some(4));
        }
        let Some((ended, seen)) = walk(&repo, "false", lines) else {
            return;
        };
        assert_eq!(ended, Some(code), "{lines:?}: {seen}");
        assert_eq!(states(&repo), expected, "{lines:?}: {seen}");
        assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
    }
}

#[test]
fn a_part_of_a_change_lands_as_the_persons_choice() {
    for (lines, first, last, drift) in [
        (
            &["h\n", "y\n", "n\n", "y\n"][..],
            "L1",
            "l20",
            Value::from("chosen"),
        ),
        (&["h\n", "n\n", "a\n", "y\n"], "l1", "L20", Value::from("chosen")),
        // Everything was chosen, so nothing differs from the request.
        (&["h\n", "a\n", "y\n"], "L1", "L20", Value::Null),
    ] {
        let repo = asked_for_hunks();
        let Some((ended, seen)) = walk(&repo, "false", lines) else {
            return;
        };
        assert_eq!(ended, Some(0), "{lines:?}: {seen}");
        let text = String::from_utf8(repo.read(FILE)).unwrap();
        let found = (text.lines().next(), text.lines().last());
        assert_eq!(found, (Some(first), Some(last)), "{lines:?}: {seen}");
        assert_eq!(last_drift(&repo), drift, "{lines:?}: {seen}");
        assert_eq!(states(&repo), ["approved"]);
        for check in [&["evidence", "verify"][..], &["evidence", "replay", "--all"]] {
            let output = run_in(&repo, check);
            assert_eq!(output.code, Some(0), "{output}");
        }
    }
}

#[test]
fn an_edited_change_is_placed_and_decided_again() {
    let repo = asked_for_hunks();
    let editor = repo.outside().join("editor");
    // The second edit, of a line that is not there, does not land.
    let script = "#!/bin/sh\nif grep -q MINE \"$1\"; then sed -i 's/^ l2$/ x2/' \"$1\"; else sed -i 's/^+L1$/+MINE/' \"$1\"; fi\n";
    write_file(&editor, script);
    set_mode(&editor, 0o755);
    let editor = editor.display().to_string();
    let Some((ended, seen)) = walk(&repo, &editor, &["E\n", "y\n"]) else {
        return;
    };
    assert_eq!(ended, Some(0), "{seen}");
    assert!(
        seen.contains("since the request: the change was edited"),
        "{seen}"
    );
    assert!(
        String::from_utf8(repo.read(FILE)).unwrap().starts_with("MINE\n"),
        "{seen}"
    );
    assert_eq!(last_drift(&repo), "edited");
    let repo = asked_for_hunks();
    let Some((_, seen)) = walk(&repo, &editor, &["E\n", "E\n", "n\n"]) else {
        return;
    };
    assert!(seen.contains("this does not land"), "{seen}");
    assert_eq!(states(&repo), ["open"]);
    // An editor that fails leaves the change as it is.
    let Some((_, seen)) = walk(&repo, "false", &["E\n", "q\n"]) else {
        return;
    };
    assert!(seen.contains("[editor]"), "{seen}");
}

#[test]
fn a_request_that_no_longer_lands_is_void_in_its_turn() {
    let repo = asked_for_hunks();
    assert_eq!(
        pipe_in(
            &repo,
            &["apply", "-"],
            WORKFLOW_EDIT.replace("ci.yml", "b.yml").as_str()
        )
        .code,
        Some(4)
    );
    repo.write(FILE, workflow().replace("l20\n", "twenty\n"));
    repo.commit_all("somebody else");
    let Some((ended, seen)) = walk(&repo, "false", &["y\n"]) else {
        return;
    };
    assert_eq!(ended, Some(0), "{seen}");
    assert!(seen.contains("is void: no longer lands"), "{seen}");
    assert_eq!(states(&repo), ["void", "approved"], "{seen}");
}
