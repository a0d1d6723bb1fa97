//! Task for a tool. A tool is given text, never the path of the repository.
//!
//! Owns: `ToolTask`. Never: selects the context; the engine does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PastTurn, RunId};

/// File that the tool is shown, or a part of one. A file that is shown in several parts has one entry for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFile {
    /// Path in the repository, with `/` between its parts.
    pub path: String,
    /// Complete text of the file, or of the part.
    pub content: String,
    /// Part of the file that the content is. `None` if it is the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<FilePart>,
}

/// Lines of a file that a tool is shown instead of the whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePart {
    /// Number of the first line that is shown, counted from 1.
    pub first_line: u64,
    /// Number of the last line that is shown.
    pub last_line: u64,
    /// Number of lines of the whole file.
    pub total_lines: u64,
    /// Lines above the part that enclose it, such as the head of its class; the outermost first.
    pub inside: Vec<String>,
    /// Id of the whole file's blob.
    pub blob: String,
}

impl ContextFile {
    /// Makes a file that is shown whole.
    #[must_use]
    pub fn whole(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            content: content.into(),
            part: None,
        }
    }
}

/// Form in which the tool is asked to write its edits. Affects only the prompt: landing detects the form of an answer itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EditFormat {
    /// Unified diff as git prints it.
    #[default]
    UnifiedDiff,
    /// Search/replace blocks.
    SearchReplace,
    /// Complete new text of each file.
    WholeFile,
    /// JSON object of the form `{"edits":[{"path","search","replace"}]}`.
    JsonEdits,
}

impl EditFormat {
    /// Returns the name used in JSON and on the screen.
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

/// Limits on one call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLimits {
    /// Time limit for the complete answer, in seconds.
    pub timeout_seconds: u64,
    /// Maximum number of tokens in the answer. `None` if the provider's profile decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Tokens of the context that the server has loaded, if it was asked before the files were chosen. `None` if it was not asked
    /// or did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_context: Option<u64>,
}

/// Definitions of a file that a tool is not shown as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileOutline {
    /// Path in the repository.
    pub path: String,
    /// Number of lines of the file.
    pub total_lines: u64,
    /// Lines that begin a definition and are not shown, in the order of the file. Empty if only the path is given.
    pub lines: Vec<OutlineLine>,
}

/// Line that begins a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutlineLine {
    /// Number of the line, counted from 1.
    pub line: u64,
    /// Beginning of its text.
    pub text: String,
}

impl FileOutline {
    /// Counts the bytes of repository text in it.
    #[must_use]
    pub fn count_bytes(&self) -> u64 {
        let lines = self.lines.iter().map(|line| line.text.len() as u64);
        lines.sum::<u64>() + self.path.len() as u64
    }
}

/// Task for a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolTask {
    /// Id of the run that the task belongs to.
    pub task_id: RunId,
    /// Instruction in the user's words.
    pub instruction: String,
    /// Files that the tool is shown.
    pub context: Vec<ContextFile>,
    /// Definitions of files that the tool is not shown as a whole, for orientation. Empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<FileOutline>,
    /// Form in which to write the edits.
    pub edit_format: EditFormat,
    /// Paths that the answer may change. Empty if the answer may change every path that policy allows.
    pub allowed_paths: Vec<String>,
    /// Paths that the answer must not change. Policy enforces this; the list lets the tool comply.
    pub forbidden_paths: Vec<String>,
    /// Limits of the call.
    pub limits: TaskLimits,
    /// Number of the attempt; 1 is the first.
    pub attempt: u32,
    /// Reason why the previous attempt did not land. `None` for the first attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Earlier tasks with their answers, the oldest first. Empty if the task stands alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastTurn>,
    /// Remark of the user on the last of these answers. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// True if the tool reads the repository itself, with tools besides this text.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_tools: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl ToolTask {
    /// Counts the bytes of repository text and of earlier answers that the tool is shown.
    #[must_use]
    pub fn count_context_bytes(&self) -> u64 {
        let files = self.context.iter().map(|file| file.content.len() as u64);
        let outlines = self.outline.iter().map(FileOutline::count_bytes);
        let files = files.chain(outlines);
        let history = self.history.iter().map(|turn| turn.count_bytes() as u64);
        files.chain(history).sum()
    }
}
