//! The reasons for which an answer is refused, with stable codes.
//!
//! Owns: the codes and the sentence beside them. Never: decides; parsing, locating and path safety do.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a change is refused. The codes are part of the product: scripts match on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalCode {
    /// No diff in the answer.
    NoDiff,
    /// A diff that contradicts itself.
    Malformed,
    /// The text to change is not in the file.
    DoesNotApply,
    /// More than one place fits.
    Ambiguous,
    /// Made for another state of the file.
    Stale,
    /// Leaves the repository, here or on another system.
    PathEscape,
    /// Reaches git's own files.
    GitDir,
    /// Goes through or over a symbolic link.
    SymlinkTraversal,
    /// A submodule.
    Submodule,
    /// A file mode that is not allowed.
    ModeChange,
    /// Not reviewable text.
    Binary,
    /// Differs from another path by case, normal form or a look-alike alone.
    CaseCollision,
    /// A name that cannot exist on every system.
    ReservedName,
    /// Not UTF-8, or control characters.
    Encoding,
    /// Over a limit.
    TooLarge,
    /// Adds a credential.
    Secret,
    /// Invisible or direction-changing characters.
    Bidi,
    /// The policy protects the path.
    ProtectedPath,
    /// Nothing would change.
    Empty,
}

impl RefusalCode {
    /// What the edit speaks of is not there, or is there already. Nothing dangerous or contradictory was found.
    pub(crate) fn has_no_place(self) -> bool {
        match self {
            Self::DoesNotApply | Self::Empty => true,
            Self::NoDiff
            | Self::Malformed
            | Self::Ambiguous
            | Self::Stale
            | Self::PathEscape
            | Self::GitDir
            | Self::SymlinkTraversal
            | Self::Submodule
            | Self::ModeChange
            | Self::Binary
            | Self::CaseCollision
            | Self::ReservedName
            | Self::Encoding
            | Self::TooLarge
            | Self::Secret
            | Self::Bidi
            | Self::ProtectedPath => false,
        }
    }

    /// The code as it is printed and matched.
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

/// A refusal: a code for programs, a sentence for people, a hint where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The code.
    pub code: RefusalCode,
    /// One sentence: what and where. Lower case, no full stop. May quote untrusted text: escape it for a terminal.
    pub message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The path it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Refusal {
    /// A refusal with a code and its sentence.
    #[must_use]
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            path: None,
        }
    }

    /// Names the path.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
