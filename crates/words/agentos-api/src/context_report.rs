//! The files found for a task, as they are published.
//!
//! Owns: the shape. Never: searches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `agentos run --context show --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// What would be sent, best first.
    pub files: Vec<ContextFileReport>,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes that fit beside the answer.
    pub budget_bytes: u64,
    /// Files that the task names and that do not fit.
    pub too_large: Vec<String>,
    /// Files of the base that were ranked.
    pub ranked: usize,
    /// Of those, how many were read. The others counted by their paths alone, because the time was over.
    pub read: usize,
}

/// One file that would be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFileReport {
    /// Its path.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// The task names it.
    pub named: bool,
    /// The words of the task that led to it, the weightiest first.
    pub words: Vec<String>,
}

impl ContextReport {
    /// The paths, best first.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.iter().map(|file| &file.path)
    }
}
