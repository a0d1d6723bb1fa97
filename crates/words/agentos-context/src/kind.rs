//! Kinds of files that a task is rarely about.
//!
//! Owns: the names by which tests, prose, settings and generated files are recognised. Never: looks at a file's content.

use std::borrow::Cow;

/// Factor for generated files and for data.
const GENERATED_FACTOR: f64 = 0.15;
/// Factors for tests: a task is usually about the code they test. The second is for a task that mentions tests: most of these
/// ask for code and a test of it.
const TEST_FACTORS: (f64, f64) = (0.3, 0.7);
/// Factors for everything other than code: prose, settings, lists of authors. It has the words of a task, but most tasks change
/// code. The second is for a task that mentions documents.
const PROSE_FACTORS: (f64, f64) = (0.3, 0.5);

/// Stems of the words of tasks about documents.
pub(crate) const PROSE_WORDS: [&str; 6] = ["doc", "document", "documentation", "readm", "guid", "manual"];

/// Kinds of a file, or of a folder and everything in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PathKinds {
    /// Everything other than code: prose, settings, lists.
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

/// Endings of programming languages, and of the languages in which interfaces and queries are written; sorted.
const CODE_ENDINGS: [&str; 70] = [
    "asm", "bash", "bat", "c", "cc", "cjs", "clj", "cpp", "cs", "cts", "cu", "cxx", "dart", "erl", "ex",
    "exs", "f90", "fish", "fs", "go", "graphql", "groovy", "h", "hh", "hpp", "hs", "hxx", "inc", "inl",
    "java", "jl", "js", "jsx", "kt", "kts", "l", "lua", "m", "mjs", "ml", "mli", "mm", "mts", "nim", "php",
    "pl", "pm", "proto", "ps1", "py", "pyi", "pyx", "r", "rb", "rs", "s", "scala", "sh", "sol", "sql",
    "svelte", "swift", "tf", "ts", "tsx", "vb", "vue", "y", "zig", "zsh",
];

fn is_prose_name(small: &str) -> bool {
    // Code is known by its ending, and everything else counts as prose: files without an ending are mostly lists and settings.
    let ending = small.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_none_or(|ending| CODE_ENDINGS.binary_search(&ending).is_err())
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

/// Factors for kinds of files.
pub(crate) struct KindFactors {
    test: f64,
    prose: f64,
}

impl KindFactors {
    /// Returns the factors for a task that mentions tests, or documents.
    pub(crate) fn of_task(has_tests: bool, has_prose: bool) -> Self {
        let choose = |(usual, asked): (f64, f64), is_asked: bool| if is_asked { asked } else { usual };
        Self {
            test: choose(TEST_FACTORS, has_tests),
            prose: choose(PROSE_FACTORS, has_prose),
        }
    }

    /// Returns the factor for the score of a file.
    pub(crate) fn factor_of(&self, kinds: PathKinds) -> f64 {
        if kinds.is_generated {
            GENERATED_FACTOR
        } else if kinds.is_test {
            self.test
        } else if kinds.is_prose {
            self.prose
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endings_of_code_are_sorted() {
        assert!(CODE_ENDINGS.is_sorted());
    }

    #[test]
    fn kinds_follow_from_folders_and_names() {
        let cases = [
            ("src/a.rs", (false, false, false)),
            ("docs/a.rs", (true, false, false)),
            ("Docs/Guide.MD", (true, false, false)),
            ("src/docs/a.rs", (false, false, false)),
            ("README", (true, false, false)),
            ("docs", (true, false, false)),
            ("src/tests/a.rs", (false, true, false)),
            ("src/test_a.py", (false, true, false)),
            ("src/a.test.js", (false, true, false)),
            ("src/AppTest.java", (false, true, false)),
            ("vendor/a/b.go", (false, false, true)),
            ("src/a.spec.d.ts", (false, true, false)),
            ("src/spec.js.map", (true, true, true)),
            ("src/lib.min.js", (false, false, true)),
            ("src/api.pb.go", (false, false, true)),
            ("src/pb.go", (false, false, false)),
            ("Cargo.lock", (true, false, true)),
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
