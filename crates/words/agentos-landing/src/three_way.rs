//! Joins two edits of one content that do not touch each other: a change, and a person's uncommitted work.
//!
//! Owns: the rule when two edits are apart. Never: chooses between two edits of one line.
//!
//! Both sides are compared with their common base, line by line. Two edits are apart if at least one line between them is
//! unchanged on both sides; an insertion next to an edited line has no certain order. The rule is the one by which landing
//! carries a change over to another base, and by which `git merge` reports a conflict.

use crate::compare::line_edits;
use crate::merge::{full_lines, shift_splices};
use crate::splice::{LineSplice, join_splices};
use crate::text::{FileLines, line_starts};

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
    let starts = [base, own, other].map(line_starts);
    let [base_starts, own_starts, other_starts] = &starts;
    let base_lines = FileLines::new(base, base_starts);
    let own_lines = FileLines::new(own, own_starts);
    let other_lines = FileLines::new(other, other_starts);
    let edits_of = |lines| line_edits(&full_lines(base_lines), &full_lines(lines));
    let splices: Vec<LineSplice> = edits_of(other_lines)
        .into_iter()
        .map(|edit| LineSplice {
            start: edit.old.start,
            end: edit.old.end,
            bytes: other_lines.clamped(edit.new).bytes().to_vec(),
        })
        .collect();
    match shift_splices(&splices, &edits_of(own_lines)) {
        Ok(moved) => Ok(join_splices(own_lines, &moved)),
        Err(near) => Err(MergeConflict {
            own_lines: (near.new.start + 1, near.new.end),
        }),
    }
}

#[cfg(test)]
mod tests;
