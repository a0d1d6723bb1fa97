//! `--check auto`: the check that a project's committed files suggest.
//!
//! | committed file | command |
//! |---|---|
//! | `Cargo.toml` | `cargo test` |
//! | `go.mod` | `go test ./...` |
//! | `package.json` with a script `test` | `npm test`; `pnpm test` or `yarn test` with the lock file of that program |
//! | `pytest.ini`, `conftest.py`, or `pyproject.toml`, `setup.cfg` or `tox.ini` that mentions pytest | `python3 -m pytest` |
//! | `Makefile` with a target `check` or `test` | `make check` or `make test` |
//!
//! The first row that fits counts: a project of two kinds usually has a build tool of the one and scripts of the other.
//!
//! Owns: this table. Never: reads a file that is not committed, or runs anything.

use agentos_landing::{Base, EntryKind};
use serde_json::Value;

/// Text that `npm init` writes as the script `test` of a project without tests.
const NO_NPM_TEST: &str = "no test specified";

/// A command that was chosen for a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenCheck {
    /// The command.
    pub command: String,
    /// The committed file that it was chosen for.
    pub because: &'static str,
}

/// Chooses the check of a project. `None` if no row of the table fits.
pub fn choose_check(base: &dyn Base) -> Option<ChosenCheck> {
    let chosen = |command: &str, because| {
        Some(ChosenCheck {
            command: command.to_owned(),
            because,
        })
    };
    if has_file(base, "Cargo.toml") {
        return chosen("cargo test", "Cargo.toml");
    }
    if has_file(base, "go.mod") {
        return chosen("go test ./...", "go.mod");
    }
    if has_npm_test(base) {
        let runner = if has_file(base, "pnpm-lock.yaml") {
            "pnpm test"
        } else if has_file(base, "yarn.lock") {
            "yarn test"
        } else {
            "npm test"
        };
        return chosen(runner, "package.json");
    }
    if let Some(because) = find_pytest(base) {
        return chosen("python3 -m pytest", because);
    }
    let makefile = ["GNUmakefile", "makefile", "Makefile"]
        .into_iter()
        .find_map(|name| Some((name, read_text(base, name)?)));
    let (name, text) = makefile?;
    let has_target = |target: &str| text.lines().any(|line| line.starts_with(&format!("{target}:")));
    ["check", "test"]
        .into_iter()
        .find(|target| has_target(target))
        .and_then(|target| chosen(&format!("make {target}"), name))
}

fn has_npm_test(base: &dyn Base) -> bool {
    let package = read_text(base, "package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let script = package
        .as_ref()
        .and_then(|package| package.pointer("/scripts/test")?.as_str());
    script.is_some_and(|script| !script.contains(NO_NPM_TEST))
}

fn find_pytest(base: &dyn Base) -> Option<&'static str> {
    ["pytest.ini", "conftest.py", "tests/conftest.py"]
        .into_iter()
        .find(|name| has_file(base, name))
        .or_else(|| {
            let mut files = ["pyproject.toml", "setup.cfg", "tox.ini"].into_iter();
            files.find(|name| read_text(base, name).is_some_and(|text| text.contains("pytest")))
        })
}

/// Returns true if the base has a file at a path.
pub(crate) fn has_file(base: &dyn Base, path: &str) -> bool {
    matches!(base.entry(path), Ok(Some(entry)) if matches!(entry.kind, EntryKind::File(_)))
}

/// Returns true if the base has a folder at a path.
pub fn has_folder(base: &dyn Base, path: &str) -> bool {
    matches!(base.entry(path), Ok(Some(entry)) if entry.kind == EntryKind::Directory)
}

/// Reads a text file of the base. `None` if there is none, or it cannot be read.
fn read_text(base: &dyn Base, path: &str) -> Option<String> {
    let entry = base.entry(path).ok()??;
    let EntryKind::File(_) = entry.kind else {
        return None;
    };
    String::from_utf8(base.read(&entry.id).ok()?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentos_landing::MemoryBase;

    use super::*;

    /// Paths with their text.
    type Files = &'static [(&'static str, &'static str)];

    #[test]
    fn the_first_file_that_fits_decides() {
        const NPM: &str = r#"{"scripts":{"test":"jest"}}"#;
        const UNTESTED: &str = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
        let cases: [(Files, Option<&str>); 14] = [
            (&[("Cargo.toml", "")], Some("cargo test (Cargo.toml)")),
            (&[("crates/a/Cargo.toml", "")], None),
            (
                &[("Makefile", "test:\n"), ("Cargo.toml", "")],
                Some("cargo test (Cargo.toml)"),
            ),
            (&[("go.mod", "")], Some("go test ./... (go.mod)")),
            (&[("package.json", NPM)], Some("npm test (package.json)")),
            (
                &[("package.json", NPM), ("pnpm-lock.yaml", "")],
                Some("pnpm test (package.json)"),
            ),
            (
                &[("package.json", NPM), ("yarn.lock", "")],
                Some("yarn test (package.json)"),
            ),
            (&[("package.json", UNTESTED)], None),
            (&[("package.json", "{")], None),
            (
                &[("pyproject.toml", "[tool.pytest.ini_options]")],
                Some("python3 -m pytest (pyproject.toml)"),
            ),
            (&[("pyproject.toml", "[project]")], None),
            (
                &[("tests/conftest.py", "")],
                Some("python3 -m pytest (tests/conftest.py)"),
            ),
            (&[("Makefile", "all:\ntest: all\n")], Some("make test (Makefile)")),
            (&[("Makefile", "test:\ncheck:\n")], Some("make check (Makefile)")),
        ];
        for (files, expected) in cases {
            let mut base = MemoryBase::default();
            for (path, text) in files {
                base.put(path, Arc::from(text.as_bytes()));
            }
            let chosen = choose_check(&base);
            let chosen = chosen.map(|chosen| format!("{} ({})", chosen.command, chosen.because));
            assert_eq!(chosen.as_deref(), expected, "{files:?}");
        }
    }
}
