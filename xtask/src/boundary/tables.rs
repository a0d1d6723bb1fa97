//! The tables themselves: a row that stands twice could hide that one of the two is wrong.
//!
//! Owns: that every key stands once in its table, and every name once in its row. Never: what a row means.

use std::collections::BTreeSet;
use std::fmt::Debug;

use super::Tree;
use crate::rules;

/// Every table of the rules.
pub fn check(_: &Tree) -> Vec<String> {
    let lints: Vec<&str> = rules::LINTS.iter().map(|(_, lint, _)| *lint).collect();
    let lists: [(&str, &[&str]); 19] = [
        ("ADAPTERS_NEVER_REACH", rules::ADAPTERS_NEVER_REACH),
        ("CARGO_SETTINGS", rules::CARGO_SETTINGS),
        ("COMMON", rules::COMMON),
        ("COMMON_IN_TESTS", rules::COMMON_IN_TESTS),
        ("FOLDERS", &keys(rules::FOLDERS)),
        ("INHERITED", rules::INHERITED),
        ("KERNEL", rules::KERNEL),
        ("LINTS", &lints),
        ("NEVER_REACHED", rules::NEVER_REACHED),
        ("NO_DEFAULTS", rules::NO_DEFAULTS),
        ("OTHER_ENDINGS", rules::OTHER_ENDINGS),
        ("OTHER_LANGUAGES", &keys(rules::OTHER_LANGUAGES)),
        ("OWN_WORKSPACES", &keys(rules::OWN_WORKSPACES)),
        ("PURE", rules::PURE),
        ("REAL_SERVER_MODULES", rules::REAL_SERVER_MODULES),
        ("SILENCERS", rules::SILENCERS),
        ("TOP_LEVEL", rules::TOP_LEVEL),
        ("UNFINISHED", rules::UNFINISHED),
        ("USER_LAND", rules::USER_LAND),
    ];
    let rows = [
        ("CLOSED_FEATURES", rules::CLOSED_FEATURES),
        ("GRANTS", rules::GRANTS),
        ("FRONT_ENDS", rules::FRONT_ENDS),
        ("ONLY", rules::ONLY),
        ("OWNED", rules::OWNED),
        ("UNREACHABLE", rules::UNREACHABLE),
    ];
    let mut problems: Vec<String> = lists
        .iter()
        .flat_map(|(table, names)| twice(table, names))
        .collect();
    problems.extend(rows.iter().flat_map(|(table, rows)| in_rows(table, rows)));
    problems.extend(twice("SAME_LAYER", rules::SAME_LAYER));
    problems
}

fn keys(table: &[(&'static str, &str)]) -> Vec<&'static str> {
    table.iter().map(|(key, _)| *key).collect()
}

fn in_rows(table: &str, rows: &[(&str, &[&str])]) -> Vec<String> {
    let keys: Vec<&str> = rows.iter().map(|(key, _)| *key).collect();
    let mut problems = twice(table, &keys);
    problems.extend(
        rows.iter()
            .flat_map(|(key, names)| twice(&format!("{table}, {key}"), names)),
    );
    problems
}

fn twice<T: Ord + Debug>(table: &str, entries: &[T]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again = entries.iter().filter(|entry| !seen.insert(*entry));
    again
        .map(|entry| format!("the table `{table}` holds {entry:?} twice"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::doctored::files;
    use super::*;

    #[test]
    fn a_row_or_a_name_that_stands_twice_is_told() {
        assert_eq!(
            in_rows(
                "OWNED",
                &[
                    ("clap", &["a"]),
                    ("rpassword", &["a", "b", "a"]),
                    ("clap", &["b"])
                ]
            ),
            [
                "the table `OWNED` holds \"clap\" twice",
                "the table `OWNED, rpassword` holds \"a\" twice",
            ]
        );
        assert_eq!(
            twice("SAME_LAYER", &[("a", "b"), ("a", "c"), ("a", "b")]),
            ["the table `SAME_LAYER` holds (\"a\", \"b\") twice"]
        );
    }

    #[test]
    fn the_tables_of_the_house_hold_nothing_twice() {
        assert_eq!(check(&files(&[])), Vec::<String>::new());
    }
}
