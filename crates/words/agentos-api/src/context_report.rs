//! Published report about the files selected as context for a task.
//!
//! Owns: the shape of the report. Never: searches for files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Report of `agentos run --context show --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Number of ranked files whose content was considered. The others were ranked by path only, because the repository has more
    /// text than is searched.
    pub read: usize,
    /// Division of the model's context window. `None` in records of versions that did not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<ContextBudgetReport>,
    /// Files of which the definitions alone are shown, besides these parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlined: Vec<String>,
    /// Folders, patterns and names of definitions of which not everything is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<OmittedMatches>,
    /// Files that would have been shown, but that policy withholds from this tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldFile>,
}

/// Folder, pattern or name of a definition that means more than is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmittedMatches {
    /// Folder, pattern or name as the user typed it.
    pub name: String,
    /// Number of files or definitions that it means.
    pub matched: usize,
    /// Number of those that are shown, whole or in part.
    pub shown: usize,
}

/// File that policy withholds from a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WithheldFile {
    /// Path in the repository.
    pub path: String,
    /// Rule and its reason.
    pub why: String,
}

/// Origin of the size of a context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowSource {
    /// The server reported the context that it has loaded.
    Server,
    /// The vendor states it for the model.
    Catalogue,
    /// The profile states it.
    Profile,
    /// The user's own entry about the model states it.
    UserModel,
    /// Nobody states it: a cautious size is assumed.
    Assumed,
}

/// Division of a context window, in estimated tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextBudgetReport {
    /// Tokens of prompt and answer together.
    pub window: u64,
    /// Origin of that number.
    pub source: WindowSource,
    /// Tokens of the instructions and the task.
    pub prompt: u64,
    /// Tokens that the files may have.
    pub context: u64,
    /// Tokens that the shown files have.
    pub used: u64,
    /// Tokens of the definitions of other files.
    #[serde(default)]
    pub outline: u64,
    /// Tokens kept for the answer.
    pub answer: u64,
    /// Maximum tokens of the answer that the user or the profile set. `None` if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_limit: Option<u64>,
    /// Tokens kept for what the estimate misses.
    pub reserve: u64,
}

/// File that would be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFileReport {
    /// Path in the repository.
    pub path: String,
    /// Size of what would be sent in bytes.
    pub bytes: u64,
    /// True if the user or the task names the file.
    pub named: bool,
    /// Words of the task that matched the file, highest weight first.
    pub words: Vec<String>,
    /// Path of the file that imports it, or that it tests, if no word led to it. `None` if words or the history did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
    /// First and last line of each part that would be sent. Empty if the whole file would be sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(u64, u64)>,
    /// Number of lines of the whole file.
    #[serde(default)]
    pub lines: u64,
    /// Estimated tokens of what would be sent.
    #[serde(default)]
    pub tokens: u64,
    /// Tools with which the model read it, such as `read_file`. Empty if it was sent with the task alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_by: Vec<String>,
    /// Commit whose difference was read. `None` for a file of the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl ContextReport {
    /// Returns the paths, most relevant first.
    pub fn list_paths(&self) -> impl Iterator<Item = &String> {
        self.files.iter().map(|file| &file.path)
    }
}
