//! A task as a caller orders it.
//!
//! Owns: the task, its provider, its files and its limits as data. Never: runs it.

use agentos_engine::task_options::FollowKind;

use crate::options::{CheckOptions, ProgramOptions, ProviderChoice};

/// A task, its tool, and the tool's files and limits.
#[derive(Debug, Clone, Default)]
pub struct TaskSpec {
    /// The task in the user's words. `None` for a program whose command line is its task.
    pub task: Option<String>,
    /// The provider and its settings.
    pub provider: ProviderChoice,
    /// Files that a program may read, and its confinement.
    pub program: ProgramOptions,
    /// Files to show, as a person types them, relative to the repository folder of the call: paths, lines of them
    /// (`src/a.rs:10-80`), folders and patterns.
    pub files: Vec<String>,
    /// Names of definitions to show.
    pub symbols: Vec<String>,
    /// Search for more files to show. `None` searches if no files are named.
    pub context: Option<ContextMode>,
    /// The usual search of this user, where `context` says nothing and the tool is shown files. `None` if the user has not set a search.
    pub usual_context: Option<ContextMode>,
    /// The command that a change must pass. `None` lands without a check.
    pub check: Option<CheckOptions>,
    /// Most calls of the tool; 0 counts as 1.
    pub attempts: u32,
    /// The commit message. `None` makes one from the task.
    pub message: Option<String>,
    /// Land the edits that have a place, although other edits of the answer do not.
    pub partial: bool,
    /// The earlier run whose task and answer the tool is shown. `None` if the task stands alone.
    pub follows: Option<FollowSpec>,
    /// Choice whether the model reads the repository itself.
    pub explore: ExploreMode,
    /// Toolboxes whose tools a model that reads the repository itself is offered too.
    pub toolboxes: Vec<String>,
}

/// An earlier run that a task follows.
#[derive(Debug, Clone)]
pub struct FollowSpec {
    /// The earlier run, as a person names it.
    pub run: String,
    /// How the task follows it.
    pub how: FollowKind,
    /// Remark on its answer. `None` without a remark.
    pub remark: Option<String>,
}

/// The choice of files that a tool is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextMode {
    /// Files that the task names, then files that match its words, as many as fit.
    Auto,
    /// Only the files that the caller names.
    Named,
}

/// Limits of the tools of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExploreLimits {
    /// Answers of the model whose calls are run.
    pub rounds: u32,
    /// Seconds of the attempt, with all its calls.
    pub seconds: u64,
}

impl Default for ExploreLimits {
    fn default() -> Self {
        Self {
            rounds: 10,
            seconds: 300,
        }
    }
}

/// Choice whether the model of a task reads the repository itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExploreMode {
    /// The model is shown files, and has no tools.
    #[default]
    Never,
    /// The model has tools if the provider is a model behind a server.
    IfModel(ExploreLimits),
    /// The model has tools. Every other provider is refused.
    Always(ExploreLimits),
}

impl ExploreMode {
    /// Returns the limits of a model's tools. `None` if the model has no tools.
    #[must_use]
    pub fn limits(self) -> Option<ExploreLimits> {
        match self {
            Self::Never => None,
            Self::IfModel(limits) | Self::Always(limits) => Some(limits),
        }
    }
}
