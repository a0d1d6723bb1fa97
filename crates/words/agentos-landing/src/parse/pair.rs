//! Search text and replacement as one hunk. Lines on both sides are context, so that they keep the file's own bytes.
//!
//! Owns: the pairing. Never: looks at the base.

use super::model::{HunkLine, LineMark};
use crate::compare::line_edits;

/// Returns the hunk lines that turn `old` into `new`.
pub(crate) fn pair_lines<'a>(old: &[&[u8]], new: &[&[u8]]) -> Vec<HunkLine<'a>> {
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let mut push = |mark: LineMark, texts: &[&[u8]]| {
        lines.extend(texts.iter().map(|text| HunkLine::new(mark, text.to_vec())));
    };
    let mut at = 0;
    for edit in line_edits(old, new) {
        push(LineMark::Context, old.get(at..edit.old.start).unwrap_or_default());
        push(LineMark::Remove, old.get(edit.old.clone()).unwrap_or_default());
        push(LineMark::Add, new.get(edit.new).unwrap_or_default());
        at = edit.old.end;
    }
    push(LineMark::Context, old.get(at..).unwrap_or_default());
    lines
}
