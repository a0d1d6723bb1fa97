//! A search text and its replacement as one hunk: lines on both sides are context, so that they keep the
//! file's own bytes.
//!
//! Owns: the pairing. Never: looks at the base.

use std::borrow::Cow;

use super::model::{HunkLine, Mark};
use crate::compare::edits;

/// Hunk lines that turn `old` into `new`.
pub(crate) fn paired<'a>(old: &[&[u8]], new: &[&[u8]]) -> Vec<HunkLine<'a>> {
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let mut push = |mark: Mark, texts: &[&[u8]]| {
        lines.extend(texts.iter().map(|text| HunkLine {
            mark,
            text: Cow::Owned(text.to_vec()),
            cr: false,
            bare: false,
        }));
    };
    let mut at = 0;
    for edit in edits(old, new) {
        push(Mark::Context, old.get(at..edit.old.start).unwrap_or_default());
        push(Mark::Remove, old.get(edit.old.clone()).unwrap_or_default());
        push(Mark::Add, new.get(edit.new).unwrap_or_default());
        at = edit.old.end;
    }
    push(Mark::Context, old.get(at..).unwrap_or_default());
    lines
}
