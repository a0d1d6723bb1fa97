//! Hunks that an answer repeats: one hunk, written twice, or the same edit at two places.
//!
//! Owns: the decision. Never: lands a repeated hunk once if it fits as often as it is written.

use std::collections::HashSet;

use crate::locate::TargetFile;
use crate::parse::{Hunk, LineMark, new_repair};
use crate::placement::{self, PlacedHunks};
use crate::refusal::ambiguous;
use crate::resolve::StopReason;
use crate::{FileReport, Repair};

/// Returns the marks and texts of a hunk, for comparison.
pub(super) fn hunk_texts(hunk: &Hunk) -> Vec<(LineMark, &[u8])> {
    let texts = hunk.lines.iter().map(|line| (line.mark, line.text.as_ref()));
    texts.collect()
}

pub(super) fn duplicate_repair() -> Repair {
    new_repair("duplicate-hunk", "a repeated hunk was landed once")
}

/// Returns the hunks without those that repeat the text and the stated line of another one.
pub(super) fn distinct_hunks<'e>(all: &[&'e Hunk]) -> Vec<&'e Hunk> {
    let mut seen = HashSet::new();
    all.iter()
        .copied()
        .filter(|hunk| {
            let start = hunk.stated.old_start;
            // Without a stated line, equal text proves no repetition: lock files and version pins have the same lines in many
            // places.
            start.is_none() || seen.insert((start, hunk_texts(hunk)))
        })
        .collect()
}

/// Decides whether hunks with the same text and the same stated line are one hunk, written twice, or several that lost
/// their lines. `settled` has them once. If they also land all, at other places, nothing shows what is meant.
pub(super) fn place_repeated(
    target: &mut TargetFile<'_>,
    (all, once): (&[&Hunk], &[&Hunk]),
    settled: PlacedHunks,
    report: &mut FileReport,
) -> Result<PlacedHunks, StopReason> {
    if all.len() == once.len() {
        return Ok(settled);
    }
    // A hunk that is found elsewhere than stated has lost its line, so two equal ones may be meant for two places.
    if !settled.is_as_stated() {
        let each = placement::place_hunks(target, all)?;
        match (&each.splices, &settled.splices) {
            (Ok(_), Err(_)) => return Ok(each),
            (Ok(_), Ok(_)) => {
                let path = &report.path;
                let message = format!("a hunk of `{path}` is repeated, and fits as often as it is written");
                let refusal = ambiguous(message).at(path);
                let hint = "state the line of each hunk, or leave the repeated one out";
                return Err(refusal.hint(hint).into());
            }
            (Err(_), _) => {}
        }
    }
    report.repairs.push(duplicate_repair());
    Ok(settled)
}
