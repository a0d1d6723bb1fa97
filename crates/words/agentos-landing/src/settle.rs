//! One file: from its resolved parts to its new state, hunk by hunk, with the report.
//!
//! Owns: what becomes of each hunk. Never: lands a file of which one hunk has no place.

use std::collections::HashSet;

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
/// What makes a place the only one.
const MORE_AROUND: &str = "add lines above and below until the place is the only one";

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
                let there = already_there(&target.lines, one, &place, budget)?;
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
    report.refusal = Some(is_there());
}

/// Why a hunk whose result is there does not land.
pub(crate) fn is_there() -> Refusal {
    Refusal::new(RefusalCode::Empty, "the result of this hunk is there already").hint("leave this hunk out")
}

/// An edit whose result already stands where it would go: landing it would do it twice.
fn already_there(
    lines: &[Line<'_>],
    one: &Sought<'_, '_>,
    place: &Place,
    budget: &mut Budget,
) -> Result<bool, Refusal> {
    let has = |mark: Mark| one.hunk.lines.iter().any(|line| line.mark == mark);
    if one.old.is_empty() || !(has(Mark::Add) || has(Mark::Remove)) {
        return Ok(false);
    }
    let new: Vec<&HunkLine<'_>> = one.hunk.lines.iter().filter(|line| line.is_new()).collect();
    if has(Mark::Remove) {
        return wrapped_already(lines, one, &new, place, budget);
    }
    // An insertion at the edge of its context.
    let end = place.start + one.old.len();
    Ok(
        (one.trail == 0 && same_lines(lines, place.start, &new) == new.len())
            || (one.lead == 0
                && end
                    .checked_sub(new.len())
                    .is_some_and(|start| same_lines(lines, start, &new) == new.len())),
    )
}

/// Lines that come back in the result, found elsewhere than stated, where the result stands around them.
fn wrapped_already(
    lines: &[Line<'_>],
    one: &Sought<'_, '_>,
    new: &[&HunkLine<'_>],
    place: &Place,
    budget: &mut Budget,
) -> Result<bool, Refusal> {
    // The stated line is believed, unless lines without context are taken out and put in again: git writes no such hunk.
    let added: HashSet<&[u8]> = new
        .iter()
        .filter(|line| line.mark == Mark::Add)
        .map(|line| line.text.as_ref())
        .collect();
    let mut old = one.old.iter();
    let again = old.any(|line| line.mark == Mark::Remove && added.contains(line.text.as_ref()));
    let bare = one.lead == 0 && one.trail == 0;
    let as_stated = place.level == Level::Exact && one.stated == Some(place.start) && !(again && bare);
    let says = new.iter().any(|line| crate::text::trim(&line.text).len() > 1);
    let grows = new.len() > one.old.len() || (new.len() == one.old.len() && place.level != Level::Exact);
    if as_stated || !says || !grows {
        return Ok(false);
    }
    let first = (place.start + one.old.len()).saturating_sub(new.len());
    for start in first..=place.start {
        let same = same_lines(lines, start, new);
        budget.spend(same + 1)?;
        if same == new.len() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many lines of the file from `start` on are these, one after the other.
fn same_lines(lines: &[Line<'_>], start: usize, new: &[&HunkLine<'_>]) -> usize {
    let here = lines.get(start..).unwrap_or_default();
    let pairs = here.iter().zip(new);
    pairs
        .take_while(|(line, new)| line.text == new.text.as_ref())
        .count()
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
    let because = match why {
        Miss::There(start) => Err(start),
        Miss::Nowhere => nowhere(target, one, budget)?,
        Miss::Outdented(start) => Ok(Because {
            hint: "begin the text and its replacement with the blanks that the line begins with",
            ..Because::ambiguous(
                "the replacement has lines that stand further left than the line they come into",
                vec![start],
            )
        }),
        Miss::InWord(start) => Ok(Because {
            hint: "give the whole word",
            ..Because::ambiguous(
                "the text stands in the file once, as a part of a longer word",
                vec![start],
            )
        }),
        Miss::GoesOn(start) => Ok(Because::ambiguous(
            "the line that ends this hunk stands in the file right below it, and may be a part of it",
            vec![start],
        )),
        Miss::Several(starts) => Ok(Because::ambiguous(
            "the lines this hunk expects are at several places",
            starts,
        )),
        Miss::Nothing => Ok(Because::ambiguous(
            "this hunk inserts lines and has no context that says where",
            Vec::new(),
        )),
        Miss::Overlap(starts) => Ok(Because::ambiguous(
            "this hunk overlaps another one of the same file",
            starts,
        )),
    };
    let because = match because {
        Ok(because) => because,
        Err(start) => {
            there_report(report, start);
            return Ok(());
        }
    };
    report.candidates = because.starts.iter().map(|start| number(*start)).collect();
    let nearby = because
        .starts
        .first()
        .and_then(|start| target.lines.get(*start..))
        .unwrap_or_default();
    report.actual = nearby
        .iter()
        .take(SHOWN_LINES.min(one.old.len().max(1)))
        .map(|line| excerpt(line.text, SHOWN_CHARS))
        .collect();
    report.refusal = Some(Refusal::new(because.code, because.message).hint(because.hint));
    Ok(())
}

/// Why a hunk has no place: what the refusal says, and the places it speaks of.
struct Because {
    code: RefusalCode,
    message: &'static str,
    hint: &'static str,
    starts: Vec<usize>,
}

impl Because {
    fn ambiguous(message: &'static str, starts: Vec<usize>) -> Self {
        Self {
            code: RefusalCode::Ambiguous,
            message,
            hint: MORE_AROUND,
            starts,
        }
    }
}

/// Why lines that are not in the file are not; `Err` with the place where what they should become stands already.
fn nowhere(
    target: &mut Target<'_>,
    one: &Sought<'_, '_>,
    budget: &mut Budget,
) -> Result<Result<Because, usize>, Refusal> {
    if let Some(start) = result_stands(target, one, budget)? {
        return Ok(Err(start));
    }
    let (message, starts) = match above_anchor(target, one, budget)? {
        Some(start) => (
            "the lines this hunk expects stand above the line it names behind `@@`",
            vec![start],
        ),
        None => (
            "the lines this hunk expects are not in the file",
            suggest(target, one, budget)?,
        ),
    };
    Ok(Ok(Because {
        code: RefusalCode::DoesNotApply,
        message,
        hint: "copy the lines exactly as they stand in the file",
        starts,
    }))
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
