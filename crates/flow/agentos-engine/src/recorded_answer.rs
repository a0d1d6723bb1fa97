//! Lands the recorded answer of an earlier run again, on the base of today and without a call of a tool.
//!
//! Owns: which answer of a run may land again, and what landing and policy know about it. Never: lands an answer that the tool
//! did not finish, or trusts a recorded answer more than a new one.
//!
//! # Runs and their answers
//!
//! | the run | its answer |
//! |---|---|
//! | refused, denied, declined, waiting, dry, stopped after the answer, or asked by `tool run` | lands again |
//! | landed, or approved later | lands again only if the caller says so |
//! | landed the answer of another run | that run's answer, whose record is named |
//! | an answer that was cut off or filtered, or whose end was not recorded | never lands: its first half can land cleanly and still be wrong |
//! | approved the request of another run, undid one, or failed before an answer | has none of its own |
//!
//! The record of the new run names the run, the attempt and the prompt that the answer came from, so that a replay knows what
//! the tool was shown, and policy judges by the tool that made the answer and not by the person who lands it.

use agentos_api::NextStep;
use agentos_evidence::{Record, RecordKind};
use agentos_landing::SeenFile;
use agentos_policy::ToolFacts;
use agentos_tool::{ContextFile, Enforcement, ExecutionMode, FinishReason, RunId, ToolTask};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::seen_files;
use crate::ports::{CancelSignal, CommitAuthor, EffectError, RecordReader, TargetInfo};
use crate::recorded::{read_body, unknown_run, usage_error};
use crate::records::count_read_bytes;
use crate::settle::{self, Proposal, RunEffects, assisted_by};
use crate::{Cause, Outcome};

/// The recorded answer that a run lands, and the facts about its tool that the run itself did not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerSource {
    /// The run that recorded the answer.
    pub run: String,
    /// The attempt that it was the answer of.
    pub attempt: u32,
    /// How the tool was confined. `observed` if nobody measured it.
    pub enforcement: Enforcement,
    /// The model that the answer names. `None` if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_model: Option<String>,
    /// Prompt that the tool was shown, as a blob. `None` if a person brought the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_sha256: Option<String>,
    /// Bytes of texts of the repository that the tool called for until it gave the answer. Absent if it called for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The answer of an earlier run.
#[derive(Debug, Clone)]
pub struct RecordedAnswer {
    /// Origin of the answer.
    pub source: AnswerSource,
    /// The task of the run.
    pub instruction: String,
    /// The commit message of the run. `None` on a tape of an earlier version.
    pub message: Option<String>,
    /// The target of the run.
    pub target: TargetInfo,
    /// The check that the answer did not pass. `None` if it passed, or there was no check.
    pub unpassed_check: Option<UnpassedCheck>,
    answer: Vec<u8>,
    author: Option<CommitAuthor>,
    trailers: Vec<(String, String)>,
    provider: String,
    model: Option<String>,
    execution_mode: ExecutionMode,
    context: Vec<ContextFile>,
    context_bytes: u64,
}

/// Check of a run that an answer of it did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpassedCheck {
    /// Command of the check.
    pub command: String,
    /// True if it ran to its end and failed. False if the run ended before that.
    pub has_failed: bool,
}

/// How a recorded answer lands.
#[derive(Debug, Clone)]
pub struct RelandOrder<'a> {
    /// The run that lands it.
    pub run: &'a RunId,
    /// Commit message without trailers.
    pub message: String,
    /// Land the edits that have one place, although others have none.
    pub partial: bool,
}

/// The members of a task record that are needed here.
#[derive(Deserialize)]
struct BegunRun {
    verb: String,
    provider: String,
    model: Option<String>,
    execution_mode: ExecutionMode,
    instruction: String,
    target: TargetInfo,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    author: Option<CommitAuthor>,
    #[serde(default)]
    trailers: Vec<(String, String)>,
    #[serde(default)]
    source: Option<AnswerSource>,
    #[serde(default)]
    options: Option<BegunOptions>,
}

/// The options of a task record that are needed here.
#[derive(Deserialize)]
struct BegunOptions {
    #[serde(default)]
    check: Option<String>,
}

/// Reads the last answer of a run.
///
/// # Errors
/// If there is no such run, it has no answer of its own, or its answer is not complete.
pub fn read_answer(tape: &dyn RecordReader, run: &str) -> Result<RecordedAnswer, EffectError> {
    let records = RunBodies::read(tape, run)?;
    let Some((_, begun)) = records.last(RecordKind::Task) else {
        return Err(no_answer(run));
    };
    let begun: BegunRun = serde_json::from_value(begun.clone()).map_err(|error| {
        let message = format!("the beginning of run `{run}` has an unexpected form: {error}");
        EffectError::from_source(Cause::Evidence, "evidence-invalid-record", message, &error)
    })?;
    refuse_verb(run, &begun.verb)?;
    let Some((at, answered)) = records.last(RecordKind::Answer) else {
        return Err(no_answer(run));
    };
    let id = text_at(answered, "/answer_sha256").ok_or_else(|| no_answer(run))?;
    let source = match begun.source {
        // The first run is named and not the last of several: its records say what the tool was shown.
        Some(source) => source,
        None => records.describe_source(run, at, attempt_at(answered))?,
    };
    let task = source
        .prompt_sha256
        .as_ref()
        .map(|id| load_task(tape, id))
        .transpose()?;
    let prompt_bytes = task.as_ref().map_or(0, ToolTask::count_context_bytes);
    let context_bytes = prompt_bytes.saturating_add(source.read_bytes);
    let context = task.map(|task| task.context).unwrap_or_default();
    Ok(RecordedAnswer {
        unpassed_check: records
            .unpassed_check(source.attempt, begun.options.and_then(|options| options.check)),
        source,
        instruction: begun.instruction,
        message: begun.message,
        target: begun.target,
        answer: tape.load_blob(&id)?,
        author: begun.author,
        trailers: begun.trailers,
        provider: begun.provider,
        model: begun.model,
        execution_mode: begun.execution_mode,
        context_bytes,
        context,
    })
}

/// Lands a recorded answer: records the beginning and the answer, and takes it to the end.
pub async fn land_recorded(
    effects: &mut RunEffects<'_>,
    found: &RecordedAnswer,
    order: RelandOrder<'_>,
    cancel: &mut CancelSignal<'_>,
) -> Outcome {
    let source = &found.source;
    let mut trailers = found.trailers.clone();
    // A run that asked a tool began before it knew which model would answer. Without a prompt, a person brought the answer.
    if trailers.is_empty() && source.prompt_sha256.is_some() {
        let model = source.reported_model.as_deref().or(found.model.as_deref());
        trailers.push(assisted_by(&found.provider, model));
    }
    let proposal = Proposal {
        run: order.run,
        answer: &found.answer,
        seen: read_seen(effects, &found.context),
        tool: ToolFacts {
            provider: found.provider.clone(),
            model: found.model.clone(),
            execution_mode: found.execution_mode,
            enforcement: source.enforcement,
            attempt: source.attempt,
            // The rules of now decide, at the time of now.
            at: effects.clock.now(),
            context_bytes: found.context_bytes,
            target_ref: None,
            // A check of that time proves nothing about the base of now.
            checked: false,
        },
        reported_model: source.reported_model.clone(),
        message: order.message,
        trailers,
        author: found.author.clone(),
        attempt: source.attempt,
        partial: order.partial,
        answers: None,
        source: Some(source.clone()),
        proved: None,
    };
    settle::apply_answer(effects, "land", &found.instruction, &proposal, cancel).await
}

/// Reads the files that the tool was shown in the form that landing needs. A file that was shown in parts is read by the id of its
/// blob; without that blob, the answer is placed as if nobody knew what was shown of the file.
fn read_seen(effects: &RunEffects<'_>, context: &[ContextFile]) -> Vec<SeenFile> {
    let target = effects.repo.target();
    let base = target.and_then(|target| effects.repo.base(&target)).ok();
    seen_files(context, |blob| {
        let found = base.as_ref()?.blob_by_prefix(blob).ok()?;
        found.map(|(_, content)| content)
    })
}

/// Refuses the runs whose answer belongs to another run.
fn refuse_verb(run: &str, verb: &str) -> Result<(), EffectError> {
    match verb {
        "approve" => Err(
            usage_error(format!("run `{run}` answered the request of another run"))
                .hint("name the run that asked")
                .suggest_steps([NextStep::ListRuns]),
        ),
        // The inverse of a change depends on what landed, so it is made again and not taken from the record.
        "undo" => Err(usage_error(format!("run `{run}` is an undo"))
            .suggest_steps([NextStep::UndoRun, NextStep::NameUndone])),
        _ => Ok(()),
    }
}

/// Makes the error of a run that ended before an answer.
fn no_answer(run: &str) -> EffectError {
    usage_error(format!("run `{run}` recorded no answer"))
        .suggest_steps([NextStep::ShowRun { run: run.to_owned() }])
}

/// Makes the error of an answer that must not land, because nobody knows that it is complete.
fn unfinished_answer(run: &str) -> EffectError {
    let message =
        format!("the answer of run `{run}` is not complete, and a part of an answer is never landed");
    EffectError::new(Cause::Tool, "unfinished-answer", message)
        .hint("ask the tool again")
        .suggest_steps([NextStep::ShowRun { run: run.to_owned() }])
}

/// Reads what a tool was shown.
///
/// # Errors
/// If the blob is missing or damaged.
pub(crate) fn load_task(tape: &dyn RecordReader, id: &str) -> Result<ToolTask, EffectError> {
    serde_json::from_slice(&tape.load_blob(id)?).map_err(|error| {
        let message = format!("the recorded prompt has an unexpected form: {error}");
        EffectError::from_source(Cause::Evidence, "evidence-invalid-record", message, &error)
    })
}

/// The records of one run with their whole bodies.
struct RunBodies(Vec<(Record, Value)>);

impl RunBodies {
    fn read(tape: &dyn RecordReader, run: &str) -> Result<Self, EffectError> {
        let mut found = Vec::new();
        for record in tape.run_records(run)? {
            // A body over the limit of a line is a blob, so every body is read through `read_body`.
            let body = read_body(tape, &record)?;
            found.push((record, body));
        }
        if found.is_empty() {
            return Err(unknown_run(run));
        }
        Ok(Self(found))
    }

    /// Returns the last record of a kind with its position. `None` if there is none.
    fn last(&self, kind: RecordKind) -> Option<(usize, &Value)> {
        let mut found = self.0.iter().enumerate().rev();
        found
            .find(|(_, (record, _))| record.kind == kind)
            .map(|(at, (_, body))| (at, body))
    }

    /// Describes where the answer at a position came from.
    ///
    /// # Errors
    /// If a tool gave it and it is not known to be complete.
    fn describe_source(&self, run: &str, at: usize, attempt: u32) -> Result<AnswerSource, EffectError> {
        let of =
            |kind: RecordKind, body: &&(Record, Value)| body.0.kind == kind && attempt_at(&body.1) == attempt;
        let before = self.0.get(..at).unwrap_or_default();
        let after = self.0.get(at..).unwrap_or_default();
        let prompt = before.iter().rev().find(|body| of(RecordKind::Attempt, body));
        let result = after
            .iter()
            .find(|body| of(RecordKind::ToolResult, body))
            .map(|(_, body)| body);
        let prompt_sha256 = prompt.and_then(|(_, body)| text_at(body, "/prompt_sha256"));
        if prompt_sha256.is_some() && !result.is_some_and(|body| self.is_finished(body)) {
            return Err(unfinished_answer(run));
        }
        let enforcement = result.and_then(|body| parse_at(body, "/result/boundary/enforcement"));
        Ok(AnswerSource {
            run: run.to_owned(),
            attempt,
            // The weaker one where nothing was measured, as in a replay.
            enforcement: enforcement.unwrap_or(Enforcement::Observed),
            reported_model: result.and_then(|body| text_at(body, "/result/model_id")),
            prompt_sha256,
            read_bytes: self.count_reads(attempt),
        })
    }

    /// Counts the bytes of the texts that the tool called for until the end of an attempt.
    fn count_reads(&self, attempt: u32) -> u64 {
        let calls = self
            .0
            .iter()
            .filter(|(record, body)| record.kind == RecordKind::ToolResult && attempt_at(body) <= attempt);
        calls
            .map(|(_, body)| count_read_bytes(body))
            .fold(0, u64::saturating_add)
    }

    /// Returns true if the verdict on a call shows that its answer is complete.
    fn is_finished(&self, called: &Value) -> bool {
        if let Some(finish) = parse_at::<FinishReason>(called, "/finish") {
            return matches!(finish, FinishReason::Stop | FinishReason::Unknown);
        }
        // Tapes of earlier versions do not state how an answer ended. A cut one failed without a refusal of landing, or ended
        // its run with this code.
        let ended_so = self
            .last(RecordKind::Refusal)
            .and_then(|(_, body)| text_at(body, "/code"));
        let is_success = text_at(called, "/result/status").is_some_and(|status| status.ends_with("success"));
        let is_judged = text_at(called, "/result/diff_validation/code").is_some();
        ended_so.as_deref() != Some("unfinished-answer") && (is_success || is_judged)
    }

    /// Returns the check that the answer of an attempt did not pass: one that failed, or the one that the run `asked` for and that
    /// has no record. `None` if it passed, or there was none.
    fn unpassed_check(&self, attempt: u32, asked: Option<String>) -> Option<UnpassedCheck> {
        // The check of the base as it is names no diff, and proves nothing about the answer. A hook is recorded as a check too, and
        // runs again if the call wants hooks.
        let is_own = |record: &Record, body: &Value| {
            record.kind == RecordKind::Check
                && attempt_at(body) == attempt
                && text_at(body, "/diff_sha256").is_some()
                && body.get("hook").is_none()
        };
        let last = self.0.iter().rev().find(|(record, body)| is_own(record, body));
        let Some((_, last)) = last else {
            return asked.map(|command| UnpassedCheck {
                command,
                has_failed: false,
            });
        };
        // A check that ended on its time limit has no record of success either.
        let has_failed = last.pointer("/passed").and_then(Value::as_bool) != Some(true);
        let command = text_at(last, "/command").filter(|_| has_failed)?;
        Some(UnpassedCheck { command, has_failed })
    }
}

/// Returns the number of the attempt that a body names; 1 if it names none.
fn attempt_at(body: &Value) -> u32 {
    parse_at(body, "/attempt").unwrap_or(1)
}

fn text_at(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer)?.as_str().map(str::to_owned)
}

fn parse_at<T: serde::de::DeserializeOwned>(body: &Value, pointer: &str) -> Option<T> {
    serde_json::from_value(body.pointer(pointer)?.clone()).ok()
}

#[cfg(test)]
mod tests;
