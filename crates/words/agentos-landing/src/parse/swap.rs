//! An old and a new text in two fences, below the labels `Before:` and `After:`.
//!
//! Owns: the labels. Never: lands the new text unless the file has the old one.

use std::ops::Range;

use super::block::{FenceBlock, title_above};
use super::cursor::{fence_body, parse_fence};
use super::model::{FileEdit, Hunk};
use super::name::strip_marks;
use super::title::{PathTitle, fence_title, without_bullet};
use crate::Dialect;
use crate::text::{TextLine, is_in, line_above, texts_of, trim};

/// Labels of an old text, and of a new one.
const OLD: &str = "before,old,original,current,old code,current code";
const NEW: &str = "after,new,updated,replacement,new code,updated code";

/// Old and new text of one place of a file.
pub(super) struct TextSwap {
    title: PathTitle,
    old: Range<usize>,
    new: Range<usize>,
}

impl TextSwap {
    /// Reads the edit from all lines of the answer.
    pub(super) fn read(&self, lines: &[TextLine<'_>]) -> FileEdit {
        let texts = |range: &Range<usize>| texts_of(lines.get(range.clone()).unwrap_or_default());
        let hunk = Hunk::of_texts(&texts(&self.old), &texts(&self.new));
        FileEdit::of_hunk(Dialect::SearchReplace, &self.title.path, hunk)
    }
}

/// Finds the two texts of which the old one is in this fence. Returns them with the line after them, or
/// `None` if the labels or the path are missing.
pub(super) fn find_swap(block: &FenceBlock<'_, '_>) -> Option<(TextSwap, usize)> {
    let (lines, is_tracked) = (block.lines, block.is_tracked);
    let label = line_above(lines, block.at, 2).filter(|label| is_label(lines, *label, OLD))?;
    let below = said_below(lines, block.end + 1).filter(|label| is_label(lines, *label, NEW))?;
    let fence = said_below(lines, below + 1)?;
    let second = parse_fence(lines.get(fence)?.text)?;
    let new_end = fence + 1 + fence_body(lines, fence + 1, &second).len();
    let above = || title_above(lines, label, is_tracked);
    let title = fence_title(block.open.info, is_tracked).or_else(above)?;
    let swap = TextSwap {
        title,
        old: block.at + 1..block.end,
        new: fence + 1..new_end,
    };
    (new_end < lines.len()).then_some((swap, new_end + 1))
}

fn is_label(lines: &[TextLine<'_>], at: usize, labels: &str) -> bool {
    let line = lines.get(at).map(|line| line.text).unwrap_or_default();
    let text = strip_marks(without_bullet(trim(line)));
    let text = strip_marks(text.strip_suffix(b":").unwrap_or(text));
    let text = text.strip_suffix(b":").unwrap_or(text);
    is_in(labels, text.to_ascii_lowercase())
}

/// Returns the nearest line with text from this one on, one line further at most.
fn said_below(lines: &[TextLine<'_>], at: usize) -> Option<usize> {
    (at..at + 2).find(|at| lines.get(*at).is_some_and(TextLine::says))
}
