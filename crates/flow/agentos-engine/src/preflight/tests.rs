//! Runs that end before their tool is called, and those that must not.

use std::sync::atomic::{AtomicU32, Ordering};

use agentos_evidence::RecordKind;
use agentos_tool::{
    Adapter, BoxFuture, DiffQuality, EditFormat, ExecutionMode, NoProgress, ProgressSink, TaskLimits,
    Timestamp, TokenPrices, ToolCapabilities, ToolError, ToolHealth, ToolOutput, ToolTask,
};

use super::*;
use crate::ReplayAdapter;
use crate::context::RequestedFile;
use crate::run::run;
use crate::test_ports::{TestRepository, TestTape};
use crate::test_runs::{DIFF, run_with_effects};

/// A cloud model that counts its calls.
struct PaidAdapter {
    answers: ReplayAdapter,
    calls: AtomicU32,
}

impl Adapter for PaidAdapter {
    fn provider(&self) -> &str {
        "vendor"
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        self.answers.health_check(now)
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.answers.run(task, progress)
    }

    fn supports(&self) -> ToolCapabilities {
        ToolCapabilities::diff_only(ExecutionMode::Cloud, DiffQuality::Medium)
    }
}

/// Runs a task with the files `named`. Returns the outcome, the number of calls, and the records.
fn run_task(
    repo: &TestRepository,
    named: &[&str],
    changes_named: bool,
    answer: &str,
    mock: Option<&str>,
) -> (Outcome, u32, Vec<RecordKind>) {
    let adapter = PaidAdapter {
        answers: ReplayAdapter::new(Some(answer.to_owned())),
        calls: AtomicU32::new(0),
    };
    let files: Vec<RequestedFile> = named.iter().map(|path| RequestedFile::whole(*path)).collect();
    let mut tape = TestTape::default();
    let outcome = run_with_effects(repo, &mut tape, "run-1", async |effects, id, cancel| {
        let request = TaskRequest {
            run: id,
            adapter: &adapter,
            model: None,
            instruction: "x",
            history: &[],
            remark: None,
            follows: None,
            options: None,
            files: &files,
            outline: &[],
            choice: None,
            changes_named,
            edit_format: EditFormat::UnifiedDiff,
            limits: TaskLimits {
                timeout_seconds: 1,
                max_output_tokens: None,
                loaded_context: None,
            },
            partial: false,
            attempts: 2,
            price: TokenPrices::default(),
            mock: mock.map(str::to_owned),
            answers_once: false,
            has_tools: false,
            check: None,
            base_must_pass: false,
            successors: None,
            search: None,
            windows: None,
        };
        run(effects, &request, "x", &NoProgress, cancel).await
    });
    (outcome, adapter.calls.load(Ordering::SeqCst), tape.kinds)
}

/// A rule that denies landings under a condition.
fn deny_rule(condition: &str) -> String {
    format!(
        "version = 1\n[[rule]]\nid = \"own\"\neffect = \"deny\"\nwhy = \"because\"\naction = [\"land\"]\n{condition}\n"
    )
}

/// One run, and how it must end.
struct Course {
    what: &'static str,
    policy: String,
    busy: &'static [&'static str],
    named: &'static [&'static str],
    changes_named: bool,
    mock: Option<&'static str>,
    code: Option<&'static str>,
    calls: u32,
}

impl Default for Course {
    fn default() -> Self {
        Self {
            what: "",
            policy: String::new(),
            busy: &[],
            named: &["a.txt"],
            changes_named: true,
            mock: None,
            code: None,
            calls: 1,
        }
    }
}

fn courses() -> Vec<Course> {
    let denied = Some("protected-path");
    let only_docs = "version = 1\n[[rule]]\nid = \"own\"\neffect = \"deny\"\nwhy = \"because\"\npaths = [\"a.txt\"]\naction = [\"modify\", \"delete\"]\n";
    vec![
        Course {
            what: "nothing is in the way",
            ..Course::default()
        },
        Course {
            what: "the provider is denied",
            policy: deny_rule("provider = [\"vendor\"]"),
            code: denied,
            calls: 0,
            ..Course::default()
        },
        Course {
            what: "the branch is denied",
            policy: deny_rule("target_ref = [\"refs/heads/main\"]"),
            code: denied,
            calls: 0,
            ..Course::default()
        },
        Course {
            what: "the mode is denied",
            policy: deny_rule("execution_mode = \"cloud\""),
            code: denied,
            calls: 0,
            ..Course::default()
        },
        Course {
            what: "the change is denied for what it does",
            policy: deny_rule("over_added = 0"),
            code: denied,
            ..Course::default()
        },
        Course {
            what: "the only named file is denied",
            policy: only_docs.to_owned(),
            code: denied,
            calls: 0,
            ..Course::default()
        },
        Course {
            what: "the only named file is denied, but only shown: the change itself is judged",
            policy: only_docs.to_owned(),
            changes_named: false,
            code: denied,
            ..Course::default()
        },
        Course {
            what: "work is in the way of the only named file",
            busy: &["a.txt"],
            code: Some("dirty-overlap"),
            calls: 0,
            ..Course::default()
        },
        Course {
            what: "work is in the way of one of two named files",
            busy: &["b.txt"],
            named: &["a.txt", "b.txt"],
            ..Course::default()
        },
        Course {
            what: "work is in the way of a file that is only shown",
            busy: &["a.txt"],
            changes_named: false,
            ..Course::default()
        },
        Course {
            what: "a recording costs nothing",
            policy: deny_rule("provider = [\"vendor\"]"),
            mock: Some("a recorded answer"),
            code: denied,
            ..Course::default()
        },
    ]
}

#[test]
fn no_tool_is_called_for_what_cannot_land() {
    for course in courses() {
        let what = course.what;
        let repo = TestRepository::with_files(&[("a.txt", "one\n"), ("b.txt", "more\n")]);
        repo.set_policy(&course.policy);
        course.busy.iter().for_each(|path| repo.add_work(path));
        let (outcome, calls, kinds) = run_task(&repo, course.named, course.changes_named, DIFF, course.mock);
        assert_eq!(
            outcome.code.as_deref(),
            course.code,
            "{what}: {}",
            outcome.message
        );
        assert_eq!(calls, course.calls, "{what}");
        if calls == 0 {
            assert_eq!(kinds, [RecordKind::Task, RecordKind::Refusal], "{what}");
        }
    }
}

#[test]
fn an_attempt_that_policy_denies_is_not_made() {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    repo.set_policy(&deny_rule("over_attempt = 1"));
    let misplaced = DIFF.replace("-one", "-three");
    let (outcome, calls, _) = run_task(&repo, &[], true, &misplaced, None);
    // The outcome says why the only answer did not land, not that there could be no second one.
    assert_eq!(
        (outcome.code.as_deref(), calls),
        (Some("does-not-apply"), 1),
        "{}",
        outcome.message
    );
}
