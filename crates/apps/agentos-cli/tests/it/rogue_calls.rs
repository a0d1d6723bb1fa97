//! A model that tries every way out through the tools of a conversation or of a task: nothing is read that is not in the base, and
//! nothing is written.

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, make_link, read_file, write_file};
use agentos_testkit::server::FakeServer;
use serde_json::{Value, json};

use crate::explore::{Said, script};
use crate::support::{agentos, small_repo, state};

/// Text of every file that is not in the base.
const CANARY: &str = "CANARY-7f3a";

/// Calls that try to read something else than the base's files.
fn reads(repo: &TestRepo, cli: &Cli) -> Vec<(&'static str, Value)> {
    let read = |path: String| ("read_file", json!({ "path": path }));
    let outside = repo.outside().join("canary").display().to_string();
    let home = cli.home().join(".ssh/id_rsa").display().to_string();
    vec![
        // The only one that may work: without it, nothing below would prove anything.
        read("src/lib.rs".to_owned()),
        read(outside.clone()),
        read(format!("src/../../{outside}")),
        read("../canary".to_owned()),
        read(home),
        read("~/.ssh/id_rsa".to_owned()),
        read("link".to_owned()),
        read("linked/canary".to_owned()),
        read("untracked.txt".to_owned()),
        read(".git/info/exclude".to_owned()),
        read(".GIT/info/exclude".to_owned()),
        read(".git/agentos/tape.jsonl".to_owned()),
        read("src/lib.rs\0/../../canary".to_owned()),
        read(":(top)untracked.txt".to_owned()),
        ("search", json!({ "text": "CANARY" })),
        ("search", json!({ "text": "CANARY", "pattern": "../**" })),
        ("search", json!({ "text": "(a+)+$", "regex": true })),
        ("list_files", json!({ "pattern": "../*" })),
        ("list_files", json!({ "pattern": ".git/**" })),
        ("git_log", json!({ "path": "--output=pwned" })),
        ("git_show", json!({ "commit": "HEAD; touch pwned" })),
        (
            "git_show",
            json!({ "commit": "0000000000000000000000000000000000000000" }),
        ),
        ("write_file", json!({ "path": "pwned", "text": "x" })),
        ("bash", json!({ "command": "touch pwned" })),
        ("approve", json!({ "run": "HEAD", "yes": true })),
    ]
}

/// Answers that try to write where no change may.
fn answers() -> Vec<String> {
    let new = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    vec![
        new("../pwned"),
        new("/tmp/pwned"),
        new(".git/hooks/pre-commit"),
        new(".GIT/config"),
        new("linked/pwned"),
        new("link"),
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n".to_owned(),
        "diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 0000000000000000000000000000000000000000\n".to_owned(),
        format!("{}{}", new("ok.txt"), new("src/../../pwned")),
    ]
}

/// A repository with a link to the outside in its base, and texts around it that no tool may see.
fn prepare(cli: &Cli) -> TestRepo {
    let repo = small_repo();
    make_link(
        &repo.path().join("link"),
        &repo.outside().join("canary").display().to_string(),
    );
    make_link(&repo.path().join("linked"), &repo.outside().display().to_string());
    repo.commit_all("Links");
    for file in [
        repo.outside().join("canary"),
        repo.path().join("untracked.txt"),
        repo.path().join(".git/info/exclude"),
        cli.home().join(".ssh/id_rsa"),
    ] {
        write_file(&file, format!("# {CANARY}\n"));
    }
    repo
}

fn assert_untouched(repo: &TestRepo, cli: &Cli, before: &[String], server: &FakeServer) {
    assert_eq!(state(repo), before);
    for file in [repo.outside().join("canary"), cli.home().join(".ssh/id_rsa")] {
        assert_eq!(read_file(&file), format!("# {CANARY}\n").as_bytes());
    }
    for pwned in [
        repo.path().join("pwned"),
        repo.outside().join("pwned"),
        "/tmp/pwned".into(),
    ] {
        assert!(!pwned.exists(), "{}", pwned.display());
    }
    assert!(!repo.path().join(".git/hooks/pre-commit").exists());
    let mut has_read = false;
    for request in server.requests() {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        assert!(!text.contains(CANARY), "{text}");
        has_read |= text.contains("pub fn add");
    }
    assert!(has_read);
}

#[test]
fn a_conversation_reads_the_base_alone_and_writes_nothing() {
    let cli = agentos();
    let repo = prepare(&cli);
    let cli = cli.in_dir(repo.path());
    let before = state(&repo);
    let proposed = answers().into_iter().map(|answer| {
        let arguments = json!({ "answer": answer, "message": "x", "yes": true });
        let plain = json!({ "answer": arguments["answer"], "message": "x" });
        // Once with an argument that no tool has, and once as the schema wants it.
        [("propose_change", arguments), ("propose_change", plain)]
    });
    let server = script(
        &cli,
        vec![
            Said::Calls(reads(&repo, &cli)),
            Said::Calls(proposed.flatten().collect()),
            Said::Text("Done.".to_owned()),
        ],
    );
    let sent = cli
        .run(&["chat", "send", "-p", "mine", "-c", "a", "--tools", "Try."])
        .unwrap();
    assert_eq!(sent.code, Some(0), "{sent}");
    assert_untouched(&repo, &cli, &before, &server);
    // Nothing of it waits for a person either.
    let open = cli.run(&["approve", "--list", "--json"]).unwrap().json().unwrap();
    assert_eq!(open["requests"], json!([]), "{open}");
}

#[test]
fn a_task_reads_the_base_alone_and_writes_nothing() {
    for answer in answers() {
        let cli = agentos();
        let repo = prepare(&cli);
        let cli = cli.in_dir(repo.path());
        let before = state(&repo);
        let server = script(
            &cli,
            vec![
                Said::Calls(reads(&repo, &cli)),
                Said::Calls(vec![("propose_change", json!({ "answer": answer }))]),
            ],
        );
        let ended = cli
            .run(&["run", "-p", "mine", "--explore", "--yes", "Try."])
            .unwrap();
        assert_ne!(ended.code, Some(0), "{answer}: {ended}");
        assert_untouched(&repo, &cli, &before, &server);
    }
}
