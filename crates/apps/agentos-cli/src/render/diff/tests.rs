//! What a person sees of a diff, without colours unless they are the point.

use super::*;

const DIFF: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -8,4 +8,5 @@
 /// What it does.
-pub fn old(a: u64) -> u64 {
-    a
+pub fn new(a: u64) -> u64 {
+    // why
+    a + 1
 }
diff --git a/notes.txt b/notes.txt
new file mode 100644
index 0000000000000000000000000000000000000000..3333333333333333333333333333333333333333
--- /dev/null
+++ b/notes.txt
@@ -0,0 +1,2 @@
+--- no header
+a very long line that goes on and on and on, further than half a wide screen shows, and is not cut
\\ No newline at end of file
";

fn plain(diff: &str, width: usize, report: Option<&LandingReport>) -> String {
    anstream::adapter::strip_str(&super::format_diff(diff.as_bytes(), width, report)).to_string()
}

#[test]
fn lines_have_numbers_where_there_is_room() {
    insta::assert_snapshot!(plain(DIFF, 100, None), @r"
    src/a.rs
    index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
    --- a/src/a.rs
    +++ b/src/a.rs
    @@ -8,4 +8,5 @@
      8   8  /// What it does.
      9     -pub fn old(a: u64) -> u64 {
     10     -    a
          9 +pub fn new(a: u64) -> u64 {
         10 +    // why
         11 +    a + 1
     11  12  }
    notes.txt
    new file mode 100644
    index 0000000000000000000000000000000000000000..3333333333333333333333333333333333333333
    --- /dev/null
    +++ b/notes.txt
    @@ -0,0 +1,2 @@
          1 +--- no header
          2 +a very long line that goes on and on and on, further than half a wide screen shows, and is not cut
    \ No newline at end of file
    ");
    insta::assert_snapshot!(plain(DIFF, 40, None), @r"
    src/a.rs
    index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
    --- a/src/a.rs
    +++ b/src/a.rs
    @@ -8,4 +8,5 @@
     /// What it does.
    -pub fn old(a: u64) -> u64 {
    -    a
    +pub fn new(a: u64) -> u64 {
    +    // why
    +    a + 1
     }
    notes.txt
    new file mode 100644
    index 0000000000000000000000000000000000000000..3333333333333333333333333333333333333333
    --- /dev/null
    +++ b/notes.txt
    @@ -0,0 +1,2 @@
    +--- no header
    +a very long line that goes on and on and on, further than half a wide screen shows, and is not cut
    \ No newline at end of file
    ");
}

#[test]
fn on_a_wide_screen_old_and_new_stand_side_by_side() {
    insta::assert_snapshot!(plain(DIFF, 160, None), @r"
    src/a.rs
    index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
    --- a/src/a.rs
    +++ b/src/a.rs
    @@ -8,4 +8,5 @@
      8  /// What it does.                                                       │   8  /// What it does.
      9 -pub fn old(a: u64) -> u64 {                                             │   9 +pub fn new(a: u64) -> u64 {
     10 -    a                                                                   │  10 +    // why
                                                                                 │  11 +    a + 1
     11  }                                                                       │  12  }
    notes.txt
    new file mode 100644
    index 0000000000000000000000000000000000000000..3333333333333333333333333333333333333333
    --- /dev/null
    +++ b/notes.txt
    @@ -0,0 +1,2 @@
                                                                                 │   1 +--- no header
                                                                                 │   2 +a very long line that goes on and on and on, further than half a wide s
                                                                                 │      creen shows, and is not cut
    \ No newline at end of file
    ");
}

#[test]
fn no_line_of_a_diff_is_lost_or_cut() {
    for width in [1, 40, 80, 160, 170, 300] {
        let shown: String = plain(DIFF, width, None)
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        for words in [
            "pubfnold(a:u64)",
            "pubfnnew(a:u64)",
            "//why",
            "andisnotcut",
            "+---noheader",
            "\\Nonewline",
        ] {
            let found =
                shown.contains(words) || width >= WIDE && words == "andisnotcut" && shown.contains("notcut");
            assert!(found, "{width}: {words}");
        }
    }
}

#[test]
fn a_line_is_painted_by_what_becomes_of_it_and_its_code_is_not() {
    let cases = [
        (100, "\u{1b}[1msrc/a.rs\u{1b}[0m\n"),
        (100, "\u{1b}[2m@@ -8,4 +8,5 @@\u{1b}[0m\n"),
        (100, "\u{1b}[2m  8   8 \u{1b}[0m /// What it does.\n"),
        (
            100,
            "\u{1b}[2m  9     \u{1b}[0m\u{1b}[31m-pub fn old(a: u64) -> u64 {\u{1b}[0m\n",
        ),
        (100, "\u{1b}[2m     10 \u{1b}[0m\u{1b}[32m+    // why\u{1b}[0m\n"),
        (40, "\u{1b}[32m+    a + 1\u{1b}[0m\n"),
        (
            160,
            "\u{1b}[2m  9 \u{1b}[0m\u{1b}[31m-pub fn old(a: u64) -> u64 {\u{1b}[0m",
        ),
        (
            160,
            "\u{1b}[2m │ \u{1b}[0m\u{1b}[2m  9 \u{1b}[0m\u{1b}[32m+pub fn new(a: u64) -> u64 {\u{1b}[0m\n",
        ),
        (160, "\u{1b}[2m 12 \u{1b}[0m }\n"),
    ];
    for (width, piece) in cases {
        let painted = super::format_diff(DIFF.as_bytes(), width, None);
        assert!(painted.contains(piece), "{piece:?} in {painted:?}");
    }
}

#[test]
fn hostile_text_is_inert_on_every_screen() {
    let evil = "diff --git a/x b/x\n@@ -1,1 +1,2 @@\n \u{1b}]0;title\u{7}\n+\u{202e}abc\u{9b}31m\n+crlf\r\n";
    for width in [40, 100, 200] {
        let shown = plain(evil, width, None);
        for bad in ["\u{1b}]", "\u{7}", "\u{202e}", "\u{9b}", "\r"] {
            assert!(!shown.contains(bad), "{width}: {shown:?}");
        }
        // What is beyond the counts of its hunk is shown as it stands.
        assert!(shown.contains("crlf␍"), "{width}: {shown}");
    }
    // Counts that no file can have end nothing.
    for counts in [
        "-1,99999999999999999999 +1",
        "-18446744073709551615,3 +18446744073709551615,3",
        "x",
    ] {
        let text = format!("@@ {counts} @@\n a\n a\n a\n");
        assert!(plain(&text, 100, None).contains('a'));
    }
}

#[test]
fn the_margin_says_how_each_hunk_was_placed() {
    let hunk = |index: u32, status: &str, rung: &str, found: u64| {
        serde_json::json!({ "index": index, "status": status, "rung": rung, "stated_line": 90, "found_line": found,
            "candidates": [], "repairs": [], "refusal": null, "expected": [], "actual": [] })
    };
    let report: LandingReport = serde_json::from_value(serde_json::json!({
        "version": 1, "refusal": null, "notes": [], "partial": false,
        "files": [{ "path": "a.py", "written_as": null, "dialect": "unified-diff", "repairs": [], "refusal": null,
            "hunks": [hunk(1, "landed", "exact-moved", 2), hunk(2, "already-there", "exact-stated", 3),
                hunk(3, "landed", "indentation", 7)] }],
    }))
    .unwrap();
    let diff = "diff --git a/a.py b/a.py\n@@ -1,8 +1,8 @@\n one\n-two\n-three\n+2\n+3\n four\n five\n six\n-seven\n+7\n eight\n";
    insta::assert_snapshot!(plain(diff, 100, Some(&report)), @r"
            a.py
            @@ -1,8 +1,8 @@
              1   1  one
    moved     2     -two
              3     -three
                  2 +2
                  3 +3
              4   4  four
              5   5  five
              6   6  six
    indent    7     -seven
                  7 +7
              8   8  eight
    ");
    let wide = plain(diff, 160, Some(&report));
    let words: Vec<&str> = wide
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        words,
        ["a.py", "@@", "1", "moved", "3", "4", "5", "6", "indent", "8"]
    );
}
