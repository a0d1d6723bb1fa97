//! The table of exit codes, over all verbs. 0 if and only if what was asked for happened.

use std::process::Stdio;
use std::time::Duration;

use agentos_testkit::repo::{read_file, write_file};
use agentos_testkit::server::{FakeServer, Reply, closed_port};

use crate::support::{SLOPPY_FIX, WORKFLOW_EDIT, agentos, chat_server, openai_at, pipe_in, small_repo};

#[test]
fn every_verb_ends_with_the_documented_code() {
    let closed = closed_port().unwrap();
    let nothing = "prose only";
    let misplaced = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,1 +1,1 @@\n-no such line\n+x\n";
    let key = format!(
        "--- /dev/null\n+++ b/k.txt\n@@ -0,0 +1 @@\n+{}{}\n",
        "AKIA", "Z7QHN3W5K2PLX4TD"
    );
    // Each case: the code, the arguments, standard input.
    let cases: &[(i32, &[&str], &str)] = &[
        (0, &["apply"], SLOPPY_FIX),
        (0, &["apply", "--dry-run"], SLOPPY_FIX),
        (2, &["apply", "no-such-file.patch"], ""),
        (2, &["apply", "--branch", "x", "--no-commit"], SLOPPY_FIX),
        (3, &["apply", "--yes"], &key),
        (4, &["apply"], WORKFLOW_EDIT),
        (6, &["apply"], misplaced),
        (6, &["apply"], nothing),
        (2, &["apply", "--branch", "bad..name"], SLOPPY_FIX),
        (0, &["run", "-p", "replay", "--replay", "good.md", "task"], ""),
        (
            2,
            &["run", "-p", "replay", "--replay", "no-such-file.md", "task"],
            "",
        ),
        (2, &["run", "-p", "no-such-provider", "task"], ""),
        (2, &["run", "-p", "replay"], ""),
        (4, &["run", "-p", "replay", "--replay", "workflow.md", "task"], ""),
        (5, &["run", "-p", "replay", "task"], ""),
        (5, &["run", "-p", "llamacpp", "--base-url", &closed, "task"], ""),
        (6, &["run", "-p", "replay", "--replay", "prose.md", "task"], ""),
        (0, &["tool", "list"], ""),
        (
            5,
            &["tool", "health", "-p", "llamacpp", "--base-url", &closed],
            "",
        ),
        (5, &["tool", "health", "-p", "replay"], ""),
        (2, &["tool", "health", "-p", "no-such-provider"], ""),
        (
            0,
            &["tool", "run", "-p", "replay", "--replay", "good.md", "task"],
            "",
        ),
        (
            0,
            &["tool", "run", "-p", "replay", "--replay", "prose.md", "task"],
            "",
        ),
        (
            6,
            &["tool", "run", "-p", "replay", "--replay", "misplaced.md", "task"],
            "",
        ),
        (
            5,
            &["tool", "run", "-p", "llamacpp", "--base-url", &closed, "task"],
            "",
        ),
        (0, &["tool", "auth", "status"], ""),
        (2, &["tool", "auth", "set", "-p", "openai", "--store", "file"], ""),
        (
            0,
            &["tool", "auth", "set", "-p", "openai", "--store", "file"],
            "sk-test-0123456789abcdef",
        ),
        (
            2,
            &["tool", "auth", "set", "-p", "no-such-provider", "--store", "file"],
            "sk-test-0123456789abcdef",
        ),
        (2, &["tool", "auth", "clear", "-p", "no-such-provider"], ""),
        (0, &["evidence", "list"], ""),
        (0, &["evidence", "verify"], ""),
        (2, &["evidence", "show", "no-such-run"], ""),
        (2, &["undo"], ""),
        (2, &["undo", "no-such-run"], ""),
        (0, &["profile", "list"], ""),
        (0, &["profile", "show", "lmstudio"], ""),
        (2, &["profile", "show", "no-such-provider"], ""),
        (2, &["profile", "validate", "prose.md"], ""),
        (0, &["schema"], ""),
        (0, &["schema", "tool-result"], ""),
        (2, &["schema", "no-such-shape"], ""),
        (2, &["no-such-verb"], ""),
        (0, &["--version"], ""),
        (0, &["--help"], ""),
    ];
    for (code, args, input) in cases {
        let repo = small_repo();
        for (name, text) in [
            ("good.md", SLOPPY_FIX),
            ("workflow.md", WORKFLOW_EDIT),
            ("prose.md", nothing),
            ("misplaced.md", misplaced),
        ] {
            write_file(&repo.path().join(name), text);
        }
        let output = pipe_in(&repo, args, input);
        assert_eq!(output.code, Some(*code), "{args:?}\n{output}");
        let quiet_failure = *code != 0 && output.stderr.trim().is_empty() && output.stdout.trim().is_empty();
        assert!(!quiet_failure, "{args:?} failed without a word");
    }
}

#[test]
fn outside_a_repository_everything_says_so() {
    for args in [
        vec!["apply"],
        vec!["undo"],
        vec!["evidence", "list"],
        vec!["evidence", "verify"],
    ] {
        let output = agentos().run_with_input(&args, SLOPPY_FIX.as_bytes()).unwrap();
        assert_eq!(output.code, Some(8), "{args:?}\n{output}");
        assert!(
            output.stderr.contains("not in a git repository"),
            "{args:?}\n{output}"
        );
    }
}

#[test]
fn a_repository_in_no_state_to_land_ends_with_eight() {
    let repo = small_repo();
    repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(pipe_in(&repo, &["apply"], SLOPPY_FIX).code, Some(8));
    repo.git(&["checkout", "-q", "main"]);
    write_file(
        &repo.path().join(".git/MERGE_HEAD"),
        repo.git(&["rev-parse", "HEAD"]),
    );
    assert_eq!(pipe_in(&repo, &["apply"], SLOPPY_FIX).code, Some(8));
}

#[test]
fn broken_evidence_ends_with_seven() {
    let repo = small_repo();
    assert_eq!(pipe_in(&repo, &["apply"], WORKFLOW_EDIT).code, Some(4));
    let tape = repo.path().join(".git/agentos/tape.jsonl");
    let mut bytes = read_file(&tape);
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    write_file(&tape, &bytes);
    assert_eq!(pipe_in(&repo, &["evidence", "verify"], "").code, Some(7));
}

#[test]
fn a_server_that_never_answers_ends_with_nine() {
    let repo = small_repo();
    let server = FakeServer::start(|_| Reply::Hang(Vec::new())).unwrap();
    let flags = openai_at(&server.url());
    let mut args = vec!["run", "task", "--timeout", "1"];
    args.extend(flags.iter().map(String::as_str));
    let output = pipe_in(&repo, &args, "");
    assert_eq!(output.code, Some(9), "{output}");
}

#[test]
fn ctrl_c_hangs_up_leaves_nothing_and_ends_with_130() {
    let repo = small_repo();
    let server = FakeServer::start(|_| Reply::Hang(Vec::new())).unwrap();
    let flags = openai_at(&server.url());
    let mut args = vec!["run", "task"];
    args.extend(flags.iter().map(String::as_str));
    let cli = agentos().in_dir(repo.path());
    let mut child = cli
        .command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The request is on the wire before the user loses patience.
    assert!(server.saw_request(Duration::from_secs(30)));
    assert!(agentos_testkit::cli::interrupt(&child));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(
        server.saw_hang_up(Duration::from_secs(30)),
        "the connection is closed"
    );
    assert_eq!(repo.status(), "");
    assert_eq!(repo.git(&["rev-list", "--count", "--all"]), "1");
    let json = pipe_in(&repo, &["evidence", "show", "--json"], "")
        .json()
        .unwrap();
    let records = json["records"].as_array().unwrap();
    let refusal = records.iter().find(|record| record["kind"] == "refusal").unwrap();
    assert_eq!(refusal["body"]["cause"], "interrupted");
    assert_eq!(
        records.last().unwrap()["kind"],
        "checkpoint",
        "its end is recorded too"
    );
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let server = chat_server("ok", || {});
    drop(server);
    let cli = agentos();
    let mut child = cli
        .command(&["schema", "outcome"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
