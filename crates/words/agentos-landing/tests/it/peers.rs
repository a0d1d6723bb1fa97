//! The known faults of other appliers, one test each: what they do wrong is not done here.
//!
//! Owns: the faults that landing can have. Those of writing (half applied trees) are tested with the executor.

use agentos_landing::{LandError, LandOptions, LandedChange, LandingReport, land};

use crate::memory::Memory;

fn landed(answer: &str, base: &Memory) -> LandedChange {
    land(answer.as_bytes(), base, &LandOptions::default())
        .unwrap_or_else(|error| panic!("{error:?}\n{answer}"))
}

fn refused(answer: &str, base: &Memory) -> LandingReport {
    match land(answer.as_bytes(), base, &LandOptions::default()) {
        Err(LandError::Refused(report)) => *report,
        other => panic!("{other:?}\n{answer}"),
    }
}

fn code(answer: &str, base: &Memory) -> &'static str {
    refused(answer, base).refusal.expect("a refusal").code.as_str()
}

fn content(answer: &str, base: &Memory, path: &str) -> Vec<u8> {
    base.after(&landed(answer, base).change)[path].1.to_vec()
}

#[test]
fn codex_takes_the_first_of_two_places() {
    let base = Memory::of(&[("f", b"fn a() {\n    go();\n}\nfn b() {\n    go();\n}\n")]);
    let answer = "*** Begin Patch\n*** Update File: f\n@@\n-    go();\n+    stay();\n*** End Patch\n";
    assert_eq!(code(answer, &base), "ambiguous");
    let candidates = refused(answer, &base).files[0].hunks[0].candidates.clone();
    assert_eq!(candidates, [2, 5]);
}

#[test]
fn codex_writes_the_first_file_where_the_second_fails() {
    let base = Memory::of(&[("f", b"a\n"), ("g", b"b\n")]);
    let answer =
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n*** Update File: g\n@@\n-x\n+X\n*** End Patch\n";
    assert_eq!(code(answer, &base), "does-not-apply");
}

#[test]
fn codex_forces_a_final_newline() {
    let base = Memory::of(&[("f", b"a\nb")]);
    let answer = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n*** End Patch\n";
    assert_eq!(content(answer, &base, "f"), b"A\nb");
}

#[test]
fn aider_drops_context_until_a_hunk_fits_somewhere() {
    // Without its context the removed line stands in the other function.
    let base = Memory::of(&[("f", b"fn a() {\n    done();\n}\n\nfn b() {\n    go();\n}\n")]);
    let answer = "--- a/f\n+++ b/f\n@@ @@\n fn a() {\n-    go();\n+    stay();\n }\n";
    assert_eq!(code(answer, &base), "does-not-apply");
}

#[test]
fn patch_lets_context_differ_by_fuzz() {
    let base = Memory::of(&[("f", b"1\n2\n3\nx\n5\n6\n7\n")]);
    let answer = "--- a/f\n+++ b/f\n@@ -1,7 +1,7 @@\n other\n 2\n 3\n-x\n+X\n 5\n 6\n lines\n";
    assert_eq!(code(answer, &base), "does-not-apply");
}

#[test]
fn git_apply_recount_swallows_what_follows_a_hunk() {
    let base = Memory::of(&[("f", b"a\nb\n"), ("g", b"c\nd\n")]);
    let answer =
        "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n a\n-b\n+B\n--- a/g\n+++ b/g\n@@ -1,9 +1,9 @@\n c\n-d\n+D\n";
    assert_eq!(content(answer, &base, "f"), b"a\nB\n");
    assert_eq!(content(answer, &base, "g"), b"c\nD\n");
}

#[test]
fn libgit2_looks_at_the_stated_line_alone() {
    let base = Memory::of(&[("f", b"new\nnew\na\nb\nc\n")]);
    let answer = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
    assert_eq!(content(answer, &base, "f"), b"new\nnew\na\nB\nc\n");
}

#[test]
fn mpatch_lands_by_similarity() {
    let base = Memory::of(&[(
        "f",
        b"fn total(items: &[u32]) -> u32 {\n    items.iter().sum()\n}\n",
    )]);
    let answer = "--- a/f\n+++ b/f\n@@ @@\n fn total(items: &[u64]) -> u64 {\n-    items.iter().sum()\n+    items.iter().copied().sum()\n }\n";
    let report = refused(answer, &base);
    assert_eq!(report.refusal.expect("a refusal").code.as_str(), "does-not-apply");
    // The place that resembles it is shown.
    assert_eq!(report.files[0].hunks[0].candidates, [1]);
}

#[test]
fn mpatch_lands_in_a_function_that_looks_alike() {
    let base = Memory::of(&[("f", b"fn parse_a(x: u8) {\n    check(x);\n    store(x);\n}\n")]);
    let answer = "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n fn parse_b(x: u8) {\n     check(x);\n-    store(x);\n+    drop(x);\n }\n";
    assert_eq!(code(answer, &base), "does-not-apply");
}

#[test]
fn mpatch_rewrites_every_line_end_of_the_file() {
    let base = Memory::of(&[("f", b"a\r\nb\r\nc\r\nd\n")]);
    let answer = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
    assert_eq!(content(answer, &base, "f"), b"a\r\nB\r\nc\r\nd\n");
}

#[test]
fn mpatch_writes_into_the_hooks_of_git() {
    let base = Memory::of(&[("f", b"a\n")]);
    let answer = "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+id\n";
    assert_eq!(code(answer, &base), "git-dir");
}

#[test]
fn mpatch_reports_success_with_a_hunk_left_out() {
    let base = Memory::of(&[("f", b"a\nb\nc\n")]);
    let answer = "--- a/f\n+++ b/f\n@@ @@\n-a\n+A\n@@ @@\n-x\n+X\n";
    let report = refused(answer, &base);
    assert_eq!(report.refusal.expect("a refusal").code.as_str(), "does-not-apply");
}
