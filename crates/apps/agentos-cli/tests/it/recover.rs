//! `agentos recover`: what a person and a program are told.

use agentos_schema::{SchemaName, validate_value};

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
    there is no interrupted landing to recover
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
    assert!(validate_value(SchemaName::Recover, &json).is_ok(), "{json}");
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

/// A repository in which a landing was killed at the place of this name.
fn killed_at(wanted: &str) -> agentos_testkit::repo::TestRepo {
    let mut repos = (1..).map(|at| {
        let repo = small_repo();
        let cli = agentos().in_dir(repo.path());
        let (output, place) = cli.kill_at(at, &["apply", "-"], SLOPPY_FIX.as_bytes()).unwrap();
        let place = place.unwrap_or_else(|| panic!("there is no `{wanted}`: {output}"));
        (repo, place)
    });
    repos.find(|(_, place)| place == wanted).unwrap().0
}

#[test]
fn a_landing_that_was_killed_after_its_last_step_is_not_reported_as_taken_back() {
    let repo = killed_at("journal cleared");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    let json = run_in(&repo, &["recover", "--json"]).json().unwrap();
    assert_eq!(json["recovered"], serde_json::Value::Null, "{json}");
    assert!(!repo.has(".git/index.lock"));
}

#[test]
fn what_cannot_be_finished_now_stops_every_verb_that_lands_and_is_named() {
    let repo = killed_at("branch moved");
    // The lock is another program's by now.
    repo.write(".git/index.lock", "");
    let cli = agentos().in_dir(repo.path());
    let apply = |args: &[&str]| {
        let args = [&["apply", "-"], args].concat();
        cli.run_with_input(&args, SLOPPY_FIX.as_bytes()).unwrap()
    };
    insta::assert_snapshot!(seen(&apply(&[]), &repo), @r"
    exit: 8
    --- stdout
    --- stderr
    error [recovery-blocked] run `[RUN]` was interrupted and cannot be finished now: the index is locked by `[REPO]/.git/index.lock`
      next: wait for the other program; if there is none, remove the file
    ");
    for args in [&["--branch", "topic"][..], &["--no-commit"], &["--dry-run"]] {
        let output = apply(&[args, &["--json"]].concat());
        assert_eq!(output.code, Some(8), "{output}");
        assert_eq!(output.json().unwrap()["code"], "recovery-blocked", "{output}");
    }
    for verb in ["undo", "recover"] {
        assert_eq!(cli.run(&[verb]).unwrap().code, Some(8), "{verb}");
    }
    // A look changes nothing.
    let looked = apply(&["--explain"]);
    assert!(looked.stderr.starts_with("note: run `"), "{looked}");
    assert_ne!(looked.code, Some(8));
    agentos_testkit::repo::remove_file(&repo.path().join(".git/index.lock"));
    let output = cli.run(&["recover"]).unwrap();
    insta::assert_snapshot!(seen(&output, &repo), @r"
    exit: 0
    --- stdout
    --- stderr
    recovered: run [RUN] was interrupted after its commit; index and working tree now match it
    ");
    assert_eq!(
        (repo.status(), repo.read("src/lib.rs")),
        (String::new(), LIB_FIXED.as_bytes().to_vec())
    );
}

#[test]
fn what_a_user_did_meanwhile_is_told_as_it_is() {
    let told = |action: &[&str]| {
        let repo = killed_at("branch moved");
        agentos_testkit::repo::remove_file(&repo.path().join(".git/index.lock"));
        repo.git(action);
        let output = agentos().in_dir(repo.path()).run(&["recover"]).unwrap();
        let line = output.stderr.trim().replace(char::is_numeric, "");
        let line = line
            .split_once(" was ")
            .map_or(line.clone(), |(_, rest)| rest.to_owned());
        format!("{line} [{}]", repo.status())
    };
    let actions: [&[&str]; 4] = [
        &["branch", "-m", "main", "trunk"],
        &["checkout", "--quiet", "-b", "own"],
        &[
            "commit",
            "--quiet",
            "--amend",
            "--allow-empty",
            "-m",
            "in my words",
        ],
        &["reset", "--quiet", "--soft", "HEAD^"],
    ];
    let lines: Vec<_> = actions
        .map(|action| format!("git {}: {}", action.join(" "), told(action)))
        .into();
    insta::assert_snapshot!(lines.join("\n"), @r"
    git branch -m main trunk: interrupted after its commit; index and working tree now match it []
    git checkout --quiet -b own: interrupted after its commit; index and working tree now match it []
    git commit --quiet --amend --allow-empty -m in my words: interrupted, and its branch has moved or is no longer checked out; index and working tree were left as they are []
    git reset --quiet --soft HEAD^: interrupted, and its branch has moved or is no longer checked out; index and working tree were left as they are []
    ");
}
