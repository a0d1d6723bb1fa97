//! The tables of `rules.toml`, by which the gate `boundary` judges the source tree.
//!
//! Owns: the shape of that file, and finding entries that it contains twice. Never: judges anything else by a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use anyhow::{Context, Result};
use serde::Deserialize;
use toml::{Table, Value};

/// The text of the file.
pub const TEXT: &str = include_str!("../rules.toml");

type NameList = Vec<&'static str>;
type TextMap = BTreeMap<&'static str, &'static str>;
type NameTable = BTreeMap<&'static str, NameList>;

/// The tables; a comment in the file explains each of them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    pub common: NameList,
    pub common_in_tests: NameList,
    pub no_defaults: NameList,
    pub pure: NameList,
    pub never_reached: NameList,
    pub inherited: NameList,
    pub lints: Vec<(&'static str, &'static str, &'static str)>,
    pub own_lint_levels: Vec<(&'static str, &'static str, &'static str)>,
    pub silencers: NameList,
    pub cargo_settings: NameList,
    pub alias: (&'static str, &'static str),
    pub fixtures: &'static str,
    pub other_endings: NameList,
    pub real_server_modules: NameList,
    pub top_level: NameList,
    pub max_lines: usize,
    pub max_test_lines: usize,
    pub unfinished: NameList,
    pub doc_openers: NameList,
    pub max_circle: usize,
    pub larger_circles: Vec<(&'static str, usize, &'static str)>,
    pub max_crate_lines: usize,
    pub larger_crates: Vec<(&'static str, usize, &'static str)>,
    pub min_rust_files: usize,
    pub adapters: u64,
    pub adapters_never_reach: NameList,
    pub words: u64,
    pub apps: u64,
    pub kernel: NameList,
    pub user_land: NameList,
    pub dev_only: &'static str,
    pub layer_folders: NameList,
    pub walk_bans: NameList,
    pub walkers: NameList,
    pub path_looks: Vec<(&'static str, usize, &'static str)>,
    test_support_members: NameList,
    test_support: NameList,
    pub same_layer: NameTable,
    pub owned: NameTable,
    pub closed_features: NameTable,
    pub own_lints: TextMap,
    pub own_workspaces: TextMap,
    pub other_languages: TextMap,
    pub grants: NameTable,
    pub unreachable: NameTable,
    pub only: NameTable,
    pub front_ends: NameTable,
    pub folders: TextMap,
}

/// The rules, or empty tables if the file cannot be parsed. The gate calls [`read`] first, which reports that.
pub static RULES: LazyLock<Rules> = LazyLock::new(|| read().unwrap_or_default());

/// Parses the rules.
///
/// # Errors
/// When the file does not have the expected shape, for example because it contains a key twice.
pub fn read() -> Result<Rules> {
    let rules = toml::from_str(TEXT);
    let mut rules: Rules = rules.context("`xtask/rules.toml` does not have the expected shape")?;
    // Written once in the file: the members that are test support share one long list of grants.
    for member in &rules.test_support_members {
        rules.grants.insert(member, rules.test_support.clone());
    }
    Ok(rules)
}

/// Reports every entry that its table or row contains twice.
pub fn find_doubled(rules: &str) -> Vec<String> {
    let tables: Table = rules.parse().unwrap_or_default();
    let mut problems = Vec::new();
    // Only lists need a search: TOML itself refuses a key that occurs twice.
    for (name, value) in &tables {
        problems.extend(repeated_elements(name, value));
        let rows = value.as_table().into_iter().flatten();
        problems.extend(rows.flat_map(|(key, row)| repeated_elements(&format!("{name}, {key}"), row)));
    }
    problems
}

/// Reports the elements that a list contains twice. The last part of a compound element, a reason or a level, does not count.
fn repeated_elements(table: &str, list: &Value) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let key = |element: &Value| match element.as_array().map(Vec::as_slice) {
        Some([key @ .., _]) => key
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        Some([]) | None => element.to_string(),
    };
    let keys = list.as_array().into_iter().flatten().map(key);
    let again = keys.filter(|key| !seen.insert(key.clone()));
    again
        .map(|key| format!("the table `{table}` contains {key} twice"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_occurs_twice_is_reported() {
        assert_eq!(find_doubled(TEXT), Vec::<String>::new());
        let text = "pure = ['x', 'y', 'x']\nlints = [['a', 'b', 'deny'], ['a', 'c', 'deny'], ['a', 'b', 'warn']]\n\
            looks = [['f', 1, 'why'], ['f', 2, 'because']]\n[owned]\nrpassword = ['a', 'b', 'a']\n";
        assert_eq!(
            find_doubled(text),
            [
                "the table `lints` contains a, b twice",
                "the table `looks` contains f twice",
                "the table `owned, rpassword` contains \"a\" twice",
                "the table `pure` contains \"x\" twice",
            ]
        );
        let again = toml::from_str::<toml::Table>("[owned]\nclap = ['a']\nclap = ['b']\n");
        assert!(again.unwrap_err().message().contains("duplicate key"));
    }
}
