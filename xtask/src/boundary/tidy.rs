//! The files: each has a header, is short enough, finished, and in its place.
//!
//! Owns: the shape of the source tree. Never: judges style, which rustfmt and clippy do.

use std::collections::BTreeSet;

use super::layers::is_dev;
use super::{DEV, Tree};
use crate::rules::RULES;
use crate::source;

/// Checks the name and the content of every file.
pub fn check_files(tree: &Tree) -> Vec<String> {
    let mut problems = tree.unreadable.clone();
    problems.extend(tree.files.iter().filter_map(|file| check_name(file)));
    problems.extend(tree.sources().flat_map(|(file, text)| check_content(file, text)));
    let scanned = tree.sources().count();
    // A wrong list of files, for example of an empty folder, would let every check pass without reading
    // anything.
    if scanned < RULES.min_rust_files {
        problems.push(format!(
            "only {scanned} source files were found, at least {} are expected",
            RULES.min_rust_files
        ));
    }
    problems
}

/// Reports a file whose name is not allowed, `None` otherwise.
fn check_name(file: &str) -> Option<String> {
    let last = file.rsplit('/').next().unwrap_or(file);
    if last == "mod.rs" {
        return Some(format!("`{file}`: use `x.rs` next to the folder `x`"));
    }
    last.ends_with(".snap.new")
        .then(|| format!("`{file}` is a snapshot that nobody accepted"))
}

/// Checks the content of one source file.
fn check_content(file: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if !text.lines().next().is_some_and(|line| line.starts_with("//! ")) {
        problems.push(format!("`{file}` does not begin with a `//!` header"));
    }
    let lines = text.lines().count();
    let most = if is_test(file) {
        RULES.max_test_lines
    } else {
        RULES.max_lines
    };
    if lines > most {
        problems.push(format!("`{file}` has {lines} lines, at most {most} are allowed"));
    }
    let source = source::split_source(text);
    problems.extend(dev_arrow(file, &source.code));
    for (number, line) in source.comments.lines().enumerate() {
        let words = line.split(|c: char| !c.is_alphanumeric());
        for word in words.filter(|word| RULES.unfinished.contains(word)) {
            problems.push(format!("`{file}` line {}: `{word}`", number + 1));
        }
    }
    for (number, line) in source.code.lines().enumerate() {
        for left_over in ["dbg!(", "todo!(", "unimplemented!("]
            .iter()
            .filter(|word| line.contains(**word))
        {
            problems.push(format!("`{file}` line {}: `{left_over}`", number + 1));
        }
    }
    for (line, attribute) in source::list_attributes(&source.code) {
        // Long tests read a variable of the environment instead, so that the ordinary run makes at least a
        // sample of them.
        if attribute.starts_with("#[ignore") {
            problems.push(format!("`{file}` line {line}: a test is switched off"));
        }
    }
    problems
}

/// Reports a product file that names a crate for builds and tests, `None` otherwise. Tests that need such a crate are in
/// files of their own, so that the imports of product files show the layers.
fn dev_arrow(file: &str, code: &str) -> Option<String> {
    if !file.starts_with("crates/") || file.starts_with(DEV) || is_test(file) {
        return None;
    }
    let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    let name = words.find(|word| is_dev(&word.replace('_', "-")))?;
    Some(format!(
        "`{file}` names `{name}`, which only files of tests may name: move the code that needs it into `tests.rs` or `tests/`"
    ))
}

/// Returns true for a file that contains only tests.
fn is_test(file: &str) -> bool {
    file.contains("/tests/") || file.ends_with("/tests.rs")
}

/// Compares the names at the top of the repository with the table; names that begin with a dot do not count.
pub fn check_top_level(tree: &Tree) -> Vec<String> {
    let found: BTreeSet<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.split('/').next())
        .collect();
    let known: BTreeSet<&str> = RULES.top_level.iter().copied().collect();
    let unknown = found.difference(&known).filter(|name| !name.starts_with('.'));
    let missing = known.difference(&found);
    unknown
        .map(|name| format!("`{name}` does not belong at the top of the repository"))
        .chain(missing.map(|name| format!("`{name}` is missing at the top of the repository")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::doctored::{self, says};
    use super::*;

    #[test]
    fn each_untidiness_is_found() {
        let long = format!("//! header\n{}", "\n".repeat(RULES.max_lines));
        let cases = [
            ("crates/a/src/mod.rs", "//! header", "use `x.rs`"),
            ("crates/a/src/x.snap.new", "", "nobody accepted"),
            ("crates/a/src/x.rs", "// header", "does not begin with"),
            ("crates/a/src/x.rs", "//!", "does not begin with"),
            ("crates/a/src/x.rs", &long, "at most 500"),
            ("crates/a/src/x.rs", "//! h\n// TODO: later", "line 2: `TODO`"),
            ("crates/a/src/x.rs", "//! h\n/* FIXME */", "line 2: `FIXME`"),
            (
                "crates/a/src/x.rs",
                "//! h\nfn f() { dbg!(1); }",
                "line 2: `dbg!(`",
            ),
            (
                "crates/a/src/x.rs",
                "//! h\n#[cfg(test)]\nmod tests { use agentos_testkit::x; }",
                "names `agentos_testkit`, which only files of tests may",
            ),
            (
                "crates/a/src/x.rs",
                "//! h\n#[test]\n#[ignore = \"slow\"]",
                "line 3: a test is switched off",
            ),
        ];
        for (file, text, expected) in cases {
            let problems = check_files(&doctored::files(&[(file, text)]));
            assert!(says(&problems, expected), "{expected}: {problems:?}");
        }
    }

    #[test]
    fn a_test_file_may_be_longer() {
        let text = format!("//! header\n{}", "\n".repeat(RULES.max_lines));
        assert_eq!(
            check_content("crates/a/src/x/tests.rs", &text),
            Vec::<String>::new()
        );
        assert_eq!(
            check_content("crates/a/tests/it/main.rs", &text),
            Vec::<String>::new()
        );
    }

    #[test]
    fn tests_and_what_is_made_for_them_may_name_a_dev_crate() {
        let text = "//! header\nuse agentos_testkit::x;";
        for file in [
            "crates/a/src/x/tests.rs",
            "crates/a/tests/it.rs",
            "crates/dev/b/src/x.rs",
            "xtask/src/x.rs",
        ] {
            assert_eq!(check_content(file, text), Vec::<String>::new(), "{file}");
        }
        let said = "//! agentos_testkit has it\nconst A: &str = \"agentos_testkit\";";
        assert_eq!(check_content("crates/a/src/x.rs", said), Vec::<String>::new());
    }

    #[test]
    fn an_empty_list_or_an_unreadable_file_fails() {
        let mut tree = doctored::files(&[]);
        assert!(says(&check_files(&tree), "only 0 source files"));
        tree.unreadable.push("`a.rs` cannot be read: gone".to_owned());
        assert!(says(&check_files(&tree), "cannot be read"));
    }

    #[test]
    fn the_top_level_is_exact() {
        let complete: Vec<(String, &str)> = RULES
            .top_level
            .iter()
            .map(|name| (format!("{name}/x"), ""))
            .collect();
        let mut entries: Vec<(&str, &str)> = complete
            .iter()
            .map(|(name, text)| (name.as_str(), *text))
            .collect();
        entries.push((".gitignore", ""));
        assert_eq!(check_top_level(&doctored::files(&entries)), Vec::<String>::new());
        entries.push(("docs/x.md", ""));
        entries.remove(0);
        let problems = check_top_level(&doctored::files(&entries));
        assert_eq!(
            problems,
            [
                "`docs` does not belong at the top of the repository",
                "`Cargo.lock` is missing at the top of the repository"
            ]
        );
    }
}
