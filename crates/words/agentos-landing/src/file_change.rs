//! One file of a change: its sides, and what becomes of it.
//!
//! Owns: modes, states, kinds and line counts. Never: knows the other files, or how a diff is written.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RepoPath;

/// State of each path before and after.
pub(crate) type PathStates = Vec<(RepoPath, Option<FileState>, Option<FileState>)>;

/// The modes a file can have in git. A submodule cannot be expressed, and of a symbolic link only its deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileMode {
    /// 100644.
    Regular,
    /// 100755.
    Executable,
    /// 120000: a symbolic link, whose content is where it leads. Only as the old state of a deletion.
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

/// A file's mode and bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// The mode.
    pub mode: FileMode,
    /// Every byte.
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
}

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// There is none before.
    Create,
    /// The bytes differ (the mode may, too).
    Modify,
    /// There is none after.
    Delete,
    /// The mode alone differs.
    Chmod,
}

/// Lines, as the canonical diff counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineStats {
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// One path of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The path.
    pub path: RepoPath,
    /// State before. `None` for a new file.
    pub old: Option<FileState>,
    /// State after. `None` for a deleted file.
    pub new: Option<FileState>,
    /// Lines added and removed.
    pub stats: LineStats,
    /// The deleted path of the same change whose content this new file carries on, by content alone.
    pub renamed_from: Option<RepoPath>,
}

impl FileChange {
    /// Returns what happens to the path.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        match (&self.old, &self.new) {
            (None, _) => ChangeKind::Create,
            (Some(_), None) => ChangeKind::Delete,
            (Some(old), Some(new)) if old.content == new.content => ChangeKind::Chmod,
            (Some(_), Some(_)) => ChangeKind::Modify,
        }
    }
}
