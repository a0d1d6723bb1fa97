//! The frame of every call in this crate: the work runs on a thread of its own, and only if the sandbox can confine it.
//!
//! Owns: the start and the end of a call. Never: knows which kind of tool is called.

use std::sync::Arc;

use agentos_sandbox::{SandboxError, SandboxReport, StopHandle};
use agentos_tool::{BoxFuture, ProgressSink, ToolError, ToolOutput, ToolTask};

use crate::AgentError;
use crate::background::{ProgressChannel, start_work};

/// Result of one call.
pub(crate) type CallResult = Result<ToolOutput, ToolError>;

/// Runs the work of a call on another thread. Dropping the future stops it.
pub(crate) async fn call_on_thread<W: Send + Sync + 'static>(
    worker: &Arc<W>,
    task: &ToolTask,
    progress: &dyn ProgressSink,
    work: fn(&W, &ToolTask, &StopHandle, &ProgressChannel) -> CallResult,
) -> CallResult {
    let stop = StopHandle::default();
    let (worker, task, work_stop) = (Arc::clone(worker), task.clone(), stop.clone());
    let work = move |voice: &ProgressChannel| work(&worker, &task, &work_stop, voice);
    match start_work(work, move || stop.stop(), progress) {
        Some(background) => background.await,
        None => Err(AgentError::Thread.into_tool_error(0)),
    }
}

/// Runs the work of a call as [`call_on_thread`] does, or returns an error if the sandbox cannot confine it.
pub(crate) fn call_if_confined<'a, W: Send + Sync + 'static>(
    held: &Result<SandboxReport, String>,
    worker: &'a Arc<W>,
    task: &'a ToolTask,
    progress: &'a dyn ProgressSink,
    work: fn(&W, &ToolTask, &StopHandle, &ProgressChannel) -> CallResult,
) -> BoxFuture<'a, CallResult> {
    if let Err(why) = held {
        let error = AgentError::Sandbox(SandboxError::NotConfined(why.clone()));
        return Box::pin(std::future::ready(Err(error.into_tool_error(0))));
    }
    Box::pin(call_on_thread(worker, task, progress, work))
}
