//! Reasons for which an answer is refused, with stable codes.
//!
//! Owns: the codes, and the shape of a refusal. Never: decides; parsing, placing and path safety do.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Code of a refusal. The codes are part of the product: scripts match on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalCode {
    /// The answer contains no edit.
    NoDiff,
    /// An edit contradicts itself or cannot be read.
    Malformed,
    /// The text to change is not in the file.
    DoesNotApply,
    /// More than one place or meaning fits.
    Ambiguous,
    /// The edit was made for another state of the file.
    Stale,
    /// The path leaves the repository, on this system or on another.
    PathEscape,
    /// The path reaches git's own files.
    GitDir,
    /// The path goes through a symbolic link, or is one.
    SymlinkTraversal,
    /// The path is a submodule or in one, or is git's list of submodules.
    Submodule,
    /// The file mode is not allowed, or a file turns into a symbolic link or back.
    ModeChange,
    /// The content is binary, which nobody can review.
    Binary,
    /// The path differs from another one only by case, normal form or look-alike letters.
    CaseCollision,
    /// The name cannot exist on every system.
    ReservedName,
    /// The name is not UTF-8, or has control or invisible characters.
    Encoding,
    /// The answer exceeds a limit.
    TooLarge,
    /// The change adds a credential.
    Secret,
    /// The change adds invisible or direction-changing characters.
    Bidi,
    /// A policy rule protects the path.
    ProtectedPath,
    /// Nothing would change.
    Empty,
}

impl RefusalCode {
    /// Returns true if the only problem is that the text or file is missing, or is already as requested. Such an edit
    /// is neither dangerous nor contradictory.
    pub(crate) fn has_no_place(self) -> bool {
        matches!(self, Self::DoesNotApply | Self::Empty)
    }

    /// Returns the code as it is printed and matched.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoDiff => "no-diff",
            Self::Malformed => "malformed",
            Self::DoesNotApply => "does-not-apply",
            Self::Ambiguous => "ambiguous",
            Self::Stale => "stale",
            Self::PathEscape => "path-escape",
            Self::GitDir => "git-dir",
            Self::SymlinkTraversal => "symlink-traversal",
            Self::Submodule => "submodule",
            Self::ModeChange => "mode-change",
            Self::Binary => "binary",
            Self::CaseCollision => "case-collision",
            Self::ReservedName => "reserved-name",
            Self::Encoding => "encoding",
            Self::TooLarge => "too-large",
            Self::Secret => "secret",
            Self::Bidi => "bidi",
            Self::ProtectedPath => "protected-path",
            Self::Empty => "empty",
        }
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Refusal: a code for programs, a sentence for people, and a hint if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Code of the refusal.
    pub code: RefusalCode,
    /// Sentence that states what is wrong and where. Lower case, no full stop. It may quote untrusted text: escape it
    /// for a terminal.
    pub message: String,
    /// Advice on what to do next. `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Path that the refusal is about. `None` if it is about the whole answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Returns the refusal of an edit that contradicts itself or cannot be read.
pub(crate) fn malformed(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalCode::Malformed, message)
}

/// Returns the refusal of an edit for which more than one place or meaning fits.
pub(crate) fn ambiguous(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalCode::Ambiguous, message)
}

/// Returns the refusal of an edit of this path, whose message is the path and `what`.
pub(crate) fn about_path(code: RefusalCode, path: impl fmt::Display, what: &str) -> Refusal {
    let path = path.to_string();
    Refusal::new(code, format!("`{path}` {what}")).at(path)
}

impl Refusal {
    /// Creates a refusal from a code and its sentence.
    #[must_use]
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            path: None,
        }
    }

    /// Sets the path that the refusal is about.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the advice on what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
