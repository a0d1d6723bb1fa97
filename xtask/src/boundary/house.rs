//! The size of crates, and circles of files inside a crate.
//!
//! Owns: both counts and their limits. Never: judges dependencies between crates; see `layers`.

use std::collections::{BTreeMap, BTreeSet};

use super::Tree;
use super::words::product_text;
use crate::rules::RULES;
use crate::source;

/// Files of one crate by their module path, such as `pools::choice`; the root is the empty path.
type Modules<'a> = BTreeMap<String, &'a str>;

/// Modules that each module imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Reports crates with more lines, or with a larger circle of files, than the rules permit.
pub fn check_house(tree: &Tree) -> Vec<String> {
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for (file, text) in tree.sources() {
        let Some((place, inside)) = file.split_once("/src/") else {
            continue;
        };
        let text = product_text(file, text);
        if !text.is_empty() {
            let modules = crates.entry(place).or_default();
            modules.insert(module_path(inside), text);
        }
    }
    crates
        .iter()
        .flat_map(|(place, modules)| {
            let name = package_name(place);
            [check_size(name, modules), check_circles(name, modules)]
        })
        .flatten()
        .collect()
}

/// Returns the name of the package in a folder.
fn package_name(place: &str) -> &str {
    let named = RULES.folders.iter().find(|(_, folder)| **folder == place);
    named.map_or_else(|| place.rsplit('/').next().unwrap_or(place), |(name, _)| name)
}

/// Returns the limit of a crate: its own if the table has a row for it.
fn find_limit(name: &str, usual: usize, larger: &[(&str, usize, &str)]) -> usize {
    let own = larger.iter().find(|(member, _, _)| *member == name);
    own.map_or(usual, |(_, most, _)| *most)
}

fn check_size(name: &str, modules: &Modules<'_>) -> Option<String> {
    let lines: usize = modules.values().map(|text| text.lines().count()).sum();
    let most = find_limit(name, RULES.max_crate_lines, &RULES.larger_crates);
    (lines > most).then(|| format!("`{name}`: {lines} lines without tests, at most {most} are allowed"))
}

fn check_circles(name: &str, modules: &Modules<'_>) -> Option<String> {
    let most = find_limit(name, RULES.max_circle, &RULES.larger_circles);
    let imports: Imports = modules
        .iter()
        .map(|(module, text)| (module.clone(), list_imports(module, text, modules)))
        .collect();
    let circle = largest_circle(&imports);
    (circle.len() > most).then(|| {
        let files: Vec<&str> = circle.iter().map(String::as_str).collect();
        format!(
            "`{name}`: {} files import each other in a circle, at most {most} may: {}",
            files.len(),
            files.join(", ")
        )
    })
}

/// Returns the module path of a file below `src`.
fn module_path(inside: &str) -> String {
    let path = inside.trim_end_matches(".rs").replace('/', "::");
    match path.as_str() {
        "lib" | "main" => String::new(),
        _ => path.trim_end_matches("::mod").to_owned(),
    }
}

/// Lists the other modules of the crate that a file names. Names that the file exports again (`pub use`), and names at the root of the
/// crate, do not count.
fn list_imports(module: &str, text: &str, modules: &Modules<'_>) -> BTreeSet<String> {
    let code = source::split_source(text).code;
    let mut found = BTreeSet::new();
    for statement in code.split(';') {
        let statement = statement.trim();
        let is_export = statement
            .lines()
            .any(|line| line.starts_with("pub ") && line.contains("use "));
        if is_export {
            continue;
        }
        for (base, start) in [("crate::", String::new()), ("super::", parent_of(module))] {
            for (at, _) in statement.match_indices(base) {
                let rest = statement.get(at + base.len()..).unwrap_or_default();
                for path in expand_paths(rest) {
                    let whole = join(&start, &path);
                    found.extend(
                        find_module(&whole, modules).filter(|other| other != module && !other.is_empty()),
                    );
                }
            }
        }
    }
    found
}

/// Returns the module around a module. Empty for a module of the root.
fn parent_of(module: &str) -> String {
    module
        .rsplit_once("::")
        .map_or_else(String::new, |(parent, _)| parent.to_owned())
}

fn join(start: &str, path: &str) -> String {
    match (start, path) {
        ("", path) => path.to_owned(),
        (start, "") => start.to_owned(),
        (start, path) => format!("{start}::{path}"),
    }
}

/// Lists the paths that the text after `crate::` names: a single path, or those of a group in braces.
fn expand_paths(rest: &str) -> Vec<String> {
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let (path, after) = rest.split_at(end.unwrap_or(rest.len()));
    let path = path.trim_end_matches("::");
    let Some(group) = after.strip_prefix('{') else {
        return vec![path.to_owned()];
    };
    let mut depth = 0_usize;
    let inside = group.split(|c| {
        match c {
            '{' => depth += 1,
            // Behind the brace that ends the group is at most the end of its statement, which has no path.
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c == '}')
    });
    inside
        .map(|item| {
            let item = item.trim();
            let end = item.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let item = item.get(..end.unwrap_or(item.len())).unwrap_or_default();
            join(path, item.trim_end_matches("::"))
        })
        .collect()
}

/// Returns the module that a path leads into: its longest beginning that is a file. `None` if no part is.
fn find_module(path: &str, modules: &Modules<'_>) -> Option<String> {
    let mut path = path;
    loop {
        if modules.contains_key(path) {
            return Some(path.to_owned());
        }
        path = path.rsplit_once("::")?.0;
    }
}

/// Returns the largest set of modules of which each reaches each.
fn largest_circle(imports: &Imports) -> Vec<String> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = imports
        .keys()
        .map(|module| (module, reach(module, imports)))
        .collect();
    let reaches = |from: &String, to: &String| reached.get(from).is_some_and(|all| all.contains(to));
    let circles = imports.keys().map(|module| {
        let others = imports
            .keys()
            .filter(|other| reaches(module, other) && reaches(other, module));
        others.cloned().collect::<Vec<_>>()
    });
    circles.max_by_key(Vec::len).unwrap_or_default()
}

/// Returns all modules that a module reaches through imports.
fn reach<'a>(module: &str, imports: &'a Imports) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = imports.get(module).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(imports.get(next).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::doctored::{self, says};
    use super::*;

    #[test]
    fn a_circle_of_more_than_three_files_is_found_in_every_form_of_import() {
        let files = [
            (
                "crates/words/a/src/lib.rs",
                "mod b; mod c; mod d; mod e;\npub use crate::b::B;\n",
            ),
            ("crates/words/a/src/b.rs", "use crate::c;\n"),
            ("crates/words/a/src/c.rs", "use crate::{d::{D, DD}, other};\n"),
            ("crates/words/a/src/d.rs", "use super::e::E;\n"),
            ("crates/words/a/src/e.rs", "fn f() { crate::b::g(); }\n"),
        ];
        let circle = "`a`: 4 files import each other in a circle, at most 3 may: b, c, d, e";
        assert!(says(&check_house(&doctored::files(&files)), circle));
        for (at, text) in [
            (1, "// use crate::c;\nlet a = \"use crate::c;\";\n"),
            (2, "use crate::other;\n"),
            (3, "pub use super::e::E;\n"),
            (4, "#[cfg(test)]\nmod tests {\n use crate::b;\n}\n"),
        ] {
            let mut open = files;
            open[at].1 = text;
            assert_eq!(
                check_house(&doctored::files(&open)),
                Vec::<String>::new(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_crate_that_is_too_large_is_named_without_its_tests() {
        let lines = "fn f() {}\n".repeat(7_000);
        let files = |last: &'static str| {
            doctored::files(&[
                ("crates/words/a/src/lib.rs", lines.as_str()),
                (last, lines.as_str()),
            ])
        };
        assert!(says(
            &check_house(&files("crates/words/a/src/b.rs")),
            "`a`: 14000 lines without tests, at most 12000 are allowed"
        ));
        for other in [
            "crates/words/b/src/b.rs",
            "crates/words/a/src/b/tests.rs",
            "crates/words/a/tests/it/b.rs",
        ] {
            assert_eq!(check_house(&files(other)), Vec::<String>::new(), "{other}");
        }
    }
}
