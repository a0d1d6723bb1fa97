//! Kinds of files that a task is rarely about.
//!
//! Owns: the names by which tests, prose, settings and generated files are recognised. Never: looks at a file's content.

/// Stems of the words of tasks about documents.
pub(crate) const PROSE_WORDS: [&str; 6] = ["doc", "document", "documentation", "readm", "guid", "manual"];

/// Returns true for prose and settings.
pub(crate) fn is_prose(path: &str) -> bool {
    let small = path.to_ascii_lowercase();
    let ending = small.rsplit('.').next().unwrap_or_default();
    let endings = [
        "md", "rst", "txt", "adoc", "html", "css", "json", "yml", "yaml", "toml", "cfg", "ini",
    ];
    endings.contains(&ending) || small.starts_with("docs/")
}

/// Returns true for tests.
pub(crate) fn is_test(path: &str) -> bool {
    let small = path.to_ascii_lowercase();
    let mut parts = small.split('/');
    parts.any(|part| {
        let stem = part.split_once('.').map_or(part, |(stem, _)| stem);
        matches!(
            stem,
            "test" | "tests" | "testing" | "spec" | "specs" | "__tests__"
        ) || stem.starts_with("test_")
            || stem.ends_with("_test")
            || part.contains(".test.")
            || part.contains(".spec.")
            || part.ends_with("test.java")
    })
}

/// Returns true for files that programs generate, or that hold no text to work on.
pub(crate) fn is_generated(path: &str) -> bool {
    let small = path.to_ascii_lowercase();
    let name = small.rsplit('/').next().unwrap_or(&small);
    let parts = [
        "node_modules",
        "vendor",
        "third_party",
        "dist",
        "target",
        "snapshots",
        "fixtures",
        "testdata",
    ];
    let endings = [
        ".lock", ".min.js", ".min.css", ".map", ".snap", ".svg", ".csv", ".jsonl", ".patch", ".diff",
        ".pb.go", ".ipynb",
    ];
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
    small.split('/').any(|part| parts.contains(&part))
        || endings.iter().any(|ending| name.ends_with(ending))
        || names.contains(&name)
}
