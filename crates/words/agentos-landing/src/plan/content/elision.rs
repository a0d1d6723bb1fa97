//! Hunks whose context leaves lines out with `...`: each piece must find its own place, in the order given.
//!
//! Owns: cutting hunks at such lines. Never: removes or adds a line that is not shown.

use super::edges::within_blank_edges;
use crate::locate::TargetFile;
use crate::parse::{Hunk, HunkLine, LineMark, StatedLines, new_repair};
use crate::placement::{self, PlacedHunks};
use crate::refusal::ambiguous;
use crate::resolve::StopReason;
use crate::results::placeholder::is_elision;
use crate::text::{FileLines, TextLine, leading_blanks, trim};
use crate::{FileReport, HunkReport, Refusal};

/// Places hunks in pieces if they do not land whole.
pub(super) fn retry_in_pieces(
    target: &mut TargetFile<'_>,
    hunks: &[&Hunk],
    whole: PlacedHunks,
    report: &mut FileReport,
) -> Result<PlacedHunks, StopReason> {
    if whole.splices.is_ok() || !hunks.iter().any(|hunk| hunk.lines.iter().any(is_gap)) {
        return Ok(whole);
    }
    let mut pieces = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        match cut_at_gaps(target, hunk)? {
            Some(cut) => pieces.push(cut),
            None => return Ok(whole),
        }
    }
    let all: Vec<&Hunk> = pieces.iter().flatten().collect();
    let settled = placement::place_hunks(target, &all)?;
    let Ok(splices) = settled.splices else {
        return Ok(whole);
    };
    // The two pieces may be in two functions that look alike. Then the lines between them belong to both.
    if leaves_block(target, &pieces, &settled.reports) {
        let message = "lines left out of the context reach beyond the block in which it begins";
        let refusal = ambiguous(message).at(&report.path);
        return Err(refusal
            .hint("write out the lines between, or split the hunk there")
            .into());
    }
    let detail = "lines left out of the context were taken from the file";
    report.repairs.push(new_repair("elision", detail));
    let mut of_pieces = settled.reports.into_iter();
    let reports = whole.reports.iter().zip(&pieces).filter_map(|(old, pieces)| {
        let own: Vec<HunkReport> = of_pieces.by_ref().take(pieces.len()).collect();
        let index = old.index;
        own.into_iter().next().map(|first| HunkReport { index, ..first })
    });
    let (reports, splices) = (reports.collect(), Ok(splices));
    Ok(PlacedHunks { reports, splices })
}

/// Returns true if a line between two pieces of a hunk ends the block of the first, or begins that of the second.
fn leaves_block(target: &TargetFile<'_>, pieces: &[Vec<Hunk>], reports: &[HunkReport]) -> bool {
    let mut found = reports
        .iter()
        .map(|report| report.found_line.and_then(|line| usize::try_from(line).ok()));
    pieces.iter().any(|pieces| {
        let spans: Vec<(usize, usize)> = pieces
            .iter()
            .zip(found.by_ref())
            .filter_map(|(piece, line)| {
                let start = line?.checked_sub(1)?;
                Some((start, start + piece.old_lines().count()))
            })
            .collect();
        let mut pairs = spans.array_windows();
        pairs.any(|[head, tail]| crosses_block(target.lines(), *head, *tail))
    })
}

/// Returns true if the lines between `head` and `tail` (each its first line and one past its last) leave the block
/// that `head` shows.
fn crosses_block(lines: FileLines<'_>, head: (usize, usize), tail: (usize, usize)) -> bool {
    let part = |from: usize, to: usize| lines.clamped(from..to);
    let gap = part(head.1, tail.0);
    // The opening bracket may be on a line of its own, with the indentation of the outer block.
    let brackets = gap.iter().take_while(|line| trim(line.text) == b"{").count();
    let gap = gap.below(brackets);
    let (Some(outer), Some(between), Some(inner)) = (
        least_depth(part(head.0, head.1)),
        least_depth(gap),
        least_depth(part(tail.0, tail.1)),
    ) else {
        return false;
    };
    // Sections of INI and TOML files are not indented, so a new header ends them instead.
    let section = |line: &TextLine<'_>| line.text.starts_with(b"[") && trim(line.text).ends_with(b"]");
    if part(head.0, head.1).iter().any(|line| section(&line)) && gap.iter().any(|line| section(&line)) {
        return true;
    }
    if inner > outer && opens_block(lines, head, outer) {
        between <= outer
    } else {
        between < inner.min(outer)
    }
}

/// Returns true if the last line of `head` with the least indentation is followed by a line with more.
fn opens_block(lines: FileLines<'_>, head: (usize, usize), outer: usize) -> bool {
    let shown = lines.clamped(head.0..head.1);
    let last = shown.iter().rposition(|line| line_depth(&line) == Some(outer));
    let below = last.map(|last| lines.below(head.0 + last + 1));
    let depth = |line: TextLine<'_>| line_depth(&line).filter(|_| trim(line.text) != b"{");
    let next = below.and_then(|below| below.iter().find_map(depth));
    next.is_some_and(|next| next > outer)
}

/// Returns the least indentation of lines with text. Returns `None` if there are none.
fn least_depth(lines: FileLines<'_>) -> Option<usize> {
    lines.iter().filter_map(|line| line_depth(&line)).min()
}

/// Returns the indentation of a line with text. Returns `None` for blank lines, and for preprocessor directives and
/// comments that begin like them: these are often not indented with their block.
fn line_depth(line: &TextLine<'_>) -> Option<usize> {
    let text = trim(line.text);
    (!text.is_empty() && !text.starts_with(b"#")).then(|| leading_blanks(line.text).len())
}

/// Returns true for a context line that is an elision.
fn is_gap(line: &HunkLine) -> bool {
    line.mark == LineMark::Context && is_elision(&line.text)
}

/// Cuts a hunk into pieces. Returns `None` if a piece has no line to find it by, or if a changed line is an elision,
/// too.
fn cut_at_gaps(target: &TargetFile<'_>, hunk: &Hunk) -> Result<Option<Vec<Hunk>>, Refusal> {
    if !hunk.lines.iter().any(is_gap) {
        return Ok(Some(vec![hunk.clone()]));
    }
    let is_changed_gap = |line: &HunkLine| line.mark != LineMark::Context && is_elision(&line.text);
    if hunk.lines.iter().any(is_changed_gap) {
        return Ok(None);
    }
    // Only the first piece is at the stated line, and the lines of the others are unknown. Repairs are reported once,
    // with the first piece; what may continue the hunk is below its last piece.
    let without_lines = Hunk {
        lines: Vec::new(),
        stated: StatedLines::default(),
        continuation: Vec::new(),
        repairs: Vec::new(),
        ..hunk.clone()
    };
    // Each piece gets a copy of these, so an answer with many pieces must pay for the copies, by their bytes.
    let inline = hunk.inline.as_ref();
    let anchors: usize = hunk.anchors.iter().map(|anchor| 1 + anchor.len()).sum();
    let copied = anchors + hunk.section.as_ref().map_or(0, Vec::len);
    let cost = 1 + copied + inline.map_or(0, |inline| inline.search.len() + inline.replace.len());
    let mut pieces = Vec::new();
    for lines in hunk.lines.split(is_gap) {
        let lines = within_blank_edges(lines);
        let changes = lines.iter().any(|line| line.mark != LineMark::Context);
        // Added lines alone have no place once the context next to them is cut off.
        if changes && !lines.iter().any(says_something) {
            return Ok(None);
        }
        if lines.is_empty() {
            continue;
        }
        target.budget.spend(cost)?;
        pieces.push(Hunk {
            lines: lines.to_vec(),
            ..without_lines.clone()
        });
    }
    if let Some(first) = pieces.first_mut() {
        first.repairs.clone_from(&hunk.repairs);
    }
    if let Some(last) = pieces.last_mut() {
        last.continuation.clone_from(&hunk.continuation);
    }
    Ok(Some(pieces))
}

fn says_something(line: &HunkLine) -> bool {
    line.is_old() && !line.text.iter().all(u8::is_ascii_whitespace)
}
