//! What a tool and a check find in git: the base commit, and nothing else of the repository's object store.

#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicUsize, Ordering};

use agentos_testkit::repo::{TestRepo, remove_file};
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::json;

use crate::support::{agentos, openai_at, sandbox_holds};

/// Each is in the repository's object store, and none in its base.
const SECRETS: &[&str] = &["SECRET-deleted", "SECRET-stash", "SECRET-branch", "SECRET-staged"];

/// Prints what git finds, and what can be read of the folders that it borrows objects from.
const SEARCH: &str = "git cat-file --batch-all-objects --batch-check > /tmp/all
grep -c . /tmp/all | sed 's/^/objects: /'
while read id kind size; do git cat-file -p $id | grep -a SECRET; done < /tmp/all
git log --all --format='commit: %s'
git stash list
grep -ra SECRET .git $(cat .git/objects/info/alternates)
ls $(cat .git/objects/info/alternates)/../.. | sed 's/-.*//; s/^/beside: /'";

/// A repository with a past, another branch, a stash and a blob that was only staged.
fn repo() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("test.sh", "true\n");
    repo.write("src/a.txt", "one\n");
    repo.write(".env", "SECRET-deleted\n");
    repo.commit_all("first");
    repo.git(&["rm", "-q", ".env"]);
    repo.git(&["commit", "-qm", "second"]);
    repo.git(&["checkout", "-qb", "private"]);
    repo.write("plan.txt", "SECRET-branch\n");
    repo.commit_all("private");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("src/a.txt", "SECRET-stash\n");
    repo.git(&["stash", "-q"]);
    repo.write("staged", "SECRET-staged\n");
    repo.git(&["add", "staged"]);
    repo.git(&["rm", "-q", "--cached", "staged"]);
    remove_file(&repo.path().join("staged"));
    repo
}

#[test]
fn a_hostile_models_check_sends_it_nothing_of_the_past() {
    if !sandbox_holds() {
        return;
    }
    let repo = repo();
    let lines: String = SEARCH.lines().map(|line| format!("+{line}\n")).collect();
    let count = SEARCH.lines().count() + 1;
    let hostile =
        format!("```diff\n--- a/test.sh\n+++ b/test.sh\n@@ -1 +1,{count} @@\n-true\n{lines}+exit 1\n```\n");
    let asked = AtomicUsize::new(0);
    let server = FakeServer::start(move |_| {
        let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        let answer = if first { hostile.as_str() } else { "I give up." };
        Reply::json(
            200,
            &json!({
                "id": "chatcmpl-1", "object": "chat.completion", "model": "tiny-coder",
                "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": answer } }],
                "usage": { "prompt_tokens": 11, "completion_tokens": 7 },
            }),
        )
    })
    .unwrap();
    let at = openai_at(&server.url());
    let at: Vec<&str> = at.iter().map(String::as_str).collect();
    let flags = ["--check", "sh test.sh", "--attempts", "2"];
    let args = [
        &["run", "fix the test", "--file", "test.sh"],
        at.as_slice(),
        &flags,
    ]
    .concat();
    let output = agentos()
        .in_dir(repo.path())
        .env("AGENTOS_OPENAI_API_KEY", "sk-for-tests")
        .run(&args)
        .unwrap();
    let told = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    // One commit, two trees, two blobs: the search did run.
    assert!(
        told.contains("objects: 5") && told.contains("commit: second"),
        "{told}{output}"
    );
    for secret in SECRETS.iter().chain(&["commit: first", "private"]) {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}

/// What git prints in a copy, by way of a file that the tool adds.
fn tool_says(repo: &TestRepo, script: &str) -> String {
    let script = format!("({script}) > said 2>&1");
    let output = agentos()
        .in_dir(repo.path())
        .run(&["tool", "run", "-p", "command", "--", "sh", "-c", &script])
        .unwrap();
    let added = output.stdout.lines().filter(|line| !line.starts_with("+++"));
    let added: Vec<&str> = added.filter_map(|line| line.strip_prefix('+')).collect();
    added.join("\n")
}

#[test]
fn git_works_for_a_tool() {
    if !sandbox_holds() {
        return;
    }
    let repo = repo();
    let script = "git status --porcelain; git log --format=%s; git ls-files; echo more >> src/a.txt; git diff --numstat; \
                  git commit -qam mine; git log --format=%s; git fsck; git stash list; \
                  (touch $(cat .git/objects/info/alternates)/x || echo read-only) 2> /dev/null";
    insta::assert_snapshot!(tool_says(&repo, script), @r"
    ?? said
    second
    src/a.txt
    test.sh
    1	0	src/a.txt
    mine
    second
    read-only
    more
    ");
}

#[test]
fn a_tool_finds_no_other_run_and_no_name_of_what_is_withheld() {
    if !sandbox_holds() {
        return;
    }
    let repo = repo();
    repo.write("private/plan.txt", "SECRET-withheld\n");
    repo.write(
        ".agentos/policy/own.toml",
        "version = 1\n[[rule]]\nid = \"own.hidden\"\neffect = \"deny\"\nwhy = \"it is private\"\n\
         action = [\"read\"]\npaths = [\"private/**\"]\n\
         [rule.examples]\nmatch = [{ path = \"private/x\", action = \"read\" }]\n\
         no_match = [{ path = \"src/x\", action = \"read\" }]\n",
    );
    repo.commit_all("third");
    let script = format!("git status --porcelain; git ls-files; git log --format=%s; git fsck; {SEARCH}");
    insta::assert_snapshot!(tool_says(&repo, &script), @r"
    ?? said
    .agentos/policy/own.toml
    src/a.txt
    test.sh
    Base of this run
    objects: 8
    commit: Base of this run
    beside: base
    beside: run
    ");
}
