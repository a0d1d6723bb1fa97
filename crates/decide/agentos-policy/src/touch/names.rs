//! Looks names up in the table.
//!
//! Owns: how a folded path is compared with the patterns of the table: names with `*` and alternatives, at any depth
//! after `**/`, everything below before `/**`. `written` holds them sorted, so that nothing is built when the program
//! starts. Never: reads a user's glob; the glob library does.

use std::cmp::Ordering;

use super::Touches;
use crate::plain::{Place, matches};

/// Patterns, each with the set of parts that it means.
#[derive(Debug)]
pub(super) struct Names {
    /// Patterns without a star, sorted by position and length.
    pub(super) plain: &'static [Group],
    /// Endings of `**/*.ending` with their dot, sorted by length.
    pub(super) endings: &'static [Group],
    /// Patterns with a star, sorted by position, number of slashes and first byte.
    pub(super) starred: &'static [Starred],
    /// For each position, one bit for each first byte of a starred pattern: most names fail on it.
    pub(super) firsts: [u128; 4],
    /// Largest number of components of a pattern.
    pub(super) parts: usize,
    /// Sets of parts; an owner is an index into this list.
    pub(super) sets: &'static [Touches],
}

/// Names of one position and length.
#[derive(Debug)]
pub(super) struct Group {
    place: Place,
    length: usize,
    /// Names in order, one after the other. One string for all of them leaves the program's loader one address to
    /// relocate instead of one for each name.
    names: &'static str,
    owners: &'static [u8],
}

/// Pattern with `*`. The order puts the few patterns that a name can match next to each other.
#[derive(Debug)]
pub(super) struct Starred {
    place: Place,
    /// Number of slashes. A star does not match one, so it is the same in every matching name.
    slashes: usize,
    /// First byte; `*` if the pattern begins with a star.
    first: u8,
    name: &'static str,
    owner: u8,
}

/// Short constructor for `written`, which has very many of them.
pub(super) const fn group(place: Place, length: usize, names: &'static str, owners: &'static [u8]) -> Group {
    Group {
        place,
        length,
        names,
        owners,
    }
}

/// Short constructor for `written`, which has very many of them.
pub(super) const fn starred(
    place: Place,
    slashes: usize,
    first: u8,
    name: &'static str,
    owner: u8,
) -> Starred {
    Starred {
        place,
        slashes,
        first,
        name,
        owner,
    }
}

impl Group {
    /// Returns the owner of a name of this length. `None` if it is not in the group.
    fn owner(&self, name: &str) -> Option<u8> {
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

impl Starred {
    fn order(&self) -> (Place, usize, u8) {
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

impl Names {
    /// Returns everything that a folded path belongs to.
    pub(super) fn of(&self, path: &str) -> Touches {
        let mut found = self.ending(path);
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
                    if starred.ends_as(name) && starred.holds_end(name) && matches(starred.name, name) {
                        self.union(&mut found, starred.owner);
                    }
                }
            }
        });
        found
    }

    /// Calls `seen` for every pattern with its set of parts.
    pub(super) fn each_pattern(&self, mut seen: impl FnMut(Place, &str, Touches)) {
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

    fn union(&self, to: &mut Touches, owner: u8) {
        *to = to.union(self.sets.get(usize::from(owner)).copied().unwrap_or_default());
    }

    fn is_first(&self, place: Place, first: u8) -> bool {
        let bits = self.firsts.get(place as usize).copied().unwrap_or_default();
        bits & first_bit(first) != 0
    }

    fn starred_at(&self, order: (Place, usize, u8)) -> impl Iterator<Item = &Starred> {
        let from = self.starred.partition_point(|starred| starred.order() < order);
        let rest = self.starred.get(from..).unwrap_or_default().iter();
        rest.take_while(move |starred| starred.order() == order)
    }

    fn ending(&self, path: &str) -> Touches {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let mut found = Touches::default();
        let longest = self.endings.last().map_or(0, |group| group.length);
        let first = name.len().saturating_sub(longest);
        // `a.tar.gz` has two endings, and either may be in the table. Endings longer than the longest one are
        // skipped.
        for (at, _) in name.match_indices('.').filter(|(at, _)| *at >= first) {
            let ending = name.get(at..).unwrap_or_default();
            if let Some(owner) = owner_of(self.endings, Place::End, ending) {
                self.union(&mut found, owner);
            }
        }
        found
    }

    /// Calls `seen` for every sequence of whole components that some pattern could match, with its number of slashes.
    /// There are few of them, however deep the path is.
    fn each_place(&self, path: &str, mut seen: impl FnMut(Place, usize, &str)) {
        seen(Place::Whole, slashes(path), path);
        let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        for start in starts {
            let rest = path.get(start..).unwrap_or_default();
            let ends = rest.match_indices('/').map(|(at, _)| at);
            let mut stretches = 0;
            for end in ends.take(self.parts) {
                let name = rest.get(..end).unwrap_or_default();
                seen(Place::Inside, stretches, name);
                if start == 0 {
                    seen(Place::Top, stretches, name);
                }
                stretches += 1;
            }
            if stretches < self.parts {
                seen(Place::End, stretches, rest);
            }
        }
    }
}

/// Returns the owner of a name without a star. `None` if it is not in the table.
fn owner_of(groups: &[Group], place: Place, name: &str) -> Option<u8> {
    let order = (place, name.len());
    let at = groups.binary_search_by(|group| (group.place, group.length).cmp(&order));
    groups.get(at.ok()?)?.owner(name)
}

/// Returns the bit of a first byte. A byte beyond ASCII shares its bit with an ASCII one; then the name is looked up
/// and not found.
pub(super) fn first_bit(first: u8) -> u128 {
    1 << (first & 0x7f)
}

pub(super) fn slashes(name: &str) -> usize {
    name.bytes().filter(|byte| *byte == b'/').count()
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use globset::{GlobSet, GlobSetBuilder};
    use proptest::prelude::*;

    use super::super::table::{EXCEPTIONS, Row, TABLE, rows};
    use super::super::written;
    use super::*;
    use crate::glob;
    use crate::plain::placed;

    fn patterns() -> Vec<&'static str> {
        let rows = rows(TABLE).chain(rows(EXCEPTIONS));
        rows.flat_map(|(_, _, patterns)| patterns.iter().copied())
            .collect()
    }

    #[test]
    fn the_table_keeps_to_what_is_understood() {
        for pattern in patterns() {
            assert_eq!(glob::fold(pattern), pattern);
            assert!(!pattern.contains(['?', '[', ']', '\\', '!']), "{pattern}");
            let written = glob::write_out(pattern, usize::MAX);
            for one in written.unwrap_or_else(|| panic!("{pattern}: braces")) {
                let (_, name) = placed(&one);
                assert!(!name.is_empty() && !name.contains("**"), "{pattern}");
            }
        }
    }

    fn library(table: &'static [&'static [Row]]) -> Vec<(Touches, GlobSet)> {
        let row = |(parts, _, patterns): &Row| {
            let mut set = GlobSetBuilder::new();
            for glob in patterns
                .iter()
                .flat_map(|pattern| glob::compile(pattern).unwrap())
            {
                set.add(glob);
            }
            (parts.iter().copied().collect(), set.build().unwrap())
        };
        rows(table).map(row).collect()
    }

    /// Asks for a path by the written names and by the library.
    fn compare(path: &str) -> Result<(), String> {
        type Library = Vec<(Touches, GlobSet)>;
        static LIBRARIES: LazyLock<[Library; 2]> = LazyLock::new(|| [library(TABLE), library(EXCEPTIONS)]);
        for (names, library) in [&written::NAMES, &written::EXCEPTIONS]
            .into_iter()
            .zip(&*LIBRARIES)
        {
            let hit = library.iter().filter(|(_, globs)| globs.is_match(path));
            let said = hit.fold(Touches::default(), |all, (owner, _)| all.union(*owner));
            if names.of(path) != said {
                return Err(format!(
                    "{path}: {:?}, and by the library {said:?}",
                    names.of(path)
                ));
            }
        }
        Ok(())
    }

    #[test]
    fn each_name_of_the_table_is_what_the_library_says() {
        let written = patterns().into_iter();
        for pattern in written.flat_map(|pattern| glob::write_out(pattern, usize::MAX).unwrap()) {
            let (_, name) = placed(&pattern);
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
            .flat_map(|pattern| glob::write_out(pattern, usize::MAX).unwrap())
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
            assert_eq!(slashes(name), count_of);
            assert!(count_of < names.parts || name.len() == path.len());
            count += 1;
        });
        assert!(count <= (names.parts + 1) * 10_002, "{count}");
        assert!(names.of(&path) != Touches::default());
    }
}
