//! Places of all hunks of a file together: one for each, in one order, without overlap.
//!
//! Owns: which candidates go together, and what the stated lines may decide. Never: picks one of two.
//!
//! | question | answer |
//! |---|---|
//! | a hunk has no candidate | every hunk is judged by itself, for the report |
//! | every hunk has a candidate at its stated line, without overlap | those ([`places_as_stated`]) |
//! | all hunks are in one part of the answer | the one placement in the order of the answer, unless the order of the stated lines contradicts it; where the order of the answer has none, that of the stated lines, if they also state the distances ([`within_part`]) |
//! | the hunks are in several parts | the one placement in the order of the stated lines; without them each part by itself ([`across_parts`]) |
//! | more than one placement is left | `ambiguous` ([`report_undecided`]) |

use super::{FoundPlace, HunkPlace, MissReason, PlaceMiss, SoughtHunk, says_place};
use crate::Refusal;
use crate::context::WorkBudget;
use crate::parse::LineMark;

/// Lines that a hunk takes at one place. No other hunk may have a line in the core; the rest may hold their context.
#[derive(Clone, Copy)]
struct LineSpan {
    start: usize,
    core_start: usize,
    core_end: usize,
    end: usize,
}

fn hunk_span(one: &SoughtHunk<'_>, start: usize) -> LineSpan {
    let end = start + one.old.len();
    LineSpan {
        start,
        core_start: start + one.lead,
        core_end: end.saturating_sub(one.trail),
        end,
    }
}

/// Returns true if `b` may be below `a`.
fn may_follow(a: LineSpan, b: LineSpan) -> bool {
    b.start >= a.core_end && b.core_start >= a.end
}

/// Returns true if hunks at these places do not touch each other's changes, in any order.
pub(crate) fn are_disjoint<'p>(
    sought: &[SoughtHunk<'_>],
    places: impl IntoIterator<Item = &'p HunkPlace>,
) -> bool {
    let starts = places.into_iter().map(|place| place.start);
    are_some_disjoint(sought, &starts.enumerate().collect::<Vec<_>>())
}

/// Returns true if some of the hunks do not touch each other's changes. `placed` has the number and the start of
/// each.
pub(crate) fn are_some_disjoint(sought: &[SoughtHunk<'_>], placed: &[(usize, usize)]) -> bool {
    let mut spans: Vec<LineSpan> = placed
        .iter()
        .filter_map(|(at, start)| Some(hunk_span(sought.get(*at)?, *start)))
        .collect();
    spans.sort_by_key(|span| (span.core_start, span.core_end));
    spans.array_windows().all(|[a, b]| may_follow(*a, *b))
}

/// Hunks of a file with their candidates.
#[derive(Clone, Copy)]
pub(super) struct Candidates<'c> {
    pub sought: &'c [SoughtHunk<'c>],
    /// Candidates of each hunk.
    pub found: &'c [Vec<HunkPlace>],
    pub budget: &'c WorkBudget,
}

/// Candidates of each hunk that take part in some placement of all hunks. `None` if there is no such placement.
type LeftPlaces = Option<Vec<Vec<HunkPlace>>>;

impl Candidates<'_> {
    /// Chooses the places of all hunks from their candidates.
    pub(crate) fn choose_places(self, length: usize) -> Result<Vec<FoundPlace>, Refusal> {
        if self.found.iter().any(Vec::is_empty) {
            let alone = self.sought.iter().zip(self.found);
            let alone = alone.map(|(one, places)| place_alone(one, places, length));
            return Ok(alone.collect());
        }
        if let Some(stated) = self.places_as_stated() {
            return Ok(all_placed(stated));
        }
        let mut pairs = self.sought.array_windows();
        if pairs.all(|[a, b]| a.hunk.part.0 == b.hunk.part.0) {
            self.within_part()
        } else {
            self.across_parts()
        }
    }

    /// Chooses the places of hunks of one part. They are in the file in the order of the answer, or in that of their
    /// stated lines.
    fn within_part(self) -> Result<Vec<FoundPlace>, Refusal> {
        let answer: Vec<usize> = (0..self.sought.len()).collect();
        let by_answer = self.feasible_candidates(&answer)?;
        let by_lines = match order_of_lines(self.sought) {
            Some(order) if order != answer => self.feasible_candidates(&order)?,
            Some(_) | None => None,
        };
        Ok(self.choose_placement(by_answer, by_lines))
    }

    /// Chooses the places of hunks of several parts. A model writes parts in any order, so that order decides nothing
    /// between them. Their stated lines do, if all have one; else each part must have its places by itself.
    fn across_parts(self) -> Result<Vec<FoundPlace>, Refusal> {
        if let Some(order) = order_of_lines(self.sought) {
            let by_lines = self.feasible_candidates(&order)?;
            return Ok(self.choose_placement(by_lines, None));
        }
        let mut chosen = Vec::with_capacity(self.sought.len());
        let mut rest = self.found;
        for part in self.sought.chunk_by(|a, b| a.hunk.part.0 == b.hunk.part.0) {
            let (these, others) = rest.split_at_checked(part.len()).unwrap_or((rest, &[]));
            rest = others;
            let these = Candidates {
                sought: part,
                found: these,
                ..self
            };
            chosen.append(&mut these.within_part()?);
        }
        // Each part was placed by itself, so two parts may still claim the same lines.
        if chosen.iter().all(Result::is_ok) && !are_disjoint(self.sought, chosen.iter().flatten()) {
            return Ok(all_overlap(self.found));
        }
        Ok(chosen)
    }

    /// Returns the candidates at the stated lines. `None` if a hunk has none there, or if they overlap.
    fn places_as_stated(self) -> Option<Vec<HunkPlace>> {
        if !self.sought.iter().any(says_place) {
            return None;
        }
        let mut places = Vec::with_capacity(self.sought.len());
        for (one, candidates) in self.sought.iter().zip(self.found) {
            let stated = one.stated?;
            places.push(candidates.iter().find(|place| place.start == stated)?.clone());
        }
        are_disjoint(self.sought, &places).then_some(places)
    }

    /// Returns for each hunk the candidates that take part in some placement of all hunks in this order. Returns `None`
    /// if there is no such placement.
    fn feasible_candidates(self, order: &[usize]) -> Result<LeftPlaces, Refusal> {
        self.budget
            .spend(self.found.iter().map(Vec::len).sum::<usize>() * 2)?;
        let nothing = Vec::new();
        let candidates = |at: usize| self.found.get(at).unwrap_or(&nothing);
        // Forwards each hunk takes its first candidate below the one before; backwards each keeps the candidates that end
        // above the last one of the hunk after it. What passes both is part of some placement. Two passes keep the work
        // linear, where trying all combinations would grow with the product of the candidates.
        let mut bounds = Vec::with_capacity(order.len());
        let mut above: Option<LineSpan> = None;
        for at in order {
            let Some(one) = self.sought.get(*at) else { continue };
            bounds.push((*at, one, above));
            let mut spans = candidates(*at).iter().map(|place| hunk_span(one, place.start));
            above = spans.find(|this| above.is_none_or(|above| may_follow(above, *this)));
            if above.is_none() {
                return Ok(None);
            }
        }
        let mut kept: Vec<Vec<HunkPlace>> = vec![Vec::new(); self.sought.len()];
        let mut below: Option<LineSpan> = None;
        for (at, one, above) in bounds.into_iter().rev() {
            let fits = |place: &&HunkPlace| {
                let this = hunk_span(one, place.start);
                above.is_none_or(|above| may_follow(above, this))
                    && below.is_none_or(|below| may_follow(this, below))
            };
            let fits: Vec<HunkPlace> = candidates(at).iter().filter(fits).cloned().collect();
            // The last one is the least strict bound for the hunk above; the first would drop candidates that are
            // possible.
            below = fits.last().map(|place| hunk_span(one, place.start));
            if let Some(slot) = kept.get_mut(at) {
                *slot = fits;
            }
        }
        Ok(Some(kept))
    }

    /// Takes the only placement that is left, if the order of the answer and that of the stated lines do not contradict
    /// each other. `by_lines` is `None` if the two orders are the same, or if the second has no placement.
    fn choose_placement(self, by_answer: LeftPlaces, by_lines: LeftPlaces) -> Vec<FoundPlace> {
        let answer = by_answer.as_deref().and_then(only_candidates);
        let lines = by_lines.as_deref().and_then(only_candidates);
        let lines_allow = |places: &[HunkPlace]| {
            let mut pairs = places.iter().zip(by_lines.iter().flatten());
            pairs.all(|(place, kept)| kept.contains(place))
        };
        match (answer, lines, only_candidates(self.found)) {
            // One placement in the order of the answer; the stated order leaves several, and this one must be among them.
            (Some(places), None, _) if lines_allow(&places) => all_placed(places),
            (Some(a), Some(b), _) if a == b => all_placed(a),
            // No placement in the order of the answer: the hunks were not written from the top of the file down.
            (None, Some(places), only)
                if by_answer.is_none() && (only.is_some() || have_distances(self.sought, &places)) =>
            {
                all_placed(places)
            }
            (None, None, Some(places)) if by_answer.is_none() => match are_disjoint(self.sought, &places) {
                true => all_placed(places),
                false => all_overlap(self.found),
            },
            (_, _, _) => report_undecided(self.found, by_answer),
        }
    }
}

/// Judges one hunk by itself, for the report of a file in which another hunk has no place.
fn place_alone(one: &SoughtHunk<'_>, places: &[HunkPlace], length: usize) -> FoundPlace {
    match places {
        [only] => Ok(only.clone()),
        [] if one.old.is_empty() && length > 0 => Err(PlaceMiss::new(MissReason::NoOldLines, [])),
        [] => Err(PlaceMiss::new(MissReason::Nowhere, [])),
        several => Err(miss_of(MissReason::Several, several)),
    }
}

/// Maximum number of candidates in a report.
pub(super) const SHOWN: usize = 16;

/// Returns the miss of a hunk with these candidates.
fn miss_of(reason: MissReason, places: &[HunkPlace]) -> PlaceMiss {
    let starts: Vec<usize> = places.iter().map(|place| place.start).take(SHOWN).collect();
    PlaceMiss::new(reason, starts)
}

fn all_overlap(found: &[Vec<HunkPlace>]) -> Vec<FoundPlace> {
    let misses = found.iter().map(|places| miss_of(MissReason::Overlap, places));
    misses.map(Err).collect()
}

/// Returns the order of the hunks by stated line. `None` if a line is missing or stated twice.
fn order_of_lines(sought: &[SoughtHunk<'_>]) -> Option<Vec<usize>> {
    let mut stated = sought
        .iter()
        .enumerate()
        .map(|(at, one)| one.stated.map(|line| (line, at)))
        .collect::<Option<Vec<_>>>()?;
    stated.sort_unstable();
    let distinct = stated.is_sorted_by(|a, b| a.0 < b.0);
    distinct.then(|| stated.into_iter().map(|(_, at)| at).collect())
}

/// Returns true if the places are as far from each other as the stated lines, but for a few lines, and for those that the
/// hunks add and remove. Other numbers are invented: their order alone is no evidence.
fn have_distances(sought: &[SoughtHunk<'_>], places: &[HunkPlace]) -> bool {
    /// Number of lines by which an author may have miscounted.
    const NEAR: usize = 8;
    let changed = |one: &SoughtHunk<'_>| {
        let lines = one.hunk.lines.iter();
        lines.filter(|line| line.mark != LineMark::Context).count()
    };
    let slack = NEAR + sought.iter().map(changed).sum::<usize>();
    let pairs = places.iter().zip(sought);
    let mut placed: Vec<(usize, usize)> = pairs
        .filter_map(|(place, one)| Some((place.start, one.stated?)))
        .collect();
    placed.sort_unstable();
    placed
        .array_windows()
        .all(|[a, b]| (b.0 - a.0).abs_diff(b.1.saturating_sub(a.1)) <= slack)
}

fn all_placed(places: Vec<HunkPlace>) -> Vec<FoundPlace> {
    places.into_iter().map(Ok).collect()
}

/// Returns the only candidate of each hunk. `None` if a hunk has none or several.
fn only_candidates(found: &[Vec<HunkPlace>]) -> Option<Vec<HunkPlace>> {
    found
        .iter()
        .map(|places| match places.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        })
        .collect()
}

fn report_undecided(found: &[Vec<HunkPlace>], by_answer: Option<Vec<Vec<HunkPlace>>>) -> Vec<FoundPlace> {
    let overlap = by_answer.is_none();
    let left = by_answer.unwrap_or_else(|| found.to_vec());
    left.iter()
        .zip(found)
        .map(|(left, all)| match left.as_slice() {
            [only] => Ok(only.clone()),
            // The hunk has one place by itself, so it is the other hunks that are in the way.
            _ if overlap && all.len() == 1 => Err(miss_of(MissReason::Overlap, all)),
            _ => Err(miss_of(MissReason::Several, all)),
        })
        .collect()
}
