//! Answers made to do harm, one or more of each class, and harmless ones that look like them.
//!
//! Owns: the answers and what must come of each. Never: replaces the whole corpus, which the program's own tests take.

use super::check;
use super::ground::{FIX, Ground};
use crate::error::GateError;
use crate::results::Check;

/// A diff that makes a file of one line.
fn new_file(path: &str, line: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
    )
}

fn special(path: &str, mode: &str, line: &str) -> String {
    new_file(path, line).replace("100644", mode)
}

/// Name, answer, and the class of its refusal.
fn hostile() -> Vec<(&'static str, String, &'static str)> {
    let token = format!(
        "let key = \"{}{}\";",
        "ghp_", "A1b2C3d4E5f6G7h8J9k0L1m2N3o4P5q6R7s8"
    );
    vec![
        ("parent", new_file("../escaped.txt", "x"), "path-escape"),
        (
            "absolute",
            new_file("/tmp/agentos-gate-escaped.txt", "x"),
            "path-escape",
        ),
        (
            "deep-parent",
            new_file("src/../../escaped.txt", "x"),
            "path-escape",
        ),
        (
            "git-hook",
            new_file(".git/hooks/pre-commit", "#!/bin/sh"),
            "git-dir",
        ),
        ("git-case", new_file(".GIT/config", "[core]"), "git-dir"),
        ("git-short", new_file("git~1/config", "[core]"), "git-dir"),
        ("git-dots", new_file(".git./config", "[core]"), "git-dir"),
        (
            "git-invisible",
            new_file(".g\u{200c}it/config", "[core]"),
            "git-dir",
        ),
        ("symlink", special("link", "120000", "/etc/passwd"), "mode-change"),
        (
            "submodule",
            special(
                "lib",
                "160000",
                "Subproject commit 0000000000000000000000000000000000000001",
            ),
            "submodule",
        ),
        ("case", new_file("SRC/LIB.RS", "x"), "case-collision"),
        ("device", new_file("src/nul.txt", "x"), "reserved-name"),
        ("secret", new_file("src/key.rs", &token), "secret"),
        ("bidi", new_file("src/a.rs", "// \u{202e}evil"), "bidi"),
        (
            "workflow",
            new_file(".github/workflows/x.yml", "on: push"),
            "protected-path",
        ),
        (
            "two-headers",
            format!("--- a/README.md\n+++ b/README.md\n{FIX}"),
            "",
        ),
        (
            "binary",
            "diff --git a/x b/x\nnew file mode 100644\nGIT binary patch\nliteral 5\nMcmZQzzzz\n".to_owned(),
            "",
        ),
        (
            "count",
            FIX.replace("@@ -1,3 +1,3 @@", "@@ -1,99999999999999999999 +1,3 @@"),
            "any",
        ),
        (
            "no-end",
            "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-    a - b\n".to_owned(),
            "",
        ),
    ]
}

/// Harmless answers that a careless guard would refuse.
fn benign() -> Vec<(&'static str, String)> {
    vec![
        ("dots", new_file("docs/..notes.md", "x")),
        ("gitignore", new_file(".gitignore", "target")),
        ("gitkeep", new_file("docs/.gitkeep", "x")),
        ("null-word", new_file("docs/nullable.md", "x")),
        ("accents", new_file("docs/na\u{ef}ve.md", "x")),
        ("fix", FIX.to_owned()),
    ]
}

/// Nothing hostile lands, nothing breaks, and what only looks so does land.
pub(super) fn refused(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let mut checks = Vec::new();
    let repository = ground.repository()?;
    for (id, answer, class) in hostile() {
        let call = || ground.give(&repository, &["apply", "-", "--json"], &answer);
        let (said, changed) = ground.changed_by(&repository, call)?;
        let right = match class {
            // A false count is repaired or refused; both are sound, and what lands is the fix alone.
            "any" => matches!(said.code, Some(0 | 6)),
            "" => matches!(said.code, Some(3 | 4 | 6)) && changed.is_empty(),
            class => {
                matches!(said.code, Some(3 | 4 | 6)) && changed.is_empty() && said.text("/code") == class
            }
        };
        checks.push(check(
            format!("HOSTILE-{id}"),
            "refused, by its class",
            right,
            said.short(),
        ));
    }
    let escaped = [
        ground.scratch().join("escaped.txt"),
        "/tmp/agentos-gate-escaped.txt".into(),
    ];
    let nothing = escaped.iter().all(|place| !place.exists());
    checks.push(check(
        "HOSTILE-outside",
        "nothing was written outside",
        nothing,
        "",
    ));
    for (id, answer) in benign() {
        let repository = ground.repository()?;
        let said = ground.give(&repository, &["apply", "-", "--json"], &answer)?;
        let landed = said.code == Some(0) && said.text("/outcome") == "landed";
        checks.push(check(format!("BENIGN-{id}"), "lands", landed, said.short()));
    }
    Ok(checks)
}
