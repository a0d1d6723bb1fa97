//! The kind of a task, by which statistics are kept apart.
//!
//! Owns: the kinds, and inferring one from the words of a task and the files that it names. Never: asks a model, or reads a file: the
//! same words give the same kind on every machine, so the kind of an old task is found again from its record.
//!
//! The first rule that matches decides. Polite words at the beginning (`please`, `can you`) are left out before.
//!
//! | rule | kind |
//! |---|---|
//! | every named file is documentation (`*.md`, `*.rst`, `*.adoc`, `*.txt`, a file below `docs`) | `docs` |
//! | every named file is a test (below `tests`, `test`, `spec`, or named `test_*`, `*_test.*`, `*.test.*`, `*.spec.*`) | `test` |
//! | the first word is a question word, as in `why does this fail?` | `question` |
//! | a word of the row `fix`, else `test`, `docs`, `refactor`, `feature` of the table below | that kind |
//! | the task ends with a question mark | `question` |
//! | none of these | `other` |
//!
//! `fix` goes first because a failing test that is to be fixed is a bug, and `feature` last because its verbs (`add`, `write`) are
//! about the other kinds' nouns: `add a test` is a test.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// Something is wrong and is to be right.
    Fix,
    /// Something new.
    Feature,
    /// Tests are added or changed.
    Test,
    /// Documentation or comments.
    Docs,
    /// Code with the same behaviour in another form.
    Refactor,
    /// An answer in words, and no change.
    Question,
    /// Nothing is known about it.
    Other,
}

/// Words of each kind, in the order in which they are looked for.
const WORDS: [(TaskKind, &[&str]); 5] = [
    (
        TaskKind::Fix,
        &[
            "fix",
            "fixes",
            "fixed",
            "bug",
            "bugs",
            "bugfix",
            "broken",
            "crash",
            "crashes",
            "repair",
            "regression",
            "debug",
            "hotfix",
            "typo",
            "typos",
        ],
    ),
    (
        TaskKind::Test,
        &["test", "tests", "testing", "unittest", "coverage"],
    ),
    (
        TaskKind::Docs,
        &[
            "doc",
            "docs",
            "document",
            "documentation",
            "docstring",
            "docstrings",
            "readme",
            "changelog",
            "comment",
            "comments",
        ],
    ),
    (
        TaskKind::Refactor,
        &[
            "refactor",
            "refactoring",
            "rename",
            "simplify",
            "extract",
            "cleanup",
            "clean",
            "restructure",
            "reorganize",
            "deduplicate",
            "inline",
            "move",
            "split",
            "reformat",
        ],
    ),
    (
        TaskKind::Feature,
        &[
            "add",
            "implement",
            "support",
            "create",
            "introduce",
            "build",
            "make",
            "allow",
            "enable",
            "extend",
            "write",
            "feature",
            "new",
        ],
    ),
];
/// Chinese words of the same kinds. They are looked for inside of the text, which has no spaces.
const PARTS: [(TaskKind, &[&str]); 5] = [
    (TaskKind::Fix, &["修复", "修正", "错误"]),
    (TaskKind::Test, &["测试"]),
    (TaskKind::Docs, &["文档", "注释"]),
    (TaskKind::Refactor, &["重构", "重命名"]),
    (TaskKind::Feature, &["添加", "实现", "新增", "增加"]),
];
/// Words with which a question begins.
const QUESTION_WORDS: [&str; 17] = [
    "what",
    "why",
    "how",
    "where",
    "which",
    "who",
    "when",
    "is",
    "are",
    "does",
    "do",
    "did",
    "explain",
    "describe",
    "为什么",
    "什么",
    "怎么",
];
/// Words before the task itself.
const POLITE_WORDS: [&str; 9] = [
    "please", "pls", "can", "could", "would", "will", "you", "kindly", "just",
];
/// Ends of the names of documents.
const DOCUMENT_ENDS: [&str; 5] = [".md", ".rst", ".adoc", ".txt", ".mdx"];

impl TaskKind {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Feature => "feature",
            Self::Test => "test",
            Self::Docs => "docs",
            Self::Refactor => "refactor",
            Self::Question => "question",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Infers the kind of a task from its words and the files that it names.
#[must_use]
pub fn infer_kind<'a>(task: &str, files: impl IntoIterator<Item = &'a str>) -> TaskKind {
    // File systems of Windows and macOS ignore case, so `README.MD` is a document too.
    let files: Vec<String> = files.into_iter().map(str::to_lowercase).collect();
    if !files.is_empty() && files.iter().all(|file| is_document(file)) {
        return TaskKind::Docs;
    }
    if !files.is_empty() && files.iter().all(|file| is_test(file)) {
        return TaskKind::Test;
    }
    let text = task.trim().to_lowercase();
    let split = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = split
        .filter(|word| !word.is_empty())
        .skip_while(|word| POLITE_WORDS.contains(word))
        .collect();
    // A Chinese sentence is one word here, so its beginning counts.
    let first = words.first();
    if first.is_some_and(|first| QUESTION_WORDS.iter().any(|word| begins_question(first, word))) {
        return TaskKind::Question;
    }
    // Whole words: `prefix` is no fix, and `attestation` no test.
    let has_word = |known: &[&str]| words.iter().any(|word| known.contains(word));
    let has_part = |kind| {
        let parts = PARTS.iter().find(|(of, _)| *of == kind);
        parts.is_some_and(|(_, parts)| parts.iter().any(|part| text.contains(part)))
    };
    let found = WORDS
        .iter()
        .find(|(kind, known)| has_word(known) || has_part(*kind));
    match found {
        Some((kind, _)) => *kind,
        None if text.ends_with(['?', '？']) => TaskKind::Question,
        None => TaskKind::Other,
    }
}

fn begins_question(first: &str, word: &str) -> bool {
    match word.is_ascii() {
        true => first == word,
        false => first.starts_with(word),
    }
}

fn is_document(file: &str) -> bool {
    DOCUMENT_ENDS.iter().any(|end| file.ends_with(end)) || has_folder(file, &["docs", "doc"])
}

fn is_test(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    // Up to the first dot, because `list_test.tar.gz` belongs to a test as `list_test.go` does.
    let stem = name.split('.').next().unwrap_or(name);
    let marked = name.contains(".test.") || name.contains(".spec.");
    has_folder(file, &["tests", "test", "spec", "__tests__"])
        || marked
        || stem == "tests"
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
}

/// Returns whether a file is below one of these folders.
fn has_folder(file: &str, names: &[&str]) -> bool {
    let mut folders = file.split('/');
    // The last part is the file: a program named `test` is no folder of tests.
    folders.next_back();
    folders.any(|folder| names.contains(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_follows_from_words_and_files() {
        let cases: [(&str, &[&str], TaskKind); 26] = [
            ("fix add()", &[], TaskKind::Fix),
            ("Fix the failing test of the parser", &[], TaskKind::Fix),
            ("the parser crashes on an empty file", &[], TaskKind::Fix),
            ("add a --json flag to `list`", &["src/args.rs"], TaskKind::Feature),
            ("Implement paging", &[], TaskKind::Feature),
            ("add a test for parse()", &["src/parse.rs"], TaskKind::Test),
            ("increase coverage", &[], TaskKind::Test),
            (
                "cover the empty file",
                &["crates/a/tests/it/parse.rs"],
                TaskKind::Test,
            ),
            ("cover the empty file", &["web/list.spec.ts"], TaskKind::Test),
            (
                "cover the empty file",
                &["test_list.py", "src/list.py"],
                TaskKind::Other,
            ),
            ("write the documentation of `parse`", &[], TaskKind::Docs),
            ("describe the flag", &["README.md"], TaskKind::Docs),
            ("shorten it", &["docs/guide.html"], TaskKind::Docs),
            ("rename parse to read", &["src/parse.rs"], TaskKind::Refactor),
            ("split the module in two", &[], TaskKind::Refactor),
            ("why does this fail?", &[], TaskKind::Question),
            ("Explain the parser", &["src/parse.rs"], TaskKind::Question),
            ("Is the cache shared", &[], TaskKind::Question),
            ("Could you please fix this?", &[], TaskKind::Fix),
            ("the cache, is it shared?", &[], TaskKind::Question),
            ("use less memory", &[], TaskKind::Other),
            ("", &[], TaskKind::Other),
            ("修复解析器", &[], TaskKind::Fix),
            ("为解析器添加测试", &[], TaskKind::Test),
            ("为什么测试失败", &[], TaskKind::Question),
            // Parts of words are none.
            ("prefix the attestation", &[], TaskKind::Other),
        ];
        for (task, files, expected) in cases {
            assert_eq!(
                infer_kind(task, files.iter().copied()),
                expected,
                "{task} {files:?}"
            );
        }
    }

    #[test]
    fn every_kind_reads_as_it_is_written() {
        let kinds = WORDS.iter().map(|(kind, _)| *kind);
        for kind in kinds.chain([TaskKind::Question, TaskKind::Other]) {
            let written = serde_json::to_value(kind).unwrap();
            assert_eq!(written, kind.as_str());
            assert_eq!(serde_json::from_value::<TaskKind>(written).unwrap(), kind);
        }
    }
}
