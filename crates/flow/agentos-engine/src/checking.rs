//! The user's check: a candidate is tried before consent is requested, and a failure goes back to the tool as feedback.
//!
//! Owns: the order of check, record and feedback. Never: runs anything itself, or reads the result from the candidate's
//! output: the port reports the exit code.

use agentos_api::{NextStep, RunLimit, TaskPart};
use agentos_evidence::RecordKind;
use agentos_landing::{Change, LandOptions, land};
use agentos_tool::ProgressSink;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ports::{CancelSignal, Check, EffectError, TargetInfo};
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

/// Runs the user's check on a candidate and records the result. `None` if the run has no check, or no candidate.
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
    let tried = run_check(check, target, change, attempt, progress, cancel).await?;
    let output_sha256 = effects.evidence.store_blob(tried.said.as_bytes())?;
    let record = CheckBody {
        attempt,
        command: &tried.command,
        base_commit: &target.base_commit,
        diff_sha256: change.sha256(),
        passed: tried.passed,
        code: tried.code,
        output_sha256: &output_sha256,
        elapsed_ms: tried.elapsed_ms,
        layers: &tried.layers,
    };
    // Durable at once: a question to a person may follow, which takes as long as the person does.
    records::record_now(effects.evidence, RecordKind::Check, &record)?;
    Ok(Some(CheckProof {
        // Base and change, because the same diff on another commit is another candidate.
        of: CheckedChange {
            base_commit: target.base_commit.clone(),
            diff_sha256: change.sha256().to_owned(),
        },
        tried,
    }))
}

/// A candidate that was tried.
pub(crate) struct CheckProof {
    /// The candidate and its base.
    pub(crate) of: CheckedChange,
    /// The result.
    pub(crate) tried: Tried,
}

/// Runs the check once, until it ends or the user stops it.
async fn run_check(
    check: &dyn Check,
    target: &TargetInfo,
    change: &Change,
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

/// Makes the outcome of an attempt whose candidate failed its check.
pub(crate) fn refuse_failed(request: &TaskRequest<'_>, tried: &Tried) -> Outcome {
    let message = format!(
        "the change does not pass `{}`: {}",
        tried.command,
        describe_end(tried)
    );
    // Front ends turn the cause into an exit code, by which a script can tell a timeout from a failed check.
    let cause = match tried.code {
        Some(_) => Cause::Landing,
        None => Cause::Limit,
    };
    let mut outcome = Outcome::new(request.run, OutcomeKind::Refused, cause, message);
    outcome.code = Some("check-failed".to_owned());
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

fn describe_end(tried: &Tried) -> String {
    match tried.code {
        Some(code) => format!("it ended with exit code {code}"),
        None => "it did not end in time".to_owned(),
    }
}

/// Words the feedback about a failed check for the tool's next attempt.
pub(crate) fn write_feedback(tried: &Tried) -> String {
    // The output is untrusted and ends up in a prompt, and in a terminal when the run is shown: no escape sequences.
    let clean: Vec<char> = tried
        .said
        .chars()
        .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
        .collect();
    let from = clean.len().saturating_sub(MOST_FEEDBACK);
    let end: String = clean.iter().skip(from).collect();
    format!(
        "Your last change was placed, and then `{}` was run on the result: {}. The end of its output:\n\n{end}\n\n\
         Give the whole change again, made for the files as they were shown.",
        tried.command,
        describe_end(tried),
    )
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
        ..LandOptions::default()
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
        let told = write_feedback(&tried);
        assert!(
            told.contains("`cargo test` was run on the result: it ended with exit code 101"),
            "{told}"
        );
        assert!(
            told.contains("[31mtest a ... FAILED") && !told.contains('\u{1b}'),
            "{told}"
        );
        assert!(told.chars().count() < MOST_FEEDBACK + 300);
        let late = Tried { code: None, ..tried };
        assert!(write_feedback(&late).contains("it did not end in time"));
    }
}
