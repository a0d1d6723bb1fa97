//! Which files a name means, and the error if it means none.

use agentos_tool::ExecutionMode;

use super::*;
use crate::test_ports::{NoonClock, TestRepository};
use crate::test_runs::DescribedTool;

const FILES: &[(&str, &str)] = &[
    (
        "src/shop.rs",
        "struct Shop;\n\nimpl Shop {\n    fn open() {\n        go();\n    }\n}\n",
    ),
    ("src/deep/door.rs", "fn open() {\n    go();\n}\n"),
    ("src/odd*.rs", "fn odd() {}\n"),
    ("lines:3-4", "one\n"),
    ("README.md", "# shop\n"),
    ("data/a.csv", "open,1\n"),
    (".agentosignore", "data/\n"),
    (".env", "TOKEN=1\n"),
];

/// Finds paths and definitions, the latter written as `@name`.
fn find(names: &[&str]) -> Result<NamedFiles, EffectError> {
    let mut request = NamedRequest::default();
    for name in names {
        match name.strip_prefix('@') {
            Some(symbol) => request.symbols.push(symbol.to_owned()),
            None => request.paths.push(NamedPath {
                typed: (*name).to_owned(),
                path: (*name).to_owned(),
            }),
        }
    }
    let tool = DescribedTool(ExecutionMode::Cloud);
    let clock = NoonClock { is_late: true };
    find_named(&TestRepository::with_files(FILES), &clock, &tool, None, &request)
}

#[test]
fn paths_lines_folders_patterns_and_definitions_are_found() {
    let cases: [(&[&str], &[&str]); 10] = [
        (&["README.md"], &["README.md"]),
        (&["src/shop.rs:3-4", "src/shop.rs:1"], &["src/shop.rs 1-1 3-4"]),
        (&["src/shop.rs:3-4", "src/shop.rs"], &["src/shop.rs"]),
        (&["src/shop.rs:6-900"], &["src/shop.rs 6-900"]),
        // What the base has as it is typed is neither a pattern nor has it lines.
        (&["src/odd*.rs", "lines:3-4"], &["src/odd*.rs", "lines:3-4"]),
        (&["src"], &["~src/deep/door.rs", "~src/odd*.rs", "~src/shop.rs"]),
        (&["src/*op.rs", "src/shop.rs"], &["src/shop.rs"]),
        (&["**/*.csv", ""], &[]),
        (&["@open"], &["src/deep/door.rs 1-3", "src/shop.rs 4-6"]),
        (&["@Shop::open"], &["src/shop.rs 4-6"]),
    ];
    for (names, expected) in cases {
        let Ok(found) = find(names) else {
            assert_eq!(
                names,
                ["**/*.csv", ""],
                "files of `.agentosignore` match no pattern"
            );
            continue;
        };
        let files = found.files.iter().map(|file| {
            let lines: Vec<String> = file
                .lines
                .iter()
                .map(|(first, last)| format!(" {first}-{last}"))
                .collect();
            format!("{}{}", file.path, lines.concat())
        });
        let matched = found.matched_paths();
        let matched = matched.iter().map(|path| format!("~{path}"));
        let all: Vec<String> = files.chain(matched).collect();
        assert_eq!(all, expected, "{names:?}");
    }
}

#[test]
fn a_name_that_means_nothing_is_an_error_with_similar_names() {
    let cases = [
        ("door.rs", "no-such-file", "did you mean `src/deep/door.rs`?"),
        ("READNE.md", "no-such-file", "did you mean `README.md`?"),
        ("src/**/*.py", "no-such-file", "`*` and `?` match inside a name"),
        ("src/shop.rs:0-3", "no-such-lines", "counted from 1"),
        ("src/shop.rs:9-3", "no-such-lines", "counted from 1"),
        ("src/shop.rs:70-80", "no-such-lines", "the last commit has"),
        ("@opem", "no-such-symbol", "did you mean `open`?"),
        ("@go", "no-such-symbol", "as its definition spells it"),
        ("@a b", "no-such-symbol", "one function"),
    ];
    for (name, code, hint) in cases {
        let error = find(&[name]).unwrap_err();
        assert_eq!(error.code, code, "{name}");
        let words = error.hint.unwrap_or_default();
        assert!(words.contains(hint), "{name}: {words}");
    }
}

#[test]
fn the_length_of_a_withheld_file_is_not_found_out() {
    let found = find(&[".env:70-80"]).unwrap();
    assert_eq!(found.files.len(), 1, "{found:?}");
}

#[test]
fn of_a_name_with_very_many_definitions_the_first_are_taken() {
    let text = "fn new() {\n    go();\n}\n\n".repeat(30);
    let repo = TestRepository::with_files(&[("src/a.rs", &text)]);
    let request = NamedRequest {
        symbols: vec!["new".to_owned()],
        ..NamedRequest::default()
    };
    let tool = DescribedTool(ExecutionMode::Local);
    let found = find_named(&repo, &NoonClock { is_late: true }, &tool, None, &request).unwrap();
    assert_eq!(found.files[0].lines.len(), MOST_DEFINITIONS);
    assert_eq!(found.omitted[0].found, 30);
}
