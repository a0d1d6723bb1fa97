//! Published report about the files selected as context for a task.
//!
//! Owns: the shape of the report. Never: searches for files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Report of `agentos run --context show --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Files that would be sent, most relevant first.
    pub files: Vec<ContextFileReport>,
    /// Total size of these files in bytes.
    pub bytes: u64,
    /// Bytes available for context after space for the answer is reserved.
    pub budget_bytes: u64,
    /// Files that the task names but that do not fit.
    pub too_large: Vec<String>,
    /// Number of files of the base commit that were ranked.
    pub ranked: usize,
    /// Number of ranked files whose content was read. The others were ranked by path only, because the time limit was reached.
    pub read: usize,
}

/// File that would be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFileReport {
    /// Path in the repository.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// True if the task names the file.
    pub named: bool,
    /// Words of the task that matched the file, highest weight first.
    pub words: Vec<String>,
}

impl ContextReport {
    /// Returns the paths, most relevant first.
    pub fn list_paths(&self) -> impl Iterator<Item = &String> {
        self.files.iter().map(|file| &file.path)
    }
}
