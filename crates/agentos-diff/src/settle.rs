//! One file: from its resolved parts to its new state, hunk by hunk, with the report.
//!
//! Owns: what becomes of each hunk. Never: lands a file of which one hunk has no place.

use crate::budget::Budget;
use crate::locate::{
    Level, Miss, Place, Sought, Target, above_anchor, locate, missing_anchor, order, suggest,
};
use crate::parse::{Body, Hunk, HunkLine, Mark, repair};
use crate::splice::{Splice, splices};
use crate::text::{Line, excerpt};
use crate::{HunkReport, HunkStatus, Refusal, RefusalCode, Rung, inline};

/// Lines of an excerpt in a report.
const SHOWN_LINES: usize = 8;
/// Characters of one line of an excerpt.
const SHOWN_CHARS: usize = 160;

/// What became of a file's hunks.
pub(crate) struct Settled {
    /// One report for each hunk.
    pub reports: Vec<HunkReport>,
    /// The splices, if every hunk has its place.
    pub splices: Option<Vec<Splice>>,
    /// Those of the hunks that have their place, where not every one has.
    pub part: Vec<Splice>,
}

/// Places every hunk of one file.
pub(crate) fn settle(
    target: &mut Target<'_>,
    hunks: &[&Hunk<'_>],
    budget: &mut Budget,
) -> Result<Settled, Refusal> {
    let sought: Vec<Sought<'_, '_>> = hunks.iter().map(|hunk| Sought::new(hunk)).collect();
    match inline::find(&target.lines, target.content, hunks) {
        inline::Found::Once(places, splices) => return Ok(inline_settled(&sought, &places, splices)),
        inline::Found::Missed(index, why) => {
            return inline_missed(target, &sought, index, why, budget);
        }
        inline::Found::Lines => {}
    }
    let found = locate(target, &sought, budget)?;
    let mut reports = Vec::with_capacity(hunks.len());
    let mut all = Vec::new();
    let mut complete = true;
    let mut placed = Vec::new();
    for (at, (one, found)) in sought.iter().zip(found).enumerate() {
        let mut report = blank_report(at, one);
        match found {
            Ok(place) => {
                let there = already_there(&target.lines, one, &place);
                match splices(&target.lines, one.hunk, &place) {
                    Ok(mut new) if !there => {
                        land_report(&mut report, one, &place);
                        if let Some(anchor) = missing_anchor(target, one, budget)? {
                            let detail = format!("`{}` is not in the file", excerpt(anchor, SHOWN_CHARS));
                            report.repairs.push(repair("missing-anchor", detail));
                        }
                        placed.push((at, place.start));
                        all.append(&mut new);
                    }
                    Ok(_) => {
                        complete = false;
                        there_report(&mut report, place.start);
                    }
                    Err(_) => {
                        complete = false;
                        miss(target, one, &mut report, Miss::Nowhere, budget)?;
                    }
                }
            }
            Err(why) => {
                complete = false;
                miss(target, one, &mut report, why, budget)?;
            }
        }
        reports.push(report);
    }
    all.sort_by_key(|splice| (splice.start, splice.end));
    Ok(settled(&sought, reports, all, complete, &placed))
}

/// All splices, or those of the hunks that have their place and are in no other's way.
fn settled(
    sought: &[Sought<'_, '_>],
    reports: Vec<HunkReport>,
    all: Vec<Splice>,
    complete: bool,
    placed: &[(usize, usize)],
) -> Settled {
    let (splices, part) = if complete {
        (Some(all), Vec::new())
    } else if order::disjoint_of(sought, placed) {
        (None, all)
    } else {
        (None, Vec::new())
    };
    Settled {
        reports,
        splices,
        part,
    }
}

/// Texts that were found by themselves, wherever in a line.
fn inline_settled(sought: &[Sought<'_, '_>], places: &[usize], splices: Vec<Splice>) -> Settled {
    let mut reports = Vec::with_capacity(sought.len());
    for (at, (one, line)) in sought.iter().zip(places).enumerate() {
        let mut report = blank_report(at, one);
        report.status = HunkStatus::Landed;
        report.rung = Some(Rung::ExactMoved);
        report.found_line = Some(number(*line));
        reports.push(report);
    }
    Settled {
        reports,
        splices: Some(splices),
        part: Vec::new(),
    }
}

fn inline_missed(
    target: &mut Target<'_>,
    sought: &[Sought<'_, '_>],
    index: usize,
    why: Miss,
    budget: &mut Budget,
) -> Result<Settled, Refusal> {
    let mut reports: Vec<HunkReport> = sought
        .iter()
        .enumerate()
        .map(|(at, one)| blank_report(at, one))
        .collect();
    if let (Some(one), Some(report)) = (sought.get(index), reports.get_mut(index)) {
        miss(target, one, report, why, budget)?;
    }
    Ok(Settled {
        reports,
        splices: None,
        part: Vec::new(),
    })
}

fn blank_report(at: usize, one: &Sought<'_, '_>) -> HunkReport {
    HunkReport {
        index: u32::try_from(at + 1).unwrap_or(u32::MAX),
        status: HunkStatus::Refused,
        rung: None,
        stated_line: one.hunk.stated.old_start,
        found_line: None,
        candidates: Vec::new(),
        repairs: one.hunk.repairs.clone(),
        refusal: None,
        expected: Vec::new(),
        actual: Vec::new(),
    }
}

fn number(line: usize) -> u64 {
    line as u64 + 1
}

fn land_report(report: &mut HunkReport, one: &Sought<'_, '_>, place: &Place) {
    report.status = HunkStatus::Landed;
    report.rung = Some(place.rung(one.stated));
    report.found_line = Some(number(place.start));
}

fn there_report(report: &mut HunkReport, start: usize) {
    report.status = HunkStatus::AlreadyThere;
    report.found_line = Some(number(start));
    report.refusal = Some(
        Refusal::new(RefusalCode::Empty, "the result of this hunk is there already")
            .hint("leave this hunk out"),
    );
}

/// An edit whose result already stands where it would go: landing it would do it twice. That is so for an insertion at
/// the edge of its context; and for lines that come back in the result, found elsewhere than stated, where the result
/// stands around them.
fn already_there(lines: &[Line<'_>], one: &Sought<'_, '_>, place: &Place) -> bool {
    let only_adds = one.hunk.lines.iter().all(|line| line.mark != Mark::Remove);
    if one.old.is_empty() || one.hunk.lines.iter().all(|line| line.mark == Mark::Context) {
        return false;
    }
    let new: Vec<&HunkLine<'_>> = one.hunk.lines.iter().filter(|line| line.is_new()).collect();
    let stands_at = |start: usize| {
        lines.get(start..start + new.len()).is_some_and(|here| {
            here.iter()
                .zip(&new)
                .all(|(line, new)| line.text == new.text.as_ref())
        })
    };
    let end = place.start + one.old.len();
    if !only_adds {
        // The stated line is believed, unless lines without context are taken out and put in again: git writes no such hunk.
        let removed = |line: &&HunkLine<'_>| line.mark == Mark::Remove;
        let again = one.hunk.lines.iter().filter(removed).any(|line| {
            let mut added = new.iter().filter(|new| new.mark == Mark::Add);
            added.any(|new| new.text == line.text)
        });
        let bare = one.lead == 0 && one.trail == 0;
        let as_stated = place.level == Level::Exact && one.stated == Some(place.start) && !(again && bare);
        let says = new.iter().any(|line| crate::text::trim(&line.text).len() > 1);
        let first = end.saturating_sub(new.len());
        return !as_stated
            && says
            && (new.len() > one.old.len() || (new.len() == one.old.len() && place.level != Level::Exact))
            && (first..=place.start).any(stands_at);
    }
    (one.trail == 0 && stands_at(place.start))
        || (one.lead == 0 && end.checked_sub(new.len()).is_some_and(stands_at))
}

/// Fills the report of a hunk that has no place.
fn miss(
    target: &mut Target<'_>,
    one: &Sought<'_, '_>,
    report: &mut HunkReport,
    why: Miss,
    budget: &mut Budget,
) -> Result<(), Refusal> {
    report.expected = one
        .old
        .iter()
        .take(SHOWN_LINES)
        .map(|line| excerpt(&line.text, SHOWN_CHARS))
        .collect();
    let hint = match why {
        Miss::Nowhere => "copy the lines exactly as they stand in the file",
        Miss::Outdented(_) => "begin the text and its replacement with the blanks that the line begins with",
        Miss::InWord(_) => "give the whole word",
        Miss::There(_) => "leave this edit out",
        Miss::GoesOn(_) | Miss::Several(_) | Miss::Nothing | Miss::Overlap(_) => {
            "add lines above and below until the place is the only one"
        }
    };
    let (code, message, starts) = match why {
        Miss::Nowhere => {
            if let Some(start) = result_stands(target, one, budget)? {
                there_report(report, start);
                return Ok(());
            }
            match above_anchor(target, one, budget)? {
                Some(start) => (
                    RefusalCode::DoesNotApply,
                    "the lines this hunk expects stand above the line it names behind `@@`",
                    vec![start],
                ),
                None => (
                    RefusalCode::DoesNotApply,
                    "the lines this hunk expects are not in the file",
                    suggest(target, one, budget)?,
                ),
            }
        }
        Miss::There(start) => {
            there_report(report, start);
            return Ok(());
        }
        Miss::Outdented(start) => (
            RefusalCode::Ambiguous,
            "the replacement has lines that stand further left than the line they come into",
            vec![start],
        ),
        Miss::GoesOn(start) => (
            RefusalCode::Ambiguous,
            "the line that ends this hunk stands in the file right below it, and may be a part of it",
            vec![start],
        ),
        Miss::InWord(start) => (
            RefusalCode::Ambiguous,
            "the text stands in the file once, as a part of a longer word",
            vec![start],
        ),
        Miss::Several(starts) => (
            RefusalCode::Ambiguous,
            "the lines this hunk expects are at several places",
            starts,
        ),
        Miss::Nothing => (
            RefusalCode::Ambiguous,
            "this hunk inserts lines and has no context that says where",
            Vec::new(),
        ),
        Miss::Overlap(starts) => (
            RefusalCode::Ambiguous,
            "this hunk overlaps another one of the same file",
            starts,
        ),
    };
    report.candidates = starts.iter().map(|start| number(*start)).collect();
    let nearby = starts
        .first()
        .and_then(|start| target.lines.get(*start..))
        .unwrap_or_default();
    report.actual = nearby
        .iter()
        .take(SHOWN_LINES.min(one.old.len().max(1)))
        .map(|line| excerpt(line.text, SHOWN_CHARS))
        .collect();
    report.refusal = Some(Refusal::new(code, message).hint(hint));
    Ok(())
}

/// The one place at which the new side of a hunk stands, if there is one: it has been applied before.
fn result_stands(
    target: &mut Target<'_>,
    one: &Sought<'_, '_>,
    budget: &mut Budget,
) -> Result<Option<usize>, Refusal> {
    let lines: Vec<HunkLine<'_>> = one
        .hunk
        .lines
        .iter()
        .filter(|line| line.is_new())
        .map(|line| HunkLine {
            mark: Mark::Context,
            ..line.clone()
        })
        .collect();
    if lines.iter().all(|line| crate::text::trim(&line.text).len() < 2) {
        return Ok(None);
    }
    let result = Hunk {
        lines,
        ..Hunk::default()
    };
    let places = crate::locate::candidates(target, &Sought::new(&result), budget)?;
    Ok(match places.as_slice() {
        [only] => Some(only.start),
        _ => None,
    })
}

/// The content of a new file.
pub(crate) fn content_of<'l, 'a: 'l>(lines: impl Iterator<Item = &'l HunkLine<'a>>) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines {
        out.extend_from_slice(&line.text);
        if line.cr {
            out.push(b'\r');
        }
        if !line.bare {
            out.push(b'\n');
        }
    }
    out
}

/// The hunks of a body; none for a whole file.
pub(crate) fn hunks_of<'e, 'a>(body: &'e Body<'a>) -> Vec<&'e Hunk<'a>> {
    match body {
        Body::Hunks(hunks) => hunks.iter().collect(),
        Body::Whole(_) => Vec::new(),
    }
}
