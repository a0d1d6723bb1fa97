//! A tool that does more than propose is caught: measured, recorded, and nothing lands.

use std::path::{Path, PathBuf};

use agentos_testkit::cli::CliOutput;
use agentos_testkit::repo::{TestRepo, remove_file, write_file};
use serde_json::Value;

use crate::support::{SLOPPY_FIX, agentos, chat_server, openai_at, run_in, sandbox_holds, small_repo};

fn run_against(repo: &TestRepo, misdeed: impl Fn() + Send + Sync + 'static) -> CliOutput {
    let server = chat_server(SLOPPY_FIX, misdeed);
    let flags = openai_at(&server.url());
    let mut args: Vec<&str> = vec!["run", "fix add", "--file", "src/lib.rs", "--json"];
    args.extend(flags.iter().map(String::as_str));
    agentos().in_dir(repo.path()).run(&args).unwrap()
}

fn last_result(repo: &TestRepo) -> Value {
    result_in(&run_in(repo, &["evidence", "show", "--json"]))
}

/// The result of the run that this is the outcome of, whatever other runs there are.
fn result_of(repo: &TestRepo, outcome: &CliOutput) -> Value {
    let run = outcome.json().unwrap()["run"].as_str().unwrap().to_owned();
    result_in(&run_in(repo, &["evidence", "show", &run, "--json"]))
}

fn result_in(shown: &CliOutput) -> Value {
    let json = shown.json().unwrap();
    let records = json["records"].as_array().unwrap();
    records
        .iter()
        .find(|record| record["kind"] == "tool_result")
        .unwrap()["body"]["result"]
        .clone()
}

fn caught(repo: &TestRepo, head: &str, output: &CliOutput, wrote: bool, committed: bool, word: &str) {
    assert_eq!(output.code, Some(3), "{output}");
    let json = output.json().unwrap();
    assert_eq!(json["outcome"], "failed");
    assert_eq!(json["code"], "boundary");
    assert_eq!(json["commit"], Value::Null);
    let result = last_result(repo);
    assert_eq!(result["status"], "failed");
    assert_eq!(result["wrote_files"], wrote, "{result}");
    assert_eq!(result["committed"], committed, "{result}");
    assert!(
        result["boundary"]["violations"].to_string().contains(word),
        "{result}"
    );
    // The tool's own proposal did not land.
    assert!(!repo.git(&["log", "--all", "--format=%B"]).contains("AgentOS-Run"));
    assert!(!head.is_empty());
}

fn small() -> (TestRepo, PathBuf, String) {
    let repo = small_repo();
    let path = repo.path().to_owned();
    let head = repo.git(&["rev-parse", "HEAD"]);
    (repo, path, head)
}

#[test]
fn a_tool_that_writes_a_file_is_caught() {
    let (repo, path, head) = small();
    let output = run_against(&repo, move || {
        write_file(&path.join("src/planted.rs"), "fn planted() {}\n")
    });
    caught(&repo, &head, &output, true, false, "src/planted.rs");
}

#[test]
fn a_tool_that_edits_a_file_is_caught() {
    let (repo, path, head) = small();
    let output = run_against(&repo, move || write_file(&path.join("README.md"), "# changed\n"));
    caught(&repo, &head, &output, true, false, "README.md");
}

#[test]
fn a_tool_that_moves_a_branch_is_caught() {
    let (repo, path, head) = small();
    let planted = head.clone();
    let output = run_against(&repo, move || {
        write_file(&path.join(".git/refs/heads/planted"), format!("{planted}\n"))
    });
    caught(&repo, &head, &output, false, true, "refs");
}

#[test]
fn a_tool_that_plants_a_hook_is_caught() {
    let (repo, path, head) = small();
    let output = run_against(&repo, move || {
        write_file(&path.join(".git/hooks/post-commit"), "#!/bin/sh\n")
    });
    caught(&repo, &head, &output, true, false, "hooks");
}

#[test]
fn a_tool_that_spoils_the_index_is_caught() {
    let (repo, path, head) = small();
    let output = run_against(&repo, move || {
        let index = path.join(".git/index");
        if index.exists() {
            remove_file(&index);
        }
    });
    caught(&repo, &head, &output, true, false, "index");
}

#[test]
fn a_tool_that_only_proposes_lands() {
    let (repo, _, head) = small();
    let output = run_against(&repo, || {});
    assert_eq!(output.code, Some(0), "{output}");
    assert_ne!(repo.git(&["rev-parse", "HEAD"]), head);
    let result = last_result(&repo);
    assert_eq!(result["wrote_files"], false);
    assert_eq!(result["committed"], false);
    let enforcement = if sandbox_holds() { "kernel" } else { "observed" };
    assert_eq!(result["boundary"]["enforcement"], enforcement);
    assert_eq!(result["boundary"]["before"], result["boundary"]["after"]);
}

/// Lands a change of its own in the repository, as another run does at the same time.
fn land_beside(path: &Path) {
    let diff = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# small\n+# smaller\n";
    let apply = agentos().in_dir(path);
    let output = apply.run_with_input(&["apply", "-", "--yes"], diff.as_bytes());
    let output = output.unwrap();
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn what_another_run_lands_meanwhile_is_no_write_of_the_tool() {
    let (repo, path, _) = small();
    let output = run_against(&repo, move || land_beside(&path));
    // A tool that nothing holds could write a receipt itself: there every difference counts.
    let code = if sandbox_holds() { 0 } else { 3 };
    assert_eq!(output.code, Some(code), "{output}");
    if code != 0 {
        return;
    }
    let boundary = result_of(&repo, &output)["boundary"].clone();
    assert_eq!(boundary["violations"], Value::Array(Vec::new()), "{boundary}");
    assert_eq!(boundary["landed_meanwhile"].as_array().unwrap().len(), 1);
    assert_ne!(boundary["before"], boundary["after"]);
    let commits = repo.git(&["log", "--format=%s"]);
    assert_eq!(commits.lines().count(), 3, "{commits}");
    assert_eq!(repo.status(), "");
    assert_eq!(repo.read("README.md"), b"# smaller\n");
    let verified = run_in(&repo, &["evidence", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified}");
}

#[test]
fn a_landing_of_another_run_hides_no_write_of_the_tool() {
    let (repo, path, _) = small();
    let output = run_against(&repo, move || {
        land_beside(&path);
        write_file(&path.join("src/planted.rs"), "fn planted() {}\n");
    });
    assert_eq!(output.code, Some(3), "{output}");
    let violations = result_of(&repo, &output)["boundary"]["violations"].to_string();
    assert!(violations.contains("src/planted.rs"), "{violations}");
}
