//! The names of a table, looked up.
//!
//! Owns: how a folded path is compared with the patterns that the table may hold: names with `*` and alternatives,
//! at any depth after `**/`, everything below before `/**`. Never: reads a user's glob; those are the library's. To
//! build a regular expression of a thousand constant names took most of the time of a whole run.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Touches;
use crate::plain::{Place, matches, placed};

type Name = Cow<'static, str>;
type Table<K> = HashMap<K, Touches, BuildHasherDefault<Fnv>>;

/// FNV-1a. The names are ours, so nobody can choose some that meet; to fill the tables is part of every start.
#[derive(Clone)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u8(number.to_le_bytes()[0]);
    }
}

/// Patterns, each with what it stands for.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    plain: Table<(Place, Name)>,
    /// For `**/*.ending`, by the ending with its dot.
    endings: Table<Name>,
    /// The length of the longest ending.
    longest: usize,
    /// Which names there may be: for each place and first byte, a bit for each length of a plain one, and the lowest
    /// for a starred one.
    lengths: Vec<u64>,
    starred: Vec<Starred>,
    /// The most parts that a pattern has between its `**`.
    parts: usize,
}

/// A pattern with `*` in it; ordered so that the few that a name can be of stand together.
#[derive(Debug, Clone)]
struct Starred {
    place: Place,
    /// Of its parts: a star stays within one.
    slashes: usize,
    /// Its first byte; a star where it begins with one.
    first: u8,
    name: Name,
    owner: Touches,
}

impl Starred {
    fn order(&self) -> (Place, usize, u8) {
        (self.place, self.slashes, self.first)
    }

    /// What stands behind its last star: most names fail on it.
    fn end(&self) -> &[u8] {
        self.name.rsplit('*').next().unwrap_or_default().as_bytes()
    }
}

impl Names {
    /// Adds a pattern. The alternatives of one whose braces do not match are not known, so it names nothing.
    pub(super) fn add(&mut self, pattern: &'static str, owner: Touches) {
        if !pattern.contains('{') {
            let (place, name) = placed(pattern);
            return self.add_one(place, name, Cow::Borrowed, owner);
        }
        each_choice(&mut String::new(), pattern, &mut |one| {
            let (place, name) = placed(one);
            self.add_one(place, name, |name| Cow::Owned(name.to_owned()), owner);
        });
    }

    /// Adds a name, which is kept by `keep`.
    fn add_one<'n>(&mut self, place: Place, name: &'n str, keep: impl Fn(&'n str) -> Name, owner: Touches) {
        self.parts = self.parts.max(slashes(name) + 1);
        let ending = name
            .strip_prefix('*')
            .filter(|rest| place == Place::End && rest.starts_with('.') && !rest.contains(['*', '/']));
        if let Some(ending) = ending {
            self.longest = self.longest.max(ending.len());
            union(self.endings.entry(keep(ending)).or_default(), owner);
        } else if name.contains('*') {
            let at = place_of(place, name);
            self.note(at, STARRED);
            let starred = Starred {
                place,
                slashes: slashes(name),
                first: name.bytes().next().unwrap_or_default(),
                name: keep(name),
                owner,
            };
            let at = self
                .starred
                .partition_point(|other| other.order() <= starred.order());
            self.starred.insert(at, starred);
        } else {
            self.note(place_of(place, name), length_bit(name));
            union(self.plain.entry((place, keep(name))).or_default(), owner);
        }
    }

    fn note(&mut self, at: usize, bit: u64) {
        self.lengths.resize(PLACES * FIRST_BYTES, 0);
        if let Some(bits) = self.lengths.get_mut(at) {
            *bits |= bit;
        }
    }

    fn noted(&self, at: usize) -> u64 {
        self.lengths.get(at).copied().unwrap_or_default()
    }

    /// All that a folded path is named by.
    pub(super) fn of(&self, path: &str) -> Touches {
        let mut found = self.ending(path);
        self.each_place(path, |place, name| {
            let noted = self.noted(place_of(place, name));
            if noted & length_bit(name) != 0
                && let Some(owner) = self.plain.get(&(place, Cow::Borrowed(name)))
            {
                union(&mut found, *owner);
            }
            let first = name.bytes().next().unwrap_or_default();
            let any = self.noted(place_of(place, "*"));
            for (first, noted) in [(first, noted), (b'*', any)] {
                if noted & STARRED == 0 {
                    continue;
                }
                for starred in self.starred_at((place, slashes(name), first)) {
                    if name.as_bytes().ends_with(starred.end()) && matches(&starred.name, name) {
                        union(&mut found, starred.owner);
                    }
                }
            }
        });
        found
    }

    fn starred_at(&self, order: (Place, usize, u8)) -> &[Starred] {
        let from = self.starred.partition_point(|starred| starred.order() < order);
        let rest = self.starred.get(from..).unwrap_or_default();
        let count = rest.partition_point(|starred| starred.order() == order);
        rest.get(..count).unwrap_or_default()
    }

    fn ending(&self, path: &str) -> Touches {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let mut found = Touches::default();
        let first = name.len().saturating_sub(self.longest);
        for (at, _) in name.match_indices('.').filter(|(at, _)| *at >= first) {
            if let Some(owner) = name.get(at..).and_then(|ending| self.endings.get(ending)) {
                union(&mut found, *owner);
            }
        }
        found
    }

    /// Every stretch of whole parts of a path that some pattern could be about; few, however deep the path is.
    fn each_place(&self, path: &str, mut seen: impl FnMut(Place, &str)) {
        seen(Place::Whole, path);
        let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        for start in starts {
            let rest = path.get(start..).unwrap_or_default();
            let ends = rest.match_indices('/').map(|(at, _)| at);
            let mut stretches = 0;
            for end in ends.take(self.parts) {
                stretches += 1;
                let name = rest.get(..end).unwrap_or_default();
                seen(Place::Inside, name);
                if start == 0 {
                    seen(Place::Top, name);
                }
            }
            if stretches < self.parts {
                seen(Place::End, rest);
            }
        }
    }
}

const PLACES: usize = 4;
const FIRST_BYTES: usize = 256;

/// The bit of a starred name.
const STARRED: u64 = 1;

/// Where names of this place with this first byte are noted.
fn place_of(place: Place, name: &str) -> usize {
    place as usize * FIRST_BYTES + usize::from(name.bytes().next().unwrap_or_default())
}

/// The bit of a plain name's length: those from 63 on are one.
fn length_bit(name: &str) -> u64 {
    1 << name.len().clamp(1, 63)
}

fn slashes(name: &str) -> usize {
    name.bytes().filter(|byte| *byte == b'/').count()
}

/// Writes the alternatives of a pattern out, one after the other, behind what stands in `before`. Every call of the
/// program does this for the whole table, so nothing is made that is not kept.
fn each_choice(before: &mut String, pattern: &str, found: &mut impl FnMut(&str)) {
    let start = before.len();
    let Some((plain, rest)) = pattern.split_once('{') else {
        before.push_str(pattern);
        found(before);
        before.truncate(start);
        return;
    };
    let Some((choices, after)) = rest.split_once('}') else {
        return;
    };
    before.push_str(plain);
    let middle = before.len();
    for choice in choices.split(',') {
        before.push_str(choice);
        each_choice(before, after, found);
        before.truncate(middle);
    }
    before.truncate(start);
}

fn union(to: &mut Touches, owner: Touches) {
    *to = to.union(owner);
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use globset::{GlobSet, GlobSetBuilder};
    use proptest::prelude::*;

    use super::super::Touch;
    use super::super::table::{EXCEPTIONS, TABLE};
    use super::*;
    use crate::glob;

    fn patterns() -> Vec<&'static str> {
        let rows = TABLE.iter().chain(EXCEPTIONS);
        rows.flat_map(|(_, patterns)| patterns.iter().copied()).collect()
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

    fn library(pattern: &str) -> GlobSet {
        let mut set = GlobSetBuilder::new();
        glob::compile(pattern).unwrap().into_iter().for_each(|glob| {
            set.add(glob);
        });
        set.build().unwrap()
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
        fn the_library_says_the_same(paths in prop::collection::vec(paths(), 40)) {
            use std::sync::LazyLock;
            static SETS: LazyLock<Vec<(&str, Names, GlobSet)>> = LazyLock::new(|| {
                patterns().into_iter().map(|pattern| {
                    let mut names = Names::default();
                    names.add(pattern, Touches::from_iter([Touch::Ci]));
                    (pattern, names, library(pattern))
                }).collect()
            });
            let mut differ = String::new();
            for path in paths {
                for (pattern, names, library) in &*SETS {
                    let named = names.of(&path) != Touches::default();
                    if named != library.is_match(&path) {
                        let _ = writeln!(differ, "{pattern} {path}: {named}");
                    }
                }
            }
            prop_assert!(differ.is_empty(), "{}", differ);
        }
    }

    #[test]
    fn a_path_of_many_parts_is_looked_at_in_few_places() {
        let mut names = Names::default();
        names.add("**/a/b", Touches::from_iter([Touch::Ci]));
        let (mut count, path) = (0, "x/".repeat(10_000) + "a/b");
        names.each_place(&path, |_, name| {
            assert!(name.len() < 4 || name.len() == path.len());
            count += 1;
        });
        assert!(count < 30_010, "{count}");
        assert!(names.of(&path) != Touches::default());
    }
}
