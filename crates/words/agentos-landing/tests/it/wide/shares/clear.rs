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

/// Returns in how many ways the hunks fit one below the other: 0, 1 or 2 for more.
fn placements(draft: &Draft, file: &File, key: fn(&str) -> String) -> usize {
    let base: Vec<String> = file
        .old
        .as_deref()
        .unwrap_or_default()
        .split('\n')
        .map(key)
        .collect();
    let places = |hunk: &Hunk| -> (Vec<usize>, usize) {
        let old: Vec<String> = hunk
            .lines
            .iter()
            .filter(|(mark, _)| matches!(mark, ' ' | '-'))
            .map(|(_, text)| key(text))
            .collect();
        let starts = base.windows(old.len().max(1)).enumerate();
        let fits = starts
            .filter(|(_, window)| *window == old.as_slice())
            .map(|(at, _)| at);
        (
            if old.is_empty() {
                Vec::new()
            } else {
                fits.collect()
            },
            old.len(),
        )
    };
    let mut hunks: Vec<(Vec<usize>, usize)> = file.hunks.iter().map(places).collect();
    if draft.is_shuffled {
        return hunks
            .iter()
            .map(|(starts, _)| starts.len().min(2))
            .fold(1, |all, one| (all * one).min(2));
    }
    // The number of ways in which the hunks so far fit, by the line below the last of them.
    let mut ways: Vec<(usize, usize)> = vec![(0, 1)];
    for (starts, length) in hunks.drain(..) {
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
