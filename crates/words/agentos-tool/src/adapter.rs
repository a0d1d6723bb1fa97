//! The one interface of every tool.
//!
//! Owns: the three verbs. Never: a way to reach a repository, the executor or another tool.

use std::future::Future;
use std::pin::Pin;

use crate::{Confinement, Timestamp, ToolCapabilities, ToolError, ToolHealth, ToolOutput, ToolTask};

/// A future that borrows; no runtime is named here.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that happened while a tool worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// A piece of the answer arrived. Untrusted: escape it before it reaches a terminal.
    Text(String),
    /// Something worth telling, in our own words.
    Note(String),
    /// What a tool said beside its answer, as it came. Untrusted; goes into the evidence, cut at a limit.
    Transcript(String),
}

/// Takes progress while a tool works. Must not block.
pub trait ProgressSink: Send + Sync {
    /// Called for each piece.
    fn progress(&self, progress: Progress);
}

/// Drops all progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl ProgressSink for NoProgress {
    fn progress(&self, _progress: Progress) {}
}

/// A tool. It can say how it is, answer a task with text, and tell what it can do. It has no authority.
pub trait Adapter: Send + Sync {
    /// The provider's name, as in `lmstudio`.
    fn provider(&self) -> &str;

    /// Probes the service without generating anything. `now` is written into the result. Never fails: what
    /// goes wrong is the answer.
    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth>;

    /// Asks for an answer to one task. Dropping the future cancels the call on the wire.
    ///
    /// # Errors
    /// When there is no answer; the error holds no key and can be shown and recorded.
    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// What the tool says it can do.
    fn supports(&self) -> ToolCapabilities;

    /// What holds the tool back while it runs. A tool that names layers must fail where they cannot be put up.
    fn confinement(&self) -> Confinement {
        Confinement::observed()
    }
}
