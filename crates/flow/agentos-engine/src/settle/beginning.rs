//! The beginning of a run on the tape: its task, its target and the answer that it brings.
//!
//! Owns: the first records. Never: places an answer.

use agentos_evidence::RecordKind;
use agentos_policy::ToolFacts;

use super::proposal::{Proposal, RunEffects};
use super::{close, settle_at};
use crate::Outcome;
use crate::ports::{CancelSignal, CommitAuthor, EffectError, TargetInfo};
use crate::recorded_answer::AnswerSource;
use crate::records::{self, Answered, Begin};
use crate::task_options::{FollowedRun, TaskOptions};

/// Facts that the first record of a run states.
#[derive(Debug, Clone, Copy)]
pub struct RunBegin<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The tool.
    pub tool: &'a ToolFacts,
    /// The task in words.
    pub instruction: &'a str,
    /// The commit message without trailers. `None` if the run is to land nothing.
    pub message: Option<&'a str>,
    /// The author whom the answer names. `None` if the person who lands it is the author.
    pub author: Option<&'a CommitAuthor>,
    /// Trailers besides run and evidence, as far as they are known.
    pub trailers: &'a [(String, String)],
    /// Options of the task. `None` if there is no task.
    pub options: Option<&'a TaskOptions>,
    /// The earlier run whose task and answer the tool is shown. `None` if there is none.
    pub follows: Option<&'a FollowedRun>,
    /// The recorded answer that the run lands. `None` if it has an answer of its own.
    pub source: Option<&'a AnswerSource>,
}

/// Records the beginning of a run.
///
/// # Errors
/// If the target cannot be resolved, policy cannot be read, or the record cannot be made durable.
pub fn begin_run(effects: &mut RunEffects<'_>, begin: RunBegin<'_>) -> Result<TargetInfo, EffectError> {
    let tool = begin.tool;
    let target = effects.repo.target()?;
    let policy = effects.repo.policy(&target)?;
    let record = Begin {
        verb: begin.verb,
        provider: &tool.provider,
        model: tool.model.as_deref(),
        execution_mode: tool.execution_mode,
        instruction: begin.instruction,
        target: &target,
        policy_sha256: policy.set.sha256(),
        message: begin.message,
        author: begin.author,
        trailers: begin.trailers,
        options: begin.options,
        follows: begin.follows,
        source: begin.source,
    };
    records::record_with_next(effects.evidence, RecordKind::Task, &record)?;
    Ok(target)
}

/// Records an answer as it came.
///
/// # Errors
/// If it cannot be recorded.
pub fn record_answer(effects: &mut RunEffects<'_>, answer: &[u8], attempt: u32) -> Result<(), EffectError> {
    let answer_sha256 = effects.evidence.store_blob(answer)?;
    let record = Answered {
        attempt,
        answer_sha256: &answer_sha256,
        bytes: answer.len(),
    };
    records::record_with_next(effects.evidence, RecordKind::Answer, &record)?;
    Ok(())
}

/// Lands an untrusted answer that a person brought: records the beginning and the answer, and takes it to the end.
pub async fn apply_answer(
    effects: &mut RunEffects<'_>,
    verb: &str,
    instruction: &str,
    proposal: &Proposal<'_>,
    cancel: &mut CancelSignal<'_>,
) -> Outcome {
    let begin = RunBegin {
        verb,
        tool: &proposal.tool,
        instruction,
        message: Some(&proposal.message),
        author: proposal.author.as_ref(),
        trailers: &proposal.trailers,
        options: None,
        follows: None,
        source: proposal.source.as_ref(),
    };
    let begun = begin_run(effects, begin)
        .and_then(|target| record_answer(effects, proposal.answer, proposal.attempt).map(|()| target));
    match begun {
        // The target was resolved a moment ago. If it moved since then, the executor finds out.
        Ok(target) => settle_at(effects, proposal, &target, Some(target.clone()), cancel).await,
        Err(error) => {
            let outcome = Outcome::from_effect(proposal.run, &error);
            close(effects, outcome)
        }
    }
}
