//! Difference of two lists of lines, with work that stays linear however hostile they are.
//!
//! Owns: the one diff that the canonical form, search/replace edits and the merge share. It is deterministic: it
//! depends on the two lists alone. Never: reads a clock to decide when to give up.
//!
//! The steps, in order: equal lines at both ends are cut off; a short rest gets the full Myers algorithm; a long rest
//! is divided at lines that are unique on both sides, and each gap is compared by itself. Without the division, two
//! texts of 100,000 different lines would take the square of that number of steps. With a time limit instead, a slow
//! machine would get another diff, and a change would no longer have one SHA-256.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Old lines `old` became new lines `new`; the lines between two edits are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineEdit {
    /// Removed lines.
    pub old: Range<usize>,
    /// Added lines.
    pub new: Range<usize>,
}

/// Maximum number of lines, old and new together, for the full algorithm. Its work is at most the square.
const FULL: usize = 2_048;

/// Returns the edits that turn `old` into `new`, ascending.
pub(crate) fn line_edits(old: &[&[u8]], new: &[&[u8]]) -> Vec<LineEdit> {
    let (head, old, new) = without_equal_ends(old, new);
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut number = |line: &'_ _| -> u32 {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(*line).or_insert(next)
    };
    // Only the rest is numbered: numbering a line was measured to cost a hundred times what comparing it costs.
    // Numbers compare faster than lines. Both lists share one table, so equal lines have equal numbers.
    let old: Vec<u32> = old.iter().map(&mut number).collect();
    let new: Vec<u32> = new.iter().map(&mut number).collect();
    let mut out = Vec::new();
    diff_gap(&old, &new, (head, head), true, &mut out);
    join_touching(out)
}

/// Cuts off the equal lines at both ends. Returns how many were equal at the beginning, and the rest of both lists.
fn without_equal_ends<'l, T: PartialEq>(old: &'l [T], new: &'l [T]) -> (usize, &'l [T], &'l [T]) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = |lines: &'l [T]| lines.get(head..).unwrap_or_default();
    let (old, new) = (rest(old), rest(new));
    let ends = old.iter().rev().zip(new.iter().rev());
    let tail = ends.take_while(|(a, b)| a == b).count();
    let middle = |lines: &'l [T]| lines.get(..lines.len() - tail).unwrap_or_default();
    (head, middle(old), middle(new))
}

/// Finds the edits between two lists, whose first lines have these positions: with the full algorithm, or between
/// anchors if that would cost too much. Only the whole is divided at anchors, so that the work stays linear.
fn diff_gap(old: &[u32], new: &[u32], at: (usize, usize), is_whole: bool, out: &mut Vec<LineEdit>) {
    let (head, old, new) = without_equal_ends(old, new);
    let at = (at.0 + head, at.1 + head);
    let mut push = |old: Range<usize>, new: Range<usize>| {
        out.push(LineEdit {
            old: old.start + at.0..old.end + at.0,
            new: new.start + at.1..new.end + at.1,
        });
    };
    if old.is_empty() && new.is_empty() {
        return;
    }
    if old.is_empty() || new.is_empty() {
        return push(0..old.len(), 0..new.len());
    }
    if old.len() + new.len() <= FULL {
        let ops = capture_diff_slices(Algorithm::Myers, old, new).into_iter();
        return ops
            .filter(|op| op.tag() != DiffTag::Equal)
            .for_each(|op| push(op.old_range(), op.new_range()));
    }
    let anchors = if is_whole {
        unique_anchors(old, new)
    } else {
        Vec::new()
    };
    // A long text without one unique common line was rewritten: one edit for all of it is as good as any.
    if anchors.is_empty() {
        return push(0..old.len(), 0..new.len());
    }
    let mut from = (0, 0);
    for to in anchors.into_iter().chain([(old.len(), new.len())]) {
        let old = old.get(from.0..to.0).unwrap_or_default();
        let new = new.get(from.1..to.1).unwrap_or_default();
        diff_gap(old, new, (at.0 + from.0, at.1 + from.1), false, out);
        from = (to.0 + 1, to.1 + 1);
    }
}

/// Returns the lines that are unique on both sides, in the longest common order.
fn unique_anchors(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    let unique = |lines: &[u32]| {
        let mut seen: HashMap<u32, Option<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            // Seen twice: no anchor, since nothing shows which of the two it belongs to.
            seen.entry(*line)
                .and_modify(|place| *place = None)
                .or_insert(Some(at));
        }
        seen
    };
    let (in_old, in_new) = (unique(old), unique(new));
    let mut pairs: Vec<(usize, usize)> = in_old
        .iter()
        .filter_map(|(line, at)| Some(((*at)?, (*in_new.get(line)?)?)))
        .collect();
    pairs.sort_unstable();
    longest_rising(&pairs)
}

/// Returns the longest subsequence of pairs whose second parts rise (patience sorting).
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut piles: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, second)) in pairs.iter().enumerate() {
        let second_of = |pair: &usize| pairs.get(*pair).map_or(0, |pair| pair.1);
        // Each pile holds the ends of rising runs of one length. A binary search keeps the work at n log n.
        let pile = piles.partition_point(|top| second_of(top) < *second);
        before.push(pile.checked_sub(1).and_then(|pile| piles.get(pile).copied()));
        match piles.get_mut(pile) {
            Some(top) => *top = at,
            None => piles.push(at),
        }
    }
    let mut out = Vec::new();
    let mut at = piles.last().copied();
    while let Some(index) = at {
        out.extend(pairs.get(index).copied());
        at = before.get(index).copied().flatten();
    }
    out.reverse();
    out
}

/// Joins edits that touch, so that a hunk shows all removed lines above all added ones.
fn join_touching(edits: Vec<LineEdit>) -> Vec<LineEdit> {
    let mut out: Vec<LineEdit> = Vec::with_capacity(edits.len());
    for edit in edits {
        match out.last_mut() {
            // Two edits that touch are one replacement.
            Some(last) if last.old.end == edit.old.start && last.new.end == edit.new.start => {
                last.old.end = edit.old.end;
                last.new.end = edit.new.end;
            }
            Some(_) | None => out.push(edit),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(old: &[&[u8]], new: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut out: Vec<Vec<u8>> = Vec::new();
        let mut at = 0;
        for edit in line_edits(old, new) {
            out.extend(old[at..edit.old.start].iter().map(|line| line.to_vec()));
            out.extend(new[edit.new.clone()].iter().map(|line| line.to_vec()));
            at = edit.old.end;
        }
        out.extend(old[at..].iter().map(|line| line.to_vec()));
        out
    }

    #[test]
    fn the_edits_of_large_texts_still_make_the_new_one() {
        let line = |seed: usize| format!("{}", seed * 7919 % 5003).into_bytes();
        let old: Vec<Vec<u8>> = (0..6_000).map(line).collect();
        let new: Vec<Vec<u8>> = (0..6_000)
            .filter(|at| at % 97 != 3)
            .map(|at| line(at + at / 1_000))
            .collect();
        let old: Vec<&[u8]> = old.iter().map(Vec::as_slice).collect();
        let new: Vec<&[u8]> = new.iter().map(Vec::as_slice).collect();
        assert_eq!(apply(&old, &new), new);
    }

    #[test]
    fn an_edit_is_as_small_as_its_lines() {
        let old: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
        let new: [&[u8]; 4] = [b"a", b"B", b"c", b"d"];
        assert_eq!(line_edits(&old, &new), [LineEdit { old: 1..2, new: 1..2 }]);
    }
}
