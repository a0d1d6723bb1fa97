//! What stands in the way of a landing: formats, and what git is in the middle of.
//!
//! Owns: their names and codes. Never: finds out which one it is, but from libgit2's words.

/// A repository format that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// `extensions.refStorage = reftable`.
    Reftable,
    /// `extensions.objectFormat = sha256`.
    Sha256,
    /// An index in two files.
    SplitIndex,
    /// An index with folders in it.
    SparseIndex,
    /// Objects that are fetched when they are needed.
    PartialClone,
    /// A work tree with parts left out.
    SparseCheckout,
    /// Anything newer.
    Extension,
}

impl Unsupported {
    /// The format that libgit2's words are about, if they are about one.
    pub(crate) fn named_in(message: &str) -> Option<Self> {
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
        } else if has("mandatory extension: 'sdir'") {
            Some(Self::SparseIndex)
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
            Self::SparseIndex => "sparse-index",
            Self::PartialClone => "partial-clone",
            Self::SparseCheckout => "sparse-checkout",
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
            Self::SparseIndex => "a sparse index",
            Self::PartialClone => "a partial clone",
            Self::SparseCheckout => "a sparse checkout",
            Self::Extension => "a format extension",
        })
    }
}

/// What git is in the middle of.
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
    /// As git calls it.
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
