//! Joins two edits of one content that do not touch each other: a change, and a person's uncommitted work.
//!
//! Owns: the rule when two edits are apart. Never: chooses between two edits of one line.
//!
//! Both sides are compared with their common base, line by line. Two edits are apart if at least one line between them is
//! unchanged on both sides; an insertion next to an edited line has no certain order. The rule is the one by which landing
//! carries a change over to another base, and by which `git merge` reports a conflict.

use std::ops::Range;

use crate::compare::line_edits;
use crate::text::split_lines;

/// Lines of one's own version that a change needs too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeConflict {
    /// First and last of these lines, counted from 1. The last is before the first if the version has deleted lines there.
    pub own_lines: (usize, usize),
}

/// Returns one's own version with the edits that turn `base` into `other`. Outside these edits it stays the same to the last
/// byte.
///
/// # Errors
/// Returns the first lines where both versions edit the base, or where nothing unchanged is between their edits.
pub fn merge_apart(base: &[u8], own: &[u8], other: &[u8]) -> Result<Vec<u8>, MergeConflict> {
    let [base_lines, own_lines, other_lines] = [base, own, other].map(|content| {
        let lines = split_lines(content);
        lines.iter().map(|line| line.full).collect::<Vec<&[u8]>>()
    });
    let own_edits = line_edits(&base_lines, &own_lines);
    let other_edits = line_edits(&base_lines, &other_lines);
    let mut merged = Vec::with_capacity(own.len() + other.len());
    let mut mine = own_edits.iter().peekable();
    // The next line of one's own version to be written, and by how many lines that version is longer than the base there.
    let (mut next, mut offset) = (0, 0_isize);
    for edit in &other_edits {
        while let Some(passed) = mine.next_if(|mine| mine.old.end < edit.old.start) {
            offset = passed.new.end as isize - passed.old.end as isize;
        }
        let conflict = |own_lines| Err(MergeConflict { own_lines });
        // `<=` and not `<`: edits that touch have no unchanged line between them.
        if let Some(near) = mine.peek()
            && near.old.start <= edit.old.end
        {
            return conflict((near.new.start + 1, near.new.end));
        }
        // Never negative, since one's own version has all lines before the edit. If it were, a refusal would cost less
        // than a wrong byte in a person's file.
        let (Some(start), Some(end)) = (
            edit.old.start.checked_add_signed(offset),
            edit.old.end.checked_add_signed(offset),
        ) else {
            return conflict((next + 1, next));
        };
        append_lines(&mut merged, &own_lines, next..start);
        append_lines(&mut merged, &other_lines, edit.new.clone());
        next = end;
    }
    append_lines(&mut merged, &own_lines, next..own_lines.len());
    Ok(merged)
}

fn append_lines(merged: &mut Vec<u8>, lines: &[&[u8]], range: Range<usize>) {
    for line in lines.get(range).unwrap_or_default() {
        merged.extend_from_slice(line);
    }
}

#[cfg(test)]
mod tests;
