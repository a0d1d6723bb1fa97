//! Owner of a line of an answer: the part that the line belongs to.
//!
//! Owns: the kinds of parts. Never: finds the end of one; `owners` does.

/// Part of an answer that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOwner {
    /// No part: any dialect may begin here.
    Free,
    /// Marked line of a hunk.
    Hunk,
    /// Search/replace block.
    Block,
    /// Patch envelope.
    Envelope,
    /// Whole file: in a titled fence or in a here-document.
    File,
    /// Call of a tool, in tags.
    Call,
    /// Message of a mail or of a commit.
    Message,
}
