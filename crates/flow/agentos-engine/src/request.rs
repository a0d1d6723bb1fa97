//! A task and what it may take.
//!
//! Owns: the request, and waiting for work that the user may stop. Never: does the task; `run` does.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use agentos_policy::ToolFacts;
use agentos_tool::{Adapter, EditFormat, Price, RunId, TaskLimits, Timestamp};

use crate::ports::{Cancel, Check};

/// A task and the tool that shall do it.
pub struct Request<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The tool.
    pub adapter: &'a dyn Adapter,
    /// The model that is configured, if one is.
    pub model: Option<String>,
    /// What to do, in the user's words.
    pub instruction: &'a str,
    /// Files to show, paths inside the repository.
    pub files: &'a [String],
    /// The form to ask for.
    pub edit_format: EditFormat,
    /// Bounds on one call.
    pub limits: TaskLimits,
    /// Land what has one place although other parts have none.
    pub partial: bool,
    /// How often the tool may try; at least 1.
    pub attempts: u32,
    /// What tokens cost.
    pub price: Price,
    /// Set when the answer is not a model's, with the reason.
    pub mock: Option<String>,
    /// The tool answers the same however often it is asked, so that it is asked once.
    pub answers_once: bool,
    /// What a candidate must pass before anybody is asked about it.
    pub check: Option<&'a dyn Check>,
}

/// Returns what policy is told of a call of a tool. The target is not known yet; it is looked up right before each question.
pub(crate) fn tool_facts(
    adapter: &dyn Adapter,
    model: Option<&str>,
    attempt: u32,
    at: Timestamp,
) -> ToolFacts {
    ToolFacts {
        provider: adapter.provider().to_owned(),
        model: model.map(str::to_owned),
        execution_mode: adapter.supports().execution_mode,
        enforcement: adapter.confinement().enforcement,
        attempt,
        at,
        context_bytes: 0,
        target_ref: None,
        checked: false,
    }
}

/// Waits for `work`. `None` if the user stopped it first: then the work is dropped, which closes its connection.
pub(crate) async fn race<T>(mut work: impl Future<Output = T> + Unpin, cancel: &mut Cancel<'_>) -> Option<T> {
    poll_fn(|context| {
        if let Poll::Ready(done) = Pin::new(&mut work).poll(context) {
            return Poll::Ready(Some(done));
        }
        match cancel.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
