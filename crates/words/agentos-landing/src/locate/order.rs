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

use super::{FoundPlace, HunkPlace, MissReason, PlaceMiss, SoughtHunk, TargetFile, says_place};
use crate::Refusal;
use crate::budget::WorkBudget;
use crate::parse::LineMark;

/// Lines that a hunk takes at one place. No other hunk may have a line in the core; the rest may hold their context.
#[derive(Clone, Copy)]
struct LineSpan {
    start: usize,
    core_start: usize,
    core_end: usize,
    end: usize,
}

fn hunk_span(one: &SoughtHunk<'_, '_>, start: usize) -> LineSpan {
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
    sought: &[SoughtHunk<'_, '_>],
    places: impl IntoIterator<Item = &'p HunkPlace>,
) -> bool {
    let starts = places.into_iter().map(|place| place.start);
    are_some_disjoint(sought, &starts.enumerate().collect::<Vec<_>>())
}

/// Returns true if some of the hunks do not touch each other's changes. `placed` has the number and the start of
/// each.
pub(crate) fn are_some_disjoint(sought: &[SoughtHunk<'_, '_>], placed: &[(usize, usize)]) -> bool {
    let mut spans: Vec<LineSpan> = placed
        .iter()
        .filter_map(|(at, start)| Some(hunk_span(sought.get(*at)?, *start)))
        .collect();
    spans.sort_by_key(|span| (span.core_start, span.core_end));
    spans.array_windows().all(|[a, b]| may_follow(*a, *b))
}

/// Chooses the places of all hunks from their candidates.
pub(crate) fn choose_places(
    sought: &[SoughtHunk<'_, '_>],
    found: &[Vec<HunkPlace>],
    target: &TargetFile<'_>,
) -> Result<Vec<FoundPlace>, Refusal> {
    if found.iter().any(Vec::is_empty) {
        let alone = sought.iter().zip(found);
        let alone = alone.map(|(one, places)| place_alone(one, places, target.lines().len()));
        return Ok(alone.collect());
    }
    if let Some(stated) = places_as_stated(sought, found) {
        return Ok(all_placed(stated));
    }
    let mut pairs = sought.array_windows();
    if pairs.all(|[a, b]| a.hunk.part.0 == b.hunk.part.0) {
        within_part(sought, found, target.budget)
    } else {
        across_parts(sought, found, target.budget)
    }
}

/// Chooses the places of hunks of one part. They are in the file in the order of the answer, or in that of their
/// stated lines.
fn within_part(
    sought: &[SoughtHunk<'_, '_>],
    found: &[Vec<HunkPlace>],
    budget: &WorkBudget,
) -> Result<Vec<FoundPlace>, Refusal> {
    let answer: Vec<usize> = (0..sought.len()).collect();
    let by_answer = feasible_candidates(sought, found, &answer, budget)?;
    let by_lines = match order_of_lines(sought) {
        Some(order) if order != answer => feasible_candidates(sought, found, &order, budget)?,
        Some(_) | None => None,
    };
    Ok(choose_placement(sought, found, by_answer, by_lines))
}

/// Chooses the places of hunks of several parts. A model writes parts in any order, so that order decides nothing
/// between them. Their stated lines do, if all have one; else each part must have its places by itself.
fn across_parts(
    sought: &[SoughtHunk<'_, '_>],
    found: &[Vec<HunkPlace>],
    budget: &WorkBudget,
) -> Result<Vec<FoundPlace>, Refusal> {
    if let Some(order) = order_of_lines(sought) {
        let by_lines = feasible_candidates(sought, found, &order, budget)?;
        return Ok(choose_placement(sought, found, by_lines, None));
    }
    let mut chosen = Vec::with_capacity(sought.len());
    let mut rest = found;
    for part in sought.chunk_by(|a, b| a.hunk.part.0 == b.hunk.part.0) {
        let (these, others) = rest.split_at_checked(part.len()).unwrap_or((rest, &[]));
        rest = others;
        chosen.append(&mut within_part(part, these, budget)?);
    }
    // Each part was placed by itself, so two parts may still claim the same lines.
    if chosen.iter().all(Result::is_ok) && !are_disjoint(sought, chosen.iter().flatten()) {
        return Ok(all_overlap(found));
    }
    Ok(chosen)
}

/// Judges one hunk by itself, for the report of a file in which another hunk has no place.
fn place_alone(one: &SoughtHunk<'_, '_>, places: &[HunkPlace], length: usize) -> FoundPlace {
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

/// Returns the candidates at the stated lines. `None` if a hunk has none there, or if they overlap.
fn places_as_stated(sought: &[SoughtHunk<'_, '_>], found: &[Vec<HunkPlace>]) -> Option<Vec<HunkPlace>> {
    if !sought.iter().any(says_place) {
        return None;
    }
    let mut places = Vec::with_capacity(sought.len());
    for (one, candidates) in sought.iter().zip(found) {
        let stated = one.stated?;
        places.push(candidates.iter().find(|place| place.start == stated)?.clone());
    }
    are_disjoint(sought, &places).then_some(places)
}

/// Returns the order of the hunks by stated line. `None` if a line is missing or stated twice.
fn order_of_lines(sought: &[SoughtHunk<'_, '_>]) -> Option<Vec<usize>> {
    let mut stated = sought
        .iter()
        .enumerate()
        .map(|(at, one)| one.stated.map(|line| (line, at)))
        .collect::<Option<Vec<_>>>()?;
    stated.sort_unstable();
    let distinct = stated.is_sorted_by(|a, b| a.0 < b.0);
    distinct.then(|| stated.into_iter().map(|(_, at)| at).collect())
}

/// Returns for each hunk the candidates that take part in some placement of all hunks in this order. Returns `None`
/// if there is no such placement.
fn feasible_candidates(
    sought: &[SoughtHunk<'_, '_>],
    found: &[Vec<HunkPlace>],
    order: &[usize],
    budget: &WorkBudget,
) -> Result<Option<Vec<Vec<HunkPlace>>>, Refusal> {
    budget.spend(found.iter().map(Vec::len).sum::<usize>() * 2)?;
    let nothing = Vec::new();
    let candidates = |at: usize| found.get(at).unwrap_or(&nothing);
    // Forwards each hunk takes its first candidate below the one before; backwards each keeps the candidates that end
    // above the last one of the hunk after it. What passes both is part of some placement. Two passes keep the work
    // linear, where trying all combinations would grow with the product of the candidates.
    let mut bounds = Vec::with_capacity(order.len());
    let mut above: Option<LineSpan> = None;
    for at in order {
        let Some(one) = sought.get(*at) else { continue };
        bounds.push((*at, one, above));
        let mut spans = candidates(*at).iter().map(|place| hunk_span(one, place.start));
        above = spans.find(|this| above.is_none_or(|above| may_follow(above, *this)));
        if above.is_none() {
            return Ok(None);
        }
    }
    let mut kept: Vec<Vec<HunkPlace>> = vec![Vec::new(); sought.len()];
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
fn choose_placement(
    sought: &[SoughtHunk<'_, '_>],
    found: &[Vec<HunkPlace>],
    by_answer: Option<Vec<Vec<HunkPlace>>>,
    by_lines: Option<Vec<Vec<HunkPlace>>>,
) -> Vec<FoundPlace> {
    let answer = by_answer.as_deref().and_then(only_candidates);
    let lines = by_lines.as_deref().and_then(only_candidates);
    let lines_allow = |places: &[HunkPlace]| {
        let mut pairs = places.iter().zip(by_lines.iter().flatten());
        pairs.all(|(place, kept)| kept.contains(place))
    };
    match (answer, lines, only_candidates(found)) {
        // One placement in the order of the answer; the stated order leaves several, and this one must be among them.
        (Some(places), None, _) if lines_allow(&places) => all_placed(places),
        (Some(a), Some(b), _) if a == b => all_placed(a),
        // No placement in the order of the answer: the hunks were not written from the top of the file down.
        (None, Some(places), only)
            if by_answer.is_none() && (only.is_some() || have_distances(sought, &places)) =>
        {
            all_placed(places)
        }
        (None, None, Some(places)) if by_answer.is_none() => match are_disjoint(sought, &places) {
            true => all_placed(places),
            false => all_overlap(found),
        },
        (_, _, _) => report_undecided(found, by_answer),
    }
}

/// Returns true if the places are as far from each other as the stated lines, but for a few lines, and for those that the
/// hunks add and remove. Other numbers are invented: their order alone is no evidence.
fn have_distances(sought: &[SoughtHunk<'_, '_>], places: &[HunkPlace]) -> bool {
    /// Number of lines by which an author may have miscounted.
    const NEAR: usize = 8;
    let changed = |one: &SoughtHunk<'_, '_>| {
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
