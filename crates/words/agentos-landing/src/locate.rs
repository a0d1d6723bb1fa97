//! Finds the one place of every hunk of a file, or reports why there is none.
//!
//! Owns: the ladder and the uniqueness rule. Never: lands by similarity.
//!
//! # The problem
//!
//! A hunk names its place twice: by a line number and by the lines that it expects there. Models write both wrong.
//! Line numbers are often invented, and expected lines lose their trailing blanks, their indentation or their quotes.
//! Tools that then take the nearest, the first or the most similar place change the wrong code without an error;
//! `tests/it/peers.rs` has an input for each of them. Here a place is taken only if it is the only one.
//!
//! # The steps
//!
//! 1. As stated ([`place_as_stated`]). If all hunks of the file fit their stated lines exactly and without overlap,
//!    those are their places: nothing contradicts the numbers.
//! 2. The ladder ([`find_candidates`]). Each hunk is searched for on each rung, strictest first, and keeps all places
//!    on the first rung that has any:
//!
//!    | rung | lines are equal except for |
//!    |---|---|
//!    | `Exact` | nothing |
//!    | `Trailing` | blanks at the end |
//!    | `Indent` | one indentation shift that all lines share |
//!    | `Blanks` | the number of blanks between words |
//!    | `Typography` | look-alikes such as curly quotes |
//!
//! 3. Headings and anchors. A place above a line that the hunk names behind its `@@` is left out ([`anchors`]);
//!    below it, the only one is taken ([`below_anchors`]).
//! 4. The hunks together ([`order::choose_places`]). The places of one file must not overlap and must keep one order,
//!    that of the answer or that of the stated lines. This often leaves one candidate of several.
//! 5. Objections. A place that other evidence speaks against is refused: the stated new line means another place
//!    ([`places_by_new_lines`]), the heading belongs to another place ([`other_exact_place`]), the lines are a deeper
//!    block without its indentation ([`deeper_copies`]), or the line that ended the hunk may be one more of its lines
//!    ([`accept_place`]).
//!
//! # Outcomes
//!
//! | candidates | outcome |
//! |---|---|
//! | one | the hunk lands there |
//! | several, one fits with the other hunks | the hunk lands there |
//! | several | [`MissReason::Several`]: refused as `ambiguous`, with the lines of all |
//! | none, but the whole result of the hunk is in the file (module `applied`) | refused as `empty`: it was applied before |
//! | none | [`MissReason::Nowhere`]: refused as `does-not-apply`; similar lines are only suggested |
//!
//! # What goes wrong without a step
//!
//! Without step 1, two equal functions make every correct diff between them ambiguous. Without the order of rungs, a
//! loose match elsewhere makes an exact one ambiguous. Without step 4, two hunks may land on the same lines. Without
//! step 5, a diff with wrong counts or a shifted old line lands one function too early.
//!
//! All work is counted in a [`WorkBudget`], since a hostile answer can have many hunks that each fit many places.

mod anchors;
mod indent;
mod index;
mod key;
mod objections;
pub(crate) mod order;

use std::collections::{BTreeMap, HashMap};

use crate::context::WorkBudget;
use crate::parse::{Hunk, HunkLine, LineMark};
use crate::text::{FileLines, TextLine, line_starts, trim};
use crate::{Refusal, Rung};

pub(crate) use indent::IndentShift;
use index::LineTable;
pub(crate) use key::{MatchLevel, look_alike};

/// File in which places are searched.
pub(crate) struct TargetFile<'b> {
    /// Content of the file.
    pub content: &'b [u8],
    /// Work that is left for the answer.
    pub budget: &'b WorkBudget,
    /// True if the hunks were certainly made for this content, as their `index` line names it. Their numbers are then
    /// those of this file.
    pub is_stated_base: bool,
    starts: Vec<usize>,
    /// Tables by rung. Each is built when it is first needed, since most hunks are found on the first rung.
    tables: HashMap<MatchLevel, LineTable>,
    /// Line at which the section of each requested heading ends. Computed once for each heading, since thousands of
    /// hunks may name the same one.
    section_ends: HashMap<usize, usize>,
}

impl<'b> TargetFile<'b> {
    /// Creates a target from the content of a file.
    pub(crate) fn new(content: &'b [u8], budget: &'b WorkBudget) -> Self {
        Self {
            content,
            budget,
            is_stated_base: false,
            starts: line_starts(content),
            tables: HashMap::new(),
            section_ends: HashMap::new(),
        }
    }

    /// Returns the lines of the file.
    pub(crate) fn lines(&self) -> FileLines<'_> {
        FileLines::new(self.content, &self.starts)
    }
}

/// Place of a hunk in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HunkPlace {
    /// First line of its old side; 0 is the first of the file.
    pub start: usize,
    /// Rung on which it was found.
    pub level: MatchLevel,
    /// Indentation shift between the hunk and the file.
    pub shift: IndentShift,
    /// Number of other places on the same rung, which the stated line, the anchors or the other hunks exclude.
    pub others: usize,
}

impl HunkPlace {
    /// Returns the place of a hunk whose old lines are equal to those of the file from `start` on.
    pub(crate) fn exact(start: usize) -> Self {
        Self {
            start,
            level: MatchLevel::Exact,
            shift: IndentShift::Same,
            others: 0,
        }
    }

    /// Returns the rung as reports name it.
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

/// Hunk without a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlaceMiss {
    /// Reason why it has none.
    pub reason: MissReason,
    /// Lines that the reason is about; 0 is the first of the file.
    pub starts: Vec<usize>,
}

impl PlaceMiss {
    /// Creates a miss that is about these lines.
    pub(crate) fn new(reason: MissReason, starts: impl Into<Vec<usize>>) -> Self {
        let starts = starts.into();
        Self { reason, starts }
    }
}

/// Reason why a hunk has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissReason {
    /// The old lines are not in the file.
    Nowhere,
    /// The old lines are in the file, but above the line that the hunk names behind its `@@`.
    AboveAnchor,
    /// The old lines are at more than one place.
    Several,
    /// There are no old lines, and nothing states where to insert.
    NoOldLines,
    /// Each place overlaps another hunk.
    Overlap,
    /// The text has another number of places than its edit says.
    OtherCount,
    /// The search text occurs once, and begins or ends inside a longer word.
    InWord,
    /// The search text occurs once, and its replacement has lines with less indentation than the line that it is in.
    Outdented,
    /// The result of the hunk is in the file already.
    AlreadyApplied,
    /// The lines of the result are in the file, without a proof that the hunk put them there.
    Unproven,
    /// The line that ended the hunk may belong to it: the file has the same line below the hunk's place.
    MayGoOn,
    /// A line of context next to added lines at the edge of the hunk is missing from it.
    LostContext,
    /// The bytes of an added line are not certain.
    UncertainBlanks,
}

/// Outcome of the search for one hunk.
pub(crate) type FoundPlace = Result<HunkPlace, PlaceMiss>;

/// Hunk, prepared for the search.
pub(crate) struct SoughtHunk<'h> {
    /// Hunk as parsed.
    pub hunk: &'h Hunk,
    /// Lines that the base must have.
    pub old: Vec<&'h HunkLine>,
    /// Number of context lines before the first change.
    pub lead: usize,
    /// Number of context lines after the last change.
    pub trail: usize,
    /// Stated first old line; 0 is the first of the file. `None` if the hunk states none.
    pub stated: Option<usize>,
    /// True if the hunk must reach the end of the file.
    pub at_end: bool,
}

impl<'h> SoughtHunk<'h> {
    /// Prepares a hunk for the search.
    pub(crate) fn new(hunk: &'h Hunk) -> Self {
        let old: Vec<_> = hunk.old_lines().collect();
        let context = |line: &&HunkLine| line.mark == LineMark::Context;
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

/// Returns the stated line, counted from 0. A hunk without old lines states the line before it. `None` if no line is
/// stated.
fn stated_line(hunk: &Hunk, insertion: bool) -> Option<usize> {
    let start = usize::try_from(hunk.stated.old_start?).ok()?;
    match (insertion, hunk.stated.old_count) {
        (true, Some(0)) => Some(start),
        // The header counts old lines, but the hunk has none: the stated line belongs to lines that got lost.
        (true, Some(_)) => None,
        (true, None) | (false, _) => Some(start.saturating_sub(1)),
    }
}

/// Lines that occur more often than this are not distinctive.
const COMMON: usize = 16;
/// Maximum number of old lines that are looked at.
const LOOKED_AT: usize = 200;

impl TargetFile<'_> {
    /// Finds the places of all hunks. The result has one entry for each hunk, in the order given.
    ///
    /// # Errors
    /// Fails only if the work exceeds the budget.
    pub(crate) fn locate_hunks(&mut self, sought: &[SoughtHunk<'_>]) -> Result<Vec<FoundPlace>, Refusal> {
        let chosen = match self.place_as_stated(sought)? {
            Some(places) => places.into_iter().map(Ok).collect(),
            None => self.place_by_lines(sought)?,
        };
        let others = self.places_by_new_lines(sought, &chosen)?;
        let mut settled = Vec::with_capacity(sought.len());
        for ((one, chosen), other) in sought.iter().zip(chosen).zip(others) {
            self.budget.spend(one.old.len() + one.hunk.continuation.len())?;
            settled.push(match chosen {
                Ok(place) => self.settle_place(one, place, other)?,
                Err(miss) => Err(miss),
            });
        }
        Ok(settled)
    }

    /// Returns the place, unless other evidence speaks against it. `other` is the place that the stated new line means.
    fn settle_place(
        &mut self,
        one: &SoughtHunk<'_>,
        place: HunkPlace,
        other: Option<usize>,
    ) -> Result<FoundPlace, Refusal> {
        let as_stated = one.stated == Some(place.start) && !one.old.is_empty();
        let other = match other {
            None if as_stated => self.other_exact_place(one, place.start)?,
            other => other,
        };
        let others = match other {
            Some(other) => vec![other],
            None => self.deeper_copies(one, &place)?,
        };
        if others.is_empty() {
            return Ok(self.accept_place(one, place));
        }
        let starts = std::iter::once(place.start).chain(others);
        let starts: Vec<usize> = starts.take(order::SHOWN).collect();
        Ok(Err(PlaceMiss::new(MissReason::Several, starts)))
    }

    /// Finds the places by the lines of the hunks, if not all fit their stated lines.
    fn place_by_lines(&mut self, sought: &[SoughtHunk<'_>]) -> Result<Vec<FoundPlace>, Refusal> {
        let mut found = Vec::with_capacity(sought.len());
        for one in sought {
            found.push(self.find_candidates(one)?);
        }
        let candidates = order::Candidates {
            sought,
            found: &found,
            budget: self.budget,
        };
        let mut chosen = candidates.choose_places(self.lines().len())?;
        for (chosen, found) in chosen.iter_mut().zip(&found) {
            if let Ok(place) = chosen {
                place.others = place.others.max(found.len().saturating_sub(1));
            }
        }
        Ok(chosen)
    }

    /// Returns the stated places if all hunks fit there exactly and without overlap. Returns `None` otherwise.
    fn place_as_stated(&mut self, sought: &[SoughtHunk<'_>]) -> Result<Option<Vec<HunkPlace>>, Refusal> {
        let mut places = Vec::with_capacity(sought.len());
        for one in sought {
            let Some(start) = one.stated else {
                return Ok(None);
            };
            self.budget.spend(one.old.len())?;
            // A hunk without old lines fits everywhere. It may only follow others that prove the stated lines.
            if one.old.is_empty() && sought.len() < 2 && self.lines().len() > 0 {
                return Ok(None);
            }
            // One hunk that does not fit makes the numbers of all the others doubtful.
            if !self.fits_exactly(one, start) {
                return Ok(None);
            }
            places.push(HunkPlace::exact(start));
        }
        if self.lines().len() > 0 && !self.are_numbers_confirmed(sought)? {
            return Ok(None);
        }
        Ok(order::are_disjoint(sought, &places).then_some(places))
    }

    /// Returns true if the file confirms the stated lines of hunks that fit there: one of the hunks has context, or lines
    /// that occur once, or the hunks were made for this content. A line alone that occurs often fits a wrong number by
    /// chance: each of them is as likely.
    fn are_numbers_confirmed(&mut self, sought: &[SoughtHunk<'_>]) -> Result<bool, Refusal> {
        let (shown, bare): (Vec<_>, Vec<_>) = sought
            .iter()
            .filter(|one| says_place(one))
            .partition(|one| one.lead + one.trail > 0);
        if !shown.is_empty() || (self.is_stated_base && !bare.is_empty()) {
            return Ok(true);
        }
        for one in bare {
            let runs = self.find_runs(MatchLevel::Exact, &one.old)?;
            if runs.len() == 1 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fits_exactly(&self, one: &SoughtHunk<'_>, start: usize) -> bool {
        let end = start.saturating_add(one.old.len());
        self.has_lines(one, start, MatchLevel::Exact) && (!one.at_end || end == self.lines().len())
    }

    /// Returns the places of one hunk on the first rung that has any.
    pub(crate) fn find_candidates(&mut self, one: &SoughtHunk<'_>) -> Result<Vec<HunkPlace>, Refusal> {
        if one.old.is_empty() {
            let length = self.lines().len();
            let has_place = length == 0 || one.hunk.at_end;
            return Ok(Vec::from_iter(has_place.then(|| HunkPlace::exact(length))));
        }
        /// Steps for one place. Places are kept until all hunks are placed, so they cost more than a look at a line.
        const STEPS_PER_PLACE: usize = 8;
        for level in MatchLevel::ALL {
            let starts = self.find_runs(level, &one.old)?;
            self.budget.spend(starts.len().saturating_mul(STEPS_PER_PLACE))?;
            // A place that lost marks explain is no place, but another one is not the only one then.
            let lacks_marks = |start: &usize| {
                let lines = self.lines().get(*start..start + one.old.len());
                lines.is_some_and(|lines| indent::may_lack_marks(level, one, lines))
            };
            if starts.iter().any(lacks_marks) {
                return Ok(Vec::new());
            }
            let places: Vec<HunkPlace> = starts
                .into_iter()
                .filter(|start| !one.at_end || start + one.old.len() == self.lines().len())
                .filter_map(|start| self.place_of_run(one, start, level))
                .collect();
            let places = self.below_anchors(one, places)?;
            if !places.is_empty() {
                return Ok(places);
            }
        }
        Ok(Vec::new())
    }

    /// Returns the place of a hunk whose lines are equal to those of the file from `start` on, on this rung. Returns `None` if
    /// no indentation shift explains all lines: equal keys are not enough on the rungs that ignore indentation.
    fn place_of_run(&self, one: &SoughtHunk<'_>, start: usize, level: MatchLevel) -> Option<HunkPlace> {
        let lines = self.lines().get(start..start.checked_add(one.old.len())?)?;
        Some(HunkPlace {
            level,
            shift: indent::find_shift(level, one, lines)?,
            ..HunkPlace::exact(start)
        })
    }

    /// Returns the place of a hunk at this line if its lines are there on this rung. Returns `None` otherwise.
    fn place_at(&self, one: &SoughtHunk<'_>, start: usize, level: MatchLevel) -> Option<HunkPlace> {
        let fits = self.has_lines(one, start, level);
        fits.then(|| self.place_of_run(one, start, level)).flatten()
    }

    /// Returns true if the file has the hunk's lines from this line on, compared on this rung.
    fn has_lines(&self, one: &SoughtHunk<'_>, start: usize, level: MatchLevel) -> bool {
        let lines = self.lines().get(start..start.saturating_add(one.old.len()));
        let same = |(line, old): (TextLine<'_>, &&HunkLine)| {
            key::line_key(level, line.text) == key::line_key(level, &old.text)
        };
        lines.is_some_and(|lines| lines.iter().zip(&one.old).all(same))
    }

    /// Returns every place at which a hunk may have been meant, whatever speaks against it: all on the first rung that has
    /// any, and the stated one.
    pub(crate) fn possible_places(&mut self, one: &SoughtHunk<'_>) -> Result<Vec<HunkPlace>, Refusal> {
        let mut places = self.free_candidates(one)?;
        let stated = one
            .stated
            .filter(|start| places.iter().all(|place| place.start != *start));
        let stated = stated.and_then(|start| {
            let mut levels = MatchLevel::ALL.into_iter();
            levels.find_map(|level| self.place_at(one, start, level))
        });
        places.extend(stated);
        Ok(places)
    }

    /// Returns the likeliest starts (0 is the first line), best first, at most three.
    pub(crate) fn suggest_places(&mut self, one: &SoughtHunk<'_>) -> Result<Vec<usize>, Refusal> {
        // Each line that is in the file votes for the start that it would give the hunk.
        let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
        for (offset, line) in one.old.iter().enumerate().take(LOOKED_AT) {
            // Single brackets and empty lines are everywhere.
            if trim(&line.text).len() < 2 {
                continue;
            }
            let budget = self.budget;
            let places = self.places_of(MatchLevel::Typography, &line.text)?;
            budget.spend(places.len().min(COMMON) + 1)?;
            if places.len() > COMMON {
                continue;
            }
            for place in places {
                *votes.entry((*place as usize).saturating_sub(offset)).or_default() += 1;
            }
        }
        let mut ranked: Vec<(usize, usize)> = votes.into_iter().collect();
        ranked.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(ranked.into_iter().map(|(start, _)| start).take(3).collect())
    }
}

/// Returns true if the hunk has an old line with text. Blank lines are everywhere, so they confirm no number.
pub(crate) fn says_place(one: &SoughtHunk<'_>) -> bool {
    one.old.iter().any(|line| !trim(&line.text).is_empty())
}
