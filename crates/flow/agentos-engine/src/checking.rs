//! The user's check: a candidate is tried before consent is requested, and a failure goes back to the tool as feedback.
//!
//! Owns: the order of check, record and feedback. Never: runs anything itself, or reads the result from the candidate's
//! output: the port reports the exit code.

use std::collections::BTreeSet;

use agentos_api::{NextStep, RunLimit, TaskPart};
use agentos_evidence::RecordKind;
use agentos_landing::{Change, LandOptions, land};
use agentos_tool::ProgressSink;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ports::{BaseCheck, CancelSignal, Check, EffectError, TargetInfo};
use crate::records::{self, CheckBody};
use crate::request::{TaskRequest, await_or_cancel};
use crate::settle::{CheckedChange, Proposal, RunEffects};
use crate::{Cause, Outcome, OutcomeKind};

/// Most characters of a failed check's output in the feedback. They are the last ones: compilers and test runners name
/// the failure at the end.
const MOST_FEEDBACK: usize = 4000;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tried {
    /// The command.
    pub command: String,
    /// True if the command ended by itself with exit code 0.
    pub passed: bool,
    /// The exit code. `None` if the command was killed at its time limit.
    pub code: Option<u8>,
    /// The last part of the command's output; untrusted.
    pub said: String,
    /// Milliseconds from start to end.
    pub elapsed_ms: u64,
    /// The sandbox layers that confined the command.
    pub layers: Vec<String>,
}

/// Runs the user's check on a candidate and records the result; if it fails, on the base as well. `None` if the run has no
/// check, or no candidate.
///
/// # Errors
/// If the check could not run, or the user stopped it.
pub(crate) async fn check_candidate(
    effects: &mut RunEffects<'_>,
    request: &TaskRequest<'_>,
    candidate: Option<(&TargetInfo, &Change)>,
    attempt: u32,
    progress: &dyn ProgressSink,
    cancel: &mut CancelSignal<'_>,
) -> Result<Option<CheckProof>, EffectError> {
    let (Some(check), Some((target, change))) = (request.check, candidate) else {
        return Ok(None);
    };
    let tried = run_check(check, target, Some(change), attempt, progress, cancel).await?;
    record_check(effects, target, Some(change), attempt, &tried)?;
    let base = match (tried.code, check.recall_base(&target.base_commit)) {
        // A failure that the base has too is none of the change's. The base is known already if the run began with it.
        (Some(1..), None | Some(BaseCheck::FailedBefore)) => {
            let base = run_check(check, target, None, attempt, progress, cancel).await?;
            record_check(effects, target, None, attempt, &base)?;
            Some(base).filter(|base| !base.passed)
        }
        (Some(1..), Some(BaseCheck::Failed(base))) => Some(*base),
        // A command that was killed at its limit would only be killed again, after the same time.
        (Some(1..), Some(BaseCheck::Passed)) | (Some(0) | None, _) => None,
    };
    Ok(Some(CheckProof {
        // Base and change, because the same diff on another commit is another candidate.
        of: CheckedChange {
            base_commit: target.base_commit.clone(),
            diff_sha256: change.sha256().to_owned(),
        },
        tried,
        base,
    }))
}

/// Runs the check on the base before a tool is called. Returns the outcome of a run whose check fails there; `None` if the check
/// passes, is known to pass, or the request does not demand it.
///
/// # Errors
/// If the check could not run, or the user stopped it.
pub(crate) async fn refuse_red_base(
    effects: &mut RunEffects<'_>,
    request: &TaskRequest<'_>,
    target: &TargetInfo,
    progress: &dyn ProgressSink,
    cancel: &mut CancelSignal<'_>,
) -> Result<Option<Outcome>, EffectError> {
    let Some(check) = request.check.filter(|_| request.base_must_pass) else {
        return Ok(None);
    };
    // A failure of an earlier run is no answer: the machine may have changed since, and a tool that was missing may be there.
    if check.recall_base(&target.base_commit) == Some(BaseCheck::Passed) {
        return Ok(None);
    }
    let tried = run_check(check, target, None, 1, progress, cancel).await?;
    record_check(effects, target, None, 1, &tried)?;
    Ok((!tried.passed).then(|| refuse_base(request, target, tried)))
}

/// Makes the outcome of a run whose check fails on the base.
fn refuse_base(request: &TaskRequest<'_>, target: &TargetInfo, tried: Tried) -> Outcome {
    let short = target.base_commit.get(..10).unwrap_or(&target.base_commit);
    let is_runnable = !tried.code.is_some_and(|code| NOT_RUN.contains(&code));
    let fault = if is_runnable { "fails" } else { "cannot be run" };
    let message = format!(
        "`{}` {fault} on {short}, without a change: {}; no tool was called",
        tried.command,
        describe_end(&tried)
    );
    // A timeout has the exit code of a limit, as it has with a change.
    let cause = match tried.code {
        Some(_) => Cause::Repository,
        None => Cause::Limit,
    };
    let mut outcome = Outcome::new(request.run, OutcomeKind::Refused, cause, message);
    let show = NextStep::ShowRun {
        run: request.run.to_string(),
    };
    outcome.target = Some(target.clone());
    (outcome.code, outcome.hint, outcome.next) = match (is_runnable, tried.code) {
        (false, _) => (
            Some(CHECK_UNRUNNABLE.to_owned()),
            Some("the command lacks something in the sandbox".to_owned()),
            vec![show],
        ),
        (true, None) => (
            Some(BASE_FAILED.to_owned()),
            None,
            vec![
                NextStep::RaiseLimit {
                    limit: RunLimit::CheckTime,
                },
                NextStep::GiveLess {
                    part: TaskPart::Check,
                },
            ],
        ),
        (true, Some(_)) => (
            Some(BASE_FAILED.to_owned()),
            Some("make the check pass on the base first".to_owned()),
            vec![NextStep::SkipBaseCheck, show],
        ),
    };
    outcome.check = Some(tried);
    outcome
}

/// A candidate that was tried.
pub(crate) struct CheckProof {
    /// The candidate and its base.
    pub(crate) of: CheckedChange,
    /// The result.
    pub(crate) tried: Tried,
    /// The result on the base. `None` if the check passed there, or was not tried.
    pub(crate) base: Option<Tried>,
}

/// Records the result of a check. `change` is `None` for the base as it is.
fn record_check(
    effects: &mut RunEffects<'_>,
    target: &TargetInfo,
    change: Option<&Change>,
    attempt: u32,
    tried: &Tried,
) -> Result<(), EffectError> {
    let output_sha256 = effects.evidence.store_blob(tried.said.as_bytes())?;
    let record = CheckBody {
        attempt,
        command: &tried.command,
        base_commit: &target.base_commit,
        diff_sha256: change.map(Change::sha256),
        passed: tried.passed,
        code: tried.code,
        output_sha256: &output_sha256,
        elapsed_ms: tried.elapsed_ms,
        layers: &tried.layers,
        hook: None,
        changed: &[],
    };
    // Durable at once: a question to a person may follow, which takes as long as the person does.
    records::record_now(effects.evidence, RecordKind::Check, &record)?;
    Ok(())
}

/// Runs the check once, until it ends or the user stops it.
async fn run_check(
    check: &dyn Check,
    target: &TargetInfo,
    change: Option<&Change>,
    attempt: u32,
    progress: &dyn ProgressSink,
    cancel: &mut CancelSignal<'_>,
) -> Result<Tried, EffectError> {
    await_or_cancel(check.check(target, change, attempt, progress), cancel)
        .await
        .unwrap_or_else(|| {
            Err(EffectError::new(
                Cause::Interrupted,
                "interrupted",
                "stopped by the user while the change was checked; the answer is kept in the evidence",
            ))
        })
}

/// The code of a change that fails its check.
const CHECK_FAILED: &str = "check-failed";
/// The code of a check that fails on the base, before a tool is called.
const BASE_FAILED: &str = "check-base-failed";
/// The code of a check that cannot be run, with or without the change.
pub(crate) const CHECK_UNRUNNABLE: &str = "check-not-run";
/// Exit codes by which a shell says that a command was found but not run, or not found.
const NOT_RUN: [u8; 2] = [126, 127];

/// Makes the outcome of an attempt whose candidate failed its check. `base` is the failure on the base, if it fails there.
pub(crate) fn refuse_failed(request: &TaskRequest<'_>, tried: &Tried, base: Option<&Tried>) -> Outcome {
    let without = match base {
        Some(base) if tried.code == base.code && tried.code.is_some_and(|code| NOT_RUN.contains(&code)) => {
            return refuse_unrunnable(request, tried);
        }
        Some(base) => describe_without(tried, base, request.run.as_str()),
        None => "",
    };
    let message = format!(
        "the change does not pass `{}`: {}{without}",
        tried.command,
        describe_end(tried)
    );
    // Front ends turn the cause into an exit code, by which a script can tell a timeout from a failed check.
    let cause = match tried.code {
        Some(_) => Cause::Landing,
        None => Cause::Limit,
    };
    let mut outcome = Outcome::new(request.run, OutcomeKind::Refused, cause, message);
    outcome.code = Some(CHECK_FAILED.to_owned());
    outcome.next = match tried.code {
        None => vec![
            NextStep::RaiseLimit {
                limit: RunLimit::CheckTime,
            },
            NextStep::GiveLess {
                part: TaskPart::Check,
            },
        ],
        Some(_) if request.answers_once => {
            let sentence = "the same call gives the same change: fix what the check shows, or use another answer or program";
            outcome.hint = Some(sentence.to_owned());
            Vec::new()
        }
        Some(_) => vec![
            NextStep::ShowRun {
                run: request.run.to_string(),
            },
            NextStep::RaiseLimit {
                limit: RunLimit::Attempts,
            },
            NextStep::ChangeTask {
                advice: "what the check wants".to_owned(),
            },
        ],
    };
    outcome
}

/// Makes the outcome of a check that cannot be run even without the change: no answer would help.
fn refuse_unrunnable(request: &TaskRequest<'_>, tried: &Tried) -> Outcome {
    let message = format!(
        "`{}` cannot be run, also without the change: {}",
        tried.command,
        describe_end(tried)
    );
    let mut outcome = Outcome::new(request.run, OutcomeKind::Refused, Cause::Repository, message);
    outcome.code = Some(CHECK_UNRUNNABLE.to_owned());
    outcome.hint = Some("the change is not at fault: the command lacks something in the sandbox".to_owned());
    outcome.next = vec![NextStep::ShowRun {
        run: request.run.to_string(),
    }];
    outcome
}

/// Says that the check fails on the base too, and whether the change makes a difference.
fn describe_without(tried: &Tried, base: &Tried, run: &str) -> &'static str {
    // A check that fails before the change is no reason to stop: making it pass may be the task.
    if fails_alike(tried, base, run) {
        "; it fails in the same way without the change"
    } else {
        "; it fails without the change as well, in another way"
    }
}

/// Returns true if two runs of a check ended with the same code and output. Nothing but times and the folders of the run
/// are overlooked: a number may be what the change is about.
fn fails_alike(one: &Tried, other: &Tried, run: &str) -> bool {
    one.code == other.code && comparable_lines(&one.said, run) == comparable_lines(&other.said, run)
}

/// Returns the lines of an output without times and folders of the run. As a set, since builds print in any order.
fn comparable_lines(output: &str, run: &str) -> BTreeSet<String> {
    let is_time = |word: &str| {
        let number = word
            .trim_matches(|c: char| !c.is_ascii_alphanumeric())
            .trim_end_matches(['m', 's']);
        number.len() < word.len() && number.parse::<f64>().is_ok()
    };
    let line = |line: &str| {
        let words = line.split_whitespace().filter(|word| !is_time(word));
        let words = words.map(|word| if word.contains(run) { "…" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    output.lines().map(line).collect()
}

fn describe_end(tried: &Tried) -> String {
    match tried.code {
        Some(code) => format!("it ended with exit code {code}"),
        None => "it did not end in time".to_owned(),
    }
}

/// Words the feedback about a failed check for the tool's next attempt. `base` is the failure on the base, if it fails there.
pub(crate) fn write_feedback(tried: &Tried, base: Option<&Tried>) -> String {
    let without = match base {
        // Not the tool's fault alone, but perhaps what the task is about.
        Some(base) => format!(
            "Without your change it fails as well: {}. The end of its output then:\n\n{}\n\n",
            describe_end(base),
            quote_end(&base.said, MOST_FEEDBACK / 4),
        ),
        None => String::new(),
    };
    format!(
        "Your last change was placed, and then `{}` was run on the result: {}. The end of its output:\n\n{}\n\n\
         {without}Give the whole change again, made for the files as they were shown.",
        tried.command,
        describe_end(tried),
        quote_end(&tried.said, MOST_FEEDBACK),
    )
}

/// Returns the last characters of an output, without escape sequences: it is untrusted, and ends up in a prompt, and in a
/// terminal when the run is shown.
fn quote_end(output: &str, most: usize) -> String {
    let clean: Vec<char> = output
        .chars()
        .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
        .collect();
    clean.iter().skip(clean.len().saturating_sub(most)).collect()
}

/// Most times that a change is checked because the branch moved while its check ran.
pub(crate) const MAX_TRIALS: u32 = 5;

/// Places an answer on the target as it is now. `None` if it does not land there.
///
/// # Errors
/// If the target or its base cannot be read.
pub(crate) fn place_again(
    effects: &RunEffects<'_>,
    proposal: &Proposal<'_>,
) -> Result<Option<(TargetInfo, Change)>, EffectError> {
    let target = effects.repo.target()?;
    let options = LandOptions {
        seen: proposal.seen.clone(),
        partial: proposal.partial,
    };
    let landed = land(proposal.answer, effects.repo.base(&target)?.as_ref(), &options);
    Ok(landed.ok().map(|found| (target, found.change)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_told_the_end_of_a_failure_and_nothing_that_moves_a_cursor() {
        let tried = Tried {
            command: "cargo test".to_owned(),
            passed: false,
            code: Some(101),
            said: format!("{}\u{1b}[31mtest a ... FAILED\n", "x".repeat(2 * MOST_FEEDBACK)),
            elapsed_ms: 1,
            layers: Vec::new(),
        };
        let told = write_feedback(&tried, None);
        assert!(
            told.contains("`cargo test` was run on the result: it ended with exit code 101"),
            "{told}"
        );
        assert!(
            told.contains("[31mtest a ... FAILED") && !told.contains('\u{1b}'),
            "{told}"
        );
        assert!(told.chars().count() < MOST_FEEDBACK + 300);
        let base = Tried {
            said: "it never ran".to_owned(),
            ..tried.clone()
        };
        let both = write_feedback(&tried, Some(&base));
        assert!(
            both.contains("Without your change it fails as well") && both.contains("it never ran"),
            "{both}"
        );
        let late = Tried { code: None, ..tried };
        assert!(write_feedback(&late, None).contains("it did not end in time"));
    }

    #[test]
    fn only_times_and_folders_of_the_run_are_no_difference() {
        let tried = |code, said: &str| Tried {
            command: "x".to_owned(),
            passed: false,
            code: Some(code),
            said: said.to_owned(),
            elapsed_ms: 1,
            layers: Vec::new(),
        };
        for (one, other, is_alike) in [
            ("no network", "no network\n", true),
            ("Finished in 1.25s", "Finished in 0.9s", true),
            ("3 passed in 120ms", "3 passed in 1ms", true),
            ("3 passed in 120ms", "4 passed in 120ms", false),
            ("a\nb", "b\na", true),
            ("at /tmp/run-1.2.check/x.rs", "at /tmp/run-1.2.base/x.rs", true),
            ("left: -1", "left: 2", false),
            ("is", "was", false),
        ] {
            let found = fails_alike(&tried(1, one), &tried(1, other), "run-1");
            assert_eq!(found, is_alike, "{one:?} {other:?}");
            assert!(!fails_alike(&tried(1, one), &tried(2, other), "run-1"));
        }
    }
}
