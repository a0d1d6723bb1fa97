//! Words that a rule lists: actions, kinds of file and findings.
//!
//! Owns: their meanings and their spelling. Never: finds any of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Question that is asked about a path, or about a change as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// May the file be created?
    Create,
    /// May its content change?
    Modify,
    /// May it be deleted?
    Delete,
    /// May it continue another file's content under a new name? Asked in addition to `create`.
    Rename,
    /// May its executable bit change? Asked in addition to `modify` if both change.
    Chmod,
    /// May its text be sent to the tool?
    Read,
    /// May the change as a whole be written?
    Land,
}

impl Action {
    /// Returns the word used in JSON, in rules and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Modify => "modify",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Chmod => "chmod",
            Self::Read => "read",
            Self::Land => "land",
        }
    }
}

/// Kind of the resulting file, or of the base file for a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FileKind {
    /// No NUL byte, before or after the change.
    Text,
    /// A NUL byte, before or after the change. The diff shows such a file as encoded data.
    Binary,
    /// A file that can be started as a program.
    Executable,
    /// A file that can be started as a program and could not be before.
    NewExecutable,
    /// A symbolic link.
    Symlink,
    /// A symbolic link whose new target is outside the repository, in git's own files, or not possible on every system.
    OutsideLink,
}

impl FileKind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Binary,
        Self::Executable,
        Self::NewExecutable,
        Self::OutsideLink,
        Self::Symlink,
        Self::Text,
    ];

    /// Returns the word used in JSON, in rules and on the screen.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Executable => "executable",
            Self::NewExecutable => "new-executable",
            Self::Symlink => "symlink",
            Self::OutsideLink => "outside-link",
        }
    }
}

/// Finding in added text, or in a file that is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FindingKind {
    /// A credential.
    Secret,
    /// Characters that change the reading direction, and tag characters: the text on the screen is not the text in
    /// the file.
    Bidi,
    /// Characters of no width.
    Invisible,
    /// NUL bytes in a file that was text.
    Nul,
    /// A value that looks random, of no known kind. Only a hint: digests and ids look like this, too.
    MaybeSecret,
    /// A file whose new text is a diff, and whose old text was not.
    DiffText,
    /// A test file that loses tests or assertions, or in which more of them are skipped.
    WeakensTests,
    /// For `land`: the change does nothing but weaken tests.
    OnlyWeakensTests,
    /// The path lies in a folder that the resulting tree turns into a git directory.
    GitDirectory,
}

impl FindingKind {
    /// All kinds, in the order of their words.
    pub(crate) const ALL: [Self; 9] = [
        Self::Bidi,
        Self::DiffText,
        Self::GitDirectory,
        Self::Invisible,
        Self::MaybeSecret,
        Self::Nul,
        Self::OnlyWeakensTests,
        Self::Secret,
        Self::WeakensTests,
    ];

    /// Returns the word used in JSON, in rules and on the screen.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Bidi => "bidi",
            Self::Invisible => "invisible",
            Self::Nul => "nul",
            Self::MaybeSecret => "maybe-secret",
            Self::DiffText => "diff-text",
            Self::WeakensTests => "weakens-tests",
            Self::OnlyWeakensTests => "only-weakens-tests",
            Self::GitDirectory => "git-directory",
        }
    }
}
