//! Kinds of files that a task is rarely about.
//!
//! Owns: the names by which tests, prose, settings and generated files are recognised. Never: looks at a file's content.

use std::borrow::Cow;

/// Factor for generated files and for data.
const GENERATED_FACTOR: f64 = 0.15;
/// Factor for tests: a task is usually about the code they test.
pub(crate) const TEST_FACTOR: f64 = 0.4;
/// Factor for prose and settings: they have the words of a task, but most tasks change code.
pub(crate) const PROSE_FACTOR: f64 = 0.4;

/// Stems of the words of tasks about documents.
pub(crate) const PROSE_WORDS: [&str; 6] = ["doc", "document", "documentation", "readm", "guid", "manual"];

/// Kinds of a file, or of a folder and everything in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PathKinds {
    /// Prose and settings.
    pub is_prose: bool,
    /// Tests.
    pub is_test: bool,
    /// Files that programs generate, or that hold no text to work on.
    pub is_generated: bool,
}

impl PathKinds {
    /// Returns the kinds of the files in a folder, whatever their names. A file at the root is in the folder `""`.
    pub(crate) fn of_folder(folder: &str) -> Self {
        let small = lower_letters(folder);
        let mut kinds = Self::default();
        for (at, part) in small.split('/').enumerate() {
            kinds.is_prose |= at == 0 && part == "docs";
            kinds.is_test |= is_test_part(part);
            kinds.is_generated |= is_generated_part(part);
        }
        kinds
    }

    /// Adds the kinds that a file has by its name.
    pub(crate) fn with_name(self, name: &str) -> Self {
        let small = lower_letters(name);
        Self {
            is_prose: self.is_prose || is_prose_name(&small),
            is_test: self.is_test || is_test_part(&small),
            is_generated: self.is_generated || is_generated_part(&small) || is_generated_name(&small),
        }
    }
}

/// Returns a name in small letters. Most names have no others, and need no copy: every path of the base is looked at.
fn lower_letters(name: &str) -> Cow<'_, str> {
    match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    }
}

fn is_prose_name(small: &str) -> bool {
    let ending = small.rsplit('.').next().unwrap_or_default();
    matches!(
        ending,
        "md" | "rst" | "txt" | "adoc" | "html" | "css" | "json" | "yml" | "yaml" | "toml" | "cfg" | "ini"
    )
}

fn is_test_part(part: &str) -> bool {
    // All names of tests have one of these words, and few others do.
    let words = part.as_bytes().windows(4);
    if !words.into_iter().any(|four| four == b"test" || four == b"spec") {
        return false;
    }
    let stem = part.split_once('.').map_or(part, |(stem, _)| stem);
    matches!(
        stem,
        "test" | "tests" | "testing" | "spec" | "specs" | "__tests__"
    ) || stem.starts_with("test_")
        || stem.ends_with("_test")
        || is_marked_test(part)
        || part.ends_with("test.java")
}

/// Returns true for a name with the word in its middle, such as `shop.test.js`.
fn is_marked_test(name: &str) -> bool {
    let middle = name.split_once('.').and_then(|(_, rest)| rest.rsplit_once('.'));
    middle.is_some_and(|(middle, _)| middle.split('.').any(|word| matches!(word, "test" | "spec")))
}

fn is_generated_part(part: &str) -> bool {
    matches!(
        part,
        "node_modules" | "vendor" | "third_party" | "dist" | "target" | "snapshots" | "fixtures" | "testdata"
    )
}

fn is_generated_name(name: &str) -> bool {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    // Every path of the base is looked at, so the ending is found once and not compared with each name.
    let by_ending = match ending {
        "lock" | "map" | "snap" | "svg" | "csv" | "jsonl" | "patch" | "diff" | "ipynb" => true,
        "js" | "css" => stem.ends_with(".min"),
        "go" => stem.ends_with(".pb"),
        _ => false,
    };
    // A changelog has the words of every task of the past.
    let names = [
        "package-lock.json",
        "pnpm-lock.yaml",
        "go.sum",
        "changelog.md",
        "changelog",
        "changes.rst",
        "changes.md",
        "history.md",
        "news.md",
    ];
    by_ending || names.contains(&name)
}

/// Factors for kinds of files. `None` if the task is about this kind.
pub(crate) struct KindFactors {
    pub test: Option<f64>,
    pub prose: Option<f64>,
}

impl KindFactors {
    /// Returns the factor for the score of a file.
    pub(crate) fn factor_of(&self, kinds: PathKinds) -> f64 {
        if kinds.is_generated {
            return GENERATED_FACTOR;
        }
        let test = self.test.filter(|_| kinds.is_test);
        let prose = self.prose.filter(|_| kinds.is_prose);
        test.or(prose).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_folders_and_names() {
        let cases = [
            ("src/a.rs", (false, false, false)),
            ("docs/a.rs", (true, false, false)),
            ("Docs/Guide.MD", (true, false, false)),
            ("src/docs/a.rs", (false, false, false)),
            ("README", (false, false, false)),
            ("docs", (false, false, false)),
            ("src/tests/a.rs", (false, true, false)),
            ("src/test_a.py", (false, true, false)),
            ("src/a.test.js", (false, true, false)),
            ("src/AppTest.java", (false, true, false)),
            ("vendor/a/b.go", (false, false, true)),
            ("src/a.spec.d.ts", (false, true, false)),
            ("src/spec.js.map", (false, true, true)),
            ("src/lib.min.js", (false, false, true)),
            ("src/api.pb.go", (false, false, true)),
            ("src/pb.go", (false, false, false)),
            ("Cargo.lock", (false, false, true)),
            ("CHANGELOG.md", (true, false, true)),
        ];
        for (path, expected) in cases {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let kinds = PathKinds::of_folder(folder).with_name(name);
            assert_eq!(
                (kinds.is_prose, kinds.is_test, kinds.is_generated),
                expected,
                "{path}"
            );
        }
    }
}
