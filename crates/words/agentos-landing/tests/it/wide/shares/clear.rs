//! Whether a text is enough to find the one right result: all placements of its hunks, in order, are counted.
//!
//! Owns: the judgement, made before landing is asked. Never: asks landing.

use super::super::edits::{File, Hunk};
use super::draft::{Draft, Numbers};

/// What a text must come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// The right result.
    Land,
    /// The right result, or a refusal.
    Either,
    /// A refusal: the hunks fit several places.
    Refuse,
}

/// Judges a draft of a kind that keeps enough of the text.
pub fn judged(draft: &Draft) -> Expect {
    if draft.is_doubtful {
        return Expect::Either;
    }
    let counts: Vec<[usize; 2]> = draft
        .files
        .iter()
        .filter(|file| file.old.is_some() && file.new.is_some())
        .map(|file| [placements(draft, file, exact), placements(draft, file, loose)])
        .collect();
    let noted = draft
        .hunks()
        .any(|hunk| hunk.lines.iter().any(|(mark, _)| *mark == '\\'));
    let bare = matches!(
        draft.numbers,
        Numbers::Bare | Numbers::Dots | Numbers::Placeholder
    );
    match () {
        () if draft.is_numbered => Expect::Land,
        // A heading, or the note about the final newline, may choose one of several places.
        () if bare && !noted && !draft.is_respaced && counts.iter().any(|[exact, _]| *exact > 1) => {
            Expect::Refuse
        }
        () if counts.iter().all(|[_, loose]| *loose == 1) => Expect::Land,
        () => Expect::Either,
    }
}

/// Returns true if the hunks fit in the order in which they are written, although they are in another order in the file and
/// no number says so: the text is the right diff of another edit.
pub fn means_another_edit(draft: &Draft) -> bool {
    let fits = |file: &File| file.hunks.len() > 1 && placements_in_order(file, loose) > 0;
    draft.is_shuffled && !draft.is_numbered && draft.files.iter().any(fits)
}

/// Returns true if a hunk without a number fits, blanks included, one place of the file that is not its own: damage to blanks made its
/// text the right edit of the other place. Headers of C repeat declarations, some with tabs and some with spaces.
pub fn fits_another_place(draft: &Draft) -> bool {
    let fits = |file: &File| {
        let placed = places(file, exact).into_iter().zip(&file.hunks);
        let mut starts = placed.map(|((starts, _), hunk)| (starts, hunk.old.0.saturating_sub(1)));
        starts.any(|(starts, own)| !starts.is_empty() && !starts.contains(&own))
    };
    !draft.is_numbered && draft.files.iter().any(fits)
}

/// Returns true if `git apply` lands every hunk at its stated line: the base has its lines there, and the hunk has context
/// below its changes or ends with the file.
pub fn fits_as_git(draft: &Draft) -> bool {
    let fits = |file: &File| {
        let placed = places(file, exact).into_iter().zip(&file.hunks);
        let base = file.old.as_deref().unwrap_or_default().lines().count();
        placed.into_iter().all(|((starts, length), hunk)| {
            let start = hunk.old.0.saturating_sub(1);
            let shows_below = hunk.lines.last().is_some_and(|(mark, _)| *mark == ' ');
            starts.contains(&start) && (shows_below || start + length == base)
        })
    };
    draft.is_numbered && draft.files.iter().all(fits)
}

fn exact(line: &str) -> String {
    line.trim_end_matches('\r').to_owned()
}

/// A line without what damage changes of it.
fn loose(line: &str) -> String {
    let plain = |letter: char| match letter {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2013}' | '\u{2014}' => '-',
        '\u{a0}' => ' ',
        other => other,
    };
    let text: String = line.chars().map(plain).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns in how many ways the hunks fit: 0, 1 or 2 for more.
fn placements(draft: &Draft, file: &File, key: fn(&str) -> String) -> usize {
    if !draft.is_shuffled {
        return placements_in_order(file, key);
    }
    let alone = places(file, key)
        .into_iter()
        .map(|(starts, _)| starts.len().min(2));
    alone.fold(1, |all, one| (all * one).min(2))
}

/// Returns the lines at which each hunk fits, and the number of its old lines.
fn places(file: &File, key: fn(&str) -> String) -> Vec<(Vec<usize>, usize)> {
    let base = file.old.as_deref().unwrap_or_default();
    // No line is below the final newline.
    let base = base.strip_suffix('\n').unwrap_or(base);
    let base: Vec<String> = base.split('\n').map(key).collect();
    let places = |hunk: &Hunk| -> (Vec<usize>, usize) {
        let lines = hunk.lines.iter();
        let old = lines.filter(|(mark, _)| matches!(mark, ' ' | '-'));
        let old: Vec<String> = old.map(|(_, text)| key(text)).collect();
        let starts = base.windows(old.len().max(1)).enumerate();
        let fits = starts.filter(|(_, window)| *window == old.as_slice());
        (fits.map(|(at, _)| at).collect(), old.len())
    };
    file.hunks.iter().map(places).collect()
}

/// Returns in how many ways the hunks fit one below the other: 0, 1 or 2 for more.
fn placements_in_order(file: &File, key: fn(&str) -> String) -> usize {
    // The number of ways in which the hunks so far fit, by the line below the last of them.
    let mut ways: Vec<(usize, usize)> = vec![(0, 1)];
    for (starts, length) in places(file, key) {
        // Context of two hunks may overlap.
        let length = length.saturating_sub(3).max(1);
        let before = |start: usize| {
            ways.iter()
                .filter(|(end, _)| *end <= start)
                .map(|(_, count)| count)
                .sum()
        };
        ways = starts
            .iter()
            .map(|start| (start + length, usize::min(before(*start), 2)))
            .filter(|(_, count)| *count > 0)
            .collect();
    }
    ways.iter().map(|(_, count)| count).sum::<usize>().min(2)
}
