//! The places of code: nothing that is built or run may be where the other checks do not look.
//!
//! Owns: files that cargo reads because of their place, code included from elsewhere, packages outside the workspace,
//! programs in other languages, and the modules of tests that need a real server. Never: judges what the code does.

use toml::{Table, Value};

use super::Tree;
use crate::rules::RULES;
use crate::source;

/// Runs every check about places.
pub fn check_places(tree: &Tree) -> Vec<String> {
    let mut problems = cargo_settings(tree);
    problems.extend(pulled_in(tree));
    problems.extend(own_workspaces(tree));
    problems.extend(other_languages(tree));
    problems.extend(real_servers(tree));
    problems
}

/// Reports unknown files in `.cargo` folders: cargo reads every such folder from the current one up to the root.
fn cargo_settings(tree: &Tree) -> Vec<String> {
    let files = tree.files.iter();
    files
        .filter(|file| file.split('/').any(|part| part == ".cargo"))
        .filter(|file| !RULES.cargo_settings.contains(&file.as_str()))
        .map(|file| {
            format!("`{file}` is not in the table `cargo_settings`: cargo may read it, and its settings can switch lints off")
        })
        .collect()
}

/// Reports code that comes from a file which the other checks do not recognise as source.
fn pulled_in(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for (file, text) in tree.sources().filter(|(file, _)| !is_outside_workspace(file)) {
        let code = source::split_source(text).code;
        for (line, attribute) in source::list_attributes(&code) {
            // `cfg_attr` can contain `path` as well, and would then be read on one system only.
            let conditional = attribute.starts_with("#[cfg_attr(") && attribute.contains(",path=");
            if attribute.starts_with("#[path=") || conditional {
                problems.push(format!(
                    "`{file}` line {line}: `#[path]` takes a module from elsewhere"
                ));
            }
        }
        let lines = code.lines().enumerate().filter(|(_, line)| pulls_in(line));
        problems.extend(lines.map(|(number, _)| {
            format!(
                "`{file}` line {}: `include!` takes code from elsewhere",
                number + 1
            )
        }));
    }
    problems
}

/// Returns true if a line calls `include!` or imports it.
fn pulls_in(line: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices("include").any(|(at, found)| {
        let (before, after) = (line.get(..at), line.get(at + found.len()..).unwrap_or_default());
        let is_whole = !before.is_some_and(|before| before.ends_with(is_word)) && !after.starts_with(is_word);
        let after = after.trim_start();
        // `use std::include as x;` gives the macro another name, which the search for `include!` would miss.
        is_whole && (after.starts_with(['!', ';', ',', '}']) || after == "as" || after.starts_with("as "))
    })
}

fn is_outside_workspace(file: &str) -> bool {
    RULES.own_workspaces.keys().any(|folder| is_below(file, folder))
}

fn is_below(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Checks that the table, the workspace and the tree agree about the packages outside the workspace.
fn own_workspaces(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    let manifest = tree
        .texts
        .get("Cargo.toml")
        .and_then(|text| text.parse::<Table>().ok());
    let excluded: Vec<&str> = manifest
        .as_ref()
        .and_then(|manifest| manifest.get("workspace")?.get("exclude")?.as_array())
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    for folder in &excluded {
        if !RULES.own_workspaces.contains_key(folder) {
            problems.push(format!(
                "the workspace excludes `{folder}`, which is not in the table `own_workspaces`"
            ));
        }
    }
    for folder in RULES.own_workspaces.keys() {
        if !excluded.contains(folder)
            || !tree
                .files
                .iter()
                .any(|file| *file == format!("{folder}/Cargo.toml"))
        {
            problems.push(format!(
                "`{folder}` is no longer a package outside the workspace: remove it from the table"
            ));
        }
    }
    let members: Vec<String> = tree
        .metadata
        .members()
        .iter()
        .map(|member| tree.member_folder(&member.manifest_path))
        .collect();
    for file in &tree.files {
        let Some(folder) = file.strip_suffix("/Cargo.toml") else {
            continue;
        };
        let known =
            members.iter().any(|member| member == folder) || RULES.own_workspaces.contains_key(folder);
        if !known && !file.starts_with(RULES.fixtures) {
            problems.push(format!(
                "`{file}` is neither a member nor in the table `own_workspaces`"
            ));
        }
    }
    problems
}

/// Reports programs in other languages that are in no folder of the table, and folders of the table without any.
fn other_languages(tree: &Tree) -> Vec<String> {
    let programs: Vec<&String> = tree.files.iter().filter(|file| is_other_program(file)).collect();
    let homeless = programs
        .iter()
        .filter(|file| !RULES.other_languages.keys().any(|folder| is_below(file, folder)))
        .map(|file| format!("`{file}` is not Rust, and its folder is not in the table `other_languages`"));
    let unused = RULES
        .other_languages
        .keys()
        .filter(|folder| !programs.iter().any(|file| is_below(file, folder)))
        .map(|folder| {
            format!("`{folder}` contains no program in another language: remove it from the table")
        });
    homeless.chain(unused).collect()
}

/// Returns true for a file that may be a program in another language. That includes files without an ending, except at the
/// top of the repository, where `tidy` knows every name.
fn is_other_program(file: &str) -> bool {
    let Some((_, name)) = file.rsplit_once('/') else {
        return false;
    };
    match name.rsplit_once('.') {
        _ if file.starts_with(RULES.fixtures) => false,
        Some((_, ending)) => RULES.other_endings.contains(&ending),
        None => true,
    }
}

/// Reports tests that start a real server in a module without the agreed name. A run without a server skips tests by their
/// path.
fn real_servers(tree: &Tree) -> Vec<String> {
    let named = |file: &str| {
        let path = file.trim_end_matches(".rs");
        path.split('/')
            .any(|part| RULES.real_server_modules.contains(&part))
    };
    tree.sources()
        .filter(|(file, text)| !named(file) && source::split_source(text).code.contains("LlamaServer"))
        .map(|(file, _)| {
            let names = RULES.real_server_modules.join("` or `");
            format!("`{file}` uses a real server: put it into a module named `{names}`")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::doctored::{files, says};
    use super::*;

    fn complete() -> Vec<(String, String)> {
        let folders: Vec<String> = RULES
            .own_workspaces
            .keys()
            .map(|folder| format!("{folder:?}"))
            .collect();
        let mut entries = vec![
            (
                "Cargo.toml".to_owned(),
                format!("[workspace]\nexclude = [{}]\n", folders.join(", ")),
            ),
            (".cargo/config.toml".to_owned(), String::new()),
        ];
        entries.extend(
            RULES
                .own_workspaces
                .keys()
                .map(|folder| (format!("{folder}/Cargo.toml"), String::new())),
        );
        entries.extend(
            RULES
                .other_languages
                .keys()
                .map(|folder| (format!("{folder}/run"), String::new())),
        );
        entries
    }

    fn with(file: &str, text: &str) -> Vec<String> {
        let mut entries = complete();
        entries.retain(|(name, _)| name != file);
        entries.push((file.to_owned(), text.to_owned()));
        let entries: Vec<(&str, &str)> = entries
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        check_places(&files(&entries))
    }

    #[test]
    fn code_in_its_place_is_accepted() {
        let fine = [
            (
                "crates/a/src/lib.rs",
                "const A: &str = include_str!(\"x\"); // include!(\"y\")\nlet include = 1;",
            ),
            ("crates/a/src/x.rs", "#[serde(path = \"x\")] struct A;"),
            ("scripts/fuzz/targets/x.rs", "#[path = \"../../x.rs\"] mod x;"),
            (
                "crates/dev/agentos-testkit/fixtures/hostile/x.rs",
                "include!(\"/etc/passwd\");",
            ),
            ("crates/dev/agentos-testkit/fixtures/hostile/x.sh", ""),
            ("crates/a/tests/it/llama.rs", "LlamaServer::start()"),
            ("crates/a/src/adapter/real.rs", "LlamaServer::start()"),
        ];
        for (file, text) in fine {
            assert_eq!(with(file, text), Vec::<String>::new(), "{file}");
        }
    }

    #[test]
    fn code_elsewhere_is_reported() {
        let cases = [
            (".cargo/config", "", "`.cargo/config` is not in the table"),
            (
                "crates/a/.cargo/config.toml",
                "",
                "`crates/a/.cargo/config.toml` is not in the table",
            ),
            (
                "crates/a/src/lib.rs",
                "#[path = \"../data/x.txt\"]\nmod x;",
                "line 1: `#[path]` takes",
            ),
            (
                "crates/a/src/lib.rs",
                "#[cfg_attr(unix, path = \"x\")] mod x;",
                "`#[path]` takes a module",
            ),
            (
                "crates/a/src/lib.rs",
                "\nstd::include!(\"x.txt\");",
                "line 2: `include!`",
            ),
            (
                "crates/a/src/lib.rs",
                "include ! { \"x.txt\" }",
                "line 1: `include!`",
            ),
            (
                "crates/a/src/lib.rs",
                "use std::include as other;",
                "line 1: `include!`",
            ),
            (
                "crates/a/src/lib.rs",
                "use std::{fmt, include};",
                "line 1: `include!`",
            ),
            (
                "crates/a/tests/fixtures/x.rs",
                "include!(\"x.txt\");",
                "line 1: `include!`",
            ),
            (
                "Cargo.toml",
                "[workspace]\nexclude = [\"crates/hidden\"]",
                "excludes `crates/hidden`",
            ),
            (
                "Cargo.toml",
                "[workspace]",
                "is no longer a package outside the workspace",
            ),
            (
                "crates/hidden/Cargo.toml",
                "",
                "neither a member nor in the table",
            ),
            ("crates/a/helper.py", "", "`crates/a/helper.py` is not Rust"),
            ("crates/a/helper", "", "`crates/a/helper` is not Rust"),
            (
                "crates/a/tests/it/live.rs",
                "LlamaServer::start()",
                "uses a real server",
            ),
        ];
        for (file, text, expected) in cases {
            let problems = with(file, text);
            assert!(says(&problems, expected), "{expected}: {problems:?}");
        }
        assert!(says(
            &check_places(&files(&[])),
            "contains no program in another language"
        ));
    }
}
