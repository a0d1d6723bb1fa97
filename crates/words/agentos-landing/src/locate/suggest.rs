//! Suggestion of where a hunk without a place may have been meant, for the report; never a place to land.
//!
//! Owns: the guess. Never: changes anything.

use std::collections::BTreeMap;

use super::{MatchLevel, SoughtHunk, TargetFile};
use crate::Refusal;

/// Lines that occur more often than this are not distinctive.
const COMMON: usize = 16;
/// Maximum number of old lines that are looked at.
const LOOKED_AT: usize = 200;

/// Returns the likeliest starts (0 is the first line), best first, at most three.
pub(crate) fn suggest_places(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_, '_>,
) -> Result<Vec<usize>, Refusal> {
    // Each line that is in the file votes for the start that it would give the hunk.
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    for (offset, line) in one.old.iter().enumerate().take(LOOKED_AT) {
        // Single brackets and empty lines are everywhere.
        if crate::text::trim(&line.text).len() < 2 {
            continue;
        }
        let budget = target.budget;
        let places = target.places_of(MatchLevel::Typography, &line.text)?;
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
