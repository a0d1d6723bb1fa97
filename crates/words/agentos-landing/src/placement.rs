//! Places the hunks of one file: finds where each hunk belongs, and returns its splices and a report about it.
//!
//! Owns: the outcome of each hunk, and the explanation of a refusal. Never: returns splices for the whole file if one hunk
//! has no place.

use crate::applied::{self, AppliedState};
use crate::locate::{HunkPlace, MissReason, PlaceMiss, SoughtHunk, TargetFile, order};
use crate::parse::{Hunk, HunkLine, LineMark, PlaceCount, new_repair};
use crate::refusal::ambiguous;
use crate::splice::{LineSplice, UncertainBlanks, hunk_splices};
use crate::text::excerpt;
use crate::{HunkReport, HunkStatus, Refusal, RefusalCode, Rung, inline};

/// Maximum number of lines of an excerpt in a report.
const SHOWN_LINES: usize = 8;
/// Maximum number of characters of one line of an excerpt.
const SHOWN_CHARS: usize = 160;
/// Outcome of the hunks of one file.
pub(crate) struct PlacedHunks {
    /// Reports, one for each hunk.
    pub reports: Vec<HunkReport>,
    /// Splices of all hunks. If a hunk has no place, the error has those of the others, for a partial landing.
    pub splices: Result<Vec<LineSplice>, Vec<LineSplice>>,
}

impl PlacedHunks {
    /// Returns true if every hunk fits its stated line.
    pub(crate) fn is_as_stated(&self) -> bool {
        let mut rungs = self.reports.iter().map(|hunk| hunk.rung);
        rungs.all(|rung| rung == Some(Rung::ExactStated))
    }
}

/// Places every hunk of one file.
///
/// # Errors
/// Fails only if the work exceeds the budget. A hunk without a place is part of the result.
pub(crate) fn place_hunks(target: &mut TargetFile<'_>, hunks: &[&Hunk]) -> Result<PlacedHunks, Refusal> {
    let sought: Vec<SoughtHunk<'_>> = hunks.iter().map(|hunk| SoughtHunk::new(hunk)).collect();
    // JSON edits state the exact text, which may be a part of a line. They are placed by bytes first, and by lines
    // only if a text is not found as written.
    match inline::find_texts(target.lines(), target.content, hunks) {
        Some(Ok(found)) => return Ok(place_inline(&sought, found)),
        Some(Err(misses)) => return miss_inline(target, &sought, misses),
        // By lines, only one of the places that the edit means would be found.
        None => {
            let has_count = |hunk: &&Hunk| {
                let inline = hunk.inline.as_ref();
                inline.is_some_and(|inline| inline.count != PlaceCount::One)
            };
            if let Some(index) = hunks.iter().position(has_count) {
                let miss = (index, PlaceMiss::new(MissReason::OtherCount, []));
                return miss_inline(target, &sought, vec![miss]);
            }
        }
    }
    let mut added = hunks.iter().flat_map(|hunk| &hunk.lines);
    let keeps_tabs = added.any(|line| line.mark == LineMark::Add && line.text.contains(&b'\t'));
    let found = target.locate_hunks(&sought)?;
    let mut reports = Vec::with_capacity(hunks.len());
    let mut all = Vec::new();
    let mut placed = Vec::new();
    for (at, (one, found)) in sought.iter().zip(found).enumerate() {
        let mut report = unplaced_report(at, one.hunk);
        match found {
            Ok(place) => {
                let state = applied::judge_placed(target, one, &place)?;
                // An added line with a tab shows that not all tabs of the answer became spaces.
                let is_mixed = keeps_tabs && place.shift.adds_tabs(one.hunk);
                match (hunk_splices(target.lines(), one.hunk, &place), state) {
                    (Ok(mut new), AppliedState::Absent) if !is_mixed => {
                        report = landed_report(at, one, &place);
                        if let Some(anchor) = target.missing_anchor(one)? {
                            let detail = format!("`{}` is not in the file", excerpt(anchor, SHOWN_CHARS));
                            report.repairs.push(new_repair("missing-anchor", detail));
                        }
                        if place.others > 0 {
                            let chosen = new_repair("one-of-several", reason_chosen(one, &place));
                            report.repairs.push(chosen);
                        }
                        placed.push((at, place.start));
                        all.append(&mut new);
                    }
                    (Ok(_), AppliedState::Proven(start)) => report_already_there(&mut report, Some(start)),
                    (Ok(_), AppliedState::Unproven(start)) => {
                        let miss = PlaceMiss::new(MissReason::Unproven, [start]);
                        show_miss(target, one, &mut report, &miss);
                    }
                    (Ok(_), AppliedState::Absent) | (Err(UncertainBlanks), _) => {
                        let miss = PlaceMiss::new(MissReason::UncertainBlanks, [place.start]);
                        show_miss(target, one, &mut report, &miss);
                    }
                }
            }
            Err(why) => report_miss(target, one, &mut report, why)?,
        }
        reports.push(report);
    }
    withdraw_contested(target, &sought, &mut reports);
    // Hunks are placed in the order of the answer, but `join_splices` needs them in the order of the file.
    all.sort_by_key(|splice| (splice.start, splice.end));
    let splices = match placed.len() == sought.len() {
        true => Ok(all),
        false if order::are_some_disjoint(&sought, &placed) => Err(all),
        false => Err(Vec::new()),
    };
    Ok(PlacedHunks { reports, splices })
}

/// Returns the words for the evidence by which one of several places was taken.
fn reason_chosen(one: &SoughtHunk<'_>, place: &HunkPlace) -> String {
    let evidence = if one.stated == Some(place.start) {
        "the stated line is"
    } else if one.hunk.anchors.is_empty() {
        "the order of the hunks, which do not overlap, leaves"
    } else {
        "the lines that it names behind `@@`, and the order of the hunks, leave"
    };
    let others = place.others;
    format!("its lines are at {others} other places as well; {evidence} this one")
}

/// Returns the outcome of JSON edits whose texts were all found by bytes. They state no line numbers, so each counts as
/// moved.
fn place_inline(sought: &[SoughtHunk<'_>], (places, splices): inline::FoundTexts) -> PlacedHunks {
    let mut reports = Vec::with_capacity(sought.len());
    for (at, (one, (line, count))) in sought.iter().zip(places).enumerate() {
        let mut report = landed_report(at, one, &HunkPlace::exact(line));
        if count > 1 {
            let detail = format!("the text was replaced in {count} places, as the edit says");
            report.repairs.push(new_repair("all-places", detail));
        }
        reports.push(report);
    }
    let splices = Ok(splices);
    PlacedHunks { reports, splices }
}

/// Returns the outcome of JSON edits if the text of the edit `index` has no place: no edit lands.
fn miss_inline(
    target: &mut TargetFile<'_>,
    sought: &[SoughtHunk<'_>],
    misses: Vec<(usize, PlaceMiss)>,
) -> Result<PlacedHunks, Refusal> {
    let mut reports = unplaced_reports(sought.iter().map(|one| one.hunk));
    for (index, why) in misses {
        if let (Some(one), Some(report)) = (sought.get(index), reports.get_mut(index)) {
            report_miss(target, one, report, why)?;
        }
    }
    withdraw_contested(target, sought, &mut reports);
    let splices = Err(Vec::new());
    Ok(PlacedHunks { reports, splices })
}

/// Returns the report of a hunk before anything is known about its place. `at` counts from 0.
pub(crate) fn unplaced_report(at: usize, hunk: &Hunk) -> HunkReport {
    HunkReport {
        index: u32::try_from(at + 1).unwrap_or(u32::MAX),
        stated_line: hunk.stated.old_start,
        repairs: hunk.repairs.clone(),
        ..HunkReport::default()
    }
}

/// Returns the reports of hunks before anything is known about their places.
pub(crate) fn unplaced_reports<'h>(hunks: impl Iterator<Item = &'h Hunk>) -> Vec<HunkReport> {
    let reports = hunks.enumerate().map(|(at, hunk)| unplaced_report(at, hunk));
    reports.collect()
}

fn line_number(line: usize) -> u64 {
    line as u64 + 1
}

/// Returns the report of a hunk that lands at this place. `at` counts from 0.
pub(crate) fn landed_report(at: usize, one: &SoughtHunk<'_>, place: &HunkPlace) -> HunkReport {
    HunkReport {
        status: HunkStatus::Landed,
        rung: Some(place.report_rung(one.stated)),
        found_line: Some(line_number(place.start)),
        ..unplaced_report(at, one.hunk)
    }
}

/// Reports that the result of a hunk is already in the file, from this line on if that is known.
pub(crate) fn report_already_there(report: &mut HunkReport, start: Option<usize>) {
    report.status = HunkStatus::AlreadyThere;
    report.found_line = start.map(line_number);
    let refusal = Refusal::new(RefusalCode::Empty, "the file already has the result of this hunk");
    report.refusal = Some(refusal.hint("leave this hunk out"));
}

/// Refuses the hunks whose results were taken from the same lines of the file: at most one of them was applied.
fn withdraw_contested(target: &TargetFile<'_>, sought: &[SoughtHunk<'_>], reports: &mut [HunkReport]) {
    let proven: Vec<(usize, usize)> = reports
        .iter()
        .enumerate()
        .filter(|(_, report)| report.status == HunkStatus::AlreadyThere)
        .filter_map(|(at, report)| Some((at, usize::try_from(report.found_line?.checked_sub(1)?).ok()?)))
        .collect();
    let contested = applied::contested(sought, &proven);
    for (at, start) in proven.iter().filter(|(at, _)| contested.contains(at)) {
        if let (Some(report), Some(one)) = (reports.get_mut(*at), sought.get(*at)) {
            *report = unplaced_report(*at, one.hunk);
            show_miss(
                target,
                one,
                report,
                &PlaceMiss::new(MissReason::Unproven, [*start]),
            );
        }
    }
}

/// Fills the report of a hunk that has no place, or whose result is already in the file.
fn report_miss(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_>,
    report: &mut HunkReport,
    miss: PlaceMiss,
) -> Result<(), Refusal> {
    let miss = match miss.reason {
        MissReason::Nowhere => explain_nowhere(target, one)?,
        MissReason::OtherCount if miss.starts.is_empty() => explain_nowhere(target, one)?,
        _ => miss,
    };
    match miss.starts.first() {
        Some(start) if miss.reason == MissReason::AlreadyApplied => {
            show_expected(one, report);
            report_already_there(report, Some(*start));
        }
        _ => show_miss(target, one, report, &miss),
    }
    Ok(())
}

/// Fills the report of a hunk that is refused for this reason, which is about these lines.
fn show_miss(target: &TargetFile<'_>, one: &SoughtHunk<'_>, report: &mut HunkReport, miss: &PlaceMiss) {
    show_expected(one, report);
    report.candidates = miss.starts.iter().map(|start| line_number(*start)).collect();
    if let Some(first) = miss.starts.first() {
        let shown = target.lines().below(*first).iter();
        let shown = shown.take(SHOWN_LINES.min(one.old.len().max(1)));
        report.actual = shown.map(|line| excerpt(line.text, SHOWN_CHARS)).collect();
    }
    report.refusal = Some(refusal_for(miss.reason));
}

fn show_expected(one: &SoughtHunk<'_>, report: &mut HunkReport) {
    let shown = one.old.iter().take(SHOWN_LINES);
    report.expected = shown.map(|line| excerpt(&line.text, SHOWN_CHARS)).collect();
}

/// Returns the refusal of a hunk without a place.
fn refusal_for(reason: MissReason) -> Refusal {
    const COPY: &str = "copy the lines exactly as they are in the file";
    const MORE: &str = "add lines above and below until only one place fits";
    let missing = |message: &str, hint: &str| Refusal::new(RefusalCode::DoesNotApply, message).hint(hint);
    let unclear = |message: &str, hint: &str| ambiguous(message).hint(hint);
    match reason {
        MissReason::Nowhere => missing("the lines this hunk expects are not in the file", COPY),
        MissReason::AboveAnchor => {
            let message = "the lines this hunk expects are above the line that it names behind `@@`";
            missing(message, COPY)
        }
        MissReason::Several => unclear("the lines this hunk expects are at several places", MORE),
        MissReason::NoOldLines => unclear(
            "this hunk inserts lines and has no context that shows where",
            MORE,
        ),
        MissReason::Overlap => unclear("this hunk overlaps another one of the same file", MORE),
        MissReason::OtherCount => unclear(
            "the text occurs another number of times in the file than the edit says",
            "state the right number, or give each place with the lines around it",
        ),
        MissReason::InWord => unclear(
            "the text occurs once in the file, but inside a longer word",
            "give the whole word",
        ),
        MissReason::Outdented => unclear(
            "the replacement has lines with less indentation than the line that contains the text",
            "begin the text and its replacement with the line's indentation",
        ),
        MissReason::AlreadyApplied | MissReason::Unproven => missing(
            "the lines that this hunk leaves are in the file, but nothing shows that the hunk put them there",
            "compare the file with what the change should do; show the lines next to it as context",
        ),
        MissReason::MayGoOn => {
            let message = "the line that ends this hunk is also in the file right below it, so it may belong to the hunk";
            unclear(message, MORE)
        }
        MissReason::LostContext => {
            let message = "the hunk begins or ends with added lines, and a line next to them seems to be missing from it";
            unclear(message, MORE)
        }
        MissReason::UncertainBlanks => {
            let message = "the lines around an added line have other blanks or quotes than in the file, and nothing shows \
                which ones the added line should have";
            missing(message, COPY)
        }
    }
}

/// Explains why the old lines of a hunk are not in the file.
fn explain_nowhere(target: &mut TargetFile<'_>, one: &SoughtHunk<'_>) -> Result<PlaceMiss, Refusal> {
    Ok(match applied::find_applied(target, one)? {
        AppliedState::Proven(start) => PlaceMiss::new(MissReason::AlreadyApplied, [start]),
        AppliedState::Unproven(start) => PlaceMiss::new(MissReason::Unproven, [start]),
        AppliedState::Absent => match target.place_above_anchor(one)? {
            Some(start) => PlaceMiss::new(MissReason::AboveAnchor, [start]),
            None => PlaceMiss::new(MissReason::Nowhere, target.suggest_places(one)?),
        },
    })
}

/// Returns the bytes of a new file that has these lines.
pub(crate) fn content_of<'l>(lines: impl Iterator<Item = &'l HunkLine>) -> Vec<u8> {
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
