//! Calls whose answers must not be landed.
//!
//! Owns: the outcomes of these calls. Never: judges an answer; `verdict` does.

use agentos_api::{NextStep, RunLimit, TaskPart};
use agentos_tool::{ResultStatus, ToolFailure};

use super::{JudgedCall, was_interrupted};
use crate::request::TaskRequest;
use crate::{Cause, Outcome, OutcomeKind};

/// Returns the outcome of a call whose answer must not be landed. `None` if it may be.
pub(super) fn find_unusable(request: &TaskRequest<'_>, proposed: &JudgedCall) -> Option<Outcome> {
    let result = &proposed.result;
    let failed = |cause: Cause, code: &str, message: String| {
        let mut outcome = Outcome::new(request.run, OutcomeKind::Failed, cause, message);
        outcome.code = Some(code.to_owned());
        outcome
    };
    // First, whatever else went wrong: a repository that changed must be reported even if the call failed too.
    if !result.boundary.is_intact() {
        let message = result.error_message.clone().unwrap_or_default();
        let mut outcome = failed(
            Cause::Policy,
            "boundary",
            format!("{message}; nothing was landed"),
        );
        outcome.hint = Some(
            "a tool may only propose; if you edited files yourself meanwhile, run the task again".to_owned(),
        );
        return Some(outcome);
    }
    if let Some(error) = &proposed.error {
        let cause = match error.failure {
            ToolFailure::Timeout => Cause::Limit,
            ToolFailure::Failed if was_interrupted(error) => Cause::Interrupted,
            ToolFailure::Failed => Cause::Tool,
        };
        let mut outcome = failed(cause, &error.detail, error.message.clone());
        outcome.hint.clone_from(&error.advice.fix);
        outcome.next.clone_from(&error.advice.next);
        outcome.causes.clone_from(&error.causes);
        return Some(outcome);
    }
    // The first half of a diff may land cleanly and still be wrong, so a cut answer is never landed.
    let cut = proposed
        .answer
        .as_ref()
        .is_some_and(|answer| answer.finish == agentos_tool::FinishReason::Length);
    let judged = result.diff_validation.code.is_some();
    if result.status != ResultStatus::Success && (cut || !judged) {
        let message = result.error_message.clone().unwrap_or_default();
        let mut outcome = failed(
            if cut { Cause::Limit } else { Cause::Tool },
            "unfinished-answer",
            message,
        );
        if cut {
            outcome.next = vec![
                NextStep::RaiseLimit {
                    limit: RunLimit::OutputTokens,
                },
                NextStep::GiveLess {
                    part: TaskPart::Answer,
                },
            ];
        }
        return Some(outcome);
    }
    None
}
