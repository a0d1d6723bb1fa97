//! Looks names up in the table.
//!
//! Owns: how a folded path is compared with the patterns of the table: names with `*` and alternatives, at any depth
//! after `**/`, everything below before `/**`. `written` holds them sorted, so that nothing is built when the program
//! starts. Never: reads a user's glob; the glob library does.

use std::cmp::Ordering;

use super::TouchSet;
use crate::plain::{NamePosition, matches_wildcard};

/// Patterns, each with the set of parts that it means.
#[derive(Debug)]
pub(super) struct NameTable {
    /// Patterns without a star, sorted by position and length.
    pub(super) plain: &'static [NameGroup],
    /// Endings of `**/*.ending` with their dot, sorted by length.
    pub(super) endings: &'static [NameGroup],
    /// Patterns with a star, sorted by position, number of slashes and first byte.
    pub(super) starred: &'static [StarredName],
    /// For each position, one bit for each first byte of a starred pattern: most names fail on it.
    pub(super) firsts: [u128; 4],
    /// Largest number of components of a pattern.
    pub(super) parts: usize,
    /// Sets of parts; an owner is an index into this list.
    pub(super) sets: &'static [TouchSet],
}

/// Names of one position and length.
#[derive(Debug)]
pub(super) struct NameGroup {
    place: NamePosition,
    length: usize,
    /// Names in order, one after the other. One string for all of them leaves the program's loader one address to
    /// relocate instead of one for each name.
    names: &'static str,
    owners: &'static [u8],
}

/// Pattern with `*`. The order puts the few patterns that a name can match next to each other.
#[derive(Debug)]
pub(super) struct StarredName {
    place: NamePosition,
    /// Number of slashes. A star does not match one, so it is the same in every matching name.
    slashes: usize,
    /// First byte; `*` if the pattern begins with a star.
    first: u8,
    name: &'static str,
    owner: u8,
}

/// Short constructor for `written`, which has very many of them.
pub(super) const fn group(
    place: NamePosition,
    length: usize,
    names: &'static str,
    owners: &'static [u8],
) -> NameGroup {
    NameGroup {
        place,
        length,
        names,
        owners,
    }
}

/// Short constructor for `written`, which has very many of them.
pub(super) const fn starred(
    place: NamePosition,
    slashes: usize,
    first: u8,
    name: &'static str,
    owner: u8,
) -> StarredName {
    StarredName {
        place,
        slashes,
        first,
        name,
        owner,
    }
}

impl NameGroup {
    /// Returns the owner of a name of this length. `None` if it is not in the group.
    fn owner_of(&self, name: &str) -> Option<u8> {
        // A binary search by hand: the names are one string without separators, so there is no slice to search.
        let (mut from, mut to) = (0, self.owners.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            let rest = self.names.as_bytes().get(middle * self.length..)?;
            match rest.get(..self.length)?.cmp(name.as_bytes()) {
                Ordering::Less => from = middle + 1,
                Ordering::Equal => return self.owners.get(middle).copied(),
                Ordering::Greater => to = middle,
            }
        }
        None
    }
}

impl StarredName {
    fn sort_key(&self) -> (NamePosition, usize, u8) {
        (self.place, self.slashes, self.first)
    }

    /// Returns true unless the last byte excludes a match: most names fail on it.
    fn ends_as(&self, name: &str) -> bool {
        let last = self.name.as_bytes().last();
        last == Some(&b'*') || last == name.as_bytes().last()
    }

    /// Returns true if a name ends with the text after the pattern's last star.
    fn holds_end(&self, name: &str) -> bool {
        let end = self.name.rsplit('*').next().unwrap_or_default();
        name.as_bytes().ends_with(end.as_bytes())
    }
}

impl NameTable {
    /// Returns everything that a folded path belongs to.
    pub(super) fn touches_of(&self, path: &str) -> TouchSet {
        let mut found = self.touches_of_ending(path);
        self.each_place(path, |place, slashes, name| {
            if let Some(owner) = owner_of(self.plain, place, name) {
                self.union(&mut found, owner);
            }
            let first = name.bytes().next().unwrap_or_default();
            // A pattern that begins with a star may match a name with any first byte.
            for first in [first, b'*'] {
                if !self.is_first(place, first) {
                    continue;
                }
                for starred in self.starred_at((place, slashes, first)) {
                    if starred.ends_as(name)
                        && starred.holds_end(name)
                        && matches_wildcard(starred.name, name)
                    {
                        self.union(&mut found, starred.owner);
                    }
                }
            }
        });
        found
    }

    /// Calls `seen` for every pattern with its set of parts.
    pub(super) fn each_pattern(&self, mut seen: impl FnMut(NamePosition, &str, TouchSet)) {
        let touches = |owner: u8| self.sets.get(usize::from(owner)).copied().unwrap_or_default();
        for group in self.plain {
            for (at, owner) in group.owners.iter().enumerate() {
                let name = group.names.get(at * group.length..(at + 1) * group.length);
                seen(group.place, name.unwrap_or_default(), touches(*owner));
            }
        }
        for starred in self.starred {
            seen(starred.place, starred.name, touches(starred.owner));
        }
    }

    fn union(&self, to: &mut TouchSet, owner: u8) {
        *to = to.union(self.sets.get(usize::from(owner)).copied().unwrap_or_default());
    }

    fn is_first(&self, place: NamePosition, first: u8) -> bool {
        let bits = self.firsts.get(place as usize).copied().unwrap_or_default();
        bits & first_bit(first) != 0
    }

    fn starred_at(&self, order: (NamePosition, usize, u8)) -> impl Iterator<Item = &StarredName> {
        // The list is sorted by this key, so all candidates are adjacent.
        let from = self.starred.partition_point(|starred| starred.sort_key() < order);
        let rest = self.starred.get(from..).unwrap_or_default().iter();
        rest.take_while(move |starred| starred.sort_key() == order)
    }

    fn touches_of_ending(&self, path: &str) -> TouchSet {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let mut found = TouchSet::default();
        let longest = self.endings.last().map_or(0, |group| group.length);
        let first = name.len().saturating_sub(longest);
        // `a.tar.gz` has two endings, and either may be in the table. Endings longer than the longest one are
        // skipped.
        for (at, _) in name.match_indices('.').filter(|(at, _)| *at >= first) {
            let ending = name.get(at..).unwrap_or_default();
            if let Some(owner) = owner_of(self.endings, NamePosition::End, ending) {
                self.union(&mut found, owner);
            }
        }
        found
    }

    /// Calls `seen` for every sequence of whole components that some pattern could match, with its number of slashes.
    /// There are few of them, however deep the path is.
    fn each_place(&self, path: &str, mut seen: impl FnMut(NamePosition, usize, &str)) {
        // The only position that needs the path as a whole; the others are found component by component.
        seen(NamePosition::Whole, count_slashes(path), path);
        let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        for start in starts {
            let rest = path.get(start..).unwrap_or_default();
            let ends = rest.match_indices('/').map(|(at, _)| at);
            let mut stretches = 0;
            for end in ends.take(self.parts) {
                let name = rest.get(..end).unwrap_or_default();
                seen(NamePosition::Inside, stretches, name);
                if start == 0 {
                    seen(NamePosition::Top, stretches, name);
                }
                stretches += 1;
            }
            if stretches < self.parts {
                seen(NamePosition::End, stretches, rest);
            }
        }
    }
}

/// Returns the owner of a name without a star. `None` if it is not in the table.
fn owner_of(groups: &[NameGroup], place: NamePosition, name: &str) -> Option<u8> {
    let order = (place, name.len());
    let at = groups.binary_search_by(|group| (group.place, group.length).cmp(&order));
    groups.get(at.ok()?)?.owner_of(name)
}

/// Returns the bit of a first byte. A byte beyond ASCII shares its bit with an ASCII one; then the name is looked up
/// and not found.
pub(super) fn first_bit(first: u8) -> u128 {
    1 << (first & 0x7f)
}

pub(super) fn count_slashes(name: &str) -> usize {
    name.bytes().filter(|byte| *byte == b'/').count()
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use globset::{GlobSet, GlobSetBuilder};
    use proptest::prelude::*;

    use super::super::table::{EXCEPTIONS, TABLE, TableRow, table_rows};
    use super::super::written;
    use super::*;
    use crate::glob;
    use crate::plain::split_position;

    fn patterns() -> Vec<&'static str> {
        let rows = table_rows(TABLE).chain(table_rows(EXCEPTIONS));
        rows.flat_map(|(_, _, patterns)| patterns.iter().copied())
            .collect()
    }

    #[test]
    fn the_table_keeps_to_what_is_understood() {
        for pattern in patterns() {
            assert_eq!(glob::fold_name(pattern), pattern);
            assert!(!pattern.contains(['?', '[', ']', '\\', '!']), "{pattern}");
            let written = glob::expand_alternatives(pattern, usize::MAX);
            for one in written.unwrap_or_else(|| panic!("{pattern}: braces")) {
                let (_, name) = split_position(&one);
                assert!(!name.is_empty() && !name.contains("**"), "{pattern}");
            }
        }
    }

    fn library(table: &'static [&'static [TableRow]]) -> Vec<(TouchSet, GlobSet)> {
        let row = |(parts, _, patterns): &TableRow| {
            let mut set = GlobSetBuilder::new();
            for glob in patterns
                .iter()
                .flat_map(|pattern| glob::compile_glob(pattern).unwrap())
            {
                set.add(glob);
            }
            (parts.iter().copied().collect(), set.build().unwrap())
        };
        table_rows(table).map(row).collect()
    }

    /// Asks for a path by the written names and by the library.
    fn compare(path: &str) -> Result<(), String> {
        type Library = Vec<(TouchSet, GlobSet)>;
        static LIBRARIES: LazyLock<[Library; 2]> = LazyLock::new(|| [library(TABLE), library(EXCEPTIONS)]);
        for (names, library) in [&written::NAMES, &written::EXCEPTIONS]
            .into_iter()
            .zip(&*LIBRARIES)
        {
            let hit = library.iter().filter(|(_, globs)| globs.is_match(path));
            let said = hit.fold(TouchSet::default(), |all, (owner, _)| all.union(*owner));
            if names.touches_of(path) != said {
                return Err(format!(
                    "{path}: {:?}, and by the library {said:?}",
                    names.touches_of(path)
                ));
            }
        }
        Ok(())
    }

    #[test]
    fn each_name_of_the_table_is_what_the_library_says() {
        let written = patterns().into_iter();
        for pattern in written.flat_map(|pattern| glob::expand_alternatives(pattern, usize::MAX).unwrap()) {
            let (_, name) = split_position(&pattern);
            for star in ["", "x", ".rs"] {
                let name = name.replace('*', star);
                for (before, after) in [
                    ("", ""),
                    ("a/", ""),
                    ("", "/b"),
                    ("a/b/", "/c/d"),
                    ("x", ""),
                    ("", "x"),
                ] {
                    compare(&format!("{before}{name}{after}")).unwrap();
                }
            }
        }
    }

    /// Parts of names of the table, as they are and with something before, behind and between.
    fn paths() -> impl Strategy<Value = String> {
        let mut parts: Vec<String> = patterns()
            .iter()
            .flat_map(|pattern| glob::expand_alternatives(pattern, usize::MAX).unwrap())
            .flat_map(|pattern| pattern.split('/').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        parts.sort();
        parts.dedup();
        let part = (prop::sample::select(parts), "[.a/*]{0,2}", "[-.a/]{0,2}", 0..4_u8).prop_map(
            |(part, filling, around, how)| {
                let part = part.replace('*', &filling);
                match how {
                    0 => format!("{around}{part}"),
                    1 => format!("{part}{around}"),
                    _ => part,
                }
            },
        );
        prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/").replace("//", "/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_library_says_the_same(paths in prop::collection::vec(paths(), 400)) {
            for path in paths {
                prop_assert_eq!(compare(&path), Ok(()));
            }
        }
    }

    #[test]
    fn a_path_of_many_parts_is_looked_at_in_few_places() {
        let names = &written::NAMES;
        let (mut count, path) = (0, "x/".repeat(10_000) + "tools/bazel");
        names.each_place(&path, |_, count_of, name| {
            assert_eq!(count_slashes(name), count_of);
            assert!(count_of < names.parts || name.len() == path.len());
            count += 1;
        });
        assert!(count <= (names.parts + 1) * 10_002, "{count}");
        assert!(names.touches_of(&path) != TouchSet::default());
    }
}
