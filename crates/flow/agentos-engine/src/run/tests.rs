//! A checked change whose branch moves while the check runs.

use std::cell::RefCell;

use agentos_evidence::SyncFile;
use agentos_tool::{BoxFuture, EditFormat, NoProgress, TaskLimits, TokenPrices};
use serde_json::Value;

use super::*;
use crate::ports::{Check, Durability, Evidence, RunPhase};
use crate::test_ports::{TestRepository, TestTape};
use crate::test_runs::{DIFF, run_with_effects};
use crate::{ReplayAdapter, Tried};

/// A file that somebody else commits: one that the change leaves alone, and the one that it changes.
const ELSEWHERE: (&str, &str) = ("b.txt", "more\n");
const IN_THE_WAY: (&str, &str) = ("a.txt", "three\n");

/// One run of the check.
#[derive(Debug, Clone, Copy)]
struct Trial {
    /// What somebody else commits while it runs.
    meanwhile: Option<(&'static str, &'static str)>,
    passes: bool,
}

const PASSES: Trial = Trial {
    meanwhile: None,
    passes: true,
};
const PASSES_LATE: Trial = Trial {
    meanwhile: Some(ELSEWHERE),
    passes: true,
};
const FAILS: Trial = Trial {
    meanwhile: None,
    passes: false,
};

/// A check that goes as it was written down; its last trial is repeated.
struct ScriptedCheck<'a> {
    repo: &'a TestRepository,
    trials: &'a [Trial],
    /// The commits that the change was checked on.
    bases: RefCell<Vec<String>>,
}

impl Check for ScriptedCheck<'_> {
    fn check<'a>(
        &'a self,
        target: &'a TargetInfo,
        _change: &'a Change,
        _attempt: u32,
        _progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<Tried, EffectError>> {
        let mut bases = self.bases.borrow_mut();
        let trial = self.trials.get(bases.len()).or(self.trials.last());
        let trial = trial.copied().unwrap_or(PASSES);
        bases.push(target.base_commit.clone());
        if let Some(file) = trial.meanwhile {
            self.repo.commit_files(&[file]);
        }
        let tried = Tried {
            command: "true".to_owned(),
            passed: trial.passes,
            code: Some(u8::from(!trial.passes)),
            said: String::new(),
            elapsed_ms: 1,
            layers: Vec::new(),
        };
        Box::pin(std::future::ready(Ok(tried)))
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
    let check = ScriptedCheck {
        repo,
        trials,
        bases: RefCell::default(),
    };
    let adapter = ReplayAdapter::new(Some(DIFF.to_owned()));
    let mut tape = BusyTape {
        tape: TestTape::default(),
        repo,
        meanwhile: before_next_trial,
    };
    let outcome = run_with_effects(repo, &mut tape, "run-1", async |effects, id, cancel| {
        let request = TaskRequest {
            run: id,
            adapter: &adapter,
            model: None,
            instruction: "x",
            files: &[],
            changes_named: false,
            edit_format: EditFormat::UnifiedDiff,
            limits: TaskLimits {
                timeout_seconds: 1,
                max_output_tokens: None,
            },
            partial: false,
            attempts: 1,
            price: TokenPrices::default(),
            mock: None,
            answers_once: true,
            check: Some(&check),
        };
        run(effects, &request, "x", &NoProgress, cancel).await
    });
    (outcome, check.bases.take())
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
            passes: true,
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
