//! Lines that a hunk names behind its `@@`: its place is below them.
//!
//! Owns: which of these lines count, and what they say about a place. Never: searches for the lines of a hunk.

use std::borrow::Cow;

use super::{HunkPlace, MatchLevel, SoughtHunk, TargetFile, find_candidates, heading};
use crate::Refusal;
use crate::parse::Hunk;

/// Returns the lines that can be a heading: those with a letter or digit. `@@ ... @@` is a placeholder for numbers, which
/// some tools ask models to write.
fn named<'h, 'a>(lines: &'h [Cow<'a, [u8]>]) -> impl Iterator<Item = &'h Cow<'a, [u8]>> {
    // Letters of other scripts count, and an ellipsis does not.
    let says = |line: &&Cow<'_, [u8]>| {
        let text = String::from_utf8_lossy(line);
        text.chars().any(char::is_alphanumeric)
    };
    lines.iter().filter(says)
}

/// Returns the anchors of a hunk and its heading, as far as they can be lines of a file.
fn headings<'h, 'a>(hunk: &'h Hunk<'a>) -> impl Iterator<Item = &'h Cow<'a, [u8]>> {
    named(&hunk.anchors).chain(named(hunk.section.as_slice()))
}

/// Returns true if a line that the hunk names as its heading occurs once in the file, and is below this place or
/// heads a section that ends above it.
pub(super) fn is_contradicted(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    start: usize,
) -> Result<bool, Refusal> {
    for name in headings(one.hunk) {
        // This holds for every correct diff, and needs no index of the whole file.
        if heading::is_near_below(target, name, start)? {
            continue;
        }
        let hits = target.places_of(MatchLevel::Indent, name)?;
        // A heading that occurs twice, or not at all, as one that git cut after 80 bytes, contradicts nothing.
        let [only] = *hits else { continue };
        let heading = only as usize;
        if heading >= start + one.old.len() || !target.is_in_section(heading, start)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Keeps the one place below the hunk's anchors, if there is exactly one. Anchors that are not in the file, or occur
/// more than once, decide nothing. A single place above an anchor is left out.
pub(super) fn below_anchors(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
    places: Vec<HunkPlace>,
) -> Result<Vec<HunkPlace>, Refusal> {
    if let [only] = places.as_slice()
        && one.stated != Some(only.start)
        && is_contradicted(target, one, only.start)?
    {
        return Ok(Vec::new());
    }
    // A heading next to a line number comes from git, which may name the function above. Without a number, the heading is
    // the author's own statement about the place.
    let stated = one.stated.is_some();
    let anchors: Vec<_> = if stated {
        named(&one.hunk.anchors).collect()
    } else {
        headings(one.hunk).collect()
    };
    if places.len() < 2 || anchors.is_empty() {
        return Ok(places);
    }
    let mut from = 0;
    for anchor in anchors {
        let budget = target.budget;
        let hits = target.places_of(MatchLevel::Indent, anchor)?;
        budget.spend(hits.len())?;
        let mut below = hits.iter().filter(|hit| **hit as usize >= from);
        match (below.next(), below.next()) {
            // Each anchor is searched for below the one before, as nested headings are written outermost first.
            (Some(only), None) => from = *only as usize + 1,
            (Some(_) | None, _) => return Ok(places),
        }
    }
    let mut below = Vec::new();
    for place in &places {
        let under = match from.checked_sub(1) {
            Some(heading) => target.is_in_section(heading, place.start)?,
            None => true,
        };
        if under && place.start + one.old.len() > from {
            let others = places.len() - 1;
            below.push(HunkPlace {
                others,
                ..place.clone()
            });
        }
    }
    // With several places below the anchors, all candidates stay, for the report.
    Ok(if below.len() == 1 { below } else { places })
}

/// Returns the one place of the hunk's lines if its heading or anchors are ignored, for the report. Returns `None` if
/// there is no such place, or more than one.
pub(crate) fn place_above_anchor(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
) -> Result<Option<usize>, Refusal> {
    if one.hunk.anchors.is_empty() && one.hunk.section.is_none() {
        return Ok(None);
    }
    Ok(match free_candidates(target, one)?.as_slice() {
        [only] => Some(only.start),
        _ => None,
    })
}

/// Returns the places of the hunk's lines if its heading and anchors are ignored.
pub(super) fn free_candidates(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
) -> Result<Vec<HunkPlace>, Refusal> {
    let mut free = one.hunk.clone();
    (free.anchors, free.section) = (Vec::new(), None);
    find_candidates(target, &SoughtHunk::new(&free))
}

/// Returns an anchor of the hunk that is not in the file. Returns `None` if all are.
pub(crate) fn missing_anchor<'h>(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'h, '_>,
) -> Result<Option<&'h [u8]>, Refusal> {
    for anchor in named(&one.hunk.anchors) {
        let hits = target.places_of(MatchLevel::Indent, anchor)?;
        if hits.is_empty() {
            return Ok(Some(anchor));
        }
    }
    Ok(None)
}
