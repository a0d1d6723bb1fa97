//! `run --check`: a candidate is tried before anybody is asked.

use std::sync::atomic::{AtomicUsize, Ordering};

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::CliOutput;
use agentos_testkit::repo::TestRepo;
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::json;

use crate::support::{LIB_FIXED, agentos, openai_at, run_in, sandbox_holds, seen, small_repo, state};

/// An answer that multiplies where it should add.
const WRONG: &str = "```diff\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -4,3 +4,3 @@\n pub fn add(a: i64, b: i64) -> i64 {\n-    a - b\n+    a * b\n }\n```\n";
/// The right one.
const RIGHT: &str = "```diff\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -4,3 +4,3 @@\n pub fn add(a: i64, b: i64) -> i64 {\n-    a - b\n+    a + b\n }\n```\n";
/// One that deletes a file and makes another in a new folder.
const MOVES: &str = "```diff\ndiff --git a/README.md b/README.md\ndeleted file mode 100644\n--- a/README.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-# small\n\
                  diff --git a/src/new/a.rs b/src/new/a.rs\nnew file mode 100644\n--- /dev/null\n+++ b/src/new/a.rs\n@@ -0,0 +1 @@\n+fn a() {}\n```\n";
/// What the sum must look like.
const CHECK: &str = "grep -q 'a + b' src/lib.rs || { echo 'the sum is wrong'; exit 3; }";

/// What a task needs whose check fails without the change.
const ANY_BASE: [&str; 2] = ["--check-base", "skip"];

/// A server that gives these answers one after the other, and then the last one for ever.
fn server(answers: &'static [&'static str]) -> FakeServer {
    let asked = AtomicUsize::new(0);
    FakeServer::start(move |_| {
        let at = asked.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        Reply::json(
            200,
            &json!({
                "id": "chatcmpl-1", "object": "chat.completion", "model": "tiny-coder",
                "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": answers[at] } }],
                "usage": { "prompt_tokens": 11, "completion_tokens": 7 },
            }),
        )
    })
    .unwrap()
}

fn run(repo: &TestRepo, server: &FakeServer, flags: &[&str]) -> CliOutput {
    let at = openai_at(&server.url());
    let at: Vec<&str> = at.iter().map(String::as_str).collect();
    let args = [
        &["run", "mend add()", "--file", "src/lib.rs"],
        at.as_slice(),
        flags,
    ]
    .concat();
    agentos()
        .in_dir(repo.path())
        .env("AGENTOS_OPENAI_API_KEY", "sk-for-tests")
        .run(&args)
        .unwrap()
}

#[test]
fn a_change_that_fails_is_told_to_the_tool_and_the_next_one_lands() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[WRONG, RIGHT]));
    let output = run(
        &repo,
        &server,
        &[&["--check", CHECK, "--json"], &ANY_BASE[..]].concat(),
    );
    assert_eq!(output.code, Some(0), "{output}");
    let report = output.json().unwrap();
    assert!(validate_value(SchemaName::Outcome, &report).is_ok(), "{report:#}");
    assert_eq!(
        (&report["attempts"], &report["check"]["passed"]),
        (&json!(2), &json!(true))
    );
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    let told = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    assert!(
        told.contains("it ended with exit code 3")
            && told.contains("the sum is wrong")
            && told.contains("Without your change it fails as well"),
        "{told}"
    );

    // Both tries are on the tape, and the run comes out the same once more.
    let shown = run_in(&repo, &["evidence", "show"]).stdout;
    let checks: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.split_once("check ").map(|(_, words)| words.trim()))
        .filter(|words| words.contains("grep"))
        .collect();
    // The second is the base, on which the command failed as well.
    assert_eq!(checks.len(), 3, "{shown}");
    assert!(
        checks[0].ends_with("ended with exit code 3")
            && checks[1].ends_with("ended with exit code 3 without the change")
            && checks[2].contains("the change passes"),
        "{shown}"
    );
    let replayed = run_in(&repo, &["evidence", "replay"]);
    assert!(replayed.stdout.contains("identical"), "{replayed}");
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}

#[test]
fn a_change_that_never_passes_does_not_land() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[WRONG]));
    let before = state(&repo);
    let output = run(
        &repo,
        &server,
        &[&["--check", CHECK, "--yes"], &ANY_BASE[..]].concat(),
    );
    assert_eq!(state(&repo), before);
    let text = seen(&output, &repo);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("run [RUN]") && !line.contains("keyring"))
        .map(|line| line.split_once("` 0.").map_or(line, |(line, _)| line))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    exit: 6
    --- stdout
    --- stderr
    refused [check-failed] the change does not pass `grep -q 'a + b' src/lib.rs || { echo 'the sum is wrong'; exit 3; }`: it ended with exit code 3; it fails in the same way without the change
      attempt 1 did not land for the same reason
      failed `grep -q 'a + b' src/lib.rs || { echo 'the sum is wrong'; exit 3; }` [DURATION]
        | the sum is wrong
      next: `agentos show` shows the run; allow more attempts with `--attempts N`, or say in the task what the check wants
    ");
    let replayed = run_in(&repo, &["evidence", "replay"]);
    assert!(
        replayed.stdout.starts_with("nothing to replay")
            && replayed
                .stdout
                .contains("the run ended with `check-failed` before its answer was landed"),
        "{replayed}"
    );
}

#[test]
fn policy_can_demand_that_a_change_was_checked() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[RIGHT]));
    repo.write(
        ".agentos/policy/own.toml",
        "version = 1\n[[rule]]\nid = \"own.checked\"\neffect = \"deny\"\nwhy = \"a model's change is checked first\"\n\
         action = [\"land\"]\nprovider = [\"openai\"]\nchecked = false\n\
         [rule.examples]\nmatch = [{ provider = \"openai\" }]\nno_match = [{ provider = \"openai\", checked = true }]\n",
    );
    repo.commit_all("rules");
    let unchecked = run(&repo, &server, &[]);
    assert_eq!(unchecked.code, Some(3), "{unchecked}");
    let checked = run(&repo, &server, &[&["--check", CHECK], &ANY_BASE[..]].concat());
    assert_eq!(checked.code, Some(0), "{checked}");
    let replayed = run_in(&repo, &["evidence", "replay"]);
    assert!(replayed.stdout.contains("identical"), "{replayed}");
}

#[test]
fn the_check_sees_the_whole_change_and_changes_nothing_itself() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[MOVES]));
    let check = "test ! -e README.md && test -f src/new/a.rs && test -f src/lib.rs && touch left-behind && \
                 test -z \"$OPENAI_API_KEY$AGENTOS_OPENAI_API_KEY\" && test $# -eq 0";
    let output = run(
        &repo,
        &server,
        &[&["--check", check, "--yes", "--json"], &ANY_BASE[..]].concat(),
    );
    assert_eq!(output.code, Some(0), "{output}");
    assert!(!repo.path().join("left-behind").exists());
    assert_eq!(
        repo.git(&["show", "--format=", "--name-only", "HEAD"]).trim(),
        "README.md\nsrc/new/a.rs"
    );
}

#[test]
fn a_check_that_does_not_end_is_a_failure_that_says_so() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[RIGHT]));
    let flags = [
        "--check",
        "sleep 60",
        "--check-timeout",
        "1",
        "--attempts",
        "1",
        "--json",
    ];
    let output = run(&repo, &server, &[&flags[..], &ANY_BASE].concat());
    assert_eq!(output.code, Some(9), "{output}");
    let report = output.json().unwrap();
    assert_eq!(report["code"], "check-failed");
    assert!(
        report["hint"].as_str().unwrap().contains("--check-timeout"),
        "{report:#}"
    );
    assert_eq!(report["check"]["code"], json!(null));
    assert!(
        report["message"]
            .as_str()
            .unwrap()
            .contains("did not end in time"),
        "{report:#}"
    );
}

#[test]
fn a_check_that_cannot_run_is_not_blamed_on_the_model() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[WRONG, RIGHT]));
    for (flags, calls) in [(&[][..], 0), (&ANY_BASE[..], 1)] {
        let output = run(
            &repo,
            &server,
            &[&["--check", "no-such-program", "--json"], flags].concat(),
        );
        assert_eq!(output.code, Some(8), "{output}");
        let report = output.json().unwrap();
        assert_eq!(
            (&report["code"], &report["attempts"]),
            (&json!("check-not-run"), &json!(calls))
        );
        assert_eq!(server.requests().len(), calls, "{flags:?}");
    }
}

#[test]
fn a_result_on_the_base_is_remembered() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[WRONG]));
    let checks = |check: &str| {
        let flags = ["--check", check, "--attempts", "1"];
        let output = run(&repo, &server, &[&flags[..], &ANY_BASE].concat());
        assert_eq!(output.code, Some(6), "{output}");
        let shown = run_in(&repo, &["evidence", "show"]).stdout;
        let on_base = shown.contains("without the change\n") || shown.contains("passes without");
        (
            output.stderr.contains("failed on") && output.stderr.contains("before"),
            on_base,
        )
    };
    // A failure on the base is announced by the next run, and tried again; a success is not.
    assert_eq!(checks(CHECK), (false, true));
    assert_eq!(checks(CHECK), (true, true));
    let passes_on_base = "! grep -q 'a [*] b.*' src/lib.rs || ! sed -n 5p src/lib.rs | grep -q '[*]'";
    assert_eq!(checks(passes_on_base), (false, true));
    assert_eq!(checks(passes_on_base), (false, false));
}

#[test]
fn a_check_that_fails_without_a_change_ends_the_run_before_the_call() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[RIGHT]));
    let before = state(&repo);
    let output = run(&repo, &server, &["--check", CHECK]);
    assert_eq!((server.requests().len(), state(&repo)), (0, before));
    let text = seen(&output, &repo);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("run [RUN]") && !line.contains("keyring"))
        .map(|line| line.split_once("` 0.").map_or(line, |(line, _)| line))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    exit: 8
    --- stdout
    --- stderr
    refused [check-base-failed] `grep -q 'a + b' src/lib.rs || { echo 'the sum is wrong'; exit 3; }` fails on [ID], without a change: it ended with exit code 3; no tool was called
      failed `grep -q 'a + b' src/lib.rs || { echo 'the sum is wrong'; exit 3; }` [DURATION]
        | the sum is wrong
      next: make the check pass on the base first; or call the tool in any case with `--check-base skip`, if making the check pass is its task; `agentos show` shows the run
    ");
    let shown = run_in(&repo, &["evidence", "show"]).stdout;
    assert!(
        shown.contains("ended with exit code 3 without the change"),
        "{shown}"
    );
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
    let replayed = run_in(&repo, &["evidence", "replay"]);
    assert!(replayed.stdout.contains("no answer was recorded"), "{replayed}");

    // A retry has the rule of its own call, and then that of the run.
    let retried = |flags: &[&str]| {
        let args = [&["retry", "@", "--json"], flags].concat();
        let cli = agentos().in_dir(repo.path());
        let cli = cli.env("AGENTOS_OPENAI_API_KEY", "sk-for-tests");
        cli.run(&args).unwrap().json().unwrap()["code"].clone()
    };
    assert_eq!(retried(&[]), json!("check-base-failed"));
    assert_eq!(retried(&ANY_BASE), json!(null));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_check_runs_once_on_a_commit_without_a_change_and_not_on_one_that_it_has_made() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[RIGHT, MOVES]));
    let check = "test -d src";
    let run_once = |expected: &[&str]| {
        let output = run(&repo, &server, &["--check", check, "--yes"]);
        assert_eq!(output.code, Some(0), "{output}");
        let shown = run_in(&repo, &["evidence", "show"]).stdout;
        let checks: Vec<&str> = shown.lines().filter(|line| line.contains(check)).collect();
        assert_eq!(checks.len(), expected.len(), "{shown}");
        for (line, words) in checks.iter().zip(expected) {
            assert!(line.contains(words), "{shown}");
        }
    };
    run_once(&["passes without", "the change passes"]);
    // The commit that the run made has the files that passed.
    run_once(&["the change passes"]);
    // One that somebody else makes is another.
    repo.write("other.txt", "x\n");
    repo.commit_all("other");
    let output = run(&repo, &server, &["--check", check, "--dry-run"]);
    let shown = run_in(&repo, &["evidence", "show"]).stdout;
    assert!(shown.contains("passes without"), "{shown}{output}");
}

#[test]
fn the_rule_about_the_base_is_a_setting_too() {
    if !sandbox_holds() {
        return;
    }
    let (repo, server) = (small_repo(), server(&[RIGHT]));
    // One home, so that the setting is there in the run.
    let cli = agentos()
        .in_dir(repo.path())
        .env("AGENTOS_OPENAI_API_KEY", "sk-for-tests");
    let refused = cli.run(&["config", "set", "check_base", "never"]).unwrap();
    assert_eq!(refused.code, Some(2), "{refused}");
    let set = cli.run(&["config", "set", "check_base", "skip"]).unwrap();
    assert_eq!(set.code, Some(0), "{set}");
    let at = openai_at(&server.url());
    let at: Vec<&str> = at.iter().map(String::as_str).collect();
    let task = ["run", "x", "--file", "src/lib.rs", "--check", CHECK];
    let output = cli.run(&[&task[..], &at].concat()).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
}
