//! What an answer adds lands as its author wrote it, or not at all; repeated hunks are never left out in silence.
//!
//! Owns: one table for each class of wrong results. Never: judges the words of a report.

use agentos_landing::{LandError, LandOptions, land};

use crate::memory::{Memory, blob_id};

/// The content of `f` after the landing, or the code of the refusal.
fn result(answer: &str, file: &str) -> String {
    let base = Memory::of(&[("f", file.as_bytes())]);
    match land(answer.as_bytes(), &base, &LandOptions::default()) {
        Ok(landed) => {
            let after = base.after(&landed.change);
            let content = after.get("f").map(|(_, content)| content.to_vec());
            String::from_utf8_lossy(&content.unwrap_or_default()).into_owned()
        }
        Err(LandError::Refused(report)) => report
            .refusal
            .map(|refusal| refusal.code.as_str().to_owned())
            .unwrap_or_default(),
        Err(LandError::Base(error)) => error.to_string(),
    }
}

#[test]
fn an_added_line_does_not_take_the_spelling_of_a_context_line() {
    let file = "say \u{201c}a\u{201d}\nold\nend\n";
    let again = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n say \"a\"\n-old\n+new\n+say \"a\"\n end\n";
    assert_eq!(
        result(again, file),
        "say \u{201c}a\u{201d}\nnew\nsay \"a\"\nend\n"
    );
    // A line that is removed and added again is the same line, so it keeps its bytes.
    let kept = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n-say \"a\"\n-old\n+new\n+say \"a\"\n+more\n end\n";
    assert_eq!(result(kept, file), "new\nsay \u{201c}a\u{201d}\nmore\nend\n");
}

#[test]
fn hunks_that_state_different_lines_are_all_landed_or_none() {
    let hunk = |line: usize| format!("@@ -{line} +{line} @@\n-x = 1\n+x = 2\n");
    let diff = |lines: &[usize]| {
        let hunks: String = lines.iter().map(|line| hunk(*line)).collect();
        format!("--- a/f\n+++ b/f\n{hunks}")
    };
    let cases = [
        (&[1, 3][..], "x = 1\na\nx = 1\n", "x = 2\na\nx = 2\n"),
        // One of them was changed since, so the other lines are of another state.
        (&[1, 3], "x = 0\na\nx = 1\n", "ambiguous"),
        (&[1, 3], "a\nx = 1\na\nb\n", "ambiguous"),
        // Written twice.
        (&[3, 3], "x = 0\na\nx = 1\n", "x = 0\na\nx = 2\n"),
        // All state line 1: there are as many places as hunks, and none is at that line.
        (&[1, 1], "a\nx = 1\na\nx = 1\n", "a\nx = 2\na\nx = 2\n"),
        (&[1, 1], "a\nx = 1\na\n", "a\nx = 2\na\n"),
        (&[1, 1], "a\nx = 1\na\nx = 1\nx = 1\n", "ambiguous"),
    ];
    for (lines, file, expected) in cases {
        assert_eq!(result(&diff(lines), file), expected, "{lines:?}\n{file}");
    }
}

#[test]
fn an_index_line_that_names_the_base_must_name_the_result() {
    let (old, new) = ("a\n  b\nc\nd\n", "a\n  B\nc\nd\n");
    let id = |content: &str| blob_id(content.as_bytes()).split_at(7).0.to_owned();
    let diff = |new: &str, hunk: &str| {
        format!(
            "diff --git a/f b/f\nindex {}..{} 100644\n--- a/f\n+++ b/f\n{hunk}",
            id(old),
            id(new)
        )
    };
    let exact = "@@ -1,4 +1,4 @@\n a\n-  b\n+  B\n c\n d\n";
    let moved = "@@ -7,4 +7,4 @@\n a\n-  b\n+  B\n c\n d\n";
    assert_eq!(result(&diff(new, exact), old), new);
    assert_eq!(result(&diff(new, moved), old), new);
    assert_eq!(result(&diff("another\n", moved), old), "ambiguous");
    // Edited by hand: every hunk is where and how it says.
    assert_eq!(result(&diff("another\n", exact), old), new);
}

#[test]
fn tabs_are_restored_only_where_one_rule_makes_every_line() {
    let tabs = "f() {\n\tone();\n\t\ttwo();\n}\n";
    let mixed = "f() {\n\tone();\n        two();\n}\n";
    let spaces =
        "--- a/f\n+++ b/f\n@@ -1,4 +1,5 @@\n f() {\n     one();\n         two();\n+    three();\n }\n";
    assert_eq!(
        result(spaces, tabs),
        "f() {\n\tone();\n\t\ttwo();\n\tthree();\n}\n"
    );
    assert_eq!(result(spaces, mixed), "does-not-apply");
}

#[test]
fn a_byte_order_mark_in_a_block_is_the_files() {
    let whole = "`g.md`\n```\n\u{feff}# Title\ntext\n```\n";
    let base = Memory::of(&[("f", b"one\n")]);
    let landed = land(whole.as_bytes(), &base, &LandOptions::default()).ok();
    let content = landed.and_then(|landed| Some(base.after(&landed.change).get("g.md")?.1.to_vec()));
    assert_eq!(content.as_deref(), Some("\u{feff}# Title\ntext\n".as_bytes()));
    let block = "f\n<<<<<<< SEARCH\n\u{feff}# one\ntwo\n=======\n\u{feff}# one\n2\n>>>>>>> REPLACE\n";
    assert_eq!(result(block, "\u{feff}# one\ntwo\n"), "\u{feff}# one\n2\n");
}

#[test]
fn a_number_that_no_file_reaches_is_no_number() {
    let diff = |line: &str| format!("--- a/f\n+++ b/f\n@@ -{line},3 +{line},3 @@\n a\n-b\n+c\n d\n");
    for line in ["9007199254740993", "18446744073709551615", "99999999999999999999"] {
        assert_eq!(result(&diff(line), "a\nb\nd\n"), "a\nc\nd\n", "{line}");
    }
}
