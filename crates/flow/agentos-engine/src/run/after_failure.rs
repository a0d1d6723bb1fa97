//! The next call after one that failed: of another tool, or of the same one with less context.
//!
//! Owns: when a call follows. Never: lets a server raise a window, or calls a tool.

use std::cell::OnceCell;

use agentos_api::{ContextReport, WindowSource};
use agentos_tool::ToolError;

use crate::context_search::{ASSUMED_WINDOW, ContextPlan, ContextQuery, ModelWindow, find_context};
use crate::ports::{CancelSignal, SuccessorTool};
use crate::request::{TaskRequest, await_or_cancel};
use crate::settle::RunEffects;
use crate::{Cause, Outcome};

/// Call that follows, in the place of another attempt of the same tool.
pub(super) struct NextCall<'a> {
    pub request: TaskRequest<'a>,
    pub reason: NextReason,
}

/// Reason of the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextReason {
    /// The request was too long: the same tool is called with less context.
    TooLong,
    /// The call failed: another tool is called. This is no further attempt of the task.
    FailedCall,
    /// The answers of the tool did not land: another tool is called, as an attempt of the task.
    RefusedAnswers,
}

/// Finds the call after one that failed: of the current request with less context, which `narrowed` allows once, or of another tool.
/// `refusals` is the number of answers in a row that did not land, if another attempt is allowed. `None` if the same tool tries again, or
/// the run ends with this outcome.
pub(super) async fn find_next_call<'a>(
    effects: &RunEffects<'_>,
    (request, current): (&TaskRequest<'a>, &TaskRequest<'a>),
    narrowed: &'a OnceCell<ContextPlan>,
    (error, refusals): (Option<&ToolError>, Option<u32>),
    outcome: &Outcome,
    cancel: &mut CancelSignal<'_>,
) -> Option<NextCall<'a>> {
    if narrowed.get().is_none()
        && let Some((tokens, plan)) = narrow_context(effects, current, error, outcome)
    {
        let plan = narrowed.get_or_init(|| plan);
        return Some(NextCall {
            request: current.clone().with_context(tokens, plan),
            reason: NextReason::TooLong,
        });
    }
    let successor = match refusals {
        Some(refusals) => find_abler(request, refusals, outcome, cancel).await?,
        None => find_successor(request, error, outcome, cancel).await?,
    };
    Some(NextCall {
        request: current.clone().hand_to(successor),
        reason: match refusals {
            Some(_) => NextReason::RefusedAnswers,
            None => NextReason::FailedCall,
        },
    })
}

/// Finds the tool that continues the task after answers that did not land. `None` if the same tool tries again.
async fn find_abler<'a>(
    request: &TaskRequest<'a>,
    refusals: u32,
    outcome: &Outcome,
    cancel: &mut CancelSignal<'_>,
) -> Option<SuccessorTool<'a>> {
    let code = outcome.code.as_deref().unwrap_or_default();
    let search = request.successors?.find_abler(refusals, code);
    await_or_cancel(search, cancel).await.flatten()
}

/// Chooses less context after a server refused a request as too long and stated its window, and remembers the window. `None` if the
/// call cannot be made shorter.
fn narrow_context(
    effects: &RunEffects<'_>,
    request: &TaskRequest<'_>,
    error: Option<&ToolError>,
    outcome: &Outcome,
) -> Option<(u64, ContextPlan)> {
    let tokens = error
        .filter(|error| error.detail == "context-length")?
        .advice
        .stated_window?;
    if !matches!(outcome.cause, Cause::Tool | Cause::Limit) {
        return None;
    }
    // An exploring model has answered rounds of tools before the refusal, which would be billed again.
    let search = request.search.filter(|_| !request.has_tools)?;
    // The number of a server may only lower what the files were chosen for, also if that was a guess.
    if search.window.map_or(ASSUMED_WINDOW, |known| known.tokens) <= tokens {
        return None;
    }
    request
        .windows
        .into_iter()
        .for_each(|windows| windows.remember_window(tokens));
    let query = ContextQuery {
        window: Some(ModelWindow {
            tokens,
            source: WindowSource::Server,
        }),
        ..*search
    };
    let plan = find_context(effects.repo, effects.clock, &query).ok()?;
    // A request that is not shorter would be refused again.
    let sent = request.choice.and_then(count_sent)?;
    (count_sent(&plan.report)? < sent).then_some((tokens, plan))
}

/// Returns the tokens of what is shown of the repository. `None` if the report does not state them.
fn count_sent(report: &ContextReport) -> Option<u64> {
    let budget = report.budget.as_ref()?;
    Some(budget.used.saturating_add(budget.outline))
}

/// Finds the tool that is asked after a call that failed. `None` if the run ends with this outcome.
async fn find_successor<'a>(
    request: &TaskRequest<'a>,
    error: Option<&ToolError>,
    outcome: &Outcome,
    cancel: &mut CancelSignal<'_>,
) -> Option<SuccessorTool<'a>> {
    let (successors, error) = (request.successors?, error?);
    // A repository that changed, or a wish to stop, goes before whatever the tool reported.
    if !matches!(outcome.cause, Cause::Tool | Cause::Limit) {
        return None;
    }
    await_or_cancel(successors.find_next(error), cancel)
        .await
        .flatten()
}

#[cfg(test)]
mod tests;
