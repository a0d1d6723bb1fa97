//! The reference page is what the program says, and its codes are those of the sources.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::{agentos, run_in, small_repo};

/// Returns the reference page as the program prints it.
pub(crate) fn page() -> String {
    let output = agentos().run(&["man", "--reference"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    output.stdout
}

#[test]
fn the_committed_page_is_what_the_program_prints() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("REFERENCE.md");
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        committed == page(),
        "`REFERENCE.md` is stale: run `cargo xtask schemas`"
    );
}

/// Finds the source files below a folder, without files of tests.
pub(crate) fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The text of a source file without its tests.
pub(crate) fn source(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

/// The first string literal of a text, if it begins within so many characters.
fn literal(text: &str, within: usize) -> Option<&str> {
    let start = text.find('"').filter(|at| *at <= within)?;
    text.get(start + 1..)?.split('"').next()
}

/// The words that a function turns its variants into.
fn arms(text: &str, function: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for body in text.split(function).skip(1) {
        let body = body.split("\n    }\n").next().unwrap_or_default();
        for arm in body.split("=> ").skip(1) {
            found.extend(literal(arm, 4).map(str::to_owned));
        }
    }
    found
}

/// Every code that the sources can give a failure.
fn codes() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    for (file, function) in [
        ("effects/agentos-executor/src/error.rs", "fn code(&self)"),
        ("effects/agentos-executor/src/error/kinds.rs", "fn code("),
        ("effects/agentos-evidence/src/error.rs", "fn code(&self)"),
        ("words/agentos-landing/src/refusal.rs", "fn as_str(self)"),
        ("adapters/agentos-generic-http/src/reason.rs", "fn as_str(self)"),
        ("adapters/agentos-programs/src/error.rs", "fn code(&self)"),
    ] {
        let of = arms(&source(&crates.join(file)), function);
        assert!(of.len() > 4, "{file}: {of:?}");
        found.extend(of);
    }
    let mut files = Vec::new();
    for folder in [
        "apps/agentos-cli/src",
        "flow/agentos-engine/src",
        "flow/agentos-host/src",
    ] {
        sources(&crates.join(folder), &mut files);
    }
    for file in files {
        let text = source(&file);
        for begin in [
            "EffectError::new(",
            "code = Some(\"",
            "failed(\n            Cause::",
        ] {
            for call in text.split(begin).skip(1) {
                let code = if begin.ends_with('"') {
                    call.split('"').next()
                } else {
                    literal(call, 60)
                };
                // A code has no blanks; what has is the message of a code that comes from elsewhere.
                let is_code = |code: &&str| {
                    code.len() > 1
                        && code
                            .chars()
                            .all(|c| c.is_ascii_lowercase() || c == '-' || c == '_')
                };
                found.extend(code.filter(is_code).map(str::to_owned));
            }
        }
    }
    found
}

#[test]
fn every_code_of_the_sources_is_in_the_reference() {
    let page = page();
    let missing: Vec<String> = codes()
        .into_iter()
        .filter(|code| !page.contains(&format!("| `{code}` |")))
        .collect();
    assert_eq!(missing, Vec::<String>::new(), "add them to `agentos-api`");
}

#[test]
fn every_code_of_the_reference_is_in_the_sources() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for layer in std::fs::read_dir(crates).unwrap() {
        let layer = layer.unwrap().path();
        if !layer.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(layer).unwrap() {
            let folder = entry.unwrap().path().join("src");
            if folder.is_dir() {
                sources(&folder, &mut files);
            }
        }
    }
    files.retain(|file| {
        !file.ends_with("agentos-cli/src/codes.rs") && !file.ends_with("agentos-api/src/error_code.rs")
    });
    let all: String = files.iter().map(|file| source(file)).collect();
    let page = page();
    let codes = page.split("## Error codes").nth(1).unwrap();
    let rows = codes
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let gone: Vec<&str> = rows
        .filter(|code| !all.contains(&format!("\"{code}\"")))
        .collect();
    assert_eq!(gone, Vec::<&str>::new(), "take them out of `agentos-api`");
}

#[test]
fn a_word_that_is_nearly_right_is_suggested() {
    let repo = small_repo();
    repo.write("p.json", "{ \"provider\": \"openai\", \"modl\": \"x\" }");
    repo.write(
        "rules/r.toml",
        "version = 1\n[[rule]]\nid = \"a.b\"\nefect = \"deny\"\nwhy = \"no\"\n",
    );
    let cases: &[(&[&str], &str)] = &[
        (&["aply"], "apply"),
        (&["evidence", "verfy"], "verify"),
        (&["apply", "--dryrun"], "--dry-run"),
        (&["run", "-p", "olama", "task"], "`ollama`"),
        (&["tool", "health", "-p", "lmstudo"], "`lmstudio`"),
        (&["policy", "init", "--preset", "tem"], "team"),
        (&["schema", "outcom"], "`outcome`"),
        (&["man", "tool", "helth"], "`tool health`"),
        (&["profile", "validate", "p.json"], "`model`"),
        (&["policy", "test", "--rules", "rules"], "`effect`"),
    ];
    for (args, meant) in cases {
        let output = run_in(&repo, args);
        assert_ne!(output.code, Some(0), "{args:?}: {output}");
        assert!(output.stderr.contains(meant), "{args:?}: {output}");
    }
}
