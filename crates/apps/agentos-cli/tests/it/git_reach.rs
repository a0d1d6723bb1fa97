//! Repositories that are not the usual ones, and files that a person is working on.

use agentos_testkit::repo::{TestRepo, set_mode};

use crate::support::{pipe_in, run_in, small_repo};

/// A file of ten lines.
fn lines(edits: &[(usize, &str)]) -> String {
    let line = |at: usize| {
        let edit = edits.iter().find(|(line, _)| *line == at);
        edit.map_or_else(|| format!("line {at}\n"), |(_, text)| format!("{text}\n"))
    };
    (1..=10).map(line).collect()
}

fn numbered() -> TestRepo {
    let repo = small_repo();
    repo.write("n.txt", lines(&[]));
    repo.commit_all("numbers");
    repo
}

fn diff(at: usize, from: &str, to: &str) -> String {
    format!("--- a/n.txt\n+++ b/n.txt\n@@ -{at} +{at} @@\n-{from}\n+{to}\n")
}

#[test]
fn trying_again_without_a_commit_builds_on_the_last_try() {
    let repo = numbered();
    let steps = [("line 5", "five"), ("five", "FIVE"), ("FIVE", "Five!")];
    let verify = || assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
    let mut runs = Vec::new();
    for (from, to) in steps {
        let tried = pipe_in(
            &repo,
            &["apply", "-", "--no-commit", "--json"],
            &diff(5, from, to),
        );
        assert_eq!(tried.code, Some(0), "{tried}");
        runs.push(tried.json().unwrap()["run"].as_str().unwrap().to_owned());
        assert_eq!(repo.read("n.txt"), lines(&[(5, to)]).as_bytes());
        assert_eq!(repo.status(), "M  n.txt");
        verify();
    }
    let nothing = pipe_in(
        &repo,
        &["apply", "-", "--no-commit", "--json"],
        &diff(5, "FIVE", "Five!"),
    );
    assert_eq!(nothing.json().unwrap()["code"], "empty", "{nothing}");
    // Each try is taken back by itself, the last one first.
    for (run, (from, _)) in runs.iter().zip(steps).skip(1).rev() {
        let undone = run_in(&repo, &["undo", run]);
        assert_eq!(undone.code, Some(0), "{undone}");
        assert_eq!(repo.read("n.txt"), lines(&[(5, from)]).as_bytes());
        verify();
    }
    // What a person edits on top is that person's work again.
    repo.write("n.txt", lines(&[(5, "mine")]));
    let refused = pipe_in(
        &repo,
        &["apply", "-", "--no-commit", "--json"],
        &diff(5, "five", "six"),
    );
    assert_eq!(refused.json().unwrap()["code"], "dirty-overlap", "{refused}");
    assert_eq!(repo.read("n.txt"), lines(&[(5, "mine")]).as_bytes());
}

#[test]
fn the_first_commit_of_a_new_repository_lands_and_is_taken_back() {
    let repo = TestRepo::new();
    let new = "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+one\n";
    let landed = pipe_in(&repo, &["apply", "-", "-m", "Begin"], new);
    assert_eq!(landed.code, Some(0), "{landed}");
    assert_eq!(repo.git(&["log", "--format=%s"]), "Begin");
    assert_eq!(repo.status(), "");
    for verb in [
        &["evidence", "verify"][..],
        &["evidence", "replay"],
        &["undo"],
        &["evidence", "verify"],
    ] {
        let output = run_in(&repo, verb);
        assert_eq!(output.code, Some(0), "{verb:?} {output}");
    }
    assert!(!repo.has("n.txt"));
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn status_and_init_work_before_the_first_commit() {
    let repo = TestRepo::new();
    let status = run_in(&repo, &["--json"]).json().unwrap();
    assert_eq!(status["repository"]["branch"], "main", "{status}");
    assert_eq!(
        status["repository"]["obstacle"],
        serde_json::Value::Null,
        "{status}"
    );
    assert_eq!(
        status["repository"]["commit"],
        serde_json::Value::Null,
        "{status}"
    );
    let begun = run_in(&repo, &["init", "--yes", "--offline"]);
    assert_eq!(begun.code, Some(0), "{begun}");
    assert!(repo.has(".agentos/policy"));
}

#[test]
fn a_file_that_a_partial_clone_lacks_is_refused_with_the_command_that_fetches_it() {
    let origin = small_repo();
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    origin.write("out/x.txt", "x\n");
    origin.write("in/y.txt", "y\n");
    origin.commit_all("more");
    let repo = TestRepo::new();
    let from = format!("file://{}", origin.path().display());
    repo.git(&["remote", "add", "origin", &from]);
    repo.git(&["fetch", "--quiet", "--filter=blob:none", "origin", "main"]);
    repo.git(&["sparse-checkout", "set", "--cone", "in"]);
    repo.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    let inside = pipe_in(
        &repo,
        &["apply", "-"],
        "--- a/in/y.txt\n+++ b/in/y.txt\n@@ -1 +1 @@\n-y\n+Y\n",
    );
    assert_eq!(inside.code, Some(0), "{inside}");
    let outside = "--- a/out/x.txt\n+++ b/out/x.txt\n@@ -1 +1 @@\n-x\n+X\n";
    let refused = pipe_in(&repo, &["apply", "-", "--json"], outside);
    assert_eq!(refused.code, Some(8), "{refused}");
    let json = refused.json().unwrap();
    assert_eq!(json["code"], "not-fetched", "{refused}");
    assert!(
        json["message"].as_str().unwrap().contains("`out/x.txt`"),
        "{refused}"
    );
    let command = json["next"][0]["command"].as_str().unwrap().to_owned();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert!(repo.git_ok(&words), "{command}");
    let landed = pipe_in(&repo, &["apply", "-"], outside);
    assert_eq!(landed.code, Some(0), "{landed}");
    assert!(!repo.has("out/x.txt"));
    assert_eq!(repo.git(&["show", "HEAD:out/x.txt"]), "X");
    assert_eq!(repo.status(), "");
    let undone = run_in(&repo, &["undo"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(repo.git(&["show", "HEAD:out/x.txt"]), "x");
}

#[test]
fn uncommitted_work_beside_a_change_stays_and_is_not_committed() {
    let repo = numbered();
    repo.write("n.txt", lines(&[(1, "staged")]));
    repo.git(&["add", "n.txt"]);
    repo.write("n.txt", lines(&[(1, "staged"), (9, "mine")]));
    let landed = pipe_in(&repo, &["apply", "-"], &diff(5, "line 5", "five"));
    assert_eq!(landed.code, Some(0), "{landed}");
    let shown = |name: &str| repo.git(&["show", name]) + "\n";
    assert_eq!(shown("HEAD:n.txt"), lines(&[(5, "five")]));
    assert_eq!(shown(":n.txt"), lines(&[(1, "staged"), (5, "five")]));
    let all = lines(&[(1, "staged"), (5, "five"), (9, "mine")]);
    assert_eq!(repo.read("n.txt"), all.as_bytes());
    assert_eq!(repo.status(), "MM n.txt");
    let refused = pipe_in(&repo, &["apply", "-", "--json"], &diff(8, "line 8", "eight"));
    assert_eq!(refused.json().unwrap()["code"], "dirty-overlap", "{refused}");
    assert!(
        refused.json().unwrap()["message"]
            .as_str()
            .unwrap()
            .contains("`n.txt` (line 9)"),
        "{refused}"
    );
    let undone = run_in(&repo, &["undo"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(shown("HEAD:n.txt"), lines(&[]));
    assert_eq!(shown(":n.txt"), lines(&[(1, "staged")]));
    assert_eq!(
        repo.read("n.txt"),
        lines(&[(1, "staged"), (9, "mine")]).as_bytes()
    );
    assert_eq!(repo.status(), "MM n.txt");
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}

#[test]
fn the_doctor_names_the_hooks_that_a_landing_does_not_run() {
    let repo = numbered();
    let hook = repo.path().join(".git/hooks/pre-commit");
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    repo.write(".git/hooks/commit-msg.sample", "#!/bin/sh\n");
    let found = || {
        let report = run_in(&repo, &["doctor", "--offline", "--json"]).json().unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "hooks")
    };
    // git does not run a file that is not executable either.
    assert_eq!(found(), None);
    set_mode(&hook, 0o755);
    let told = found().unwrap();
    assert_eq!(
        (&told["status"], &told["code"]),
        (&"attention".into(), &"hooks-not-run".into())
    );
    assert!(
        told["details"].as_str().unwrap().contains("`pre-commit`"),
        "{told}"
    );
    let landed = pipe_in(&repo, &["apply", "-"], &diff(5, "line 5", "five"));
    assert_eq!(landed.code, Some(0), "{landed}");
    // The folder that the configuration names counts.
    repo.git(&["config", "core.hooksPath", "own"]);
    assert_eq!(found(), None);
    repo.write("own/commit-msg", "#!/bin/sh\n");
    set_mode(&repo.path().join("own/commit-msg"), 0o755);
    assert!(
        found().unwrap()["details"]
            .as_str()
            .unwrap()
            .contains("`commit-msg`")
    );
}
