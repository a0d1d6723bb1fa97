//! What a person at a terminal sees of a change: the diff once, above the question or above the result.

#![cfg(unix)]

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, write_file};

use crate::support::{WORKFLOW_EDIT, agentos, answer_on_terminal, pipe_in, run_in, small_repo};

/// The end of the question.
const QUESTION: &str = "[e]xplain: ";
/// A program that changes one line.
const EDIT: &str = "run -p command -- sed -i 's/a - b/a + b/' src/lib.rs";

/// Calls the program on a terminal and types a line at each question. Returns the exit code and the screen. `None`, with a word
/// on screen, if no terminal can be made.
fn on_terminal(cli: &Cli, repo: &TestRepo, call: &str, lines: &[&str]) -> Option<(Option<i32>, String)> {
    let line = format!("NO_COLOR=1 exec {} {call}", env!("CARGO_BIN_EXE_agentos"));
    let (code, seen) = answer_on_terminal(cli, repo.path(), (100, 40), &line, QUESTION, lines)?;
    let seen = seen.replace('\r', "");
    // What is drawn while a program works is cleared before the next text.
    let seen = seen
        .rsplit_once("\u{1b}[2K")
        .map_or(seen.as_str(), |(_, rest)| rest);
    Some((code, seen.to_owned()))
}

fn is_landed(repo: &TestRepo) -> bool {
    repo.git(&["show", "HEAD:src/lib.rs"]).contains("a + b")
}

#[test]
fn a_run_shows_the_diff_and_asks_and_enter_lands() {
    let repo = small_repo();
    let Some((code, seen)) = on_terminal(&agentos(), &repo, EDIT, &["\n"]) else {
        return;
    };
    assert_eq!(code, Some(0), "{seen}");
    assert!(is_landed(&repo), "{seen}");
    let (asked, _) = seen.split_once("land it?").unwrap();
    insta::assert_snapshot!(asked, @r"
    src/lib.rs
    index 24449159682923228648b587f7912f134cb1a8b7..65f826dae4c6dd3f972382d97b31a3e4a6f054d2 100644
    --- a/src/lib.rs
    +++ b/src/lib.rs
    @@ -2,7 +2,7 @@
      2   2  
      3   3  /// The sum of two numbers.
      4   4  pub fn add(a: i64, b: i64) -> i64 {
      5     -    a - b
          5 +    a + b
      6   6  }
      7   7  
      8   8  /// The product of two numbers.
    policy allows it: 1 file, +1 -1, as a commit on main
    ");
    // Once: the result does not repeat it.
    assert_eq!(seen.matches("@@").count(), 2, "{seen}");
}

#[test]
fn a_no_lands_nothing_and_a_rule_that_asks_needs_a_typed_yes() {
    let repo = small_repo();
    let Some((code, seen)) = on_terminal(&agentos(), &repo, EDIT, &["n\n"]) else {
        return;
    };
    assert_eq!(code, Some(4), "{seen}");
    assert!(!is_landed(&repo), "{seen}");
    let workflow =
        "run -p command -- sh -c 'mkdir -p .github/workflows; echo on: push > .github/workflows/a.yml'";
    for (typed, code) in [("\n", 4), ("y\n", 0)] {
        let (found, seen) = on_terminal(&agentos(), &repo, workflow, &[typed]).unwrap();
        assert_eq!(found, Some(code), "{typed:?}: {seen}");
        assert!(seen.contains("land it? [y]es, [n]o, "), "{seen}");
        assert!(seen.contains("+on: push"), "{seen}");
    }
}

#[test]
fn after_three_yeses_the_question_can_be_switched_off_here() {
    let (repo, cli) = (small_repo(), agentos());
    let add = |n: usize| format!("run -p command -- sh -c 'echo // {n} >> src/lib.rs'");
    for (n, typed) in ["\n", "y\n", "\n", "a\n"].into_iter().enumerate() {
        let Some((code, seen)) = on_terminal(&cli, &repo, &add(n), &[typed]) else {
            return;
        };
        assert_eq!(code, Some(0), "{n}: {seen}");
        assert_eq!(seen.contains("[a]lways here"), n == 3, "{n}: {seen}");
    }
    let (code, seen) = on_terminal(&cli, &repo, &add(4), &[]).unwrap();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("land it?") && seen.contains("+// 4"), "{seen}");
    // Policy still asks, and another repository does not know of it.
    let workflow =
        "run -p command -- sh -c 'mkdir -p .github/workflows; echo on: push > .github/workflows/a.yml'";
    assert_eq!(on_terminal(&cli, &repo, workflow, &["\n"]).unwrap().0, Some(4));
    let other = small_repo();
    assert_eq!(on_terminal(&cli, &other, EDIT, &["n\n"]).unwrap().0, Some(4));
}

#[test]
fn nobody_is_asked_with_yes_with_a_check_and_for_a_diff_of_ones_own() {
    let diff = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -4,3 +4,3 @@\n pub fn add(a: i64, b: i64) -> i64 {\n-    a - b\n+    a + b\n }\n";
    for (call, shown) in [
        (EDIT.replace("run ", "run --yes "), true),
        (EDIT.replace("run ", "run --check true "), true),
        (EDIT.replace("run ", "run --yes --quiet "), false),
        ("apply fix.diff".to_owned(), true),
        ("apply --quiet fix.diff".to_owned(), false),
        ("apply --json fix.diff".to_owned(), false),
        ("apply fix.diff 2>/dev/null".to_owned(), false),
    ] {
        let repo = small_repo();
        write_file(&repo.path().join("fix.diff"), diff);
        let Some((code, seen)) = on_terminal(&agentos(), &repo, &call, &[]) else {
            return;
        };
        assert_eq!(code, Some(0), "{call}: {seen}");
        assert!(is_landed(&repo), "{call}: {seen}");
        assert!(!seen.contains("land it?"), "{call}: {seen}");
        assert_eq!(seen.contains("+    a + b"), shown, "{call}: {seen}");
        assert_eq!(seen.matches("@@ -").count(), usize::from(shown), "{call}: {seen}");
    }
}

#[test]
fn an_approval_shows_the_diff_and_without_a_terminal_needs_yes() {
    let repo = small_repo();
    let asked = pipe_in(&repo, &["apply", "-"], WORKFLOW_EDIT);
    assert_eq!(asked.code, Some(4), "{asked}");
    let open = run_in(&repo, &["approve", "--json"]).json().unwrap();
    let run = open["requests"][0]["run"].as_str().unwrap();
    for flags in [&["approve", run][..], &["approve", run, "--json"]] {
        let refused = run_in(&repo, flags);
        assert_eq!(refused.code, Some(4), "{refused}");
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(said.contains("needs `--yes`; nothing was landed"), "{said}");
    }
    let Some((code, seen)) = on_terminal(&agentos(), &repo, &format!("approve {run}"), &["n\n"]) else {
        return;
    };
    assert_eq!(code, Some(4), "{seen}");
    let (asked, _) = seen.split_once("land it?").unwrap();
    assert!(asked.contains("@@ -0,0 +1"), "{seen}");
    assert_eq!(run_in(&repo, &["approve", run, "--yes"]).code, Some(0));
}

#[test]
fn a_long_change_ends_with_the_counts_of_each_file() {
    let repo = small_repo();
    let long = "run --yes -p command -- sh -c 'seq 1 90 > a.txt; seq 1 30 > b.txt; rm -f src/lib.rs'";
    let Some((code, seen)) = on_terminal(&agentos(), &repo, long, &[]) else {
        return;
    };
    assert_eq!(code, Some(0), "{seen}");
    let (_, below) = seen.split_once("… ").unwrap();
    let below: Vec<&str> = below.lines().take(4).collect();
    insta::assert_snapshot!(below.join("\n"), @r"
    121 lines left out; every file:
      a.txt +90 -0
      b.txt +30 -0
      src/lib.rs +0 -11  (deleted)
    ");
}
