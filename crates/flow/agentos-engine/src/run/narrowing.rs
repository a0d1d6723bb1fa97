//! Less context after a server refused a request as too long.
//!
//! Owns: when the search for context is repeated. Never: lets a server raise a window, or calls a tool.

use agentos_api::WindowSource;
use agentos_tool::ToolError;

use crate::context_search::{ContextPlan, ContextQuery, ModelWindow, find_context};
use crate::request::TaskRequest;
use crate::settle::RunEffects;
use crate::{Cause, Outcome};

/// Chooses less context after a server refused a request as too long and stated its window, and remembers the window. `None` if the
/// call cannot be made shorter.
pub(super) fn narrow_context(
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
    let search = request.search?;
    // The number of a server may only lower what is known.
    if search.window.is_some_and(|known| known.tokens <= tokens) {
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
        ..search.clone()
    };
    let plan = find_context(effects.repo, effects.clock, &query).ok()?;
    // The same files would be refused again.
    (plan.files != request.files || plan.outline != request.outline).then_some((tokens, plan))
}
