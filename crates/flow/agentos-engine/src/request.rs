//! A task, its tool and its limits.
//!
//! Owns: the request, waiting for work that the user may stop, and the error of a stopped call. Never: performs the task; `run` does.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use agentos_api::ContextReport;
use agentos_tool::{
    Adapter, EditFormat, ErrorCategory, RunId, TaskLimits, TokenPrices, ToolError, ToolFailure,
};

use crate::context::{OutlinedFile, RequestedFile};
use crate::context_search::{ContextPlan, ContextQuery};
use crate::history::EarlierTurn;
use crate::ports::{CancelSignal, Check, SuccessorTool, ToolSuccession, WindowMemory};
use crate::task_options::{FollowKind, FollowedRun, TaskOptions};

/// A task and the tool that is to do it.
#[derive(Clone)]
pub struct TaskRequest<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The tool.
    pub adapter: &'a dyn Adapter,
    /// The configured model. `None` if none is.
    pub model: Option<String>,
    /// The task in the user's words.
    pub instruction: &'a str,
    /// Files to show.
    pub files: &'a [RequestedFile],
    /// Files of which only the definitions are shown.
    pub outline: &'a [OutlinedFile],
    /// The report about the choice of the files, for the record. `None` if there was nothing to choose.
    pub choice: Option<&'a ContextReport>,
    /// Earlier tasks and answers to show, as far as policy lets the tool see them.
    pub history: &'a [EarlierTurn],
    /// Remark of the user on the last of these answers. `None` if there is none.
    pub remark: Option<&'a str>,
    /// The earlier run that this run follows. `None` if it stands alone.
    pub follows: Option<&'a FollowedRun>,
    /// Options of the task, for the record. `None` if the task is not to be repeated.
    pub options: Option<&'a TaskOptions>,
    /// The change is expected to be about one of `files`, and not about others. A run is refused before the call if none of them
    /// can be changed.
    pub changes_named: bool,
    /// The edit format in which the tool is asked to answer.
    pub edit_format: EditFormat,
    /// Limits of one call.
    pub limits: TaskLimits,
    /// Land the edits that have one place, although others have none.
    pub partial: bool,
    /// Most calls of the tool; at least 1.
    pub attempts: u32,
    /// Price of tokens.
    pub price: TokenPrices,
    /// The reason why the answer is not a model's. `None` if it is.
    pub mock: Option<String>,
    /// The tool gives the same answer to every call, so it is called once.
    pub answers_once: bool,
    /// The tool reads the repository itself, with tools of its own.
    pub has_tools: bool,
    /// The check that a candidate must pass before consent is requested. `None` if there is no check.
    pub check: Option<&'a dyn Check>,
    /// The check must pass on the base before the tool is called.
    pub base_must_pass: bool,
    /// Tools that are asked after a call that failed. `None` if the caller named one tool, and a failure ends the run.
    pub successors: Option<&'a dyn ToolSuccession>,
    /// Search that chose the files. It is repeated for a smaller window if the server refuses the request as too long and states its
    /// window. `None` if nothing was to be chosen.
    pub search: Option<&'a ContextQuery<'a>>,
    /// Memory of such windows. `None` if nothing is remembered.
    pub windows: Option<&'a dyn WindowMemory>,
}

impl<'a> TaskRequest<'a> {
    /// Returns the same task for another tool.
    pub(crate) fn hand_to(self, next: SuccessorTool<'a>) -> Self {
        Self {
            adapter: next.adapter,
            model: next.model,
            price: next.price,
            edit_format: next.edit_format,
            has_tools: next.has_tools,
            // The window was the other tool's.
            search: None,
            windows: None,
            limits: TaskLimits {
                timeout_seconds: next.timeout_seconds,
                loaded_context: None,
                ..self.limits
            },
            ..self
        }
    }

    /// Returns the same task with less context, for a window of this number of tokens.
    pub(crate) fn with_context(self, tokens: u64, plan: &'a ContextPlan) -> Self {
        Self {
            files: &plan.files,
            outline: &plan.outline,
            choice: Some(&plan.report),
            limits: TaskLimits {
                loaded_context: Some(tokens),
                ..self.limits
            },
            ..self
        }
    }

    /// Returns the verb that the record of the run names.
    pub(crate) fn verb(&self) -> &'static str {
        match self.follows.map(|earlier| earlier.how) {
            Some(FollowKind::Retry) => "retry",
            Some(FollowKind::Continue) | None => "run",
        }
    }
}

/// Waits for `work`. `None` if the user stopped it first: then the work is dropped, which closes its connection.
pub(crate) async fn await_or_cancel<T>(
    mut work: impl Future<Output = T> + Unpin,
    cancel: &mut CancelSignal<'_>,
) -> Option<T> {
    poll_fn(|context| {
        // The work first: an answer that is complete counts, even if the user stops the run in the same moment.
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

/// Detail of the error of a call that the user stopped.
const INTERRUPTED: &str = "interrupted";

/// Returns true if the user stopped the call.
#[must_use]
pub fn was_interrupted(error: &ToolError) -> bool {
    error.detail == INTERRUPTED
}

/// Makes the error of a call that the user stopped.
pub(crate) fn interrupted_error() -> ToolError {
    ToolError {
        failure: ToolFailure::Failed,
        category: ErrorCategory::Runtime,
        detail: INTERRUPTED.to_owned(),
        health: None,
        message: "stopped by the user".to_owned(),
        causes: Vec::new(),
        advice: Box::default(),
        endpoint: None,
        latency_ms: 0,
    }
}
