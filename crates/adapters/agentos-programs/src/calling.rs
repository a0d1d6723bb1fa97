//! What every tool of this crate has in common: its call is work on a thread of its own, and what must be held is not run
//! where it cannot be.
//!
//! Owns: the start and the end of a call. Never: knows what is called.

use std::sync::Arc;

use agentos_sandbox::{SandboxError, SandboxReport, StopHandle};
use agentos_tool::{BoxFuture, ProgressSink, ToolError, ToolOutput, ToolTask};

use crate::AgentError;
use crate::background::{Voice, begin};

/// What a call gives.
pub(crate) type Answered = Result<ToolOutput, ToolError>;

/// Does the work of a call on another thread. It is stopped when nobody waits for it any more.
pub(crate) async fn called<W: Send + Sync + 'static>(
    worker: &Arc<W>,
    task: &ToolTask,
    progress: &dyn ProgressSink,
    work: fn(&W, &ToolTask, &StopHandle, &Voice) -> Answered,
) -> Answered {
    let stop = StopHandle::default();
    let (worker, task, work_stop) = (Arc::clone(worker), task.clone(), stop.clone());
    let work = move |voice: &Voice| work(&worker, &task, &work_stop, voice);
    match begin(work, move || stop.stop(), progress) {
        Some(background) => background.await,
        None => Err(AgentError::Thread.into_tool_error(0)),
    }
}

/// The same where the sandbox holds what is called, and an error where it does not.
pub(crate) fn called_if_held<'a, W: Send + Sync + 'static>(
    held: &Result<SandboxReport, String>,
    worker: &'a Arc<W>,
    task: &'a ToolTask,
    progress: &'a dyn ProgressSink,
    work: fn(&W, &ToolTask, &StopHandle, &Voice) -> Answered,
) -> BoxFuture<'a, Answered> {
    if let Err(why) = held {
        let error = AgentError::Sandbox(SandboxError::NotConfined(why.clone()));
        return Box::pin(std::future::ready(Err(error.into_tool_error(0))));
    }
    Box::pin(called(worker, task, progress, work))
}
