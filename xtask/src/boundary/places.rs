//! Where code lies: nothing that is built or run may stand where the other rules do not look.
//!
//! Owns: files that cargo reads by their place, code that is pulled in from elsewhere, packages beside the
//! workspace, programs in other languages, and the modules of tests that need a real server. Never: what the code
//! says.

use toml::{Table, Value};

use super::Tree;
use crate::{rules, source};

/// Every rule about places.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut problems = cargo_settings(tree);
    problems.extend(pulled_in(tree));
    problems.extend(own_workspaces(tree));
    problems.extend(other_languages(tree));
    problems.extend(real_servers(tree));
    problems
}

/// Cargo reads every `.cargo` folder from where it is called up to the root of the disk.
fn cargo_settings(tree: &Tree) -> Vec<String> {
    let files = tree.files.iter();
    files
        .filter(|file| file.split('/').any(|part| part == ".cargo"))
        .filter(|file| !rules::CARGO_SETTINGS.contains(&file.as_str()))
        .map(|file| {
            format!("`{file}` is not known: cargo may read it, and its settings can switch lints off")
        })
        .collect()
}

/// Code that comes from a file which no rule takes for a source file.
fn pulled_in(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for (file, text) in tree.sources().filter(|(file, _)| !beside_the_workspace(file)) {
        let code = source::split(text).code;
        for (line, attribute) in source::attributes(&code) {
            let conditional = attribute.starts_with("#[cfg_attr(") && attribute.contains(",path=");
            if attribute.starts_with("#[path=") || conditional {
                problems.push(format!(
                    "`{file}` line {line}: a module lies where its name does not say"
                ));
            }
        }
        for (number, line) in code.lines().enumerate() {
            let words: Vec<&str> = line
                .split_inclusive(|c: char| !c.is_alphanumeric() && c != '_')
                .flat_map(|word| {
                    let end = word
                        .trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_')
                        .len();
                    [
                        word.get(..end).unwrap_or_default(),
                        word.get(end..).unwrap_or_default(),
                    ]
                })
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .collect();
            let pulls = words
                .windows(2)
                .any(|pair| matches!(pair, ["include", "!" | "as" | ";" | "," | "}"]));
            if pulls {
                problems.push(format!("`{file}` line {}: `include!` pulls code in", number + 1));
            }
        }
    }
    problems
}

fn beside_the_workspace(file: &str) -> bool {
    rules::OWN_WORKSPACES
        .iter()
        .any(|(folder, _)| below(file, folder))
}

fn below(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// The table, the workspace and the tree name the same packages that are no members.
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
        if !rules::OWN_WORKSPACES.iter().any(|(known, _)| known == folder) {
            problems.push(format!(
                "the workspace leaves out `{folder}`, and no table says why"
            ));
        }
    }
    for (folder, _) in rules::OWN_WORKSPACES {
        if !excluded.contains(folder)
            || !tree
                .files
                .iter()
                .any(|file| *file == format!("{folder}/Cargo.toml"))
        {
            problems.push(format!(
                "`{folder}` is no package beside the workspace any more: remove it from the table"
            ));
        }
    }
    let members: Vec<String> = tree
        .metadata
        .members()
        .iter()
        .map(|member| tree.folder(&member.manifest_path))
        .collect();
    for file in &tree.files {
        let Some(folder) = file.strip_suffix("/Cargo.toml") else {
            continue;
        };
        let known = members.iter().any(|member| member == folder)
            || rules::OWN_WORKSPACES.iter().any(|(known, _)| *known == folder);
        if !known && !file.starts_with(rules::FIXTURES) {
            problems.push(format!(
                "`{file}` is neither a member nor in the table of packages beside the workspace"
            ));
        }
    }
    problems
}

/// Programs that no rule about Rust can judge stand where a table says why.
fn other_languages(tree: &Tree) -> Vec<String> {
    let programs: Vec<&String> = tree.files.iter().filter(|file| is_other_program(file)).collect();
    let homeless = programs
        .iter()
        .filter(|file| {
            !rules::OTHER_LANGUAGES
                .iter()
                .any(|(folder, _)| below(file, folder))
        })
        .map(|file| format!("`{file}` is not Rust, and no table says why it is here"));
    let unused = rules::OTHER_LANGUAGES
        .iter()
        .filter(|(folder, _)| !programs.iter().any(|file| below(file, folder)))
        .map(|(folder, _)| {
            format!("`{folder}` holds no program in another language: remove it from the table")
        });
    homeless.chain(unused).collect()
}

/// A file without an ending may be a program too; at the top of the repository only the known names stand.
fn is_other_program(file: &str) -> bool {
    let Some((_, name)) = file.rsplit_once('/') else {
        return false;
    };
    match name.rsplit_once('.') {
        _ if file.starts_with(rules::FIXTURES) => false,
        Some((_, ending)) => rules::OTHER_ENDINGS.contains(&ending),
        None => true,
    }
}

/// Tests that start a real server can be told by their path, so that a run without one can leave them out and say so.
fn real_servers(tree: &Tree) -> Vec<String> {
    let named = |file: &str| {
        let path = file.trim_end_matches(".rs");
        path.split('/')
            .any(|part| rules::REAL_SERVER_MODULES.contains(&part))
    };
    tree.sources()
        .filter(|(file, text)| !named(file) && source::split(text).code.contains("LlamaServer"))
        .map(|(file, _)| {
            let names = rules::REAL_SERVER_MODULES.join("` or `");
            format!("`{file}` uses a real server: put it into a module named `{names}`")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::doctored::{files, says};
    use super::*;

    fn complete() -> Vec<(String, String)> {
        let folders: Vec<String> = rules::OWN_WORKSPACES
            .iter()
            .map(|(folder, _)| format!("{folder:?}"))
            .collect();
        let mut entries = vec![
            (
                "Cargo.toml".to_owned(),
                format!("[workspace]\nexclude = [{}]\n", folders.join(", ")),
            ),
            (".cargo/config.toml".to_owned(), String::new()),
        ];
        entries.extend(
            rules::OWN_WORKSPACES
                .iter()
                .map(|(folder, _)| (format!("{folder}/Cargo.toml"), String::new())),
        );
        entries.extend(
            rules::OTHER_LANGUAGES
                .iter()
                .map(|(folder, _)| (format!("{folder}/run"), String::new())),
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
        check(&files(&entries))
    }

    #[test]
    fn what_stands_in_its_place_is_fine() {
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
    fn what_stands_elsewhere_is_told() {
        let cases = [
            (".cargo/config", "", "`.cargo/config` is not known"),
            (
                "crates/a/.cargo/config.toml",
                "",
                "`crates/a/.cargo/config.toml` is not known",
            ),
            (
                "crates/a/src/lib.rs",
                "#[path = \"../data/x.txt\"]\nmod x;",
                "line 1: a module lies where",
            ),
            (
                "crates/a/src/lib.rs",
                "#[cfg_attr(unix, path = \"x\")] mod x;",
                "a module lies where",
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
                "leaves out `crates/hidden`",
            ),
            (
                "Cargo.toml",
                "[workspace]",
                "is no package beside the workspace any more",
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
        assert!(says(&check(&files(&[])), "holds no program in another language"));
    }
}
