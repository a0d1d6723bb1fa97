//! The rows of the table, one by one and against the look-up.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::glob;
use crate::plain::PlainPattern;

const SOURCES: [&str; 10] = [
    "attributes",
    "custom",
    "git",
    "icons",
    "linguist",
    "manual",
    "renovate",
    "review",
    "syft",
    "trivy",
];

#[test]
fn the_table_is_sorted_and_each_row_is_understood() {
    let keys: Vec<_> = rows().map(|row| (row.is_starred(), row.pattern)).collect();
    for pair in keys.windows(2) {
        assert!(
            pair[0] < pair[1],
            "{pair:?}: sort the rows by bytes, names with a star last, each once"
        );
    }
    for row in rows() {
        let pattern = row.pattern;
        assert_eq!(glob::fold_name(pattern), pattern);
        assert!(PlainPattern::parse(pattern).is_some(), "{pattern}");
        let (_, name) = split_position(pattern);
        assert!(
            row.is_starred() || name.split('/').count() <= MOST_PARTS,
            "{pattern}: raise MOST_PARTS"
        );
        let (added, taken) = row.sets();
        assert!(added.union(taken) != TouchSet::default(), "{pattern}");
        for word in row.parts.split(' ') {
            assert!(
                TouchSet::of_word(word.trim_start_matches('-')) != TouchSet::default(),
                "{pattern}: {word}"
            );
        }
        let sources: Vec<_> = row.sources.split(' ').collect();
        assert!(
            sources.iter().all(|source| SOURCES.contains(source)),
            "{pattern}: {sources:?}"
        );
    }
}

#[test]
fn the_digest_is_that_of_the_table() {
    let digest = crate::digest::hash_parts([TABLE]) + "\n";
    crate::derived::check_derived("src/touch/names.sha256", digest == super::super::DIGEST, &digest);
}

/// Asks each row by itself.
fn look_up_slowly(path: &str) -> (TouchSet, TouchSet) {
    static PATTERNS: LazyLock<Vec<(NameRow, PlainPattern)>> = LazyLock::new(|| {
        let parse = |row: NameRow| (row, PlainPattern::parse(row.pattern).unwrap());
        rows().map(parse).collect()
    });
    let hit = PATTERNS.iter().filter(|(_, pattern)| pattern.matches_path(path));
    hit.fold((TouchSet::default(), TouchSet::default()), |found, (row, _)| {
        let (added, taken) = row.sets();
        (found.0.union(added), found.1.union(taken))
    })
}

#[test]
fn each_row_is_found_by_its_name() {
    for row in rows() {
        let (place, name) = split_position(row.pattern);
        for star in ["", "x"] {
            let name = name.replace('*', star);
            let path = match place {
                NamePosition::Whole | NamePosition::End => name,
                NamePosition::Top | NamePosition::Inside => name + "/x",
            };
            let (added, taken) = row.sets();
            let found = look_up(&path);
            assert_eq!((added.union(found.0), taken.union(found.1)), found, "{path}");
        }
    }
}

/// Parts of names of the table, as they are and with something before, behind and between.
fn paths() -> impl Strategy<Value = String> {
    let parts: BTreeSet<String> = rows()
        .flat_map(|row| row.pattern.split('/').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let parts: Vec<String> = parts.into_iter().collect();
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
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_look_up_says_what_each_row_says(paths in prop::collection::vec(paths(), 40)) {
        for path in paths {
            prop_assert_eq!(look_up(&path), look_up_slowly(&path), "{}", path);
        }
    }
}
