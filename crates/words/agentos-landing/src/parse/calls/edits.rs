//! Edits as calls state them.
//!
//! Owns: their shapes. Never: reads an argument.

use crate::Dialect;
use crate::parse::model::{FileClaim, FileEdit, Hunk, HunkLine, LineMark, PlaceCount, TextReplacement};
use crate::text::{LineEnding, split_lines, texts_of};

/// Returns the edit that replaces one text, in one place or in several.
pub(super) fn replace(path: &str, old: &str, new: &str, count: PlaceCount) -> FileEdit {
    let [old_lines, new_lines] = [old, new].map(|text| texts_of(&split_lines(text.as_bytes())));
    let mut hunk = Hunk::of_texts(&old_lines, &new_lines);
    // An empty search text occurs everywhere; it marks a new file.
    if !old.is_empty() {
        hunk.inline = Some(TextReplacement {
            search: old.to_owned(),
            replace: new.to_owned(),
            count,
        });
    }
    FileEdit::of_hunk(Dialect::JsonEdits, path.as_bytes(), hunk)
}

fn added_lines(text: &str) -> Vec<HunkLine> {
    split_lines(text.as_bytes())
        .iter()
        .map(|line| HunkLine {
            mark: LineMark::Add,
            text: line.text.to_vec(),
            cr: line.eol == LineEnding::CrLf,
            no_newline: line.eol == LineEnding::Missing,
        })
        .collect()
}

pub(super) fn whole_file(path: &str, text: &str, claim: FileClaim) -> FileEdit {
    FileEdit::of_whole_file(added_lines(text), path.as_bytes(), claim)
}

/// Returns an insertion below a line. It has no context, so it has a place in an empty file only.
///
/// With the file as it was shown (`LandOptions::seen`) a number could be counted in it. It is refused all the same: the
/// number is the only evidence, models count wrong by a line or two, and nothing in the file contradicts a wrong one.
/// Seen content proves which file was meant and not which line. The refusal asks for the lines around the place; every
/// agent with `insert` also has `str_replace`, which quotes them.
pub(super) fn insert(path: &str, line: u64, text: &str) -> FileEdit {
    let mut lines = added_lines(text);
    lines.iter_mut().for_each(|line| line.no_newline = false);
    let mut hunk = Hunk::of_lines(lines);
    (hunk.stated.old_start, hunk.stated.old_count) = (Some(line), Some(0));
    FileEdit::of_hunk(Dialect::JsonEdits, path.as_bytes(), hunk)
}

/// Returns the edit that gives the text of a notebook's cell.
pub(super) fn replace_cell(path: &str, id: &str, text: &str) -> FileEdit {
    let mut hunk = Hunk::of_lines(added_lines(text));
    hunk.cell = Some(id.to_owned());
    FileEdit::of_hunk(Dialect::JsonEdits, path.as_bytes(), hunk)
}
