//! Merge of a change that was made for another state of a file: carried over to the base if that is clean, else
//! `stale`. In the same way, a change and a person's uncommitted work are joined.
//!
//! Owns: the content that the tool saw, the three-way merge, and the rule when two edits are apart. Never: carries an edit over a
//! line that changed since, or chooses between two edits of one line.
//!
//! Both sides are compared with their common base, line by line. Two edits are apart if at least one line between them is
//! unchanged on both sides; an insertion next to an edited line has no certain order. By this rule `git merge` reports a
//! conflict, too.

use std::sync::Arc;

use crate::compare::{LineEdit, line_edits};
use crate::context::WorkBudget;
use crate::locate::TargetFile;
use crate::parse::Hunk;
use crate::placement::{place_hunks, report_already_there};
use crate::plan::content::FileParts;
use crate::refusal::about_path;
use crate::resolve::StopReason;
use crate::splice::{LineSplice, join_splices};
use crate::text::{FileLines, line_starts};
use crate::{FileReport, HunkStatus, Refusal, RefusalCode, Rung};

/// Returns the content that the tool saw. Returns `None` if it is unknown or is the base.
///
/// # Errors
/// Fails if the parts were made for two different states, or if the base cannot be read.
pub(crate) fn content_seen(file: FileParts<'_>) -> Result<Option<Arc<[u8]>>, StopReason> {
    let Some((_, resolved)) = file.parts.first() else {
        return Ok(None);
    };
    let source = resolved.source();
    // What we sent is certain. The `index` line is only what the model wrote, so it is asked second.
    if let Some(sent) = file.context.options.seen_file(source) {
        return Ok((sent.content != file.old.content).then(|| Arc::clone(&sent.content)));
    }
    let mut other: Option<Arc<[u8]>> = None;
    for (edit, resolved) in file.parts {
        let Some((id, _)) = &edit.extended.index else {
            continue;
        };
        let base = resolved.id.as_deref().unwrap_or_default();
        // An id of zeros is git's mark for "no file", and the id of the base says that nothing changed since.
        if base.starts_with(id.as_str()) || id.bytes().all(|byte| byte == b'0') {
            continue;
        }
        // The id may be invented. One that no object has says nothing about what was seen.
        let Some((_, content)) = file.context.base.blob_by_prefix(id)? else {
            continue;
        };
        // Two parts of one file with two different old states cannot both be carried over by one merge.
        if other.as_ref().is_some_and(|other| *other != content) {
            return Err(stale_refusal(source, "the answer was made for two states of this file").into());
        }
        other = Some(content);
    }
    Ok(other.filter(|content| *content != file.old.content))
}

pub(crate) fn stale_refusal(path: &str, why: &str) -> Refusal {
    about_path(RefusalCode::Stale, path, &format!("has changed since: {why}"))
        .hint("make the change again for the file as it is now")
}

/// Returns the refusal of a file that already has the change.
pub(crate) fn already_changed(path: &str) -> Refusal {
    about_path(RefusalCode::Empty, path, "already has this change")
}

/// Lands the hunks on the text that the tool saw, the first of the two, and carries the result over to the second, that
/// of the base. Both are in the encoding of the answer. Returns the new text. `is_result` is true if the answer's
/// `index` line names the base as the result of the change.
///
/// # Errors
/// Fails with `stale` if the hunks do not fit what was seen or touch a line that changed since, and with `empty` if
/// the base already has the change.
pub(crate) fn carry_over(
    (seen, old): (&[u8], &[u8]),
    hunks: &[&Hunk],
    is_result: bool,
    budget: &WorkBudget,
    report: &mut FileReport,
) -> Result<Vec<u8>, StopReason> {
    budget.grant_bytes(seen.len());
    let mut target = TargetFile::new(seen, budget);
    let settled = place_hunks(&mut target, hunks)?;
    report.hunks = settled.reports;
    let Ok(splices) = settled.splices else {
        let why = "the change does not fit the content that the tool saw, which is not the base";
        return Err(stale_refusal(&report.path, why).into());
    };
    if is_result {
        return Err(report_all_there(report).into());
    }
    let starts = line_starts(old);
    let base_lines = FileLines::new(old, &starts);
    let since = line_edits(&full_lines(target.lines()), &full_lines(base_lines));
    // The bytes before and after are known, so this proves the change without a look at the text next to it.
    if splices.iter().all(|splice| was_made(splice, &since, base_lines)) {
        return Err(report_all_there(report).into());
    }
    let Ok(moved) = shift_splices(&splices, &since) else {
        return Err(conflict_refusal(old, hunks, budget, report).into());
    };
    for hunk in &mut report.hunks {
        hunk.rung = Some(Rung::Merged);
    }
    Ok(join_splices(base_lines, &moved))
}

/// Reports every hunk as applied before, and returns the refusal of the file.
pub(crate) fn report_all_there(report: &mut FileReport) -> Refusal {
    for hunk in &mut report.hunks {
        hunk.rung = None;
        report_already_there(hunk, None);
    }
    already_changed(&report.path)
}

/// Returns true if the base has exactly this splice at exactly this place, compared with what the tool saw.
fn was_made(splice: &LineSplice, since: &[LineEdit], base_lines: FileLines<'_>) -> bool {
    let at = since.partition_point(|edit| edit.old.start < splice.start);
    since.get(at).is_some_and(|edit| {
        edit.old == (splice.start..splice.end) && base_lines.clamped(edit.new.clone()).bytes() == splice.bytes
    })
}

/// Returns the refusal of hunks whose lines changed since, and updates the report with how each hunk fits the base.
/// If the base has all of them already, the refusal is `empty`.
fn conflict_refusal(old: &[u8], hunks: &[&Hunk], budget: &WorkBudget, report: &mut FileReport) -> Refusal {
    for hunk in &mut report.hunks {
        hunk.status = HunkStatus::Refused;
    }
    // The placement on the base only improves the report, so a failure of it is ignored.
    let told = place_hunks(&mut TargetFile::new(old, budget), hunks);
    let told = told.map(|settled| settled.reports).unwrap_or_default();
    for (hunk, told) in report.hunks.iter_mut().zip(told) {
        if told.status != HunkStatus::Landed {
            *hunk = told;
        }
    }
    let mut hunks = report.hunks.iter();
    if hunks.all(|hunk| hunk.status == HunkStatus::AlreadyThere) {
        return already_changed(&report.path);
    }
    stale_refusal(&report.path, "the same lines were changed")
}

/// Returns the lines with their endings, so that a changed ending counts as a change.
fn full_lines(lines: FileLines<'_>) -> Vec<&[u8]> {
    lines.iter().map(|line| line.full).collect()
}

/// Moves splices of a text to the line numbers of its other version.
///
/// # Errors
/// Fails with the first edit of that version whose lines a splice touches or borders.
fn shift_splices<'s>(splices: &[LineSplice], since: &'s [LineEdit]) -> Result<Vec<LineSplice>, &'s LineEdit> {
    let mut out = Vec::with_capacity(splices.len());
    let mut edits = since.iter().peekable();
    let mut offset = 0isize;
    for splice in splices {
        while let Some(edit) = edits.next_if(|edit| edit.old.end < splice.start) {
            offset += edit.new.len() as isize - edit.old.len() as isize;
        }
        // A border counts as a conflict, as in git: an insertion next to a changed line has no certain order.
        if let Some(near) = edits.peek().filter(|edit| edit.old.start <= splice.end) {
            return Err(near);
        }
        // Never negative, since the other version has all lines above the splice.
        out.push(LineSplice {
            start: splice.start.saturating_add_signed(offset),
            end: splice.end.saturating_add_signed(offset),
            bytes: splice.bytes.clone(),
        });
    }
    Ok(out)
}

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
