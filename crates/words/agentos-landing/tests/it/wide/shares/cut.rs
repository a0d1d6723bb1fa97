//! Lines that are missing at the end of a hunk, at its beginning, inside of it, or at the end of the answer.
//!
//! Owns: these kinds, and what each still says. Never: asks landing.

use super::super::damage::shows_what_is_there;
use super::super::edits::{Hunk, Random};
use super::clear::fits_as_git;
use super::draft::Draft;

/// Number of context lines that git writes at each side.
const WIDTH: usize = 3;

/// Changed lines next to one edge, which comes first.
fn edge<'h>(lines: impl Iterator<Item = &'h (char, String)>) -> Vec<char> {
    lines
        .map(|(mark, _)| *mark)
        .skip_while(|mark| *mark == ' ')
        .take_while(|mark| *mark != ' ')
        .collect()
}

/// The change next to the bottom of a hunk adds lines and removes none.
fn inserts_below(hunk: &Hunk) -> bool {
    !edge(hunk.lines.iter().rev()).contains(&'-')
}

pub fn inserts_at_an_edge(draft: &Draft) -> bool {
    draft
        .hunks()
        .any(|hunk| inserts_below(hunk) || !edge(hunk.lines.iter()).contains(&'-'))
}

fn trail(hunk: &Hunk) -> usize {
    hunk.lines
        .iter()
        .rev()
        .take_while(|(mark, _)| *mark == ' ')
        .count()
}

/// Cuts off the context below the last change of some hunks. It is doubtful where the file ends there, since git writes less
/// context then, and a missing line may have stood between two changed ones.
fn cut_tails(draft: &mut Draft, which: impl Fn(usize, usize) -> bool) -> bool {
    let mut any = false;
    let mut doubtful = draft.is_doubtful;
    for file in &mut draft.files {
        let lines = file.old.as_deref().unwrap_or_default().lines().count();
        let last = file.hunks.len().saturating_sub(1);
        for (at, hunk) in file.hunks.iter_mut().enumerate() {
            let trail = trail(hunk);
            if trail == 0 || !which(at, last) {
                continue;
            }
            let of_file = hunk.old.0 + hunk.old.1 > lines;
            doubtful |= of_file || (inserts_below(hunk) && trail < WIDTH);
            hunk.lines.truncate(hunk.lines.len() - trail);
            any = true;
        }
    }
    // The file has the added lines already, where they are a copy of the next ones.
    let bare = |hunk: &Hunk| hunk.lines.iter().all(|(mark, _)| *mark == '+');
    draft.is_doubtful = doubtful || draft.hunks().any(bare) || draft.files.iter().any(shows_what_is_there);
    any && draft.only_edits()
}

/// Every hunk ends with its last changed line.
pub fn tail(_: &mut Random, draft: &mut Draft) -> bool {
    cut_tails(draft, |_, _| true)
}

/// The last hunk of each file ends with its last changed line.
pub fn last_tail(_: &mut Random, draft: &mut Draft) -> bool {
    cut_tails(draft, |at, last| at == last)
}

/// Every hunk begins with its first changed line.
pub fn head(_: &mut Random, draft: &mut Draft) -> bool {
    for hunk in draft.hunks_mut() {
        let lead = hunk.lines.iter().take_while(|(mark, _)| *mark == ' ').count();
        hunk.lines.drain(..lead);
    }
    draft.is_doubtful = true;
    draft.only_edits()
}

fn lose_one(random: &mut Random, draft: &mut Draft, counted: bool) -> bool {
    for hunk in draft.hunks_mut() {
        let context: Vec<usize> = (0..hunk.lines.len())
            .filter(|at| hunk.lines[*at].0 == ' ')
            .collect();
        if let Some(at) = context.get(random.below(context.len())) {
            hunk.lines.remove(*at);
            if counted {
                hunk.old.1 -= 1;
                hunk.new.1 -= 1;
            }
        }
    }
    draft.is_doubtful = true;
    true
}

/// A context line of each hunk is missing.
pub fn missing_line(random: &mut Random, draft: &mut Draft) -> bool {
    lose_one(random, draft, false)
}

/// A context line of each hunk is missing, and the header counts those that are there. Only the `index` line shows it.
///
/// If every hunk still fits its stated line exactly, `git apply` lands it there: the text is the right diff of another edit, as
/// where one of two equal lines next to an added line is missing.
pub fn missing_counted(random: &mut Random, draft: &mut Draft) -> bool {
    draft.index != super::draft::Index::Missing && lose_one(random, draft, true) && !fits_as_git(draft)
}

/// The answer ends within a hunk, behind a line: its last lines are missing.
pub fn answer(random: &mut Random, draft: &mut Draft) -> bool {
    let Some(hunk) = draft.files.last_mut().and_then(|file| file.hunks.last_mut()) else {
        return false;
    };
    let kept = 1 + random.below(hunk.lines.len());
    let lost = hunk.lines.split_off(kept.min(hunk.lines.len()));
    draft.is_doubtful = true;
    // Without a lost change, it is a hunk that is cut at its end.
    lost.iter().any(|(mark, _)| *mark != ' ') && draft.only_edits()
}
