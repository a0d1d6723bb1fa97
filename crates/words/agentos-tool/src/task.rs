//! What a tool is asked to do. A tool gets text, never the repository's place.
//!
//! Owns: `ToolTask`. Never: picks the context; the engine does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RunId;

/// One file the tool may look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFile {
    /// Path inside the repository, `/` between parts.
    pub path: String,
    /// The whole text.
    pub content: String,
}

/// The form in which the tool is asked to write its edits. Landing detects the form by itself; this only
/// shapes the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EditFormat {
    /// A unified diff as git prints it.
    #[default]
    UnifiedDiff,
    /// Search/replace blocks.
    SearchReplace,
    /// The whole new text of each file.
    WholeFile,
    /// `{"edits":[{"path","search","replace"}]}`.
    JsonEdits,
}

impl EditFormat {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnifiedDiff => "unified-diff",
            Self::SearchReplace => "search-replace",
            Self::WholeFile => "whole-file",
            Self::JsonEdits => "json-edits",
        }
    }
}

/// Bounds on one call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLimits {
    /// Seconds for the whole answer.
    pub timeout_seconds: u64,
    /// Tokens the answer may have; none leaves it to the provider's profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

/// A task for a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolTask {
    /// The run this belongs to.
    pub task_id: RunId,
    /// What to do, in the user's words.
    pub instruction: String,
    /// Files to work on.
    pub context: Vec<ContextFile>,
    /// The form to answer in.
    pub edit_format: EditFormat,
    /// Paths the answer should stay inside; empty means anywhere policy allows.
    pub allowed_paths: Vec<String>,
    /// Paths the answer must not touch. Policy enforces this; it is said here so that the tool may comply.
    pub forbidden_paths: Vec<String>,
    /// Bounds.
    pub limits: TaskLimits,
    /// 1 for the first try.
    pub attempt: u32,
    /// Why the last try did not land.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}
