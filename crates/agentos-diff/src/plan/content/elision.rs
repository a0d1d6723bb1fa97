//! Hunks whose context leaves lines out with `...`: each piece must find its own place, in the order given.
//!
//! Owns: cutting hunks at such lines. Never: removes or adds a line that is not shown.

use crate::budget::Budget;
use crate::elided::elides;
use crate::locate::Target;
use crate::parse::{Hunk, HunkLine, Mark, Stated, repair};
use crate::resolve::Stop;
use crate::settle::{self, Settled};
use crate::{FileReport, HunkReport};

/// Reads hunks in pieces where they do not land whole.
pub(super) fn settle(
    target: &mut Target<'_>,
    hunks: &[&Hunk<'_>],
    whole: Settled,
    budget: &mut Budget,
    report: &mut FileReport,
) -> Result<Settled, Stop> {
    if whole.splices.is_some() || !hunks.iter().any(|hunk| hunk.lines.iter().any(is_gap)) {
        return Ok(whole);
    }
    let Some(pieces) = hunks.iter().map(|hunk| cut(hunk)).collect::<Option<Vec<_>>>() else {
        return Ok(whole);
    };
    let all: Vec<&Hunk<'_>> = pieces.iter().flatten().collect();
    let settled = settle::settle(target, &all, budget)?;
    let Some(splices) = settled.splices else {
        return Ok(whole);
    };
    report.repairs.push(repair(
        "elision",
        "lines that the context leaves out were taken as they stand in the file",
    ));
    let mut of_pieces = settled.reports.into_iter();
    let mut reports: Vec<HunkReport> = Vec::with_capacity(hunks.len());
    for (old, pieces) in whole.reports.iter().zip(&pieces) {
        let mut own: Vec<HunkReport> = of_pieces.by_ref().take(pieces.len()).collect();
        if !own.is_empty() {
            let mut first = own.swap_remove(0);
            first.index = old.index;
            reports.push(first);
        }
    }
    Ok(Settled {
        reports,
        splices: Some(splices),
        part: Vec::new(),
    })
}

/// A context line that stands for others.
fn is_gap(line: &HunkLine<'_>) -> bool {
    line.mark == Mark::Context && elides(&line.text)
}

/// The hunk's pieces; none when one has no line to find it by, or when changed lines stand for others, too.
fn cut<'a>(hunk: &Hunk<'a>) -> Option<Vec<Hunk<'a>>> {
    if !hunk.lines.iter().any(is_gap) {
        return Some(vec![hunk.clone()]);
    }
    if hunk
        .lines
        .iter()
        .any(|line| line.mark != Mark::Context && elides(&line.text))
    {
        return None;
    }
    // The stated line is that of the first piece, and of a hunk that has other lines.
    let without_lines = Hunk {
        lines: Vec::new(),
        stated: Stated::default(),
        inline: hunk.inline.clone(),
        anchors: hunk.anchors.clone(),
        section: hunk.section.clone(),
        at_end: hunk.at_end,
        marked: hunk.marked,
        repairs: hunk.repairs.clone(),
        part: hunk.part,
    };
    let mut pieces = Vec::new();
    for lines in hunk.lines.split(is_gap) {
        let lines = without_blank_edges(lines);
        let changes = lines.iter().any(|line| line.mark != Mark::Context);
        if changes && !lines.iter().any(says_something) {
            return None;
        }
        if lines.is_empty() {
            continue;
        }
        pieces.push(Hunk {
            lines: lines.to_vec(),
            ..without_lines.clone()
        });
    }
    Some(pieces)
}

fn says_something(line: &HunkLine<'_>) -> bool {
    line.is_old() && !line.text.iter().all(u8::is_ascii_whitespace)
}

fn without_blank_edges<'l, 'a>(mut lines: &'l [HunkLine<'a>]) -> &'l [HunkLine<'a>] {
    let blank = |line: &HunkLine<'_>| line.mark == Mark::Context && !says_something(line);
    while let Some((_, rest)) = lines.split_first().filter(|(first, _)| blank(first)) {
        lines = rest;
    }
    while let Some((_, rest)) = lines.split_last().filter(|(last, _)| blank(last)) {
        lines = rest;
    }
    lines
}
