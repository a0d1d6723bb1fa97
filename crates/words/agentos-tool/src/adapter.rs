//! Interface that every tool implements.
//!
//! Owns: the [`Adapter`] trait. Never: offers a way to reach a repository, the executor or another tool.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::{
    Confinement, FileRead, FreeGate, ProgramCall, ProgramView, SendGate, Timestamp, ToolCapabilities,
    ToolError, ToolHealth, ToolOutput, ToolTask,
};

/// Boxed future that may borrow. A plain type, so that an adapter trait object depends on no async runtime.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Progress of a tool while it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Piece of the answer that arrived. Untrusted: must be escaped before it reaches a terminal.
    Text(String),
    /// Note by the adapter, worded by AgentOS and safe to show.
    Note(String),
    /// Output of the tool that is not part of its answer, unchanged. Untrusted. Recorded as evidence, truncated at a limit.
    Transcript(String),
    /// Text of the repository that the tool was shown because it called for it. Reported by AgentOS and never by a program; recorded as
    /// evidence.
    Read(FileRead),
    /// Call of one of the user's programs that the tool made. Reported by AgentOS and never by a program; recorded as evidence.
    Called(ProgramCall),
    /// Files that a program in a sandbox can read. Reported by AgentOS before the program starts, and never by a program; recorded as
    /// evidence.
    Viewed(ProgramView),
}

/// Receiver of a tool's progress. Must not block.
pub trait ProgressSink: Send + Sync {
    /// Receives one piece of progress.
    fn progress(&self, progress: Progress);

    /// Returns the gate that is asked before each request to a model leaves. By default it permits everything.
    fn send_gate(&self) -> Arc<dyn SendGate> {
        FreeGate::share()
    }
}

/// Progress receiver that discards everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl ProgressSink for NoProgress {
    fn progress(&self, _progress: Progress) {}
}

/// Adapter for one tool: checks its health, runs a task, and states its capabilities. A tool has no authority: its answer is
/// text that landing and policy judge.
pub trait Adapter: Send + Sync {
    /// Returns the provider's name, as in `lmstudio`.
    fn provider(&self) -> &str;

    /// Probes the service without generating text. Writes `now` into the result as the time of the check. Never fails: a
    /// problem is part of the result.
    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth>;

    /// Requests an answer to one task. Dropping the future closes the connection or stops the program.
    ///
    /// # Errors
    /// Fails if there is no answer. The error contains no key, so it can be shown and recorded.
    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// Returns the capabilities that the tool claims.
    fn supports(&self) -> ToolCapabilities;

    /// Returns how the tool is confined while it runs. An adapter that names layers must fail if a layer cannot be enabled.
    fn confinement(&self) -> Confinement {
        // The weakest claim: an adapter that does not say how it confines its tool is treated as one that does not.
        Confinement::observed()
    }
}
