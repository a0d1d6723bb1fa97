//! Blank context lines at the edges of hunks: often a gap in the text rather than a line of the file.
//!
//! Owns: reading hunks without them. Never: leaves out a line with text.

use crate::locate::TargetFile;
use crate::parse::{Hunk, HunkLine, LineMark, new_repair};
use crate::placement::{self, PlacedHunks};
use crate::refusal::ambiguous;
use crate::resolve::StopReason;
use crate::{FileReport, HunkReport, RefusalCode};

/// Places the hunks without their blank edges if they do not land with them. If they do land, but elsewhere than
/// stated, both readings must agree.
pub(super) fn retry_without_edges(
    target: &mut TargetFile<'_>,
    hunks: &[&Hunk],
    with: PlacedHunks,
    report: &mut FileReport,
) -> Result<PlacedHunks, StopReason> {
    let landed = with.splices.is_ok();
    let unstated = hunks.iter().all(|hunk| hunk.stated.old_start.is_none());
    // The second reading could only confirm these places, or has no stated line to disagree with.
    if landed && (with.is_as_stated() || unstated) {
        return Ok(with);
    }
    let trimmed: Vec<Option<Hunk>> = hunks.iter().map(|hunk| without_edges(hunk)).collect();
    if trimmed.iter().all(Option::is_none) || with.reports.len() != hunks.len() {
        return Ok(with);
    }
    let pairs = hunks.iter().zip(&trimmed);
    let chosen = pairs.map(|(hunk, trimmed)| trimmed.as_ref().unwrap_or(hunk));
    let chosen: Vec<&Hunk> = chosen.collect();
    let without = placement::place_hunks(target, &chosen)?;
    if !landed {
        // With several places, the blank line is in the file.
        let several = |hunk: &HunkReport| {
            let refusal = hunk.refusal.as_ref();
            refusal.is_some_and(|refusal| refusal.code == RefusalCode::Ambiguous)
        };
        if without.splices.is_err() || with.reports.iter().any(several) {
            return Ok(with);
        }
        let detail = "a blank line at the edge of a hunk is not in the file and was ignored";
        report.repairs.push(new_repair("blank-edge", detail));
        return Ok(without);
    }
    // The blank edge moved the hunk away from the place that its line number states. Nothing shows which is right.
    if without.is_as_stated() && without.splices != with.splices {
        let path = &report.path;
        let message = format!(
            "a hunk of `{path}` fits one place as it is, and its stated place without a blank line at its edge"
        );
        return Err(ambiguous(message).at(path).into());
    }
    Ok(with)
}

fn is_blank(line: &&HunkLine) -> bool {
    line.mark == LineMark::Context && !line.no_newline && line.text.iter().all(u8::is_ascii_whitespace)
}

/// Returns the lines without blank context at their edges.
pub(super) fn within_blank_edges(lines: &[HunkLine]) -> &[HunkLine] {
    let lead = lines.iter().take_while(is_blank).count();
    let below = lines.get(lead..).unwrap_or_default();
    let trail = below.iter().rev().take_while(is_blank).count();
    below.get(..below.len() - trail).unwrap_or_default()
}

/// Returns the hunk without blank context at its edges. Returns `None` if it has none, or no other old line.
fn without_edges(hunk: &Hunk) -> Option<Hunk> {
    let lines = within_blank_edges(&hunk.lines);
    if lines.len() == hunk.lines.len() || !lines.iter().any(HunkLine::is_old) {
        return None;
    }
    let lead = hunk.lines.iter().take_while(is_blank).count() as u64;
    let blank = (hunk.lines.len() - lines.len()) as u64;
    let mut out = hunk.clone();
    out.lines = lines.to_vec();
    out.stated.old_start = hunk.stated.old_start.map(|start| start + lead);
    out.stated.old_count = hunk.stated.old_count.map(|count| count.saturating_sub(blank));
    out.stated.new_count = hunk.stated.new_count.map(|count| count.saturating_sub(blank));
    Some(out)
}
