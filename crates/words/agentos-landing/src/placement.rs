//! Places the hunks of one file: from its hunks to splices and a report, hunk by hunk.
//!
//! Owns: the outcome of each hunk. Never: lands a file in which one hunk has no place.

use std::collections::HashSet;

use crate::budget::WorkBudget;
use crate::locate::{
    HunkPlace, MatchLevel, PlaceMiss, SoughtHunk, TargetFile, locate_hunks, missing_anchor, order,
    place_above_anchor, suggest_places,
};
use crate::parse::{EditBody, Hunk, HunkLine, LineMark, new_repair};
use crate::splice::{LineSplice, hunk_splices};
use crate::text::{TextLine, excerpt};
use crate::{HunkReport, HunkStatus, Refusal, RefusalCode, Rung, inline};

/// Maximum number of lines of an excerpt in a report.
const SHOWN_LINES: usize = 8;
/// Maximum number of characters of one line of an excerpt.
const SHOWN_CHARS: usize = 160;
/// Advice for a hunk that fits several places.
const MORE_AROUND: &str = "add lines above and below until only one place fits";

/// Outcome of the hunks of one file.
pub(crate) struct PlacedHunks {
    /// Reports, one for each hunk.
    pub reports: Vec<HunkReport>,
    /// Splices of all hunks. `None` if a hunk has no place.
    pub splices: Option<Vec<LineSplice>>,
    /// Splices of the hunks that have a place, if others have none. Used for a partial landing.
    pub part: Vec<LineSplice>,
}

/// Places every hunk of one file.
///
/// # Errors
/// Fails only if the work exceeds the budget. A hunk without a place is part of the result.
pub(crate) fn place_hunks(
    target: &mut TargetFile<'_>,
    hunks: &[&Hunk<'_>],
    budget: &mut WorkBudget,
) -> Result<PlacedHunks, Refusal> {
    let sought: Vec<SoughtHunk<'_, '_>> = hunks.iter().map(|hunk| SoughtHunk::new(hunk)).collect();
    // JSON edits state the exact text, which may be a part of a line. They are placed by bytes first, and by lines
    // only if a text is not found as written.
    match inline::find_texts(&target.lines, target.content, hunks) {
        inline::InlineSearch::AllFound(places, splices) => {
            return Ok(place_inline(&sought, &places, splices));
        }
        inline::InlineSearch::Missed(index, why) => {
            return miss_inline(target, &sought, index, why, budget);
        }
        inline::InlineSearch::UseLines => {}
    }
    let found = locate_hunks(target, &sought, budget)?;
    let mut reports = Vec::with_capacity(hunks.len());
    let mut all = Vec::new();
    let mut complete = true;
    let mut placed = Vec::new();
    for (at, (one, found)) in sought.iter().zip(found).enumerate() {
        let mut report = blank_report(at, one);
        match found {
            Ok(place) => {
                let there = already_there(&target.lines, one, &place, budget)?;
                match hunk_splices(&target.lines, one.hunk, &place) {
                    Ok(mut new) if !there => {
                        report_landed(&mut report, one, &place);
                        if let Some(anchor) = missing_anchor(target, one, budget)? {
                            let detail = format!("`{}` is not in the file", excerpt(anchor, SHOWN_CHARS));
                            report.repairs.push(new_repair("missing-anchor", detail));
                        }
                        placed.push((at, place.start));
                        all.append(&mut new);
                    }
                    Ok(_) => {
                        complete = false;
                        report_already_there(&mut report, place.start);
                    }
                    // An added line that cannot be converted makes the hunk unusable, just as a line that is missing.
                    Err(_) => {
                        complete = false;
                        report_miss(target, one, &mut report, PlaceMiss::Nowhere, budget)?;
                    }
                }
            }
            Err(why) => {
                complete = false;
                report_miss(target, one, &mut report, why, budget)?;
            }
        }
        reports.push(report);
    }
    // Hunks are placed in the order of the answer, but splices are joined from the top of the file down.
    all.sort_by_key(|splice| (splice.start, splice.end));
    Ok(collect_placed(&sought, reports, all, complete, &placed))
}

/// Returns the splices of all hunks, or of those that have a place and do not touch each other.
fn collect_placed(
    sought: &[SoughtHunk<'_, '_>],
    reports: Vec<HunkReport>,
    all: Vec<LineSplice>,
    complete: bool,
    placed: &[(usize, usize)],
) -> PlacedHunks {
    let (splices, part) = if complete {
        (Some(all), Vec::new())
    } else if order::are_some_disjoint(sought, placed) {
        (None, all)
    } else {
        (None, Vec::new())
    };
    PlacedHunks {
        reports,
        splices,
        part,
    }
}

/// Returns the outcome of edits whose texts were found by bytes.
fn place_inline(sought: &[SoughtHunk<'_, '_>], places: &[usize], splices: Vec<LineSplice>) -> PlacedHunks {
    let mut reports = Vec::with_capacity(sought.len());
    for (at, (one, line)) in sought.iter().zip(places).enumerate() {
        let mut report = blank_report(at, one);
        report.status = HunkStatus::Landed;
        report.rung = Some(Rung::ExactMoved);
        report.found_line = Some(line_number(*line));
        reports.push(report);
    }
    PlacedHunks {
        reports,
        splices: Some(splices),
        part: Vec::new(),
    }
}

fn miss_inline(
    target: &mut TargetFile<'_>,
    sought: &[SoughtHunk<'_, '_>],
    index: usize,
    why: PlaceMiss,
    budget: &mut WorkBudget,
) -> Result<PlacedHunks, Refusal> {
    let mut reports: Vec<HunkReport> = sought
        .iter()
        .enumerate()
        .map(|(at, one)| blank_report(at, one))
        .collect();
    if let (Some(one), Some(report)) = (sought.get(index), reports.get_mut(index)) {
        report_miss(target, one, report, why, budget)?;
    }
    Ok(PlacedHunks {
        reports,
        splices: None,
        part: Vec::new(),
    })
}

fn blank_report(at: usize, one: &SoughtHunk<'_, '_>) -> HunkReport {
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

fn line_number(line: usize) -> u64 {
    line as u64 + 1
}

fn report_landed(report: &mut HunkReport, one: &SoughtHunk<'_, '_>, place: &HunkPlace) {
    report.status = HunkStatus::Landed;
    report.rung = Some(place.report_rung(one.stated));
    report.found_line = Some(line_number(place.start));
}

fn report_already_there(report: &mut HunkReport, start: usize) {
    report.status = HunkStatus::AlreadyThere;
    report.found_line = Some(line_number(start));
    report.refusal = Some(already_there_refusal());
}

/// Returns the refusal of a hunk whose result is already in the file.
pub(crate) fn already_there_refusal() -> Refusal {
    Refusal::new(RefusalCode::Empty, "the file already has the result of this hunk")
        .hint("leave this hunk out")
}

/// Returns true if the result of the hunk is already at its place: to land it would apply it twice.
fn already_there(
    lines: &[TextLine<'_>],
    one: &SoughtHunk<'_, '_>,
    place: &HunkPlace,
    budget: &mut WorkBudget,
) -> Result<bool, Refusal> {
    let has = |mark: LineMark| one.hunk.lines.iter().any(|line| line.mark == mark);
    if one.old.is_empty() || !(has(LineMark::Add) || has(LineMark::Remove)) {
        return Ok(false);
    }
    let new: Vec<&HunkLine<'_>> = one.hunk.lines.iter().filter(|line| line.is_new()).collect();
    if has(LineMark::Remove) {
        return is_wrapped_already(lines, one, &new, place, budget);
    }
    // The context of an insertion still matches after the insertion was applied. Added lines at the edge of the hunk
    // are then right next to the context, so they are looked for there.
    let end = place.start + one.old.len();
    Ok(
        (one.trail == 0 && same_lines(lines, place.start, &new) == new.len())
            || (one.lead == 0
                && end
                    .checked_sub(new.len())
                    .is_some_and(|start| same_lines(lines, start, &new) == new.len())),
    )
}

/// Returns true if the hunk keeps its removed lines inside its result, and that result is already around its place,
/// as when a line was wrapped in a block before.
fn is_wrapped_already(
    lines: &[TextLine<'_>],
    one: &SoughtHunk<'_, '_>,
    new: &[&HunkLine<'_>],
    place: &HunkPlace,
    budget: &mut WorkBudget,
) -> Result<bool, Refusal> {
    // A hunk that fits its stated line is believed. The exception takes lines out and puts them in again without any
    // context: git writes no such hunk, so its stated line proves nothing.
    let added: HashSet<&[u8]> = new
        .iter()
        .filter(|line| line.mark == LineMark::Add)
        .map(|line| line.text.as_ref())
        .collect();
    let mut old = one.old.iter();
    let again = old.any(|line| line.mark == LineMark::Remove && added.contains(line.text.as_ref()));
    let bare = one.lead == 0 && one.trail == 0;
    let as_stated = place.level == MatchLevel::Exact && one.stated == Some(place.start) && !(again && bare);
    let says = new.iter().any(|line| crate::text::trim(&line.text).len() > 1);
    // A result that is shorter than the old lines cannot contain them and more.
    let grows = new.len() > one.old.len() || (new.len() == one.old.len() && place.level != MatchLevel::Exact);
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

/// Counts how many lines of the file from `start` on are equal to `new`, one after the other.
fn same_lines(lines: &[TextLine<'_>], start: usize, new: &[&HunkLine<'_>]) -> usize {
    let here = lines.get(start..).unwrap_or_default();
    let pairs = here.iter().zip(new);
    pairs
        .take_while(|(line, new)| line.text == new.text.as_ref())
        .count()
}

/// Fills the report of a hunk that has no place.
fn report_miss(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    report: &mut HunkReport,
    why: PlaceMiss,
    budget: &mut WorkBudget,
) -> Result<(), Refusal> {
    report.expected = one
        .old
        .iter()
        .take(SHOWN_LINES)
        .map(|line| excerpt(&line.text, SHOWN_CHARS))
        .collect();
    let because = match why {
        PlaceMiss::AlreadyApplied(start) => Err(start),
        PlaceMiss::Nowhere => explain_nowhere(target, one, budget)?,
        PlaceMiss::Outdented(start) => Ok(MissExplanation {
            hint: "begin the text and its replacement with the line's indentation",
            ..MissExplanation::ambiguous(
                "the replacement has lines with less indentation than the line that contains the text",
                vec![start],
            )
        }),
        PlaceMiss::InWord(start) => Ok(MissExplanation {
            hint: "give the whole word",
            ..MissExplanation::ambiguous(
                "the text occurs once in the file, but inside a longer word",
                vec![start],
            )
        }),
        PlaceMiss::MayGoOn(start) => Ok(MissExplanation::ambiguous(
            "the line that ends this hunk is also in the file right below it, so it may belong to the hunk",
            vec![start],
        )),
        PlaceMiss::Several(starts) => Ok(MissExplanation::ambiguous(
            "the lines this hunk expects are at several places",
            starts,
        )),
        PlaceMiss::NoOldLines => Ok(MissExplanation::ambiguous(
            "this hunk inserts lines and has no context that shows where",
            Vec::new(),
        )),
        PlaceMiss::Overlap(starts) => Ok(MissExplanation::ambiguous(
            "this hunk overlaps another one of the same file",
            starts,
        )),
    };
    let because = match because {
        Ok(because) => because,
        Err(start) => {
            report_already_there(report, start);
            return Ok(());
        }
    };
    report.candidates = because.starts.iter().map(|start| line_number(*start)).collect();
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

/// Explanation of a miss: text of the refusal and the lines it is about.
struct MissExplanation {
    code: RefusalCode,
    message: &'static str,
    hint: &'static str,
    starts: Vec<usize>,
}

impl MissExplanation {
    fn ambiguous(message: &'static str, starts: Vec<usize>) -> Self {
        Self {
            code: RefusalCode::Ambiguous,
            message,
            hint: MORE_AROUND,
            starts,
        }
    }
}

/// Explains why the old lines of a hunk are not in the file. The inner result is `Err` with the place of its result
/// if the hunk was applied before.
fn explain_nowhere(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    budget: &mut WorkBudget,
) -> Result<Result<MissExplanation, usize>, Refusal> {
    if let Some(start) = find_result(target, one, budget)? {
        return Ok(Err(start));
    }
    let (message, starts) = match place_above_anchor(target, one, budget)? {
        Some(start) => (
            "the lines this hunk expects are above the line that it names behind `@@`",
            vec![start],
        ),
        None => (
            "the lines this hunk expects are not in the file",
            suggest_places(target, one, budget)?,
        ),
    };
    Ok(Ok(MissExplanation {
        code: RefusalCode::DoesNotApply,
        message,
        hint: "copy the lines exactly as they are in the file",
        starts,
    }))
}

/// Returns the one place at which the new lines of a hunk are in the file, which shows that it was applied before.
/// Returns `None` if there is no such place, or more than one.
fn find_result(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    budget: &mut WorkBudget,
) -> Result<Option<usize>, Refusal> {
    let lines: Vec<HunkLine<'_>> = one
        .hunk
        .lines
        .iter()
        .filter(|line| line.is_new())
        .map(|line| HunkLine {
            mark: LineMark::Context,
            ..line.clone()
        })
        .collect();
    // Single brackets and empty lines are everywhere, so finding them proves nothing.
    if lines.iter().all(|line| crate::text::trim(&line.text).len() < 2) {
        return Ok(None);
    }
    let result = Hunk {
        lines,
        ..Hunk::default()
    };
    let places = crate::locate::find_candidates(target, &SoughtHunk::new(&result), budget)?;
    Ok(match places.as_slice() {
        [only] => Some(only.start),
        _ => None,
    })
}

/// Returns the bytes of a new file that has these lines.
pub(crate) fn content_of<'l, 'a: 'l>(lines: impl Iterator<Item = &'l HunkLine<'a>>) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines {
        out.extend_from_slice(&line.text);
        if line.cr {
            out.push(b'\r');
        }
        if !line.no_newline {
            out.push(b'\n');
        }
    }
    out
}

/// Returns the hunks of a body; empty for a whole file.
pub(crate) fn hunks_of<'e, 'a>(body: &'e EditBody<'a>) -> Vec<&'e Hunk<'a>> {
    match body {
        EditBody::Hunks(hunks) => hunks.iter().collect(),
        EditBody::Whole(_) => Vec::new(),
    }
}
