//! `cargo xtask schemas`: the committed JSON Schemas and the reference page are what the product prints.
//!
//! Owns: writing or comparing them, by the same path. Never: makes a schema; `agentos schema` does, and the gates for
//! what they write.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::metadata::Metadata;
use crate::say;

const FOLDER: &str = "crates/words/agentos-schema/schemas";
/// Every verb, exit code and error code.
const REFERENCE: &str = "crates/apps/agentos-cli/REFERENCE.md";
/// The shapes that gates write; every gate prints them.
const OF_GATES: &[&str] = &["gate-results", "health-summary"];
const GATE: &str = "gate";

/// Builds the product, then writes or compares. True when nothing differs, or all was written.
///
/// # Errors
/// When the product does not build or cannot be asked.
pub fn run(root: &Path, check: bool) -> Result<bool, String> {
    crate::gates::build_product(root)?;
    compare_or_write(root, check)
}

/// The same with the product as it is built already.
///
/// # Errors
/// When the product cannot be asked.
pub fn compare_or_write(root: &Path, check: bool) -> Result<bool, String> {
    let binaries = Path::new(&Metadata::load(root)?.target_directory).join("debug");
    let mut printed = printed(&binaries.join("agentos"))?;
    for name in OF_GATES {
        let text = ask(&binaries.join(GATE), &["--schema", name])?;
        insert(&mut printed, name, &text)?;
    }
    let committed = committed(&root.join(FOLDER))?;
    let mut problems = differences(&printed, &committed);
    let reference = ask(&binaries.join("agentos"), &["man", "--reference"])?;
    let page = root.join(REFERENCE);
    if std::fs::read_to_string(&page).unwrap_or_default() != reference {
        problems.push(format!(
            "`{REFERENCE}` is not what `agentos man --reference` prints"
        ));
    }
    if check {
        problems.iter().for_each(|problem| say(problem));
        return Ok(problems.is_empty());
    }
    for (name, text) in &printed {
        let file = root.join(FOLDER).join(name);
        std::fs::write(&file, text)
            .map_err(|error| format!("`{}` cannot be written: {error}", file.display()))?;
    }
    std::fs::write(&page, &reference).map_err(|error| format!("`{REFERENCE}` cannot be written: {error}"))?;
    say(&format!(
        "{} schemas and the reference written, {} changed",
        printed.len(),
        problems.len()
    ));
    Ok(true)
}

/// Every schema by its file name, as the product prints it.
fn printed(agentos: &Path) -> Result<BTreeMap<String, String>, String> {
    let names = ask(agentos, &["schema", "--list"])?;
    let mut schemas = BTreeMap::new();
    for name in names.lines().map(str::trim).filter(|name| !name.is_empty()) {
        let text = ask(agentos, &["schema", name])?;
        insert(&mut schemas, name, &text)?;
    }
    if schemas.is_empty() {
        Err("`agentos schema --list` names nothing".to_owned())
    } else {
        Ok(schemas)
    }
}

/// Takes one schema up, if it is JSON and nobody else printed one of that name.
fn insert(schemas: &mut BTreeMap<String, String>, name: &str, text: &str) -> Result<(), String> {
    let valid: Result<serde_json::Value, _> = serde_json::from_str(text);
    valid.map_err(|error| format!("the schema `{name}` is not JSON: {error}"))?;
    match schemas.insert(format!("{name}.json"), format!("{}\n", text.trim_end())) {
        None => Ok(()),
        Some(_) => Err(format!("the schema `{name}` is printed twice")),
    }
}

fn ask(program: &Path, args: &[&str]) -> Result<String, String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let shown = format!("{name} {}", args.join(" "));
    let output = Command::new(program)
        .args(args)
        .output()
        .map_err(|error| format!("`{shown}` cannot be run: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{shown}` failed: {}", said.trim_end()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{shown}` is not UTF-8"))
}

fn committed(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let io = |error: std::io::Error| format!("`{}` cannot be read: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(io)?;
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".json") {
            files.insert(name, std::fs::read_to_string(&path).map_err(io)?);
        }
    }
    Ok(files)
}

fn differences(printed: &BTreeMap<String, String>, committed: &BTreeMap<String, String>) -> Vec<String> {
    let stale = printed
        .iter()
        .filter_map(|(name, text)| match committed.get(name) {
            Some(other) if other == text => None,
            Some(_) => Some(format!(
                "`{FOLDER}/{name}` is out of date: run `cargo xtask schemas`"
            )),
            None => Some(format!("`{FOLDER}/{name}` is missing: run `cargo xtask schemas`")),
        });
    let unknown = committed.keys().filter(|name| !printed.contains_key(*name));
    stale
        .chain(unknown.map(|name| format!("`{FOLDER}/{name}` is printed by nobody: remove it")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_json_and_has_one_source() {
        let mut schemas = BTreeMap::new();
        assert_eq!(insert(&mut schemas, "a", "{}"), Ok(()));
        assert!(
            insert(&mut schemas, "a", "{}")
                .unwrap_err()
                .contains("printed twice")
        );
        assert!(
            insert(&mut schemas, "b", "{")
                .unwrap_err()
                .contains("is not JSON")
        );
    }

    #[test]
    fn a_stale_a_missing_and_an_orphaned_schema_are_told() {
        let files = |entries: &[(&str, &str)]| -> BTreeMap<String, String> {
            entries
                .iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect()
        };
        let printed = files(&[("a.json", "1"), ("b.json", "2"), ("c.json", "3")]);
        let committed = files(&[("a.json", "1"), ("b.json", "x"), ("d.json", "4")]);
        assert_eq!(
            differences(&printed, &committed),
            [
                "`crates/words/agentos-schema/schemas/b.json` is out of date: run `cargo xtask schemas`",
                "`crates/words/agentos-schema/schemas/c.json` is missing: run `cargo xtask schemas`",
                "`crates/words/agentos-schema/schemas/d.json` is printed by nobody: remove it",
            ]
        );
        assert_eq!(differences(&printed, &printed), Vec::<String>::new());
    }
}
