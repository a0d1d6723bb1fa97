//! One file of a change: its state before and after, and the kind of change.
//!
//! Owns: modes, states, kinds and line counts. Never: knows the other files, or how a diff is written.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RepoPath, binary};

/// Path with its state before and after the change.
pub(crate) type PathState = (RepoPath, Option<FileState>, Option<FileState>);

/// State of each path before and after the change.
pub(crate) type PathStates = Vec<PathState>;

/// File mode in git. A submodule cannot be expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileMode {
    /// Mode 100644, a regular file.
    Regular,
    /// Mode 100755, an executable file.
    Executable,
    /// Mode 120000, a symbolic link, whose content is its target.
    Symlink,
}

impl FileMode {
    /// Returns the mode as git prints it.
    #[must_use]
    pub fn as_git(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
        }
    }
}

/// Mode and content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// File mode.
    pub mode: FileMode,
    /// Content, every byte of it.
    pub content: Arc<[u8]>,
}

impl FileState {
    /// Returns the state of a regular file.
    #[must_use]
    pub fn regular(content: &[u8]) -> Self {
        Self {
            mode: FileMode::Regular,
            content: Arc::from(content),
        }
    }

    /// Returns true if the content is shown as binary data and not as lines: it has a NUL byte.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        binary::is_binary(&self.content)
    }
}

/// Kind of change of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The file does not exist before the change.
    Create,
    /// The bytes differ; the mode may differ, too.
    Modify,
    /// The file does not exist after the change.
    Delete,
    /// Only the mode differs.
    Chmod,
}

/// Numbers of lines, as the canonical diff counts them. Binary content has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineStats {
    /// Number of lines added.
    pub added: u64,
    /// Number of lines removed.
    pub removed: u64,
}

/// Change of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Path of the file.
    pub path: RepoPath,
    /// State before the change. `None` for a new file.
    pub old: Option<FileState>,
    /// State after the change. `None` for a deleted file.
    pub new: Option<FileState>,
    /// Numbers of lines added and removed.
    pub stats: LineStats,
    /// Deleted path of the same change whose content this new file continues, found by content alone. `None` if there
    /// is none.
    pub renamed_from: Option<RepoPath>,
}

impl FileChange {
    /// Returns the kind of change.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        match (&self.old, &self.new) {
            (None, _) => ChangeKind::Create,
            (Some(_), None) => ChangeKind::Delete,
            // Equal states are never in a change, so with equal content the mode must differ.
            (Some(old), Some(new)) if old.content == new.content => ChangeKind::Chmod,
            (Some(_), Some(_)) => ChangeKind::Modify,
        }
    }
}
