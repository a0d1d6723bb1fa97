//! A part of an answer, on request: what has one place lands, what has none is named, what is dangerous
//! refuses the whole.
//!
//! Owns: the table. Never: lands a part that was not asked for.

use agentos_landing::{LandError, LandOptions, LandedChange, land};

use crate::memory::Memory;

const BASE: &[(&str, &[u8])] = &[("f", b"a\nb\nc\nx\nd\nx\n"), ("g", b"one\n")];
const GOOD: &str = "--- a/f\n+++ b/f\n@@ @@\n-b\n+B\n";
const MISSING: &str = "@@ @@\n-nowhere\n+N\n";
const TWICE: &str = "@@ @@\n-x\n+X\n";

fn attempt(answer: &str, partial: bool) -> Result<LandedChange, LandError> {
    let options = LandOptions {
        partial,
        ..LandOptions::default()
    };
    land(answer.as_bytes(), &Memory::of(BASE), &options)
}

fn content(landed: &LandedChange, path: &str) -> String {
    let file = landed
        .change
        .files()
        .iter()
        .find(|file| file.path.as_str() == path);
    let new = file.and_then(|file| file.new.as_ref());
    new.map(|new| String::from_utf8_lossy(&new.content).into_owned())
        .unwrap_or_default()
}

#[test]
fn what_has_one_place_lands_and_the_rest_is_named() {
    let answer = format!("{GOOD}{MISSING}{TWICE}--- a/h\n+++ b/h\n@@ @@\n-one\n+two\n");
    assert!(attempt(&answer, false).is_err(), "all or nothing by default");
    let landed = attempt(&answer, true).expect("a part lands");
    assert!(landed.report.partial);
    assert_eq!(content(&landed, "f"), "a\nB\nc\nx\nd\nx\n");
    insta::assert_snapshot!(landed.report.notes.join("\n"), @r"
    left out: hunk 2 of `f`: the lines this hunk expects are not in the file
    left out: hunk 3 of `f`: the lines this hunk expects are at several places
    left out: `h`: `h` is not in the repository
    ");
    insta::assert_snapshot!(landed.report.feedback(), @r"
    A part of the change landed. The rest was left out:

    File `f`:
    - 1 of its 3 hunks landed; leave them out.
    - Hunk 2: The lines this hunk expects are not in the file; copy the lines exactly as they are in the file.
      It expects these lines:
    ```
    nowhere
    ```
    - Hunk 3: The lines this hunk expects are at several places; add lines above and below until only one place fits.
      It expects these lines:
    ```
    x
    ```
      They are at lines 4, 6.

    File `h`:
    - `h` is not in the repository.

    Send only the rest again, made for the files as they are now.
    ");
}

#[test]
fn an_answer_that_lands_whole_is_not_partial() {
    let landed = attempt(GOOD, true).expect("it lands");
    assert!(!landed.report.partial);
    assert_eq!(landed.report.notes, Vec::<String>::new());
}

#[test]
fn a_part_is_never_taken_from_an_answer_that_is_dangerous_or_has_nothing_good() {
    let cases = [
        (
            "git-dir",
            format!("{GOOD}--- a/.git/config\n+++ b/.git/config\n@@ @@\n-a\n+b\n"),
        ),
        (
            "path-escape",
            format!("{GOOD}--- a/../g\n+++ b/../g\n@@ @@\n-a\n+b\n"),
        ),
        ("malformed", format!("{GOOD}--- a/g\n+++ b/g\n@@ @@\n")),
        ("ambiguous", format!("--- a/f\n+++ b/f\n{TWICE}")),
        ("does-not-apply", format!("--- a/f\n+++ b/f\n{MISSING}{TWICE}")),
    ];
    for (code, answer) in cases {
        let Err(LandError::Refused(report)) = attempt(&answer, true) else {
            panic!("it lands:\n{answer}");
        };
        assert_eq!(report.refusal.expect("a refusal").code.as_str(), code, "{answer}");
        assert!(!report.partial);
    }
}
