//! An old and a new text in two fences, below the labels `Before:` and `After:`.
//!
//! Owns: the labels. Never: lands the new text unless the file has the old one.

use std::ops::Range;

use super::cursor::{CodeFence, fence_body, parse_fence};
use super::model::{EditBody, FileEdit, Hunk};
use super::name::strip_marks;
use super::pair::pair_lines;
use super::title::{IsTracked, PathTitle, fence_title, read_title, without_bullet};
use crate::Dialect;
use crate::text::{TextLine, trim};

/// Labels of an old text, and of a new one.
const OLD: [&str; 6] = ["before", "old", "original", "current", "old code", "current code"];
const NEW: [&str; 6] = [
    "after",
    "new",
    "updated",
    "replacement",
    "new code",
    "updated code",
];

/// Old and new text of one place of a file.
#[derive(Debug)]
pub(super) struct TextSwap {
    title: PathTitle,
    old: Range<usize>,
    new: Range<usize>,
}

impl TextSwap {
    /// Reads the edit from all lines of the answer.
    pub(super) fn read<'a>(&self, lines: &[TextLine<'a>]) -> FileEdit<'a> {
        let texts = |range: &Range<usize>| -> Vec<&'a [u8]> {
            let lines = lines.get(range.clone()).unwrap_or_default();
            lines.iter().map(|line| line.text).collect()
        };
        let mut edit = FileEdit::of_path(Dialect::SearchReplace, &self.title.path);
        edit.body = EditBody::Hunks(vec![Hunk {
            lines: pair_lines(&texts(&self.old), &texts(&self.new)),
            ..Hunk::default()
        }]);
        edit
    }
}

/// Finds the two texts of which the old one is in the fence at `at`, up to `end`. Returns them with the line after them, or
/// `None` if the labels or the path are missing.
pub(super) fn find_swap(
    lines: &[TextLine<'_>],
    at: usize,
    end: usize,
    open: &CodeFence<'_>,
    is_tracked: IsTracked<'_>,
) -> Option<(TextSwap, usize)> {
    let label = said_above(lines, at).filter(|label| is_label(lines, *label, &OLD))?;
    let below = said_below(lines, end + 1).filter(|label| is_label(lines, *label, &NEW))?;
    let fence = said_below(lines, below + 1)?;
    let second = parse_fence(lines.get(fence)?.text)?;
    let new_end = fence + 1 + fence_body(lines, fence + 1, &second).len();
    let title = fence_title(open.info, is_tracked).or_else(|| {
        let above = said_above(lines, label)?;
        read_title(lines.get(above)?.text, is_tracked).filter(|title| title.is_certain)
    })?;
    let swap = TextSwap {
        title,
        old: at + 1..end,
        new: fence + 1..new_end,
    };
    (new_end < lines.len()).then_some((swap, new_end + 1))
}

fn is_label(lines: &[TextLine<'_>], at: usize, labels: &[&str]) -> bool {
    let line = lines.get(at).map(|line| line.text).unwrap_or_default();
    let text = strip_marks(without_bullet(trim(line)));
    let text = strip_marks(text.strip_suffix(b":").unwrap_or(text));
    let text = text.strip_suffix(b":").unwrap_or(text);
    labels
        .iter()
        .any(|label| text.eq_ignore_ascii_case(label.as_bytes()))
}

/// Returns the nearest line with text above or below, two lines away at most.
fn said_above(lines: &[TextLine<'_>], at: usize) -> Option<usize> {
    (at.saturating_sub(2)..at).rev().find(|at| has_text(lines, *at))
}

fn said_below(lines: &[TextLine<'_>], at: usize) -> Option<usize> {
    (at..at + 2).find(|at| has_text(lines, *at))
}

fn has_text(lines: &[TextLine<'_>], at: usize) -> bool {
    lines.get(at).is_some_and(|line| !trim(line.text).is_empty())
}
