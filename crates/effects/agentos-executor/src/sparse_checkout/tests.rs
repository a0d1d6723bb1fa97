//! Patterns decide as git decides.

use agentos_testkit::repo::TestRepo;

use super::SparsePatterns;

const PATHS: [&str; 14] = [
    "root.txt",
    "a/f.rs",
    "a/b/g.rs",
    "a/b/c/h.txt",
    "docs/a/f.rs",
    "docs/x1.md",
    "docs/x-.md",
    "docs/deep/er/x2.md",
    "lib/star*name",
    "lib/name with blank ",
    "!bang",
    "#hash",
    "ab/f.rs",
    "z/a/b/g.rs",
];

/// Patterns of both modes, with every construct of gitignore(5).
const FILES: [&str; 22] = [
    "/*\n!/*/\n",
    "/*\n!/*/\n/a/\n!/a/*/\n/a/b/\n",
    "/a/b/\n",
    "a\n",
    "a/\n",
    "/a\n!/a/b\n",
    "*.rs\n!f.rs\n",
    "docs/x[0-9].md\n",
    "docs/x[!0-9].md\n",
    "docs/x[[:digit:]].md\n",
    "docs/**\n",
    "**/b/g.rs\n",
    "a/**/h.txt\n",
    "a/**/f.rs\n",
    "d*s/*\n!x?.md\n",
    "lib/star\\*name\n",
    "lib/name with blank\\ \n",
    "\\!bang\n\\#hash\n# comment\n\n",
    "/**/g.rs\n",
    "a**b/g.rs\n",
    "[a-\n*.md\n",
    "*\n!docs\n",
];

#[test]
fn patterns_decide_as_git_does() {
    let repo = TestRepo::new();
    for path in PATHS {
        repo.write(path, "x\n");
    }
    repo.commit_all("files");
    repo.git(&["sparse-checkout", "init", "--no-cone"]);
    let place = repo.path().join(".git/info/sparse-checkout");
    for file in FILES {
        agentos_testkit::repo::write_file(&place, file);
        repo.git_ok(&["sparse-checkout", "reapply"]);
        let shown = repo.git(&["-c", "core.quotePath=false", "ls-files", "-t"]);
        let patterns = SparsePatterns::parse(file.as_bytes(), false);
        for path in PATHS {
            let by_git = shown
                .lines()
                .any(|line| line.trim_end() == format!("H {path}").trim_end());
            assert_eq!(patterns.include(path), by_git, "{file:?} {path}\n{shown}");
        }
    }
}

#[test]
fn case_is_ignored_where_the_file_system_ignores_it() {
    let patterns = |ignores_case| SparsePatterns::parse(b"/Docs/\n", ignores_case);
    assert!(patterns(true).include("docs/a"));
    assert!(!patterns(false).include("docs/a"));
}

#[test]
fn many_stars_take_no_time() {
    let pattern = format!("/{}b\n", "*a".repeat(200));
    assert!(!SparsePatterns::parse(pattern.as_bytes(), false).include(&"a".repeat(4000)));
}
