//! Sizes that must work, sizes that must not, and shapes that make naive searches explode. No clock: a search
//! that explodes does not end.
//!
//! Owns: the sizes. Never: measures time.

use agentos_diff::{LandError, LandOptions, land};

use crate::memory::Memory;

fn code(answer: &[u8], base: &Memory) -> String {
    match land(answer, base, &LandOptions::default()) {
        Ok(landed) => format!("landed {}", landed.change.files().len()),
        Err(LandError::Refused(report)) => report.refusal.expect("a refusal").code.to_string(),
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

fn new_files(count: usize, bytes: usize) -> String {
    (0..count)
        .map(|at| {
            let text = "x".repeat(bytes);
            format!("diff --git a/n/f{at} b/n/f{at}\nnew file mode 100644\n--- /dev/null\n+++ b/n/f{at}\n@@ -0,0 +1 @@\n+{text}\n")
        })
        .collect()
}

#[test]
fn ordinary_sizes_land_and_absurd_ones_do_not() {
    let nothing = Memory::default();
    assert_eq!(code(new_files(150, 2_000).as_bytes(), &nothing), "landed 150");
    assert_eq!(code(new_files(1, 20_000).as_bytes(), &nothing), "landed 1");
    assert_eq!(code(new_files(20_000, 1).as_bytes(), &nothing), "too-large");
    assert_eq!(code(new_files(1, 2_000_000).as_bytes(), &nothing), "too-large");
    assert_eq!(code(&vec![b'x'; 20_000_000], &nothing), "too-large");
    assert_eq!(code(&vec![b'\n'; 3_000_000], &nothing), "empty");
}

#[test]
fn many_hunks_in_a_large_file_all_find_their_place() {
    let base: String = (0..40_000).map(|at| format!("line {at}\n")).collect();
    let hunks: String = (0..4_000)
        .map(|at| format!("@@ @@\n line {}\n-line {}\n+new {at}\n", at * 10, at * 10 + 1))
        .collect();
    let base = Memory::of(&[("f", base.as_bytes())]);
    let answer = format!("--- a/f\n+++ b/f\n{hunks}");
    let landed = land(answer.as_bytes(), &base, &LandOptions::default()).expect("it lands");
    assert_eq!(landed.change.stats().added, 4_000);
}

#[test]
fn repetition_is_refused_and_does_not_explode() {
    let same = "a\n".repeat(100_000);
    let base = Memory::of(&[("f", same.as_bytes())]);
    let hunk = format!("@@ @@\n{}-a\n+b\n", " a\n".repeat(2_000));
    assert_eq!(
        code(format!("--- a/f\n+++ b/f\n{hunk}").as_bytes(), &base),
        "too-large"
    );
    let hunks = "@@ @@\n a\n-a\n+b\n".repeat(5_000);
    assert_eq!(
        code(format!("--- a/f\n+++ b/f\n{hunks}").as_bytes(), &base),
        "too-large"
    );
    let fences = "```\n".repeat(200_000);
    assert_eq!(code(fences.as_bytes(), &base), "no-diff");
    let searches = "f\n<<<<<<< SEARCH\na\n".repeat(50_000);
    assert_eq!(code(searches.as_bytes(), &base), "malformed");
    let names = format!("diff --git {}\n", "a b ".repeat(200_000));
    assert_eq!(code(names.as_bytes(), &base), "malformed");
    let heads = "--- a/f\n+++ b/f\n".repeat(200_000);
    assert_eq!(code(heads.as_bytes(), &base), "malformed");
}
