//! Looks a path up in the table of names, `names.tsv`.
//!
//! The table has one row a line: a pattern, the parts of a project that it means, and the lists that name it. A part with a
//! minus sign takes that part away again. A pattern is a name, after `**/` at any depth, before `/**` everything below; `*` stays
//! inside one component. Names with a star come last, but for `**/*.ending`: any other row is found by a binary search in the
//! text. Nothing is built when the program starts: the compiler notes where the rows with a first letter are.
//!
//! Owns: how a folded path is compared with the rows. Never: reads a user's glob; the glob library does.

mod groups;

use std::cmp::Ordering;

use self::groups::{PatternDepth, TableSection, lines_of};
use super::TouchSet;
use crate::plain::{NamePosition, matches_wildcard, split_position};

/// The table.
const TABLE: &str = include_str!("names.tsv");

/// Largest number of components of a pattern without a star. A test compares it with the table.
const MOST_PARTS: usize = 3;

/// Row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NameRow {
    /// Pattern.
    pub(super) pattern: &'static str,
    /// Words of the parts, separated by spaces.
    parts: &'static str,
    /// Words of the lists that name the pattern.
    #[cfg(test)]
    pub(super) sources: &'static str,
}

impl NameRow {
    fn parse(line: &'static str) -> Self {
        let (pattern, rest) = line.split_once('\t').unwrap_or((line, ""));
        let (parts, _sources) = rest.split_once('\t').unwrap_or((rest, ""));
        Self {
            pattern,
            parts,
            #[cfg(test)]
            sources: _sources,
        }
    }

    /// Returns the parts that the row adds, and those that it takes away.
    pub(super) fn sets(self) -> (TouchSet, TouchSet) {
        let (mut added, mut taken) = (TouchSet::default(), TouchSet::default());
        for word in self.parts.split(' ') {
            match word.strip_prefix('-') {
                Some(word) => taken = taken.union(TouchSet::of_word(word)),
                None => added = added.union(TouchSet::of_word(word)),
            }
        }
        (added, taken)
    }

    /// Returns true for a pattern that only a comparison finds.
    #[cfg(test)]
    pub(super) fn is_starred(self) -> bool {
        let (place, name) = split_position(self.pattern);
        let is_ending = place == NamePosition::End
            && name
                .strip_prefix('*')
                .is_some_and(|rest| rest.starts_with(ENDING_STARTS) && !rest.contains(['*', '/']));
        name.contains('*') && !is_ending
    }

    /// Returns true if the pattern matches the path from `start` on. A pattern without `**/` matches the complete path
    /// only.
    fn matches_at(self, rest: &str, is_top: bool) -> bool {
        let (place, name) = split_position(self.pattern);
        match place {
            NamePosition::Whole => is_top && ends_alike(name, rest) && matches_wildcard(name, rest),
            NamePosition::End => ends_alike(name, rest) && matches_wildcard(name, rest),
            NamePosition::Top if !is_top => false,
            NamePosition::Top | NamePosition::Inside => {
                let mut ends = rest.match_indices('/').filter_map(|(at, _)| rest.get(..at));
                ends.any(|name_of| matches_wildcard(name, name_of))
            }
        }
    }
}

/// First characters of an ending that is looked up without a comparison.
const ENDING_STARTS: [char; 3] = ['.', '_', '-'];

/// Returns false if the last byte excludes a match: most names fail on it.
fn ends_alike(pattern: &str, name: &str) -> bool {
    let last = pattern.as_bytes().last();
    last == Some(&b'*') || last == name.as_bytes().last()
}

/// Returns everything that the table says of a folded path: the parts it adds, and those it takes away.
pub(super) fn look_up(path: &str) -> (TouchSet, TouchSet) {
    let mut found = (TouchSet::default(), TouchSet::default());
    let mut add = |row: NameRow| {
        let (added, taken) = row.sets();
        found = (found.0.union(added), found.1.union(taken));
    };
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    for start in starts.clone() {
        let rest = path.get(start..).unwrap_or_default();
        let Some(first) = rest.bytes().next() else {
            continue;
        };
        let depths: &[PatternDepth] = if start == 0 {
            &[PatternDepth::Top, PatternDepth::Any]
        } else {
            &[PatternDepth::Any]
        };
        for depth in depths {
            find_plain(
                lines_of(TableSection::Plain, *depth, first),
                depth.prefix(),
                rest,
                &mut add,
            );
            let starred = lines_of(TableSection::Starred, *depth, first).lines();
            for row in starred
                .filter(|line| has_second(line, depth.prefix(), rest))
                .map(NameRow::parse)
            {
                if row.matches_at(rest, start == 0) {
                    add(row);
                }
            }
        }
    }
    for row in lines_of(TableSection::Starred, PatternDepth::Any, b'*')
        .lines()
        .map(NameRow::parse)
    {
        let mut rests = starts
            .clone()
            .map(|start| (path.get(start..).unwrap_or_default(), start == 0));
        if rests.any(|(rest, is_top)| row.matches_at(rest, is_top)) {
            add(row);
        }
    }
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let endings = lines_of(TableSection::Plain, PatternDepth::Any, b'*');
    for (at, _) in name.match_indices(ENDING_STARTS) {
        let ending = name.get(at..).unwrap_or_default();
        if let Some(row) = find_row(endings, &["**/*", ending]) {
            add(row);
        }
    }
    found
}

/// Returns true if the second byte of a pattern after `before` is a star, or the second byte of the name. Most rows fail on it.
fn has_second(line: &str, before: &str, name: &str) -> bool {
    let second = line.as_bytes().get(before.len() + 1);
    second == Some(&b'*') || second == name.as_bytes().get(1)
}

/// Returns the rows of the table in order.
pub(super) fn rows() -> impl Iterator<Item = NameRow> {
    TABLE.lines().map(NameRow::parse)
}

/// Calls `found` for the rows that name the path, or a folder above its end, after `before`.
fn find_plain(rows: &'static str, before: &str, rest: &str, found: &mut impl FnMut(NameRow)) {
    let first = rest.split('/').next().unwrap_or_default();
    // Every row that can match begins with the first component, and for most components there is none.
    let at = partition_lines(rows, |line| compare_parts(line, &[before, first]).is_lt());
    let below = rows.get(at..).unwrap_or_default();
    let is_known = below
        .strip_prefix(before)
        .is_some_and(|line| line.starts_with(first));
    if !is_known {
        return;
    }
    for (end, _) in rest.match_indices('/').take(MOST_PARTS) {
        let name = rest.get(..end).unwrap_or_default();
        if let Some(row) = find_row(rows, &[before, name, "/**"]) {
            found(row);
        }
    }
    if let Some(row) = find_row(rows, &[before, rest]) {
        found(row);
    }
}

/// Returns the row whose pattern is these parts, one after the other. `None` if there is none.
fn find_row(table: &'static str, parts: &[&str]) -> Option<NameRow> {
    let pattern = |line: &'static str| NameRow::parse(line).pattern;
    let at = partition_lines(table, |line| compare_parts(pattern(line), parts).is_lt());
    let line = table.get(at..)?.lines().next()?;
    compare_parts(pattern(line), parts)
        .is_eq()
        .then(|| NameRow::parse(line))
}

/// Compares a text with parts, one after the other.
fn compare_parts(text: &str, parts: &[&str]) -> Ordering {
    let mut rest = text.as_bytes();
    for part in parts {
        let part = part.as_bytes();
        let (head, tail) = rest.split_at_checked(part.len()).unwrap_or((rest, &[]));
        match head.cmp(part) {
            Ordering::Equal => rest = tail,
            other => return other,
        }
    }
    if rest.is_empty() {
        Ordering::Equal
    } else {
        Ordering::Greater
    }
}

/// Returns the offset of the first line for which `is_before` is false, in text whose lines are sorted by it.
fn partition_lines(text: &'static str, is_before: impl Fn(&'static str) -> bool) -> usize {
    let (mut from, mut to) = (0, text.len());
    while from < to {
        let middle = usize::midpoint(from, to);
        // The line that contains the middle.
        let head = text.as_bytes().get(from..middle).unwrap_or_default();
        let start = head
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(from, |at| from + at + 1);
        let tail = text.get(start..).unwrap_or_default();
        let line = tail.lines().next().unwrap_or_default();
        if is_before(line) {
            from = start + line.len() + 1;
        } else {
            to = start;
        }
    }
    from
}

#[cfg(test)]
mod tests;
