//! The blob ids of a file's `index` line, as evidence of the result that its edits must reach.
//!
//! Owns: what an id proves and what it contradicts. Never: uses a new id if the old one does not name the base.
//!
//! Whoever writes both ids made the change with git, so the new id names the one right result:
//!
//! | hunks | result with this id | result with another id |
//! |---|---|---|
//! | each fits as `git apply` places it | lands | another choice of places that gives the id lands; without one, lands with a note, since people edit patches by hand |
//! | some are repaired, moved or chosen | lands | refused: something was lost since |
//! | some are doubtful, or have several places | lands, if one choice gives it | refused for that reason |

use super::view::FileView;
use crate::canonical::{MIN_ID, has_id};
use crate::locate::{HunkPlace, SoughtHunk, TargetFile, order};
use crate::parse::{FileEdit, Hunk, LineMark, new_repair};
use crate::placement;
use crate::refusal::ambiguous;
use crate::resolve::{ResolvedPart, StopReason};
use crate::splice::{LineSplice, hunk_splices};
use crate::{FileReport, HunkReport, Refusal, Rung};

/// Length of the ids that [`blob_id`] computes. A repository with SHA-256 has others.
const FULL: usize = 40;

/// Returns true if the `index` line names the blob of the base as the old one.
pub(super) fn names_base(edit: &FileEdit, resolved: &ResolvedPart) -> bool {
    is_base(edit.extended.index.as_ref().map(|(old, _)| old), resolved)
}

/// Returns true if every `index` line names the blob of the base as the new one: the change was applied before.
pub(super) fn names_result(parts: &[(&FileEdit, &ResolvedPart)]) -> bool {
    let mut parts = parts.iter();
    parts.all(|(edit, resolved)| is_base(edit.extended.index.as_ref().map(|(_, new)| new), resolved))
}

fn is_base(named: Option<&String>, resolved: &ResolvedPart) -> bool {
    let ids = named.zip(resolved.id.as_ref());
    ids.is_some_and(|(named, id)| named.len() >= MIN_ID && id.starts_with(named.as_str()))
}

/// Returns the id of the result, if all parts name the same one for this base. Returns `None` otherwise.
pub(super) fn result_id<'e>(parts: &[(&'e FileEdit, &ResolvedPart)]) -> Option<&'e str> {
    let (first, resolved) = parts.first()?;
    let (_, new) = first.extended.index.as_ref()?;
    let known = resolved.id.as_ref().is_some_and(|id| id.len() == FULL);
    let same = parts
        .iter()
        .all(|(edit, resolved)| edit.extended.index == first.extended.index && names_base(edit, resolved));
    let tells = new.len() >= MIN_ID && new.bytes().any(|byte| byte != b'0');
    (known && same && tells).then_some(new.as_str())
}

/// Returns the refusal of a result that is not the named one. Reports a note instead if every hunk fits as `git apply`
/// places it.
pub(super) fn check_result(
    target: &TargetFile<'_>,
    hunks: &[&Hunk],
    report: &mut FileReport,
) -> Result<(), Refusal> {
    let lines = target.lines().len();
    let as_git = report.repairs.is_empty()
        && report.hunks.len() == hunks.len()
        && report
            .hunks
            .iter()
            .zip(hunks)
            .all(|(report, hunk)| fits_as_git(report, hunk, lines));
    // Counted over 15,174 exact landings with true ids, this rule refuses none of them; of 33 wrong ones it refuses 28.
    if as_git {
        let detail = "the result is not the one that the `index` line names, although every hunk fits";
        report.repairs.push(new_repair("other-result", detail));
        return Ok(());
    }
    let path = &report.path;
    let message = format!("the result in `{path}` is not the one that the `index` line names");
    let refusal = ambiguous(message).at(path);
    Err(refusal.hint("give the diff as git wrote it, or without its `index` line"))
}

/// Returns true if `git apply` places the hunk where it landed: it has four true numbers, needs no repair, and reaches the
/// end of the file if it has no context below its changes.
fn fits_as_git(report: &HunkReport, hunk: &Hunk, lines: usize) -> bool {
    let stated = hunk.stated;
    let numbered = [
        stated.old_start,
        stated.old_count,
        stated.new_start,
        stated.new_count,
    ];
    let old = hunk.old_lines().count() as u64;
    let end = report.found_line.map(|line| (line - 1).saturating_add(old));
    let last = hunk.lines.last();
    let shown = last.is_some_and(|line| line.mark == LineMark::Context);
    report.rung == Some(Rung::ExactStated)
        && report.repairs.is_empty()
        && numbered.iter().all(Option::is_some)
        && (shown || end == Some(lines as u64))
}

/// Searches for a choice among the possible places of the hunks whose result has the id, and reports it. Returns `None` if
/// there is no such choice among the first ones.
///
/// # Errors
/// Fails if the work exceeds the budget.
pub(super) fn find_result(
    target: &mut TargetFile<'_>,
    (hunks, id): (&[&Hunk], &str),
    view: &FileView<'_>,
    report: &mut FileReport,
) -> Result<Option<Vec<u8>>, StopReason> {
    /// Maximum number of choices, and of bytes of their results.
    const CHOICES: usize = 64;
    const BYTES: usize = 64 << 20;
    let sought: Vec<SoughtHunk<'_>> = hunks.iter().map(|hunk| SoughtHunk::new(hunk)).collect();
    let mut places = Vec::with_capacity(sought.len());
    for one in &sought {
        let possible = target.possible_places(one)?;
        // A hunk that states no line at all leaves too much to the id alone.
        if possible.len() > 1 && one.stated.is_none() {
            return Ok(None);
        }
        places.push(possible);
    }
    let count = places
        .iter()
        .try_fold(1usize, |count, places| count.checked_mul(places.len()));
    let most = CHOICES.min(BYTES / target.content.len().max(1)).max(1);
    for choice in 0..count.unwrap_or(usize::MAX).min(most) {
        let chosen = nth_choice(&places, choice);
        if !order::are_disjoint(&sought, chosen.iter().copied()) {
            continue;
        }
        target.budget.spend(target.content.len())?;
        let splices = splices_at(target, &sought, &chosen);
        let written = splices.and_then(|all| view.write_lines(&report.path, target.lines(), &all).ok());
        if let Some(content) = written.filter(|content| has_id(content, id)) {
            let placed = sought.iter().zip(&chosen).enumerate();
            let reports = placed.map(|(at, (one, place))| placement::landed_report(at, one, place));
            report.hunks = reports.collect();
            let detail = "the result is the one that the `index` line names, which proves the places";
            report.repairs.push(new_repair("named-result", detail));
            return Ok(Some(content));
        }
    }
    Ok(None)
}

/// Returns one place for each hunk: the choice with this number, as its digits say in a system with one digit for each
/// hunk.
fn nth_choice(places: &[Vec<HunkPlace>], mut number: usize) -> Vec<&HunkPlace> {
    let chosen = places.iter().filter_map(|places| {
        let count = places.len().max(1);
        let place = places.get(number % count);
        number /= count;
        place
    });
    chosen.collect()
}

fn splices_at(
    target: &TargetFile<'_>,
    sought: &[SoughtHunk<'_>],
    chosen: &[&HunkPlace],
) -> Option<Vec<LineSplice>> {
    let mut all = Vec::new();
    for (one, place) in sought.iter().zip(chosen) {
        all.append(&mut hunk_splices(target.lines(), one.hunk, place).ok()?);
    }
    all.sort_by_key(|splice| (splice.start, splice.end));
    Some(all)
}
