//! Where code lies: nothing that is built or run may stand where the other rules do not look.
//!
//! Owns: files that cargo reads by their place, code that is pulled in from elsewhere, packages beside the
//! workspace, programs in other languages, and the modules of tests that need a real server. Never: what the code
//! says.

use toml::{Table, Value};

use super::Tree;
use crate::rules::RULES;
use crate::source;

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
        .filter(|file| !RULES.cargo_settings.contains(&file.as_str()))
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
        let lines = code.lines().enumerate().filter(|(_, line)| pulls_in(line));
        problems.extend(
            lines.map(|(number, _)| format!("`{file}` line {}: `include!` pulls code in", number + 1)),
        );
    }
    problems
}

/// Tells whether a line calls `include!` or takes it up under a name.
fn pulls_in(line: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices("include").any(|(at, found)| {
        let (before, after) = (line.get(..at), line.get(at + found.len()..).unwrap_or_default());
        let is_whole = !before.is_some_and(|before| before.ends_with(is_word)) && !after.starts_with(is_word);
        let after = after.trim_start();
        is_whole && (after.starts_with(['!', ';', ',', '}']) || after == "as" || after.starts_with("as "))
    })
}

fn beside_the_workspace(file: &str) -> bool {
    RULES.own_workspaces.keys().any(|folder| below(file, folder))
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
        if !RULES.own_workspaces.contains_key(folder) {
            problems.push(format!(
                "the workspace leaves out `{folder}`, and no table says why"
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
        let known =
            members.iter().any(|member| member == folder) || RULES.own_workspaces.contains_key(folder);
        if !known && !file.starts_with(RULES.fixtures) {
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
        .filter(|file| !RULES.other_languages.keys().any(|folder| below(file, folder)))
        .map(|file| format!("`{file}` is not Rust, and no table says why it is here"));
    let unused = RULES
        .other_languages
        .keys()
        .filter(|folder| !programs.iter().any(|file| below(file, folder)))
        .map(|folder| format!("`{folder}` holds no program in another language: remove it from the table"));
    homeless.chain(unused).collect()
}

/// A file without an ending may be a program too; at the top of the repository only the known names stand.
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

/// Tests that start a real server can be told by their path, so that a run without one can leave them out and say so.
fn real_servers(tree: &Tree) -> Vec<String> {
    let named = |file: &str| {
        let path = file.trim_end_matches(".rs");
        path.split('/')
            .any(|part| RULES.real_server_modules.contains(&part))
    };
    tree.sources()
        .filter(|(file, text)| !named(file) && source::split(text).code.contains("LlamaServer"))
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
