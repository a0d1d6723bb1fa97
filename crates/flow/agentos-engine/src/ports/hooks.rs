//! The repository's own commit hooks, as the flow sees them.
//!
//! Owns: the interface. Never: runs a hook.

use agentos_landing::Change;
use agentos_policy::ToolFacts;
use agentos_tool::{BoxFuture, RunId};

use super::{CommitAuthor, EffectError, TargetInfo};
use crate::Tried;

/// Runs the repository's commit hooks, away from the repository.
pub trait CommitHooks {
    /// Makes the change on a copy of the target's commit, stages it there, and runs the hooks that git would run before the
    /// commit, in git's order. Returns their results up to the first that rejects the commit.
    fn run_hooks<'a>(
        &'a self,
        target: &'a TargetInfo,
        commit: HookedCommit<'a>,
    ) -> BoxFuture<'a, Result<Vec<HookResult>, EffectError>>;
}

/// The commit that hooks are shown.
#[derive(Debug, Clone, Copy)]
pub struct HookedCommit<'a> {
    /// The change.
    pub change: &'a Change,
    /// The run.
    pub run: &'a RunId,
    /// 1 for the first answer of the run.
    pub attempt: u32,
    /// Commit message without trailers.
    pub message: &'a str,
    /// Trailers besides run and evidence.
    pub trailers: &'a [(String, String)],
    /// The author whom the answer names. `None` if the person who lands it is the author.
    pub author: Option<&'a CommitAuthor>,
    /// Facts about the tool that made the change, by which policy withholds files from the hooks as well: the tool may be shown
    /// what they print.
    pub tool: &'a ToolFacts,
}

/// The result of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookResult {
    /// Name of the hook.
    pub hook: String,
    /// How it ended. The command is its file. It has passed only if it changed nothing as well.
    pub tried: Tried,
    /// Files that it changed; untrusted.
    pub changed: Vec<String>,
    /// True if it changed the commit message.
    pub changes_message: bool,
}
