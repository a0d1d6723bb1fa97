//! Tests of the tools over a real repository.

mod conversation;
mod withheld;

use agentos_chat::{ToolAnswer, TurnTools as _};
use agentos_engine::Outcome;
use agentos_model::ToolCall;
use agentos_testkit::repo::TestRepo;
use agentos_tool::{ExecutionMode, RunId};
use serde_json::{Value, json};
use std::sync::Arc;

use agentos_calls::chat_tools::{RepositoryTools, RepositoryToolsSpec};
use agentos_ground::Ground;
use agentos_ground::environment::Environment;
use agentos_ground::notice::SilentObserver;
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ModelFacts;
use agentos_runs::Runs;
use agentos_runs::proposal_run::ConsentedProposals;
use agentos_runs::run::{ApprovalMode, ConsentMode, RunSpec, RunWork};

/// A policy that withholds `private/` from models of a cloud.
pub(crate) const POLICY: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\n\
                      paths = [\"private/**\"]\nexecution_mode = \"cloud\"\n[rule.examples]\nmatch = [{ path = \"private/a\", \
                      execution_mode = \"cloud\" }]\nno_match = [{ path = \"private/a\" }]\n";

fn make_repository() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/a.rs", "fn one() {}\nfn two() {}\n");
    repo.write(
        "src/long.txt",
        (1..=1_500).map(|at| format!("line {at}\n")).collect::<String>(),
    );
    repo.write("private/plan.txt", "the secret plan: one\n");
    repo.write(".agentos/policy/ours.toml", POLICY);
    repo.commit_all("Begin");
    repo.write("src/a.rs", "fn one() {}\nfn two() {}\nfn three() {}\n");
    repo.write("private/plan.txt", "the secret plan: two\n");
    repo.commit_all("Add three");
    // The working tree is nobody's business.
    repo.write("src/a.rs", "fn uncommitted() {}\n");
    repo
}

/// Makes the ground of a person with a name.
pub(crate) fn make_host(repo: &TestRepo) -> Ground {
    let home = repo.outside().to_str().unwrap().to_owned();
    let names = [
        "HOME",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ];
    let values = [
        home.as_str(),
        "Dana",
        "dana@example.com",
        "Dana",
        "dana@example.com",
    ];
    let vars = names
        .into_iter()
        .zip(values)
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ground::new(Environment::new(vars, repo.path().to_owned()))
}

fn make_tools(repo: &TestRepo, execution_mode: ExecutionMode, consent: ConsentMode) -> RepositoryTools {
    let spec = RepositoryToolsSpec {
        receivers: Vec::new(),
        session: SessionOptions::default(),
        author: ModelFacts {
            provider: "p".to_owned(),
            model: Some("m".to_owned()),
            execution_mode,
            adapter: "openai".to_owned(),
            address: None,
        },
        proposals: Some(Arc::new(ConsentedProposals(consent))),
        conversation: "conversation:default".to_owned(),
    };
    RepositoryTools::new(&make_host(repo), spec)
}

/// Calls a tool as the loop of a conversation does.
pub(crate) fn call_tool(tools: &RepositoryTools, name: &str, arguments: Value) -> ToolAnswer {
    let tool = tools
        .list_tools()
        .into_iter()
        .find(|tool| tool.spec.name == name)
        .unwrap();
    // What the loop checks before it calls.
    agentos_schema::check_value(&tool.spec.input_schema, &arguments).unwrap();
    let call = ToolCall {
        id: "a".to_owned(),
        name: name.to_owned(),
        arguments,
        signature: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(tools.call_tool(&call))
}

fn approve_named(run: &RunId) -> RunWork {
    RunWork::Approval {
        request: run.as_str().to_owned(),
        consent: ApprovalMode::Named,
        revision: None,
    }
}

/// Does the work of a run for a person who consents. `None` if the run cannot begin.
pub(crate) fn run_work(ground: &Ground, work: RunWork) -> Option<Outcome> {
    let consent = ConsentMode::Beforehand {
        who: "dana".to_owned(),
        how: "test".to_owned(),
    };
    let order = RunSpec {
        consent,
        ..RunSpec::new(SessionOptions::default(), work)
    };
    let (run, _) = Runs::of(ground).prepare_run(order);
    run.finish(Arc::new(SilentObserver)).ok()?.into_outcome()
}

fn show(tools: &RepositoryTools, name: &str, arguments: Value) -> String {
    let answer = call_tool(tools, name, arguments);
    format!("{}{}", if answer.is_error { "ERROR " } else { "" }, answer.text)
}

#[test]
fn files_are_listed_and_read_from_the_base_as_policy_decides() {
    let repo = make_repository();
    let tools = make_tools(&repo, ExecutionMode::Cloud, ConsentMode::Later);
    let shown = [
        show(&tools, "list_files", json!({})),
        show(&tools, "list_files", json!({ "pattern": "src/*", "limit": 1 })),
        show(&tools, "read_file", json!({ "path": "./src/a.rs" })),
        show(
            &tools,
            "read_file",
            json!({ "path": "src/long.txt", "first_line": 1_499 }),
        ),
        show(
            &tools,
            "read_file",
            json!({ "path": "src/long.txt", "first_line": 1_501 }),
        ),
        show(
            &tools,
            "read_file",
            json!({ "path": "src/a.rs", "first_line": 3, "last_line": 2 }),
        ),
        show(&tools, "read_file", json!({ "path": "private/plan.txt" })),
        show(&tools, "read_file", json!({ "path": "./../a" })),
        show(&tools, "read_file", json!({ "path": "src" })),
        show(&tools, "read_file", json!({ "path": "nothing" })),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r#"
    private/plan.txt (withheld by policy)
    src/a.rs
    src/long.txt
    [3 of 3 files]
    src/a.rs
    [1 of 2 files; the next page begins at offset 1]
         1	fn one() {}
         2	fn two() {}
         3	fn three() {}
    [lines 1 to 3 of 3 of `src/a.rs`]
      1499	line 1499
      1500	line 1500
    [lines 1499 to 1500 of 1500 of `src/long.txt`]
    ERROR `src/long.txt` has 1500 lines (usage)
    ERROR line 2 is before line 3 (usage)
    ERROR policy withholds `private/plan.txt` from `p`: stays here (ours.private) (usage)
    ERROR policy withholds `../a` from `p`: `../a` is not a plain path inside the repository (safe-path) (usage)
    ERROR `src` is a folder; name its files one by one (no-such-file)
    ERROR `nothing` is not in the commit that the change would be made on; name a committed file; paths are relative to the folder you are in (no-such-file)
    "#);
    // A model on this machine may see it.
    let local = make_tools(&repo, ExecutionMode::Local, ConsentMode::Later);
    assert!(!call_tool(&local, "read_file", json!({ "path": "private/plan.txt" })).is_error);
}

#[test]
fn a_search_reads_no_file_that_policy_withholds() {
    let repo = make_repository();
    let tools = make_tools(&repo, ExecutionMode::Cloud, ConsentMode::Later);
    let shown = [
        show(&tools, "search", json!({ "text": "fn t" })),
        show(&tools, "search", json!({ "text": "SECRET", "ignore_case": true })),
        show(
            &tools,
            "search",
            json!({ "text": "line 1$", "regex": true, "pattern": "src/*.txt" }),
        ),
        show(
            &tools,
            "search",
            json!({ "text": "line", "limit": 2, "pattern": "*.txt" }),
        ),
        show(&tools, "search", json!({ "text": "(", "regex": true })),
        show(&tools, "search", json!({ "text": "(" })),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r#"
    src/a.rs:2: fn two() {}
    src/a.rs:3: fn three() {}
    [2 lines]
    [policy withholds 1 files from this provider]
    [0 lines]
    [policy withholds 1 files from this provider]
    src/long.txt:1: line 1
    [1 lines]
    src/long.txt:1: line 1
    src/long.txt:2: line 2
    [2 lines; there are more, so narrow the search]
    [policy withholds 1 files from this provider]
    ERROR the regular expression cannot be used: regex parse error:
        (
        ^
    error: unclosed group (usage)
    src/a.rs:1: fn one() {}
    src/a.rs:2: fn two() {}
    src/a.rs:3: fn three() {}
    [3 lines]
    [policy withholds 1 files from this provider]
    "#);
    let local = make_tools(&repo, ExecutionMode::Local, ConsentMode::Later);
    assert!(show(&local, "search", json!({ "text": "secret" })).starts_with("private/plan.txt:1: "));
}

#[test]
fn the_history_shows_no_text_that_policy_withholds() {
    let repo = make_repository();
    let tools = make_tools(&repo, ExecutionMode::Cloud, ConsentMode::Later);
    let log = show(&tools, "git_log", json!({}));
    let ids: Vec<&str> = log.lines().filter_map(|line| line.get(..40)).collect();
    assert_eq!(ids.len(), 2, "{log}");
    assert_eq!(
        show(&tools, "git_log", json!({ "path": "src/long.txt" }))
            .lines()
            .count(),
        2
    );
    let commit = show(&tools, "git_show", json!({ "commit": ids[0] }));
    assert!(
        commit.contains("+fn three() {}") && commit.contains("private/plan.txt (withheld by policy)"),
        "{commit}"
    );
    assert!(!commit.contains("secret"), "{commit}");
    // The first commit has no parent to be compared with.
    let first = show(&tools, "git_show", json!({ "commit": ids[1] }));
    assert!(
        first.contains("adds src/a.rs") && !first.contains("fn one"),
        "{first}"
    );
    // A commit of another branch is not one that led to the base.
    repo.git(&["checkout", "-q", "-f", "-b", "other"]);
    repo.write("src/a.rs", "fn hidden() {}\n");
    let other = repo.commit_all("Hide");
    repo.git(&["checkout", "-q", "-f", "-"]);
    let shown = show(&tools, "git_show", json!({ "commit": other }));
    assert!(shown.starts_with("ERROR") && !shown.contains("hidden"), "{shown}");
}

const GOOD: &str = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3 +3,2 @@\n fn three() {}\n+fn four() {}\n";
const WRONG: &str =
    "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n fn zero() {}\n-fn nothing() {}\n+fn four() {}\n";

#[test]
fn a_proposal_waits_for_a_person_and_lands_only_then() {
    let repo = make_repository();
    repo.git(&["checkout", "-q", "-f", "."]);
    let before = repo.git(&["rev-parse", "HEAD"]);
    let tools = make_tools(&repo, ExecutionMode::Local, ConsentMode::Later);
    let answer = call_tool(
        &tools,
        "propose_change",
        json!({ "answer": GOOD, "message": "Add four" }),
    );
    assert!(!answer.is_error, "{}", answer.text);
    let run = answer.runs.first().unwrap();
    insta::assert_snapshot!(answer.text.replace(run.short_id(), "ID"), @"The change can be placed, and waits for the user as request ID. Nothing is written yet, and no tool can consent to it. Files: src/a.rs. State: policy allows it, and it waits until a person lands it on `main`.");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(repo.status(), "");
    // A person says when it lands.
    let outcome = run_work(&make_host(&repo), approve_named(run)).unwrap();
    assert!(outcome.is_done(), "{}", outcome.message);
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.starts_with("Add four\n") && message.contains("Assisted-by: p:m"),
        "{message}"
    );
}

#[test]
fn a_proposal_that_does_not_land_says_why_and_shows_the_lines() {
    let repo = make_repository();
    repo.git(&["checkout", "-q", "-f", "."]);
    let before = repo.git(&["rev-parse", "HEAD"]);
    let tools = make_tools(&repo, ExecutionMode::Local, ConsentMode::Later);
    let propose = |answer: &str| {
        show(
            &tools,
            "propose_change",
            json!({ "answer": answer, "message": "Change" }),
        )
    };
    let shown = [
        propose(WRONG),
        propose("I would rather talk."),
        propose("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n"),
        propose(
            &format!("{GOOD}+// ghp_{}\n", "Zq7RkT2mWx9LpB4vNs6JdH8fGc3YtE5aZq7R").replace("+3,2", "+3,3"),
        ),
    ];
    insta::assert_snapshot!(shown.join("\n---\n"), @r#"
    ERROR Code: does-not-apply. Nothing was changed. Hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file.
    Copy the lines exactly as they are in the file.

    File `src/a.rs`:
    - Hunk 1: The lines this hunk expects are not in the file; copy the lines exactly as they are in the file.
      It expects these lines:
    ```
    fn zero() {}
    fn nothing() {}
    ```

    Send the whole change again, with context and removed lines copied exactly from the file.

    ---
    ERROR Code: no-diff. Nothing was changed. No edit was found in the answer.
    Answer with a unified diff, or with search/replace blocks under the file's path.

    Answer with one unified diff (`--- a/path`, `+++ b/path`, `@@` hunks) or with search/replace blocks.

    ---
    ERROR Code: path-escape. Nothing was changed. `../x` is not a plain path inside the repository.

    File `../x`:
    - `../x` is not a plain path inside the repository.

    This is not allowed. Send the change without it.

    ---
    ERROR Nothing was changed (secret): policy denies it: it adds a credential (rule floor.secrets). remove the credential from the change, and read it from the environment or a secret store instead.
    "#);
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(repo.status(), "");
}

#[test]
fn with_leave_to_land_what_policy_allows_lands_at_once() {
    let repo = make_repository();
    repo.git(&["checkout", "-q", "-f", "."]);
    let tools = make_tools(&repo, ExecutionMode::Local, ConsentMode::Nobody);
    let answer = call_tool(
        &tools,
        "propose_change",
        json!({ "answer": GOOD, "message": "Add four" }),
    );
    assert!(answer.text.starts_with("The change landed ("), "{}", answer.text);
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]).trim(), "Add four");
}
