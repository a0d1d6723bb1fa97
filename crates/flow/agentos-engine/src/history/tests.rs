//! Which turns of an earlier run a tool is shown.

use agentos_policy::PolicySource;
use agentos_tool::{ExecutionMode, Timestamp};

use super::*;
use crate::ports::{Durability, Evidence as _};
use crate::settle::patch_facts;
use crate::test_ports::{TestRepository, TestTape};
use crate::test_runs::{DIFF, land_answer};

fn tool(mode: ExecutionMode) -> ToolFacts {
    ToolFacts {
        execution_mode: mode,
        ..patch_facts(Timestamp::from_unix_seconds(0))
    }
}

/// Asks policy for a tool about turns, by the files of a repository.
fn gather(
    turns: &[EarlierTurn],
    repo: &TestRepository,
    policy: &PolicySet,
    mode: ExecutionMode,
) -> (Vec<PastTurn>, Vec<Withheld>) {
    let gathered = repo.target().and_then(|target| {
        let base = repo.base(&target)?;
        gather_history(turns, (repo, &target), base.as_ref(), policy, &tool(mode))
    });
    gathered.unwrap_or_default()
}

fn load_rules(rules: &str) -> PolicySet {
    let source = PolicySource {
        layer: agentos_policy::Layer::Repository,
        name: "t.toml".to_owned(),
        text: rules.to_owned(),
    };
    PolicySet::load(&[source]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_turn_has_task_answer_and_what_became_of_it() {
    let repo = TestRepository::with_files(&[("a.txt", "zero\n")]);
    let tape = TestTape::default();
    land_answer(&repo, &mut tape.begin_run("refused"), "refused", DIFF);
    let turns = read_history(&tape.reader(), "refused").unwrap();
    let [turn] = turns.as_slice() else {
        panic!("{turns:?}")
    };
    let past = &turn.past;
    assert_eq!((past.task.as_str(), past.answer.as_str()), ("x", DIFF.trim_end()));
    assert_eq!(past.outcome, "it did not land (does-not-apply)");
    assert_eq!(past.files, ["a.txt"]);
    let (shown, _) = gather(
        &turns,
        &repo,
        &PolicySet::load(&[]).unwrap(),
        ExecutionMode::Cloud,
    );
    let outcome = &shown[0].outcome;
    assert!(outcome.contains("a.txt"), "the report of the landing: {outcome}");
    let error = read_history(&tape.reader(), "nobody").unwrap_err();
    assert_eq!(error.code, "usage");
}

#[test]
fn an_answer_about_a_file_that_the_tool_may_not_read_is_withheld_with_all_before_it() {
    let rules = "version = 1\n[[rule]]\nid = \"t.local\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\npaths = \
                 [\"private/**\"]\nexecution_mode = \"cloud\"\n[rule.examples]\nmatch = [{ path = \"private/a\", execution_mode = \
                 \"cloud\" }]\nno_match = [{ path = \"private/a\", execution_mode = \"local\" }]\n";
    let set = load_rules(rules);
    let repo = TestRepository::with_files(&[]);
    let turn = |task: &str, file: &str| {
        EarlierTurn::from_past(PastTurn::bounded(
            task,
            "answer",
            "refused",
            vec![file.to_owned()],
        ))
    };
    let turns = [turn("a", "src/a"), turn("b", "private/a"), turn("c", "src/c")];
    let (shown, withheld) = gather(&turns, &repo, &set, ExecutionMode::Local);
    assert_eq!((shown.len(), withheld.len()), (3, 0), "{withheld:?}");
    let (shown, withheld) = gather(&turns, &repo, &set, ExecutionMode::Cloud);
    let tasks: Vec<&str> = shown.iter().map(|turn| turn.task.as_str()).collect();
    assert_eq!(tasks, ["c"]);
    assert_eq!(withheld.len(), 1);
    assert!(withheld[0].why.contains("stays here"), "{withheld:?}");
}

#[test]
fn an_answer_with_a_secret_in_it_is_withheld() {
    let set = PolicySet::load(&[]).unwrap();
    // Not one repeated group: such a text is an example, and no key.
    let key = format!("ghp_{}", "r7Kq2ZpV9xLm4TcW8sNb3HyD6fGjA1eU5oXt");
    let turn = PastTurn::bounded("a", &format!("token = \"{key}\""), "refused", Vec::new());
    let said = PastTurn::bounded("a", "answer", &format!("it printed {key}"), Vec::new());
    let repo = TestRepository::with_files(&[]);
    for turn in [turn, said] {
        let (shown, withheld) = gather(&[EarlierTurn::from_past(turn)], &repo, &set, ExecutionMode::Cloud);
        assert_eq!((shown.len(), withheld.len()), (0, 1), "{withheld:?}");
    }
}

#[test]
fn a_refused_landing_is_worded_for_the_new_tool() {
    // One file is withheld by its name, and one by a text that is not among the quoted lines.
    let rules = "version = 1\n[[rule]]\nid = \"t.local\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\npaths = \
                 [\"private/**\"]\nexecution_mode = \"cloud\"\n[rule.examples]\nmatch = [{ path = \"private/a\", execution_mode = \
                 \"cloud\" }]\nno_match = [{ path = \"private/a\", execution_mode = \"local\" }]\n[[rule]]\nid = \"t.secret\"\neffect = \
                 \"deny\"\nwhy = \"a secret\"\naction = [\"read\"]\nfindings = [\"secret\", \"maybe-secret\"]\nexecution_mode = \
                 \"cloud\"\n[rule.examples]\nmatch = [{ path = \"a\", findings = [\"secret\"], execution_mode = \"cloud\" }]\nno_match = \
                 [{ path = \"a\", execution_mode = \"cloud\" }]\n";
    let policy = load_rules(rules);
    let lines = (1..40).map(|at| format!("line {at}\n")).collect::<String>();
    let keyed = format!("one\nREAL\nthree\n{lines}key = ghp_r7Kq2ZpV9xLm4TcW8sNb3HyD6fGjA1eU5oXt\n");
    let repo = TestRepository::with_files(&[
        ("private/a.txt", "one\nREAL\nthree\n"),
        ("keyed.txt", &keyed),
        ("open.txt", "one\nREAL\nthree\n"),
    ]);
    let hunk = "@@ -1,3 +1,3 @@\n one\n-WRONG\n+two\n three\n";
    for (path, is_open) in [("private/a.txt", false), ("keyed.txt", false), ("open.txt", true)] {
        let tape = TestTape::default();
        let answer = format!("--- a/{path}\n+++ b/{path}\n{hunk}");
        land_answer(&repo, &mut tape.begin_run("local"), "local", &answer);
        let turns = read_history(&tape.reader(), "local").unwrap();
        for (mode, is_shown) in [(ExecutionMode::Local, true), (ExecutionMode::Cloud, is_open)] {
            let (shown, withheld) = gather(&turns, &repo, &policy, mode);
            assert_eq!(
                (shown.len(), withheld.len()),
                if is_shown { (1, 0) } else { (0, 1) },
                "{path} {withheld:?}"
            );
            assert_eq!(
                format!("{shown:?}").contains("REAL"),
                is_shown,
                "{path} {shown:?}"
            );
        }
    }
    // The answer names a file that is none, and the report names the one that its edits are about.
    let answer = format!(
        "diff --git a/private/a.txt b/b.txt\nrename from private/a.txt\nrename to b.txt\n--- a/private/a.txt\n+++ b/b.txt\n{hunk}"
    );
    let tape = TestTape::default();
    land_answer(&repo, &mut tape.begin_run("moved"), "moved", &answer);
    let turns = read_history(&tape.reader(), "moved").unwrap();
    let (shown, _) = gather(&turns, &repo, &policy, ExecutionMode::Cloud);
    assert!(!format!("{shown:?}").contains("REAL"), "{shown:?}");
}

/// Rules that withhold a folder from tools of a cloud.
const PRIVATE: &str = "version = 1\n[[rule]]\nid = \"t.local\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\npaths = \
                       [\"private/**\"]\nexecution_mode = \"cloud\"\n[rule.examples]\nmatch = [{ path = \"private/a\", execution_mode = \
                       \"cloud\" }]\nno_match = [{ path = \"private/a\", execution_mode = \"local\" }]\n";

/// Records a run of a program, with the body of its result.
fn record_program(tape: &TestTape, repo: &TestRepository, run: &str, follows: Option<&str>, result: Value) {
    let target = repo.target().unwrap();
    let policy = repo.policy(&target).unwrap();
    let mut tape = tape.begin_run(run);
    let task = serde_json::json!({
        "instruction": "x", "provider": "command", "execution_mode": "local", "target": target, "policy_sha256": policy.set.sha256(),
        "follows": follows.map(|run| serde_json::json!({ "run": run })),
    });
    let answer_sha256 = tape.store_blob(b"I saw a plan.").unwrap();
    for (kind, body) in [
        (RecordKind::Task, task),
        (
            RecordKind::Answer,
            serde_json::json!({ "answer_sha256": answer_sha256 }),
        ),
        (RecordKind::ToolResult, result),
    ] {
        tape.record(kind, body, Durability::Now).unwrap();
    }
}

/// Makes the body of a result with a view of the base, without these files.
fn recorded_view(tape: &TestTape, repo: &TestRepository, withheld: &[&str]) -> Value {
    let target = repo.target().unwrap();
    let list = serde_json::json!(withheld).to_string();
    let withheld_sha256 = tape.begin_run("x").store_blob(list.as_bytes()).unwrap();
    serde_json::json!({ "views": [{
        "commit": target.base_commit, "tree": target.base_tree, "withheld_sha256": withheld_sha256, "withheld": withheld.len(),
    }] })
}

/// Returns true if a tool sees a turn of a run.
fn is_shown(repo: &TestRepository, tape: &TestTape, run: &str, mode: ExecutionMode) -> bool {
    let turns = read_history(&tape.reader(), run).unwrap();
    let (shown, withheld) = gather(&turns, repo, &load_rules(PRIVATE), mode);
    assert_eq!(shown.len() + withheld.len(), 1, "{withheld:?}");
    !shown.is_empty()
}

#[test]
fn an_answer_of_a_program_is_withheld_from_a_tool_that_may_not_read_all_that_the_program_could() {
    let files = [("private/plan.txt", "the plan\n"), ("src/a.txt", "open\n")];
    let repo = TestRepository::with_files(&files);
    repo.set_policy(PRIVATE);
    let tape = TestTape::default();
    let server = serde_json::json!({ "result": { "endpoint": "http://127.0.0.1:1" } });
    let cases = [
        ("saw everything", recorded_view(&tape, &repo, &[]), false),
        (
            "saw the rest",
            recorded_view(&tape, &repo, &["private/plan.txt"]),
            true,
        ),
        ("no program", serde_json::json!({ "views": [] }), true),
        ("an earlier version, a program", serde_json::json!({}), false),
        ("an earlier version, a server", server, true),
        (
            "no list",
            serde_json::json!({ "views": [{ "commit": "c" }] }),
            false,
        ),
    ];
    for (run, result, is_open) in cases {
        record_program(&tape, &repo, run, None, result);
        assert!(
            is_shown(&repo, &tape, run, ExecutionMode::Local) || run == "no list",
            "{run}"
        );
        assert_eq!(
            is_shown(&repo, &tape, run, ExecutionMode::Cloud),
            is_open,
            "{run}"
        );
    }
    // The check of a run reads what its tool can.
    let checked = serde_json::json!({ "views": [] });
    record_program(&tape, &repo, "checked", None, checked.clone());
    let failed = serde_json::json!({ "command": "make", "passed": false });
    let mut of_run = tape.begin_run("checked");
    of_run.record(RecordKind::Check, failed, Durability::Now).unwrap();
    assert!(!is_shown(&repo, &tape, "checked", ExecutionMode::Cloud));
    // A run quotes the runs that it follows.
    record_program(&tape, &repo, "follows", Some("saw everything"), checked.clone());
    record_program(&tape, &repo, "follows twice", Some("follows"), checked.clone());
    record_program(&tape, &repo, "follows a lost one", Some("lost"), checked);
    for run in ["follows", "follows twice", "follows a lost one"] {
        assert!(!is_shown(&repo, &tape, run, ExecutionMode::Cloud), "{run}");
    }
    assert!(is_shown(&repo, &tape, "follows twice", ExecutionMode::Local));
    assert!(!is_shown(
        &repo,
        &tape,
        "follows a lost one",
        ExecutionMode::Local
    ));
}

#[test]
fn a_file_that_a_program_could_read_is_decided_by_the_path_of_today_too() {
    let repo = TestRepository::with_files(&[("src/plan.txt", "the plan\n")]);
    repo.set_policy(PRIVATE);
    let tape = TestTape::default();
    let view = recorded_view(&tape, &repo, &[]);
    record_program(&tape, &repo, "before", None, view);
    assert!(is_shown(&repo, &tape, "before", ExecutionMode::Cloud));
    repo.commit_files(&[("private/plan.txt", "the plan\n")]);
    assert!(!is_shown(&repo, &tape, "before", ExecutionMode::Cloud));
    assert!(is_shown(&repo, &tape, "before", ExecutionMode::Local));
}
