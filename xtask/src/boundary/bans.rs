//! Banned calls: the bans that a member may omit, and attributes that would switch one off.
//!
//! Owns: comparing each `.clippy.toml` with the one at the root, because clippy reads a member's own file instead of it.
//! Never: finds the calls themselves; clippy does.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::Tree;
use crate::rules::RULES;
use crate::source;

const LISTS: &[&str] = &["disallowed-methods", "disallowed-types", "disallowed-macros"];

/// Compares every clippy file with the root's and the table of grants.
pub fn check_grants(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    let root = match tree.parse_toml(".clippy.toml") {
        Ok(root) => root,
        Err(problem) => return vec![problem],
    };
    let mut judged = BTreeSet::new();
    for file in tree.files.iter().filter(|file| file.as_str() != ".clippy.toml") {
        let Some(folder) = file.strip_suffix("/.clippy.toml") else {
            // Clippy accepts both names; a file with the other one would escape this check.
            if file == "clippy.toml" || file.ends_with("/clippy.toml") {
                problems.push(format!("`{file}` would be read by clippy: use `.clippy.toml`"));
            }
            continue;
        };
        let Some(granted) = RULES.grants.get(folder) else {
            problems.push(format!("`{file}` exists, but `{folder}` has no grant"));
            continue;
        };
        judged.insert(folder);
        match tree.parse_toml(file) {
            Ok(local) => {
                problems.extend(compare_bans(file, &root, &local, granted));
                // Clippy reads only the nearest file, so the bans of the root and these additional ones must
                // both be in it.
                if RULES.walkers.contains(&folder) {
                    problems.extend(lacking_walk_bans(file, &local));
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    for folder in RULES.grants.keys().filter(|folder| !judged.contains(**folder)) {
        problems.push(format!(
            "`{folder}` is granted calls but has no `.clippy.toml`: remove it from the table"
        ));
    }
    problems
}

/// Reports the bans of lookups by path name that a walker's file lacks.
fn lacking_walk_bans(file: &str, local: &Table) -> Vec<String> {
    let local = collect_bans(local);
    let lacking = RULES.walk_bans.iter().filter(|path| !local.contains_key(*path));
    lacking
        .map(|path| format!("`{file}` leaves out the ban of `{path}`"))
        .collect()
}

/// Collects all bans of a file by the banned call.
fn collect_bans(file: &Table) -> BTreeMap<&str, &Value> {
    // Clippy accepts an entry as a plain path or as a table with `path` and `reason`.
    let entries = LISTS
        .iter()
        .filter_map(|list| file.get(*list)?.as_array())
        .flatten();
    entries
        .filter_map(|entry| Some((entry.get("path").unwrap_or(entry).as_str()?, entry)))
        .collect()
}

/// Compares the bans of one file with those of the root, minus the granted calls.
fn compare_bans(file: &str, root: &Table, local: &Table, granted: &[&str]) -> Vec<String> {
    let (root_bans, local_bans) = (collect_bans(root), collect_bans(local));
    let mut problems = Vec::new();
    for (path, entry) in &root_bans {
        match (local_bans.get(path), granted.contains(path)) {
            (None, false) => problems.push(format!("`{file}` leaves out the ban of `{path}`")),
            (Some(_), true) => {
                problems.push(format!(
                    "`{file}` keeps the ban of `{path}`, which it may leave out: remove the grant"
                ));
            }
            (Some(local), false) if local != entry => {
                problems.push(format!("`{file}` changes the ban of `{path}`"));
            }
            (Some(_), false) | (None, true) => {}
        }
    }
    for path in granted.iter().filter(|path| !root_bans.contains_key(*path)) {
        problems.push(format!(
            "`{path}` is granted to `{file}`, but the root file does not ban it: remove the grant"
        ));
    }
    // Settings next to the lists can weaken a lint as well.
    let settings: BTreeSet<&String> = root
        .keys()
        .chain(local.keys())
        .filter(|key| !LISTS.contains(&key.as_str()))
        .collect();
    for key in settings
        .into_iter()
        .filter(|key| root.get(*key) != local.get(*key))
    {
        problems.push(format!(
            "`{file}` sets `{key}` to a different value than the root file"
        ));
    }
    problems
}

/// Reports attributes that would switch a ban off, and suppressions without a reason.
pub fn check_silencers(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for (file, text) in tree.sources() {
        let mut allowed = RULES
            .path_looks
            .iter()
            .find(|(name, _, _)| *name == file)
            // Counted, because an unlimited exception for a file would cover every later call in it.
            .map_or(0, |(_, times, _)| *times);
        for (line, attribute) in source::list_attributes(&source::split_source(text).code) {
            // `warn` too: it lowers a lint that the workspace denies.
            let levels = ["allow(", "expect(", "warn("];
            if !levels.iter().any(|level| attribute.contains(level)) {
                continue;
            }
            if allowed > 0 && is_path_look(&attribute) {
                allowed -= 1;
                continue;
            }
            // Checked before the reason: an exception from these bans belongs in the tables, where a reviewer
            // sees it.
            let named = RULES.silencers.iter().find(|lint| names_lint(&attribute, lint));
            if let Some(lint) = named {
                problems.push(format!("`{file}` line {line}: `{lint}` is switched off"));
            } else if !attribute.contains("reason=") {
                problems.push(format!(
                    "`{file}` line {line}: a lint is suppressed without a reason"
                ));
            }
        }
        if allowed > 0 {
            problems.push(format!(
                "`{file}` expects the lint of banned calls {allowed} times less often than the table `path_looks` says"
            ));
        }
    }
    problems
}

/// Returns true if the attribute expects the lint of banned calls, no other lint, and gives a reason. Rustc itself reports
/// an expectation that nothing fulfils.
fn is_path_look(attribute: &str) -> bool {
    attribute.starts_with("#[expect(clippy::disallowed_methods,reason=")
}

/// Returns true if the attribute names this lint as a whole word.
fn names_lint(attribute: &str, lint: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    attribute.match_indices(lint).any(|(at, _)| {
        let before = attribute.get(..at).and_then(|text| text.chars().next_back());
        let after = attribute
            .get(at + lint.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::super::doctored::{files, says};
    use super::*;

    const ROOT: &str = "allow-panic-in-tests = true\ndisallowed-methods = [\n\
        { path = \"std::fs::write\", reason = \"r\" },\n{ path = \"std::env::var\", reason = \"r\" },\n]\n";

    fn compared(local: &str, granted: &[&str]) -> Vec<String> {
        compare_bans(
            "x/.clippy.toml",
            &ROOT.parse().unwrap(),
            &local.parse().unwrap(),
            granted,
        )
    }

    #[test]
    fn a_file_may_leave_out_exactly_what_it_is_granted() {
        let without_write = ROOT.replace("{ path = \"std::fs::write\", reason = \"r\" },\n", "");
        assert_eq!(
            compared(&without_write, &["std::fs::write"]),
            Vec::<String>::new()
        );
        let cases = [
            (
                without_write.clone(),
                &[][..],
                "leaves out the ban of `std::fs::write`",
            ),
            (ROOT.to_owned(), &["std::fs::write"], "remove the grant"),
            (ROOT.to_owned(), &["std::gone"], "does not ban it"),
            (
                ROOT.replace("env::var\", reason = \"r\"", "env::var\", reason = \"s\""),
                &[],
                "changes the ban of `std::env::var`",
            ),
            (
                ROOT.replace("= true", "= false"),
                &[],
                "sets `allow-panic-in-tests` to a different value",
            ),
            (
                format!("avoid-breaking-exported-api = true\n{ROOT}"),
                &[],
                "sets `avoid-breaking-exported-api`",
            ),
        ];
        for (local, granted, expected) in cases {
            let problems = compared(&local, granted);
            assert!(says(&problems, expected), "{expected}: {problems:?}");
        }
    }

    #[test]
    fn clippy_files_in_other_places_are_found() {
        let tree = files(&[
            (".clippy.toml", ROOT),
            ("crates/.clippy.toml", ""),
            ("xtask/clippy.toml", ""),
        ]);
        let problems = check_grants(&tree);
        assert!(says(&problems, "`crates` has no grant"), "{problems:?}");
        assert!(
            says(&problems, "`xtask/clippy.toml` would be read"),
            "{problems:?}"
        );
        assert!(
            says(&problems, "`xtask` is granted calls but has no `.clippy.toml`"),
            "{problems:?}"
        );
        assert_eq!(check_grants(&files(&[])), ["`.clippy.toml` is missing"]);
    }

    #[test]
    fn no_attribute_switches_a_ban_off() {
        let cases = [
            (
                "#[allow(clippy::disallowed_methods, reason = \"\")]",
                "`disallowed_methods` is switched off",
            ),
            (
                "#![expect(\n  clippy::disallowed_types,\n  reason = \"\"\n)]",
                "`disallowed_types` is switched off",
            ),
            (
                "#[cfg_attr(unix, allow(unsafe_code))]",
                "`unsafe_code` is switched off",
            ),
            (
                "#[allow(clippy::all, reason = \"\")]",
                "`clippy::all` is switched off",
            ),
            (
                "#[warn(clippy::disallowed_methods)]",
                "`disallowed_methods` is switched off",
            ),
            (
                "#[allow(clippy::disallowed_method, reason = \"\")]",
                "`disallowed_method` is switched off",
            ),
            (
                "#[allow(clippy::disallowed_type, reason = \"\")]",
                "`disallowed_type` is switched off",
            ),
            ("#[allow(dead_code)]", "without a reason"),
        ];
        for (text, expected) in cases {
            let problems = check_silencers(&files(&[("a.rs", text)]));
            assert!(says(&problems, expected), "{text}: {problems:?}");
        }
    }

    #[test]
    fn path_looks_are_expected_where_the_table_says_and_nowhere_else() {
        let look = "#[expect(clippy::disallowed_methods, reason = \"r\")]\nfn f() {}\n";
        let (file, times, _) = RULES.path_looks.first().unwrap();
        let exactly = look.repeat(*times);
        assert_eq!(check_silencers(&files(&[(file, &exactly)])), Vec::<String>::new());
        let cases = [
            (
                *file,
                format!("{exactly}{look}"),
                "`disallowed_methods` is switched off",
            ),
            (
                "crates/adapters/agentos-programs/src/adapter.rs",
                look.to_owned(),
                "is switched off",
            ),
            (*file, exactly.replace("expect(", "allow("), "is switched off"),
            (*file, "fn f() {}".to_owned(), "less often than the table"),
        ];
        for (file, text, expected) in cases {
            let problems = check_silencers(&files(&[(file, &text)]));
            assert!(says(&problems, expected), "{text}: {problems:?}");
        }
    }

    #[test]
    fn a_walker_that_leaves_out_a_ban_of_path_walks_is_found() {
        let bans: Vec<String> = RULES.walk_bans.iter().map(|path| format!("\"{path}\"")).collect();
        let whole = format!("disallowed-methods = [{}]", bans.join(", "));
        assert_eq!(
            lacking_walk_bans("x", &whole.parse().unwrap()),
            Vec::<String>::new()
        );
        let less = whole.replace("std::fs::read_dir", "std::fs::other");
        assert_eq!(
            lacking_walk_bans("x", &less.parse().unwrap()),
            ["`x` leaves out the ban of `std::fs::read_dir`"]
        );
    }

    #[test]
    fn no_attribute_switches_a_whole_group_off() {
        let groups = [
            "all",
            "cargo",
            "complexity",
            "correctness",
            "nursery",
            "pedantic",
            "perf",
            "restriction",
            "style",
            "suspicious",
        ];
        for group in groups {
            let text = format!("#![allow(clippy::{group}, reason = \"\")]");
            let problems = check_silencers(&files(&[("a.rs", &text)]));
            assert!(
                says(&problems, &format!("`clippy::{group}` is switched off")),
                "{problems:?}"
            );
        }
    }

    #[test]
    fn a_folder_named_fixtures_hides_nothing() {
        let text = "#[allow(clippy::disallowed_methods, reason = \"\")]";
        let problems = check_silencers(&files(&[("crates/a/src/fixtures/x.rs", text)]));
        assert!(says(&problems, "is switched off"), "{problems:?}");
        let data = files(&[("crates/dev/agentos-testkit/fixtures/hostile/x.rs", text)]);
        assert_eq!(check_silencers(&data), Vec::<String>::new());
    }

    #[test]
    fn strings_comments_and_reasoned_suppressions_are_fine() {
        let text = "// #[allow(unsafe_code)]\nlet a = \"#[allow(unsafe_code)]\";\n\
            #[expect(dead_code, reason = \"used by tests\")]\n#[allow(clippy::all_the_rest, reason = \"\")]\nfn f() {}";
        assert_eq!(check_silencers(&files(&[("a.rs", text)])), Vec::<String>::new());
    }
}
