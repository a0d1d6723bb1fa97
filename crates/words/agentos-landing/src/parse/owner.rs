//! Owner of a line of an answer: the part of it that begins above.
//!
//! Owns: the kinds of parts. Never: finds where one ends; `owners` does.

/// Part of an answer that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOwner {
    /// Nothing that is known: any dialect may begin here.
    Free,
    /// A marked line of a hunk.
    Hunk,
    /// A search/replace block.
    Block,
    /// An envelope.
    Envelope,
    /// A file that is given whole: in a titled fence or in a here-document.
    File,
    /// The message of a mail or of a commit.
    Message,
}
