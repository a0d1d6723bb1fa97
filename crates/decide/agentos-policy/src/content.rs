//! Facts that follow from a file's bytes: whether it is generated, runs agentos, is the `HEAD` of a git directory,
//! and whether a test file tests less than before.
//!
//! Owns: what is looked for. Never: judges it; rules do.

use agentos_landing::{Change, ChangeKind, FileChange};

use crate::touch::{Touch, TouchSet};

/// Number of bytes at the beginning of a file in which a generated file is expected to say so.
const HEADER_BYTES: usize = 4 << 10;

/// Adds the parts that follow from the content to those that follow from the name.
pub(crate) fn touches_with_content(file: &FileChange, by_name: TouchSet) -> TouchSet {
    let mut touches = by_name;
    let states = || [&file.old, &file.new].into_iter().flatten();
    // The old content counts too: a change must not escape the rules for generated files by removing the mark.
    if states().any(|state| says_generated(&state.content)) {
        touches.insert(Touch::Generated);
    }
    // Whoever can change how CI calls agentos can switch its checks off, so such a file is part of the policy.
    if touches.contains(Touch::Ci) && states().any(|state| contains_ignoring_case(&state.content, b"agentos"))
    {
        touches.insert(Touch::Policy);
    }
    if is_git_head(file) {
        touches.insert(Touch::Hooks);
    }
    touches
}

/// Returns true if git would take the file for the `HEAD` of a git directory (git's `setup.c`, `validate_headref`).
/// Every git directory has one. The other files of a git directory may be on another branch, where the resulting tree
/// does not show them.
fn is_git_head(file: &FileChange) -> bool {
    let path = file.path.as_str();
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    agentos_landing::fold_name(name) == "head"
        && file.new.as_ref().is_some_and(|new| names_a_ref(&new.content))
}

/// Returns true for `ref: refs/…` and for the id of an object.
fn names_a_ref(content: &[u8]) -> bool {
    if let Some(rest) = content.strip_prefix(b"ref:") {
        return rest.trim_ascii_start().starts_with(b"refs/");
    }
    let digits = content.iter().take_while(|byte| byte.is_ascii_hexdigit());
    digits.count() >= 40
}

fn says_generated(content: &[u8]) -> bool {
    let head = content.get(..HEADER_BYTES.min(content.len())).unwrap_or_default();
    contains_ignoring_case(head, b"generated")
        && (contains_ignoring_case(head, b"@generated") || contains_ignoring_case(head, b"do not edit"))
}

/// Returns true if the content contains `wanted`, ignoring case. `wanted` must be in lower case.
fn contains_ignoring_case(content: &[u8], wanted: &[u8]) -> bool {
    let Some((first, rest)) = wanted.split_first() else {
        return true;
    };
    let mut left = content;
    while let Some(at) = left.iter().position(|byte| byte.to_ascii_lowercase() == *first) {
        left = left.get(at + 1..).unwrap_or_default();
        let found = left.get(..rest.len());
        if found.is_some_and(|found| found.eq_ignore_ascii_case(rest)) {
            return true;
        }
    }
    false
}

/// Numbers of lines in a test file that look like a test, an assertion or a skipped test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TestCounts {
    tests: usize,
    assertions: usize,
    skipped: usize,
}

// Marks of common test frameworks, in lower case. A rough count is enough: only the difference between before and
// after is used, and both are counted in the same way.
const TESTS: [&str; 10] = [
    "#[test]",
    "::test]",
    "def test_",
    "func test",
    "it(",
    "test(",
    "@test",
    "[fact]",
    "[test]",
    "scenario",
];
const ASSERTIONS: [&str; 9] = [
    "assert",
    "expect(",
    "expect ",
    ".should",
    "require.",
    "t.error",
    "t.fatal",
    "verify(",
    "proptest!",
];
const SKIPS: [&str; 12] = [
    "#[ignore",
    "should_panic",
    ".skip",
    "@skip",
    "skip(",
    "skipif",
    "xfail",
    "xit(",
    "xdescribe(",
    "@disabled",
    "@ignore",
    ".only(",
];

fn count_tests(content: &[u8]) -> TestCounts {
    // A test file in another encoding is still counted; only its ASCII marks matter.
    let text = String::from_utf8_lossy(content).to_ascii_lowercase();
    let mut counted = TestCounts::default();
    for line in text.lines().map(str::trim_start) {
        // A test that is commented out tests nothing. `#[` begins an attribute of Rust, not a comment.
        if line.starts_with("//") || (line.starts_with('#') && !line.starts_with("#[")) {
            continue;
        }
        let holds = |words: &[&str]| words.iter().any(|word| line.contains(word));
        counted.skipped += usize::from(holds(&SKIPS));
        counted.assertions += usize::from(holds(&ASSERTIONS));
        counted.tests += usize::from(holds(&TESTS));
    }
    counted
}

/// Effect of a change on its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestComparison {
    /// No test file, or no difference in what is counted.
    Same,
    /// Fewer tests or assertions, or more skipped.
    Weaker,
    /// More of something and less of nothing.
    Stronger,
}

/// Compares a test file before and after a change. A renamed file is compared with its old content.
pub(crate) fn compare_tests(change: &Change, file: &FileChange) -> TestComparison {
    let moved_away = || {
        change
            .files()
            .iter()
            .any(|other| other.renamed_from.as_ref() == Some(&file.path))
    };
    // A rename is a deletion and a creation. The creation is compared with the old content, so counting the deletion
    // too would report every renamed test file as weaker tests.
    if file.kind() == ChangeKind::Delete && moved_away() {
        return TestComparison::Same;
    }
    let source = file
        .renamed_from
        .as_ref()
        .and_then(|from| change.files().iter().find(|other| other.path == *from))
        .unwrap_or(file);
    let of = |state: &Option<agentos_landing::FileState>| {
        state
            .as_ref()
            .map(|state| count_tests(&state.content))
            .unwrap_or_default()
    };
    let (old, new) = (of(&source.old), of(&file.new));
    // One loss is enough: a change that adds ten assertions and removes another test still takes something away.
    if new.tests < old.tests || new.assertions < old.assertions || new.skipped > old.skipped {
        TestComparison::Weaker
    } else if new == old {
        TestComparison::Same
    } else {
        TestComparison::Stronger
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_generated_file_says_so_at_its_beginning() {
        let cases = [
            (
                "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n",
                true,
            ),
            ("# @generated by tool\n", true),
            ("// the generated code goes to out/\n", false),
            ("fn main() {}\n", false),
        ];
        for (text, expected) in cases {
            assert_eq!(says_generated(text.as_bytes()), expected, "{text}");
        }
        assert!(!says_generated(
            format!("{}@generated", " ".repeat(HEADER_BYTES)).as_bytes()
        ));
    }

    #[test]
    fn a_head_of_gits_names_a_ref_or_an_object() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        for (text, expected) in [
            ("ref: refs/heads/main\n", true),
            ("ref:refs/x", true),
            (id, true),
            ("ref: heads/main\n", false),
            ("#!/bin/sh\nexec sed 10q\n", false),
            ("0123456789abcdef\n", false),
        ] {
            assert_eq!(names_a_ref(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn tests_are_counted_by_their_lines() {
        let rust = "#[test]\nfn a() {\n    assert_eq!(1, 1);\n}\n#[test]\n#[ignore]\nfn b() {\n    // assert!(x);\n}\n";
        let counted = TestCounts {
            tests: 2,
            assertions: 1,
            skipped: 1,
        };
        assert_eq!(count_tests(rust.as_bytes()), counted);
        let js = "describe('a', () => {\n  it('b', () => { expect(1).toBe(1) })\n  xit('c', () => {})\n})\n";
        assert_eq!(
            count_tests(js.as_bytes()),
            TestCounts {
                tests: 2,
                assertions: 1,
                skipped: 1
            }
        );
    }
}
