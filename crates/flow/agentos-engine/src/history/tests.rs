//! Which turns of an earlier run a tool is shown.

use agentos_policy::PolicySource;
use agentos_tool::{ExecutionMode, Timestamp};

use super::*;
use crate::settle::patch_facts;
use crate::test_ports::{TestRepository, TestTape};
use crate::test_runs::{DIFF, land_answer};

fn tool(mode: ExecutionMode) -> ToolFacts {
    ToolFacts {
        execution_mode: mode,
        ..patch_facts(Timestamp::from_unix_seconds(0))
    }
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
    assert_eq!((turn.task.as_str(), turn.answer.as_str()), ("x", DIFF.trim_end()));
    assert!(
        turn.outcome.contains("a.txt"),
        "the report of the landing: {}",
        turn.outcome
    );
    assert_eq!(turn.files, ["a.txt"]);
    let error = read_history(&tape.reader(), "nobody").unwrap_err();
    assert_eq!(error.code, "usage");
}

#[test]
fn an_answer_about_a_file_that_the_tool_may_not_read_is_withheld_with_all_before_it() {
    let rules = "version = 1\n[[rule]]\nid = \"t.local\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\npaths = \
                 [\"private/**\"]\nexecution_mode = \"cloud\"\n[rule.examples]\nmatch = [{ path = \"private/a\", execution_mode = \
                 \"cloud\" }]\nno_match = [{ path = \"private/a\", execution_mode = \"local\" }]\n";
    let source = PolicySource {
        layer: agentos_policy::Layer::Repository,
        name: "t.toml".to_owned(),
        text: rules.to_owned(),
    };
    let set = PolicySet::load(&[source]).unwrap();
    let turn = |task: &str, file: &str| PastTurn::bounded(task, "answer", "refused", vec![file.to_owned()]);
    let turns = [turn("a", "src/a"), turn("b", "private/a"), turn("c", "src/c")];
    let (shown, withheld) = gather_history(&turns, &set, &tool(ExecutionMode::Local));
    assert_eq!((shown.len(), withheld.len()), (3, 0), "{withheld:?}");
    let (shown, withheld) = gather_history(&turns, &set, &tool(ExecutionMode::Cloud));
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
    let (shown, withheld) = gather_history(&[turn], &set, &tool(ExecutionMode::Cloud));
    assert_eq!((shown.len(), withheld.len()), (0, 1), "{withheld:?}");
}
