//! Texts of the repository that a tool called for while it worked.
//!
//! Owns: `FileRead`. Never: contains a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text of one file that a tool was shown because it called for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRead {
    /// Name of the tool that read it, such as `read_file`.
    pub by: String,
    /// Path in the repository, with `/` between its parts.
    pub path: String,
    /// Lines that were shown, as first and last line counted from 1. Empty for the difference that a commit made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(u64, u64)>,
    /// Commit whose difference was shown. `None` for a file of the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Git's ids of the complete texts that the shown one is a part of: of the file, or of both sides of a difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blobs: Vec<String>,
    /// `sha256:` and the hash of the text that was shown.
    pub text_hash: String,
    /// Bytes of that text.
    pub bytes: u64,
}
