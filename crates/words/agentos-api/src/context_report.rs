//! The files found for a task, as they are published.
//!
//! Owns: the shape. Never: searches.

use schemars::JsonSchema;
use serde::Serialize;

/// `agentos run --context show --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Files that would be sent, best first.
    pub files: Vec<ContextFileReport>,
    /// Bytes of those files.
    pub bytes: u64,
    /// Bytes that fit in the context window besides the answer.
    pub budget_bytes: u64,
    /// Files that the task names and that do not fit.
    pub too_large: Vec<String>,
    /// Files of the base that were ranked.
    pub ranked: usize,
    /// Ranked files that were read. The others counted by their paths alone, because the time was over.
    pub read: usize,
}

/// One file that would be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextFileReport {
    /// Path in the repository.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// The task names it.
    pub named: bool,
    /// Words of the task that led to it, those with the most weight first.
    pub words: Vec<String>,
}

impl ContextReport {
    /// Returns the paths, best first.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.iter().map(|file| &file.path)
    }
}
