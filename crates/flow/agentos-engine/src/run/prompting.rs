//! The task of one attempt: as the tool is given it, and as the evidence keeps it.
//!
//! Owns: both. Never: chooses a file, or calls the tool.

use agentos_api::ContextReport;
use agentos_evidence::RecordKind;
use agentos_policy::ToolFacts;
use agentos_tool::{ContextFile, ToolTask};

use super::attempt_facts;
use crate::context::{Context, gather_files};
use crate::history::gather_history;
use crate::ports::{Clock, EffectError, Repository, TargetInfo};
use crate::records::{self, Prompted, ShownPart};
use crate::request::TaskRequest;
use crate::settle::RunEffects;

/// Returns the task that a run of the request would give its tool now, at the first attempt. Calls no tool and records nothing.
///
/// # Errors
/// If the target, its policy or a file cannot be read.
pub fn preview_task(
    repo: &dyn Repository,
    clock: &dyn Clock,
    request: &TaskRequest<'_>,
) -> Result<ToolTask, EffectError> {
    let target = repo.target()?;
    let tool = ToolFacts {
        target_ref: Some(target.refname.clone()),
        ..attempt_facts(request, 1, clock.now())
    };
    let context = gather_context(repo, &target, request, &tool)?;
    Ok(make_task(request, &context, 1, None))
}

/// Gathers what the tool is shown of files and of earlier answers, as far as policy lets it see them.
///
/// # Errors
/// If the policy or a file cannot be read.
pub(super) fn gather_context(
    repo: &dyn Repository,
    target: &TargetInfo,
    request: &TaskRequest<'_>,
    tool: &ToolFacts,
) -> Result<Context, EffectError> {
    let policy = repo.policy(target)?;
    // Closed at the end of this function, so that it is not open while the tool works, which may take minutes.
    let base = repo.base(target)?;
    let mut context = gather_files(request.files, base.as_ref(), &policy.set, tool)?;
    context.gather_outline(request.outline, base.as_ref(), &policy.set, tool);
    let (history, withheld) =
        gather_history(request.history, (repo, target), base.as_ref(), &policy.set, tool)?;
    context.history = history;
    context.withheld.extend(withheld);
    Ok(context)
}

/// Makes the task that the tool is given.
pub(super) fn make_task(
    request: &TaskRequest<'_>,
    context: &Context,
    attempt: u32,
    feedback: Option<String>,
) -> ToolTask {
    ToolTask {
        task_id: request.run.clone(),
        instruction: request.instruction.to_owned(),
        context: context.files.clone(),
        outline: context.outline.clone(),
        edit_format: request.edit_format,
        // Empty: policy judges every path of the change, so the tool's own restriction would prove nothing.
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        limits: request.limits.clone(),
        attempt,
        feedback,
        remark: request.remark.map(str::to_owned),
        history: context.history.clone(),
        has_tools: request.has_tools,
    }
}

/// Lists the paths of the files, each once.
fn list_paths(files: &[ContextFile]) -> Vec<&str> {
    let mut paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    // The parts of a file follow each other.
    paths.dedup();
    paths
}

/// Records the task as the tool is given it, with the files and without secrets.
pub(super) fn record_prompt(
    effects: &mut RunEffects<'_>,
    task: &ToolTask,
    context: &Context,
    choice: Option<&ContextReport>,
) -> Result<(), EffectError> {
    let prompt_sha256 = effects
        .evidence
        .store_blob(records::clean_json(task)?.as_bytes())?;
    let record = Prompted {
        attempt: task.attempt,
        prompt_sha256: &prompt_sha256,
        context: list_paths(&task.context),
        parts: task.context.iter().filter_map(ShownPart::from_file).collect(),
        outlined: task.outline.iter().map(|file| file.path.as_str()).collect(),
        withheld: &context.withheld,
        choice,
    };
    records::record_now(effects.evidence, RecordKind::Attempt, &record).map(drop)
}
