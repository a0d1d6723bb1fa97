//! Finds the one place of every hunk of a file, or says why there is none.
//!
//! Owns: the ladder and the uniqueness rule. Never: lands by similarity.

mod heading;
mod indent;
mod index;
mod key;
pub(crate) mod order;
mod suggest;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::budget::WorkBudget;
use crate::parse::{Hunk, HunkLine, LineMark};
use crate::text::{TextLine, split_lines, trim_end};
use crate::{Refusal, Rung};

use heading::SectionEnds;
pub(crate) use indent::IndentShift;
use index::LineIndex;
pub(crate) use key::{MatchLevel, look_alike};
pub(crate) use suggest::suggest_places;

/// A file to find places in.
pub(crate) struct TargetFile<'b> {
    /// Its bytes.
    pub content: &'b [u8],
    /// Its lines.
    pub lines: Vec<TextLine<'b>>,
    index: LineIndex,
    parts: SectionEnds,
}

impl<'b> TargetFile<'b> {
    /// Over this content.
    pub(crate) fn new(content: &'b [u8]) -> Self {
        Self {
            content,
            lines: split_lines(content),
            index: LineIndex::default(),
            parts: SectionEnds::default(),
        }
    }
}

/// Where a hunk goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HunkPlace {
    /// The first line of its old side; 0 is the first.
    pub start: usize,
    /// The rung it was found on.
    pub level: MatchLevel,
    /// How its lines are shifted against the file.
    pub shift: IndentShift,
}

impl HunkPlace {
    /// The rung as reports name it.
    pub(crate) fn report_rung(&self, stated: Option<usize>) -> Rung {
        match self.level {
            MatchLevel::Exact if stated == Some(self.start) => Rung::ExactStated,
            MatchLevel::Exact => Rung::ExactMoved,
            MatchLevel::Trailing => Rung::TrailingBlanks,
            MatchLevel::Indent => Rung::Indentation,
            MatchLevel::Blanks => Rung::Blanks,
            MatchLevel::Typography => Rung::Typography,
        }
    }
}

/// Why a hunk has no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlaceMiss {
    /// Its old lines are nowhere.
    Nowhere,
    /// They are at more than one place; the first lines, 0 is the first.
    Several(Vec<usize>),
    /// It has no old lines, and nothing says where to insert.
    NoOldLines,
    /// It has places, but none that goes with the other hunks.
    Overlap(Vec<usize>),
    /// Its text stands once, at this line, and begins or ends inside a longer word.
    InWord(usize),
    /// Its text stands once, in this line, and lines of its replacement stand further left than that line.
    Outdented(usize),
    /// Its text stands once, in this line, as a part of its replacement, which is there already.
    AlreadyApplied(usize),
    /// The line that ends it, read as a part of it, stands in the file below its place.
    MayGoOn(usize),
}

/// One hunk as the search sees it.
pub(crate) struct SoughtHunk<'h, 'a> {
    /// The hunk.
    pub hunk: &'h Hunk<'a>,
    /// The lines the base must have.
    pub old: Vec<&'h HunkLine<'a>>,
    /// Context lines before the first change.
    pub lead: usize,
    /// Context lines after the last change.
    pub trail: usize,
    /// The stated first old line; 0 is the first.
    pub stated: Option<usize>,
    /// It must reach the end of the file.
    pub at_end: bool,
}

impl<'h, 'a> SoughtHunk<'h, 'a> {
    /// Prepares a hunk.
    pub(crate) fn new(hunk: &'h Hunk<'a>) -> Self {
        let old: Vec<_> = hunk.lines.iter().filter(|line| line.is_old()).collect();
        let context = |line: &&HunkLine<'_>| line.mark == LineMark::Context;
        let lead = hunk.lines.iter().take_while(context).count();
        let trail = hunk.lines.iter().rev().take_while(context).count();
        Self {
            hunk,
            lead,
            trail,
            stated: stated_line(hunk, old.is_empty()),
            at_end: hunk.at_end || hunk.lines.iter().any(|line| line.no_newline),
            old,
        }
    }
}

/// The stated line counted from 0. A hunk without old lines names the line before it.
fn stated_line(hunk: &Hunk<'_>, insertion: bool) -> Option<usize> {
    let start = usize::try_from(hunk.stated.old_start?).ok()?;
    match (insertion, hunk.stated.old_count) {
        (true, Some(0)) => Some(start),
        // The header counts old lines that the hunk does not have: its line is that of none.
        (true, Some(_)) => None,
        (true, None) | (false, _) => Some(start.saturating_sub(1)),
    }
}

/// Finds the places of all hunks, in the order given. One entry for each hunk.
pub(crate) fn locate_hunks(
    target: &mut TargetFile<'_>,
    sought: &[SoughtHunk<'_, '_>],
    budget: &mut WorkBudget,
) -> Result<Vec<Result<HunkPlace, PlaceMiss>>, Refusal> {
    let chosen = match place_as_stated(target, sought, budget)? {
        Some(places) => places.into_iter().map(Ok).collect(),
        None => place_by_lines(target, sought, budget)?,
    };
    let others = places_by_new_lines(target, sought, &chosen, budget)?;
    let mut settled = Vec::with_capacity(sought.len());
    for ((one, chosen), other) in sought.iter().zip(chosen).zip(others) {
        budget.spend(one.old.len() + one.hunk.continuation.len())?;
        let stated = chosen
            .as_ref()
            .ok()
            .map(|place| place.start)
            .filter(|start| one.stated == Some(*start) && !one.old.is_empty());
        let other = match (other, stated) {
            (None, Some(start)) => other_exact_place(target, one, start, budget)?,
            (other, _) => other,
        };
        settled.push(chosen.and_then(|place| match other {
            Some(other) => Err(PlaceMiss::Several(vec![place.start, other])),
            None => accept_place(target, one, place),
        }));
    }
    Ok(settled)
}

/// For each hunk at its stated old line: the place that its stated new line means, where that is another one, and the
/// lines fit there as well.
fn places_by_new_lines(
    target: &TargetFile<'_>,
    sought: &[SoughtHunk<'_, '_>],
    chosen: &[Result<HunkPlace, PlaceMiss>],
    budget: &mut WorkBudget,
) -> Result<Vec<Option<usize>>, Refusal> {
    let mut placed: Vec<(usize, usize)> = chosen
        .iter()
        .enumerate()
        .filter_map(|(at, chosen)| Some((chosen.as_ref().ok()?.start, at)))
        .collect();
    placed.sort_unstable();
    let mut others = vec![None; sought.len()];
    // By how much the hunks above it in the same part make the file longer.
    let mut longer: HashMap<usize, isize> = HashMap::new();
    for (start, at) in placed {
        let Some(one) = sought.get(at) else { continue };
        let grown = longer.entry(one.hunk.part.0).or_default();
        budget.spend(one.hunk.lines.len())?;
        let new = one
            .hunk
            .stated
            .new_start
            .and_then(|line| usize::try_from(line).ok());
        let meant = new.and_then(|line| line.checked_sub(1)?.checked_add_signed(-*grown));
        let other = meant.filter(|meant| one.stated == Some(start) && *meant != start);
        if let (Some(slot), false) = (others.get_mut(at), one.old.is_empty()) {
            *slot = other.filter(|meant| fits_exactly(target, one, *meant));
        }
        let new = one.hunk.lines.iter().filter(|line| line.is_new()).count();
        *grown += new as isize - one.old.len() as isize;
    }
    Ok(others)
}

/// Finds them by their lines, as the stated places do not all have them.
fn place_by_lines(
    target: &mut TargetFile<'_>,
    sought: &[SoughtHunk<'_, '_>],
    budget: &mut WorkBudget,
) -> Result<Vec<Result<HunkPlace, PlaceMiss>>, Refusal> {
    let mut found = Vec::with_capacity(sought.len());
    for one in sought {
        found.push(find_candidates(target, one, budget)?);
    }
    order::choose_places(sought, &found, target.lines.len(), budget)
}

/// All hunks fit exactly where they say, without overlap: nothing contradicts the stated lines.
fn place_as_stated(
    target: &TargetFile<'_>,
    sought: &[SoughtHunk<'_, '_>],
    budget: &mut WorkBudget,
) -> Result<Option<Vec<HunkPlace>>, Refusal> {
    let mut places = Vec::with_capacity(sought.len());
    for one in sought {
        let Some(start) = one.stated else {
            return Ok(None);
        };
        budget.spend(one.old.len())?;
        // A hunk without old lines proves nothing; it may only follow others that do.
        if one.old.is_empty() && sought.len() < 2 && !target.lines.is_empty() {
            return Ok(None);
        }
        if !fits_exactly(target, one, start) {
            return Ok(None);
        }
        places.push(HunkPlace {
            start,
            level: MatchLevel::Exact,
            shift: IndentShift::default(),
        });
    }
    let proven = target.lines.is_empty() || sought.iter().any(|one| !one.old.is_empty());
    let starts: Vec<usize> = places.iter().map(|place| place.start).collect();
    Ok((proven && order::are_disjoint(sought, &starts)).then_some(places))
}

fn fits_exactly(target: &TargetFile<'_>, one: &SoughtHunk<'_, '_>, start: usize) -> bool {
    let Some(end) = start.checked_add(one.old.len()) else {
        return false;
    };
    let Some(lines) = target.lines.get(start..end) else {
        return false;
    };
    (!one.at_end || end == target.lines.len())
        && lines
            .iter()
            .zip(&one.old)
            .all(|(line, old)| line.text == old.text.as_ref())
}

/// The places of one hunk on the first rung that has any.
pub(crate) fn find_candidates(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    budget: &mut WorkBudget,
) -> Result<Vec<HunkPlace>, Refusal> {
    if one.old.is_empty() {
        return Ok(without_context(target, one));
    }
    /// Places are kept until all hunks have theirs, so that they cost more than a look at a line.
    const STEPS_PER_PLACE: usize = 8;
    for level in MatchLevel::ALL {
        let starts = target.index.find_runs(level, &target.lines, &one.old, budget)?;
        budget.spend(starts.len().saturating_mul(STEPS_PER_PLACE))?;
        let places: Vec<HunkPlace> = starts
            .into_iter()
            .filter(|start| !one.at_end || start + one.old.len() == target.lines.len())
            .filter_map(|start| {
                let lines = target.lines.get(start..start + one.old.len())?;
                let shift = indent::find_shift(level, &one.old, lines, one.hunk.marked)?;
                Some(HunkPlace { start, level, shift })
            })
            .collect();
        let places = below_anchors(target, one, places, budget)?;
        if !places.is_empty() {
            return Ok(places);
        }
    }
    Ok(Vec::new())
}

/// An insertion without context has a place only in an empty file, or at a stated end.
fn without_context(target: &TargetFile<'_>, one: &SoughtHunk<'_, '_>) -> Vec<HunkPlace> {
    if !target.lines.is_empty() && !one.hunk.at_end {
        return Vec::new();
    }
    vec![HunkPlace {
        start: target.lines.len(),
        level: MatchLevel::Exact,
        shift: IndentShift::default(),
    }]
}

/// Anchors narrow places down: where exactly one place stands below them, it is the one. Anchors that are not
/// in the file, or do not decide, are no reason to choose. A place above an anchor is none.
fn below_anchors(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    places: Vec<HunkPlace>,
    budget: &mut WorkBudget,
) -> Result<Vec<HunkPlace>, Refusal> {
    if let [only] = places.as_slice()
        && one.stated != Some(only.start)
        && is_contradicted(target, one, only.start, budget)?
    {
        return Ok(Vec::new());
    }
    if places.len() < 2 || one.hunk.anchors.is_empty() {
        return Ok(places);
    }
    let mut from = 0;
    for anchor in &one.hunk.anchors {
        let hits = target
            .index
            .places_of(MatchLevel::Indent, &target.lines, anchor, budget)?;
        budget.spend(hits.len())?;
        let mut below = hits.iter().filter(|hit| **hit as usize >= from);
        match (below.next(), below.next()) {
            (Some(only), None) => from = *only as usize + 1,
            (Some(_) | None, _) => return Ok(places),
        }
    }
    let mut below = Vec::new();
    for place in &places {
        let under = match from.checked_sub(1) {
            Some(heading) => target
                .parts
                .contains_line(&target.lines, heading, place.start, budget)?,
            None => true,
        };
        if under && place.start + one.old.len() > from {
            below.push(place.clone());
        }
    }
    Ok(if below.len() == 1 { below } else { places })
}

/// A line that the hunk names as one above it stands in the file once, and below this place, or what it is the heading
/// of ends above this place.
fn is_contradicted(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    start: usize,
    budget: &mut WorkBudget,
) -> Result<bool, Refusal> {
    for name in one.hunk.anchors.iter().chain(&one.hunk.section) {
        // As in every sound diff: no index of the file is needed to see it.
        if heading::is_near_below(&target.lines, name, start, budget)? {
            continue;
        }
        let hits = target
            .index
            .places_of(MatchLevel::Indent, &target.lines, name, budget)?;
        let [only] = *hits else { continue };
        let heading = only as usize;
        if heading >= start + one.old.len()
            || !target
                .parts
                .contains_line(&target.lines, heading, start, budget)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// For a hunk that fits where it is stated, which the heading behind its `@@` does not go with: another place that it
/// fits.
fn other_exact_place(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    start: usize,
    budget: &mut WorkBudget,
) -> Result<Option<usize>, Refusal> {
    if !is_contradicted(target, one, start, budget)? {
        return Ok(None);
    }
    let starts = target
        .index
        .find_runs(MatchLevel::Exact, &target.lines, &one.old, budget)?;
    budget.spend(starts.len())?;
    Ok(starts.into_iter().find(|other| *other != start))
}

/// The one place at which the lines stand, though a line that the hunk names as one above it contradicts.
pub(crate) fn place_above_anchor(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    budget: &mut WorkBudget,
) -> Result<Option<usize>, Refusal> {
    if one.hunk.anchors.is_empty() && one.hunk.section.is_none() {
        return Ok(None);
    }
    let mut free = one.hunk.clone();
    (free.anchors, free.section) = (Vec::new(), None);
    let places = find_candidates(target, &SoughtHunk::new(&free), budget)?;
    Ok(match places.as_slice() {
        [only] => Some(only.start),
        _ => None,
    })
}

/// An anchor that no line of the file is equal to.
pub(crate) fn missing_anchor<'h>(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'h, '_>,
    budget: &mut WorkBudget,
) -> Result<Option<&'h [u8]>, Refusal> {
    for anchor in &one.hunk.anchors {
        let hits = target
            .index
            .places_of(MatchLevel::Indent, &target.lines, anchor, budget)?;
        if hits.is_empty() {
            return Ok(Some(anchor));
        }
    }
    Ok(None)
}

/// The place, unless something speaks against it: the hunk may go on below it, or its lines fit the stated place as
/// well but for blanks.
fn accept_place(
    target: &TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    place: HunkPlace,
) -> Result<HunkPlace, PlaceMiss> {
    let fits = |start: usize| {
        let Some(lines) = target.lines.get(start..start.saturating_add(one.old.len())) else {
            return false;
        };
        [MatchLevel::Trailing, MatchLevel::Indent]
            .into_iter()
            .any(|level| {
                let same = |(line, old): (&TextLine<'_>, &&HunkLine<'_>)| {
                    key::line_key(level, line.text) == key::line_key(level, &old.text)
                };
                level > place.level
                    && lines.iter().zip(&one.old).all(same)
                    && indent::find_shift(level, &one.old, lines, one.hunk.marked).is_some()
            })
    };
    let below = target
        .lines
        .get(place.start + one.old.len()..)
        .unwrap_or_default();
    let more = &one.hunk.continuation;
    let same = |(line, more): (&TextLine<'_>, &Cow<'_, [u8]>)| trim_end(line.text) == trim_end(more);
    if !more.is_empty() && below.len() >= more.len() && below.iter().zip(more).all(same) {
        return Err(PlaceMiss::MayGoOn(place.start));
    }
    // One line that is indented otherwise than stated, elsewhere than stated: little speaks for it.
    let alone = one.old.len() == 1 && place.level >= MatchLevel::Indent;
    match one.stated {
        Some(stated) if stated != place.start && !one.old.is_empty() && (alone || fits(stated)) => {
            Err(PlaceMiss::Several(vec![stated, place.start]))
        }
        Some(_) | None => Ok(place),
    }
}
