//! Obstacles to a landing: repository formats, and operations of git that are in progress.
//!
//! Owns: their names and codes. Never: looks at a repository; it only recognises formats in libgit2's messages.

/// Repository format that is not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// `extensions.refStorage = reftable`.
    Reftable,
    /// `extensions.objectFormat = sha256`.
    Sha256,
    /// Index in two files.
    SplitIndex,
    /// `extensions.partialClone`, which git wrote for a partial clone until version 2.36 or so.
    PartialClone,
    /// Any other format extension.
    Extension,
}

impl Unsupported {
    /// Recognises a format in a message of libgit2. `None` if the message is about something else.
    pub(crate) fn named_in(message: &str) -> Option<Self> {
        // Words of libgit2 1.9. A message that is not recognised is shown as it is.
        let message = message.to_ascii_lowercase();
        let has = |words: &str| message.contains(words);
        if has("refstorage") || has("reftable") {
            Some(Self::Reftable)
        } else if has("partialclone") {
            Some(Self::PartialClone)
        } else if has("objectformat") || has("object format") {
            Some(Self::Sha256)
        } else if has("mandatory extension: 'link'") {
            Some(Self::SplitIndex)
        } else if has("unsupported extension") || has("unsupported repository version") {
            Some(Self::Extension)
        } else {
            None
        }
    }

    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Reftable => "reftable",
            Self::Sha256 => "sha256-repository",
            Self::SplitIndex => "split-index",
            Self::PartialClone => "partial-clone",
            Self::Extension => "unsupported-extension",
        }
    }
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reftable => "the reftable format",
            Self::Sha256 => "SHA-256 object names",
            Self::SplitIndex => "a split index",
            Self::PartialClone => "the setting `extensions.partialClone`",
            Self::Extension => "a format extension",
        })
    }
}

/// Operation of git that is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `git merge`.
    Merge,
    /// `git revert`.
    Revert,
    /// `git cherry-pick`.
    CherryPick,
    /// `git bisect`.
    Bisect,
    /// `git rebase`.
    Rebase,
    /// `git am`.
    ApplyMailbox,
}

impl Operation {
    /// Returns git's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Revert => "revert",
            Self::CherryPick => "cherry-pick",
            Self::Bisect => "bisect",
            Self::Rebase => "rebase",
            Self::ApplyMailbox => "mailbox application",
        }
    }

    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Merge => "merge-in-progress",
            Self::Revert => "revert-in-progress",
            Self::CherryPick => "cherry-pick-in-progress",
            Self::Bisect => "bisect-in-progress",
            Self::Rebase => "rebase-in-progress",
            Self::ApplyMailbox => "mailbox-in-progress",
        }
    }
}
