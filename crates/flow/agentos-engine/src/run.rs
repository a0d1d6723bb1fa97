//! Takes a task through its stations: context, tool call, measurement, verdict, check; then `settle` lands the answer.
//!
//! Owns: when a tool is called, again or not at all, and the measurement around it. Never: shows a tool where
//! the repository is, or lands an answer if the repository changed while the tool ran.
//!
//! # The stations of one attempt
//!
//! | step | record | without it |
//! |---|---|---|
//! | [preflight](crate::preflight): what would refuse every answer | `refusal`, and the run ends | a tool would be paid for an answer that cannot land |
//! | run the user's check on the base, unless it is known to pass there or the user skips this | `check`; `refusal` if it fails, and the run ends | a tool would be paid for an answer that a broken base refuses |
//! | gather the named files from the base, if policy lets the tool read them | `attempt` | the tool would see uncommitted text or secrets, and nobody could say afterwards what it saw |
//! | measure the repository | none | a write by the tool could not be recognised |
//! | call the tool; the user can stop it | `answer` | – |
//! | measure again and compare | none | a tool that wrote into the repository would pass for one that only proposed |
//! | judge: place the answer without landing it | `tool_result` | the tool's own word would decide whether its answer is good |
//! | run the user's check on a copy, if the run has one; after a failure on the base as well | `check` | a change that breaks the build would land, and a broken build would count as the tool's fault |
//! | [`settle`] | see there | – |
//!
//! A call whose measurements differ, whose tool failed, or whose answer is cut off ends the run. An answer that does not
//! land, or whose check fails, starts the next attempt, which is shown why. If the branch moved while the check ran, the
//! change is placed and checked again on the new commit, with the same answer: the tool is not called for that.

use std::cell::OnceCell;

use agentos_evidence::RecordKind;
use agentos_landing::{Change, LandOptions};
use agentos_policy::ToolFacts;
use agentos_tool::{
    Boundary, ExactCost, FileRead, FinishReason, ProgramCall, ProgramView, ProgressSink, Timestamp,
    ToolError, ToolOutput, ToolResult, ToolTask,
};

use crate::checking;
use crate::context::Context;
use crate::feedback;
use crate::measuring::measure_boundary;
use crate::ports::{CancelSignal, EffectError, TargetInfo};
use crate::preflight::refuse_ahead;
use crate::records::{self, Called, RecordedCall, RecordedView};
use crate::request::{await_or_cancel, interrupted_error};
use crate::settle::{RunBegin, RunEffects, begin_run, close, record_answer};
use crate::tool_facts::tool_facts;
use crate::transcript::{TranscriptRecorder, last_lines};
use crate::verdict::{CallFacts, PlacedAnswer, judge_call};
use crate::withheld::{WatchedLanding, land_watched, list_readers};
use crate::{Cause, FailedAttempt, Outcome, OutcomeKind};

pub use crate::request::{TaskRequest, was_interrupted};
pub use prompting::preview_task;

use after_failure::{NextCall, NextReason, find_next_call};

/// A call of a tool, judged but not landed.
#[derive(Debug)]
pub struct JudgedCall {
    /// The verdict.
    pub result: ToolResult,
    /// The answer. `None` if the call failed.
    pub answer: Option<ToolOutput>,
    /// The files that the tool was shown, and those that policy withheld.
    pub context: Context,
    /// The failure. `None` if there is an answer.
    pub error: Option<ToolError>,
    /// The change that the answer means, and its target. `None` if it does not land.
    pub candidate: Option<(TargetInfo, Change)>,
    /// Last lines of the tool's output besides its answer; untrusted.
    pub output: Vec<String>,
    /// Bytes of texts of the repository that the tool called for, in this attempt and in those before it.
    pub read_bytes: u64,
    /// True if a file that policy withholds from the tool was opened to place the answer.
    pub opens_withheld: bool,
}

/// Asks the tool once and judges the answer; lands nothing.
///
/// # Errors
/// If an effect around the call fails. A failed call is no error but a verdict.
async fn propose_change(
    effects: &mut RunEffects<'_>,
    request: &TaskRequest<'_>,
    attempt: u32,
    feedback: Option<String>,
    progress: &dyn ProgressSink,
    cancel: &mut CancelSignal<'_>,
) -> Result<JudgedCall, EffectError> {
    // Resolved for each attempt: the branch may have moved since the last one, and the tool must see the new files.
    let target = effects.repo.target()?;
    let tool = ToolFacts {
        target_ref: Some(target.refname.clone()),
        ..attempt_facts(request, attempt, effects.clock.now())
    };
    let context = gather_context(effects.repo, &target, request, &tool)?;
    let task = make_task(request, &context, attempt, feedback);
    record_prompt(effects, &task, &context, request.choice)?;
    // After the files were read: the verdict's time is that of the call.
    let began = effects.clock.now();
    let heard = call_tool(effects, request, &task, progress, cancel).await?;
    if let Ok(output) = &heard.answer {
        record_answer(effects, output.text.as_bytes(), attempt)?;
    }
    let call = CallFacts {
        tool: request.adapter.provider(),
        mode: tool.execution_mode,
        run: request.run,
        attempt,
        began,
        price: request.price.clone(),
        mock: request.mock.clone(),
    };
    let options = LandOptions {
        seen: context.seen.clone(),
        partial: request.partial,
    };
    let ToolReply {
        answer,
        boundary,
        transcript,
        reads,
        calls,
        views,
    } = heard;
    let judged = judge_answer(effects, (&target, &tool), &call, &answer, &options, boundary)?;
    let (result, change, opens_withheld) = judged;
    let finish = answer.as_ref().ok().map(|output| output.finish);
    record_result(
        effects,
        attempt,
        (&result, finish),
        (transcript.as_deref(), &reads, &calls, &views),
    )?;
    let (answer, error) = match answer {
        Ok(output) => (Some(output), None),
        Err(error) => (None, Some(error)),
    };
    Ok(JudgedCall {
        result,
        answer,
        context,
        error,
        candidate: change.map(|change| (target, change)),
        output: transcript.as_deref().map_or(Ok(Vec::new()), last_lines)?,
        read_bytes: reads.iter().map(|read| read.bytes).fold(0, u64::saturating_add),
        opens_withheld,
    })
}

/// A tool's answer, with the measurement around its call.
struct ToolReply {
    answer: Result<ToolOutput, ToolError>,
    boundary: Boundary,
    /// The tool's other output. `None` if there was none.
    transcript: Option<String>,
    /// Texts of the repository that the tool called for.
    reads: Vec<FileRead>,
    /// Calls of the user's programs.
    calls: Vec<ProgramCall>,
    /// Files that a program could read.
    views: Vec<ProgramView>,
}

/// Calls the tool, and measures the repository before and after.
async fn call_tool(
    effects: &RunEffects<'_>,
    request: &TaskRequest<'_>,
    task: &ToolTask,
    progress: &dyn ProgressSink,
    cancel: &mut CancelSignal<'_>,
) -> Result<ToolReply, EffectError> {
    let before = effects.repo.measure()?;
    let recorder = TranscriptRecorder::new(progress);
    let outcome = await_or_cancel(request.adapter.run(task, &recorder), cancel).await;
    // Measured after a failed or stopped call as well: a tool can write and then fail.
    Ok(ToolReply {
        answer: outcome.unwrap_or_else(|| Err(interrupted_error())),
        boundary: measure_boundary(effects, &request.adapter.confinement(), before.as_ref())?,
        transcript: recorder.transcript(),
        reads: recorder.take_reads(),
        calls: recorder.take_calls(),
        views: recorder.take_views(),
    })
}

/// Records the verdict on a call, with the hash of the diff only: the landing record keeps the diff as a blob.
fn record_result(
    effects: &mut RunEffects<'_>,
    attempt: u32,
    (result, finish): (&ToolResult, Option<FinishReason>),
    (transcript, reads, calls, views): (Option<&str>, &[FileRead], &[ProgramCall], &[ProgramView]),
) -> Result<(), EffectError> {
    let transcript_sha256 = transcript
        .map(|text| effects.evidence.store_blob(text.as_bytes()))
        .transpose()?;
    let slim = ToolResult {
        diff: None,
        ..result.clone()
    };
    let called = Called {
        attempt,
        result: &slim,
        finish,
        transcript_sha256: transcript_sha256.as_deref(),
        reads,
        calls: store_calls(effects, calls)?,
        views: Some(store_views(effects, views)?),
    };
    records::record_now(effects.evidence, RecordKind::ToolResult, &called)?;
    Ok(())
}

/// Stores each call of a program as a blob. A result can be long, and a model chose what the program was sent.
fn store_calls<'c>(
    effects: &mut RunEffects<'_>,
    calls: &'c [ProgramCall],
) -> Result<Vec<RecordedCall<'c>>, EffectError> {
    let store = |call: &'c ProgramCall| {
        let text = records::clean_json(call)?;
        Ok(RecordedCall {
            name: &call.name,
            call_sha256: effects.evidence.store_blob(text.as_bytes())?,
            is_error: call.is_error,
        })
    };
    calls.iter().map(store).collect()
}

/// Stores the withheld files of each view as a blob: the list can be long, and is the same in most runs.
fn store_views(
    effects: &mut RunEffects<'_>,
    views: &[ProgramView],
) -> Result<Vec<RecordedView>, EffectError> {
    let store = |view: &ProgramView| {
        let mut withheld = view.withheld.clone();
        withheld.sort();
        Ok(RecordedView {
            commit: view.commit.clone(),
            tree: view.tree.clone(),
            withheld: withheld.len() as u64,
            withheld_sha256: effects
                .evidence
                .store_blob(serde_json::json!(withheld).to_string().as_bytes())?,
        })
    };
    views.iter().map(store).collect()
}

/// Asks the tool once and lands nothing: the whole of `tool run`.
///
/// # Errors
/// If an effect around the call fails. The error is the recorded end of the run.
pub async fn ask_once(
    effects: &mut RunEffects<'_>,
    request: &TaskRequest<'_>,
    progress: &dyn ProgressSink,
    cancel: &mut CancelSignal<'_>,
) -> Result<JudgedCall, Box<Outcome>> {
    let first = attempt_facts(request, 1, effects.clock.now());
    let begin = RunBegin {
        verb: "tool run",
        tool: &first,
        instruction: request.instruction,
        message: None,
        author: None,
        trailers: &[],
        options: None,
        follows: None,
        source: None,
    };
    let asked = match begin_run(effects, begin) {
        Ok(_) => propose_change(effects, request, 1, None, progress, cancel).await,
        Err(error) => Err(error),
    };
    asked.map_err(|error| Box::new(close(effects, Outcome::from_effect(request.run, &error))))
}

/// Records the beginning of a task, and returns its target if nothing refuses every answer.
///
/// # Errors
/// With the outcome of the run, which is not recorded yet.
async fn begin_task(
    effects: &mut RunEffects<'_>,
    request: &TaskRequest<'_>,
    message: &str,
    progress: &dyn ProgressSink,
    cancel: &mut CancelSignal<'_>,
) -> Result<TargetInfo, Box<Outcome>> {
    let failed = |error: EffectError| Box::new(Outcome::from_effect(request.run, &error));
    let first = attempt_facts(request, 1, effects.clock.now());
    let begin = RunBegin {
        verb: request.verb(),
        tool: &first,
        instruction: request.instruction,
        message: Some(message),
        author: None,
        trailers: &[],
        options: request.options,
        follows: request.follows,
        source: None,
    };
    let begun = begin_run(effects, begin).map_err(failed)?;
    if let Some(outcome) = refuse_ahead(effects, request, &begun, first).map_err(failed)? {
        return Err(Box::new(outcome));
    }
    // Last: it may take as long as a whole test suite.
    match checking::refuse_red_base(effects, request, &begun, progress, cancel).await {
        Ok(None) => Ok(begun),
        Ok(Some(outcome)) => Err(Box::new(outcome)),
        Err(error) => Err(failed(error)),
    }
}

/// Takes a task to its end: a commit, or one clear reason why not.
pub async fn run(
    effects: &mut RunEffects<'_>,
    request: &TaskRequest<'_>,
    message: &str,
    progress: &dyn ProgressSink,
    cancel: &mut CancelSignal<'_>,
) -> Outcome {
    let begun = match begin_task(effects, request, message, progress, cancel).await {
        Ok(begun) => begun,
        Err(outcome) => return close(effects, *outcome),
    };
    let mut feedback = None;
    let mut attempt = 1;
    // Filled at most once: a server that gives a smaller window each time would be asked without end.
    let narrowed = OnceCell::new();
    let mut current = request.clone();
    // Calls that another tool was asked to make up for. They are no attempts of the task.
    let mut replaced = 0;
    let mut cost = Some(ExactCost::default());
    let mut earlier: Vec<FailedAttempt> = Vec::new();
    let mut read_before = 0_u64;
    // Answers in a row of the same tool that did not land.
    let mut refusals = 0;
    loop {
        let mut proposed =
            match propose_change(effects, &current, attempt, feedback.take(), progress, cancel).await {
                Ok(proposed) => proposed,
                Err(error) => return close(effects, Outcome::from_effect(request.run, &error)),
            };
        // A tool that goes on with its conversation still has what it called for in earlier attempts.
        proposed.read_bytes = proposed.read_bytes.saturating_add(read_before);
        read_before = proposed.read_bytes;
        let concluded = conclude_answer(
            effects,
            &current,
            &proposed,
            (message, &begun),
            attempt,
            progress,
            cancel,
        );
        let (mut outcome, red_base) = concluded.await;
        outcome.attempts = attempt;
        // One attempt without a price makes the sum unknown: a smaller number would look like the whole cost.
        cost = match (cost, proposed.result.cost_usd) {
            (Some(before), Some(now)) => before.checked_add(now),
            (Some(_) | None, _) => None,
        };
        outcome.cost_micro_usd = cost.map(ExactCost::micro_dollars);
        outcome.earlier.clone_from(&earlier);
        add_call(&mut outcome, &proposed);
        let failed_check = outcome.check.as_ref().is_some_and(|tried| !tried.passed)
            && outcome.code.as_deref() != Some(checking::CHECK_UNRUNNABLE)
            // Not for a hook that rejects the message, which is not the tool's.
            && outcome.cause != Cause::Repository;
        // Only a refusal of the answer itself is worth another call. A repository that cannot take it, or a policy
        // that denies it, would refuse the next answer as well.
        let again = attempt.saturating_sub(replaced) < request.attempts
            && !request.answers_once
            // Any feedback would show the tool whether its guess about the file was right.
            && !proposed.opens_withheld
            && outcome.outcome == OutcomeKind::Refused
            && (outcome.cause == Cause::Landing || failed_check);
        let context_bytes = proposed.context.count_bytes().saturating_add(read_before);
        outcome.result = Some(proposed.result);
        refusals += 1;
        let ended = (proposed.error.as_ref(), again.then_some(refusals));
        let next_call = find_next_call(effects, (request, &current), &narrowed, ended, &outcome, cancel);
        if let Some(NextCall {
            request: handed,
            reason,
        }) = next_call.await
        {
            let next = attempt_facts(&handed, attempt + 1, effects.clock.now());
            if !matches!(refuse_ahead(effects, &handed, &begun, next), Ok(Some(_))) {
                earlier.push(FailedAttempt {
                    attempt,
                    code: outcome.code,
                    message: outcome.message,
                });
                // The other tool begins with the task alone: a change has one author.
                (current, feedback, read_before, refusals) = (handed, None, 0, 0);
                attempt += 1;
                replaced += u32::from(reason != NextReason::RefusedAnswers);
                continue;
            }
            // Policy does not let the other tool, or this one again, be asked. A failed call is the end then; after an answer that did not
            // land, the same tool has its own attempts.
            if let Some(successors) = request.successors.filter(|_| reason != NextReason::TooLong) {
                successors.take_back();
            }
            if reason != NextReason::RefusedAnswers {
                return outcome;
            }
        }
        let next = attempt_facts(&current, attempt + 1, effects.clock.now());
        // A rule may limit the attempts. Then this outcome is the end, which says why this answer did not land.
        if !again || matches!(refuse_ahead(effects, &current, &begun, next.clone()), Ok(Some(_))) {
            return outcome;
        }
        feedback = match outcome.check.as_ref().filter(|tried| !tried.passed) {
            Some(tried) => Some(checking::write_feedback(tried, red_base.as_ref())),
            None => match report_refusal(
                effects,
                &outcome,
                ToolFacts {
                    context_bytes,
                    ..next
                },
            ) {
                Ok(feedback) => feedback,
                Err(error) => return close(effects, Outcome::from_effect(request.run, &error)),
            },
        };
        // The last failure may be another one, such as a limit of the server, and would hide this one.
        earlier.push(FailedAttempt {
            attempt,
            code: outcome.code,
            message: outcome.message,
        });
        attempt += 1;
    }
}

/// Writes for the tool why its answer did not land. `None` if no answer was judged.
fn report_refusal(
    effects: &RunEffects<'_>,
    outcome: &Outcome,
    tool: ToolFacts,
) -> Result<Option<String>, EffectError> {
    let report = outcome.report.as_ref();
    report
        .map(|report| feedback::write_for_task(report, effects.repo, tool))
        .transpose()
}

/// Returns the facts for policy about this attempt.
fn attempt_facts(request: &TaskRequest<'_>, attempt: u32, at: Timestamp) -> ToolFacts {
    tool_facts(request.adapter, request.model.as_deref(), attempt, at)
}

/// Places the answer without landing it. Returns the verdict, the change that was found, and whether a file that policy withholds from the
/// tool was opened for it.
fn judge_answer(
    effects: &RunEffects<'_>,
    (target, tool): (&TargetInfo, &ToolFacts),
    call: &CallFacts<'_>,
    answer: &Result<ToolOutput, ToolError>,
    options: &LandOptions,
    boundary: Boundary,
) -> Result<(ToolResult, Option<Change>, bool), EffectError> {
    let output = match answer {
        Ok(output) => output,
        Err(error) => {
            let result = judge_call(call, Err(error), &PlacedAnswer::Nothing, boundary);
            return Ok((result, None, false));
        }
    };
    let base = effects.repo.base(target)?;
    let policy = effects.repo.policy(target)?;
    let readers = list_readers(tool, output.model_id.as_deref());
    let asked = (&policy.set, readers.as_slice());
    let WatchedLanding { placed, opened } =
        land_watched(output.text.as_bytes(), base.as_ref(), options, asked)?;
    let opens_withheld = !opened.is_empty();
    Ok(match placed {
        Ok(found) => {
            let result = judge_call(call, Ok(output), &PlacedAnswer::Lands(&found), boundary);
            (result, Some(found.change), opens_withheld)
        }
        Err(report) => {
            let result = judge_call(call, Ok(output), &PlacedAnswer::Refused(&report), boundary);
            (result, None, opens_withheld)
        }
    })
}

mod after_failure;
mod concluding;
mod prompting;
mod unusable;

use concluding::{add_call, conclude_answer};
use prompting::{gather_context, make_task, record_prompt};

#[cfg(test)]
mod tests;
