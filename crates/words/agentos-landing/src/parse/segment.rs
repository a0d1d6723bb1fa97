//! Parts of an answer, as the cut finds them.
//!
//! Owns: the kinds of parts. Never: finds where a part ends; `cut` does.

use std::ops::Range;

use super::calls::RawCall;
use super::cursor::CodeFence;
use super::model::{FileClaim, FileEdit};
use super::swap::TextSwap;
use super::title::PathTitle;
use crate::Refusal;

/// Part of an answer. Lines that no segment has are prose.
pub(super) struct Segment<'a> {
    pub kind: SegmentKind<'a>,
    /// Lines of the part.
    pub lines: Range<usize>,
    /// First line of the part with its fence: the sentence that speaks of the part is above it.
    pub head: usize,
    /// Blanks or quote marks in front of each line.
    pub margin: &'a [u8],
    /// True if a fence is around the part.
    pub in_fence: bool,
}

/// Kind of a part, which is also the reason why its lines are read as they are.
pub(super) enum SegmentKind<'a> {
    /// Head of a mail or of a commit, down to its diff.
    Message { is_mail: bool },
    /// Text between marks of reasoning: a draft, which no reader sees.
    Reasoning,
    /// Calls of tools, or JSON that may hold some.
    Calls(Vec<RawCall>),
    /// Patch envelope. `begun` is true if it has its first line.
    Envelope { begun: bool },
    /// Search/replace block, with the path above it.
    Block { title: Option<PathTitle>, middle: usize },
    /// Two fences below the labels of an old and a new text.
    Swap(TextSwap),
    /// Unified diffs with the prose between them.
    Diff(DiffFrame<'a>),
    /// Fence below a path: a file, or an example. `flaw` is the reason why its end is uncertain, with the
    /// line that shows it.
    File {
        title: PathTitle,
        claim: FileClaim,
        flaw: Option<(Refusal, usize)>,
    },
    /// Fence whose first line is a comment with a path.
    Commented { title: PathTitle },
    /// Shell script that writes these files. Empty if it writes a file in a way that cannot be read.
    Script(Vec<FileEdit>),
    /// Fence without a claim: a log, an example or a quotation. `name` is a word above it that may name a new file.
    Quotation { name: Option<Vec<u8>>, has_end: bool },
    /// Part that can be read in several ways or that breaks off.
    Broken(Refusal),
}

impl Segment<'_> {
    /// Returns true for a part behind quote marks, and for an indented part outside of fences: it may be a quotation.
    pub(super) fn is_quoted(&self) -> bool {
        self.margin.contains(&b'>') || (!self.margin.is_empty() && !self.in_fence)
    }
}

impl SegmentKind<'_> {
    /// Returns true for a part that is read as edits.
    pub(super) fn may_edit(&self) -> bool {
        !matches!(
            self,
            Self::Message { .. } | Self::Reasoning | Self::Quotation { .. } | Self::Broken(_)
        )
    }
}

/// Frame around unified diffs.
pub(super) struct DiffFrame<'a> {
    /// Fence around the diffs. `None` outside of fences.
    pub fence: Option<CodeFence<'a>>,
    /// Path that is named above a fence whose first hunk has no names. `None` if the diff has names.
    pub title: Option<PathTitle>,
    /// True if other text is above the diff in a fence of another kind: the diff is a part of that text.
    pub in_other_text: bool,
}
