//! A checked change whose branch moves while the check runs.

use std::cell::{Cell, RefCell};

use agentos_evidence::SyncFile;
use agentos_tool::{BoxFuture, EditFormat, NoProgress, TaskLimits, TokenPrices};
use serde_json::Value;

use super::*;
use crate::ReplayAdapter;
use crate::Tried;
use crate::checking::CHECK_UNRUNNABLE;
use crate::ports::{BaseCheck, Check, Durability, Evidence, RunPhase};
use crate::settle::CHECK_STALE;
use crate::test_ports::{TestRepository, TestTape};
use crate::test_runs::{DIFF, run_with_effects};

/// A file that somebody else commits: one that the change leaves alone, and the one that it changes.
const ELSEWHERE: (&str, &str) = ("b.txt", "more\n");
const IN_THE_WAY: (&str, &str) = ("a.txt", "three\n");

/// One run of the check.
#[derive(Debug, Clone, Copy)]
struct Trial {
    /// What somebody else commits while it runs.
    meanwhile: Option<(&'static str, &'static str)>,
    code: u8,
}

const PASSES: Trial = Trial {
    meanwhile: None,
    code: 0,
};
const PASSES_LATE: Trial = Trial {
    meanwhile: Some(ELSEWHERE),
    code: 0,
};
const FAILS: Trial = Trial {
    meanwhile: None,
    code: 1,
};

/// A check that goes as it was written down; its last trial is repeated.
struct ScriptedCheck<'a> {
    repo: &'a TestRepository,
    trials: &'a [Trial],
    /// The commits that the change was checked on.
    bases: RefCell<Vec<String>>,
    /// The command's exit code without the change.
    base_code: u8,
    /// What earlier runs found on the base.
    recalled: Option<BaseCheck>,
    /// Runs of the command on the base.
    base_checks: Cell<u32>,
    /// The run must not begin with a base that fails.
    demands_base: bool,
}

impl<'a> ScriptedCheck<'a> {
    fn new(repo: &'a TestRepository, trials: &'a [Trial]) -> Self {
        Self {
            repo,
            trials,
            bases: RefCell::default(),
            base_code: 0,
            recalled: None,
            base_checks: Cell::new(0),
            demands_base: false,
        }
    }
}

impl Check for ScriptedCheck<'_> {
    fn check<'a>(
        &'a self,
        target: &'a TargetInfo,
        change: Option<&'a Change>,
        _attempt: u32,
        _progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<Tried, EffectError>> {
        let tried = |code: u8| Tried {
            command: "true".to_owned(),
            passed: code == 0,
            code: Some(code),
            said: String::new(),
            elapsed_ms: 1,
            layers: Vec::new(),
        };
        if change.is_none() {
            self.base_checks.set(self.base_checks.get() + 1);
            return Box::pin(std::future::ready(Ok(tried(self.base_code))));
        }
        let mut bases = self.bases.borrow_mut();
        let trial = self.trials.get(bases.len()).or(self.trials.last());
        let trial = trial.copied().unwrap_or(PASSES);
        bases.push(target.base_commit.clone());
        if let Some(file) = trial.meanwhile {
            self.repo.commit_files(&[file]);
        }
        Box::pin(std::future::ready(Ok(tried(trial.code))))
    }

    fn recall_base(&self, _base_commit: &str) -> Option<BaseCheck> {
        self.recalled.clone()
    }
}

/// A tape during whose first refusal somebody else commits.
struct BusyTape<'a> {
    tape: TestTape,
    repo: &'a TestRepository,
    meanwhile: Option<(&'static str, &'static str)>,
}

impl Evidence for BusyTape<'_> {
    fn record(
        &mut self,
        kind: RecordKind,
        body: Value,
        durability: Durability,
    ) -> Result<Option<String>, EffectError> {
        if kind == RecordKind::Refusal
            && let Some(file) = self.meanwhile.take()
        {
            self.repo.commit_files(&[file]);
        }
        self.tape.record(kind, body, durability)
    }

    fn make_durable(&mut self, phase: RunPhase, sync: Option<&mut SyncFile<'_>>) -> Result<(), EffectError> {
        self.tape.make_durable(phase, sync)
    }

    fn store_blob(&mut self, bytes: &[u8]) -> Result<String, EffectError> {
        self.tape.store_blob(bytes)
    }
}

/// Runs a task with a check that goes as it was written down. Returns the outcome, and the commits that the change was
/// checked on.
fn run_checked(
    repo: &TestRepository,
    trials: &[Trial],
    before_next_trial: Option<(&'static str, &'static str)>,
) -> (Outcome, Vec<String>) {
    let check = ScriptedCheck::new(repo, trials);
    let outcome = run_with_check(repo, &check, before_next_trial, 1);
    (outcome, check.bases.take())
}

fn run_with_check(
    repo: &TestRepository,
    check: &ScriptedCheck<'_>,
    before_next_trial: Option<(&'static str, &'static str)>,
    attempts: u32,
) -> Outcome {
    let adapter = ReplayAdapter::new(Some(DIFF.to_owned()));
    let mut tape = BusyTape {
        tape: TestTape::default(),
        repo,
        meanwhile: before_next_trial,
    };
    run_with_effects(repo, &mut tape, "run-1", async |effects, id, cancel| {
        let request = TaskRequest {
            run: id,
            adapter: &adapter,
            model: None,
            instruction: "x",
            history: &[],
            remark: None,
            follows: None,
            options: None,
            files: &[],
            outline: &[],
            choice: None,
            changes_named: false,
            edit_format: EditFormat::UnifiedDiff,
            limits: TaskLimits {
                timeout_seconds: 1,
                max_output_tokens: None,
                loaded_context: None,
            },
            partial: false,
            attempts,
            price: TokenPrices::default(),
            mock: None,
            answers_once: false,
            has_tools: false,
            check: Some(check),
            base_must_pass: check.demands_base,
            successors: None,
            search: None,
            windows: None,
        };
        run(effects, &request, "x", &NoProgress, cancel).await
    })
}

/// One course of events and where it must end.
struct Course {
    what: &'static str,
    trials: &'static [Trial],
    /// What somebody else commits after a check that came too late, before the change is placed again.
    before_next_trial: Option<(&'static str, &'static str)>,
    kind: OutcomeKind,
    code: Option<&'static str>,
    checks: u32,
    has_passed: bool,
}

const COURSES: [Course; 6] = [
    Course {
        what: "the branch stays",
        trials: &[PASSES],
        before_next_trial: None,
        kind: OutcomeKind::Landed,
        code: None,
        checks: 1,
        has_passed: true,
    },
    Course {
        what: "it moves once: checked again on the new commit, and landed",
        trials: &[PASSES_LATE, PASSES],
        before_next_trial: None,
        kind: OutcomeKind::Landed,
        code: None,
        checks: 2,
        has_passed: true,
    },
    Course {
        what: "it moves each time: no check is ever in time",
        trials: &[PASSES_LATE],
        before_next_trial: None,
        kind: OutcomeKind::Refused,
        code: Some(CHECK_STALE),
        checks: checking::MAX_TRIALS,
        has_passed: true,
    },
    Course {
        what: "the change has no place on the new commit",
        trials: &[Trial {
            meanwhile: Some(IN_THE_WAY),
            code: 0,
        }],
        before_next_trial: None,
        kind: OutcomeKind::Refused,
        code: Some("does-not-apply"),
        checks: 1,
        has_passed: true,
    },
    Course {
        what: "it moves again before the change is placed again, where it has no place",
        trials: &[PASSES_LATE],
        before_next_trial: Some(IN_THE_WAY),
        kind: OutcomeKind::Refused,
        code: Some(CHECK_STALE),
        checks: 1,
        has_passed: true,
    },
    Course {
        what: "the check fails on the new commit",
        trials: &[PASSES_LATE, FAILS],
        before_next_trial: None,
        kind: OutcomeKind::Refused,
        code: Some("check-failed"),
        checks: 2,
        has_passed: false,
    },
];

#[test]
fn a_change_lands_only_on_the_commit_that_it_was_checked_on() {
    for course in &COURSES {
        let what = course.what;
        let repo = TestRepository::with_files(&[(
            "a.txt", "one
",
        )]);
        let (outcome, bases) = run_checked(&repo, course.trials, course.before_next_trial);
        let ending = (outcome.outcome, outcome.code.as_deref());
        assert_eq!(ending, (course.kind, course.code), "{what}: {}", outcome.message);
        assert_eq!(bases.len(), course.checks as usize, "{what}");
        let has_passed = outcome.check.as_ref().map(|tried| tried.passed);
        assert_eq!(has_passed, Some(course.has_passed), "{what}");
        let is_landed = repo.text("a.txt").as_deref()
            == Some(
                "two
",
            );
        assert_eq!(is_landed, course.kind == OutcomeKind::Landed, "{what}");
        if is_landed {
            // Nothing came in between: the commit that was made stands on the one that was checked last.
            let base = outcome.target.map(|target| target.base_commit);
            assert_eq!(base.as_ref(), bases.last(), "{what}");
        }
        // What others landed meanwhile is still there.
        let was_elsewhere = course
            .trials
            .iter()
            .any(|trial| trial.meanwhile == Some(ELSEWHERE));
        assert_eq!(repo.text("b.txt").is_some(), was_elsewhere, "{what}");
    }
}

#[test]
fn a_check_that_fails_without_the_change_as_well_is_not_the_tools_fault() {
    let tried = |said: &str| {
        Box::new(Tried {
            command: "true".to_owned(),
            passed: false,
            code: Some(1),
            said: said.to_owned(),
            elapsed_ms: 1,
            layers: Vec::new(),
        })
    };
    // What is known of the base, the command's exit codes there and with the change, and then: the code, the words, the calls
    // of the tool, the checks of the base.
    let cases = [
        ("it passes on the base", None, 0, 1, "check-failed", "", 2, 2),
        (
            "it is known to pass",
            Some(BaseCheck::Passed),
            0,
            1,
            "check-failed",
            "",
            2,
            0,
        ),
        (
            "it fails there in the same way",
            None,
            1,
            1,
            "check-failed",
            "in the same way",
            2,
            2,
        ),
        (
            "it failed there before, and passes now",
            Some(BaseCheck::FailedBefore),
            0,
            1,
            "check-failed",
            "",
            2,
            2,
        ),
        (
            "it failed in another way",
            Some(BaseCheck::Failed(tried("other"))),
            1,
            1,
            "check-failed",
            "in another way",
            2,
            0,
        ),
        (
            "it fails there with another code",
            None,
            127,
            1,
            "check-failed",
            "in another way",
            2,
            2,
        ),
        (
            "it is not found there either",
            None,
            127,
            127,
            CHECK_UNRUNNABLE,
            "cannot be run",
            1,
            1,
        ),
        (
            "it cannot be executed there either",
            Some(BaseCheck::FailedBefore),
            126,
            126,
            CHECK_UNRUNNABLE,
            "cannot be run",
            1,
            1,
        ),
        (
            "it is only not found with the change",
            None,
            0,
            127,
            "check-failed",
            "",
            2,
            2,
        ),
    ];
    for (what, recalled, base_code, change_code, code, words, calls, base_checks) in cases {
        let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
        let trials = [Trial {
            code: change_code,
            ..FAILS
        }];
        let check = ScriptedCheck {
            base_code,
            recalled,
            ..ScriptedCheck::new(&repo, &trials)
        };
        let outcome = run_with_check(&repo, &check, None, 2);
        let ending = (outcome.code.as_deref(), outcome.attempts);
        assert_eq!(ending, (Some(code), calls), "{what}: {}", outcome.message);
        assert!(outcome.message.contains(words), "{what}: {}", outcome.message);
        let is_said = outcome.message.contains("without the change");
        assert_eq!(is_said, !words.is_empty(), "{what}: {}", outcome.message);
        assert_eq!(check.base_checks.get(), base_checks, "{what}");
        assert!(outcome.check.is_some_and(|tried| !tried.passed), "{what}");
    }
}

#[test]
fn a_base_that_must_pass_is_checked_before_the_call() {
    let cases = [
        ("it passes", None, 0, None, 1),
        ("it is known to pass", Some(BaseCheck::Passed), 1, None, 0),
        ("it fails", None, 3, Some("check-base-failed"), 1),
        (
            "it failed before, and passes now",
            Some(BaseCheck::FailedBefore),
            0,
            None,
            1,
        ),
        (
            "it fails again",
            Some(BaseCheck::FailedBefore),
            1,
            Some("check-base-failed"),
            1,
        ),
        ("it is not found", None, 127, Some(CHECK_UNRUNNABLE), 1),
    ];
    for (what, recalled, base_code, code, base_checks) in cases {
        let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
        let check = ScriptedCheck {
            base_code,
            recalled,
            demands_base: true,
            ..ScriptedCheck::new(&repo, &[PASSES])
        };
        let outcome = run_with_check(&repo, &check, None, 2);
        assert_eq!(outcome.code.as_deref(), code, "{what}: {}", outcome.message);
        assert_eq!(check.base_checks.get(), base_checks, "{what}");
        // Without a call there is no verdict on one.
        assert_eq!(outcome.result.is_some(), code.is_none(), "{what}");
        assert_eq!(check.bases.borrow().is_empty(), code.is_some(), "{what}");
    }
}
