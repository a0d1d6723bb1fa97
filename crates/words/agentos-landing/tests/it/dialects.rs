//! One edit in every dialect, and the bytes it must come to.
//!
//! Owns: the table. Never: repeats what the public corpus shows.

use agentos_landing::{LandOptions, land};

use crate::memory::Memory;

const BASE: &[u8] = b"use std;\n\nfn one() {\n    work();\n}\n\nfn two() {\n    work();\n}\n";

fn after(answer: &str, files: &[(&str, &[u8])]) -> Vec<(String, String)> {
    let base = Memory::of(files);
    let landed = land(answer.as_bytes(), &base, &LandOptions::default())
        .unwrap_or_else(|error| panic!("{error}: {error:?}\n{answer}"));
    base.after(&landed.change)
        .into_iter()
        .map(|(path, (_, content))| (path, String::from_utf8_lossy(&content).into_owned()))
        .collect()
}

#[test]
fn one_edit_in_every_dialect_comes_to_the_same_bytes() {
    let wanted =
        String::from_utf8_lossy(BASE).replacen("    work();\n}\n\nfn two", "    rest();\n}\n\nfn two", 1);
    let answers = [
        "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,3 +3,3 @@\n fn one() {\n-    work();\n+    rest();\n }\n",
        "> --- a/src/a.rs\n> +++ b/src/a.rs\n> @@ @@\n>  fn one() {\n> -    work();\n> +    rest();\n>  }\n",
        "--- a/src/a.rs\n+++ b/src/a.rs\n fn one() {\n-    work();\n+    rest();\n }\n",
        "src/a.rs\n```rust\n<<<<<<< SEARCH\nfn one() {\n    work();\n=======\nfn one() {\n    rest();\n>>>>>>> REPLACE\n```\n",
        "```rust src/a.rs\n<<<<<<< SEARCH\nfn one() {\n    work();\n=======\nfn one() {\n    rest();\n>>>>>>> REPLACE\n```\n",
        "### `src/a.rs`\n<<<<<<< SEARCH\nfn one() {\n    work();\n=======\nfn one() {\n    rest();\n>>>>>>> REPLACE\n",
        "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn one() {\n-    work();\n+    rest();\n }\n \n*** End Patch\n",
        "{\"edits\":[{\"path\":\"src/a.rs\",\"search\":\"one() {\\n    work\",\"replace\":\"one() {\\n    rest\"}]}",
        "Sure:\n\n```json\n{\"edits\": [{\"path\": \"src/a.rs\", \"search\": \"fn one() {\\n  work();\\n\", \"replace\": \"fn one() {\\n  rest();\\n\"}]}\n```\n",
        "src/a.rs\n```rust\nuse std;\n\nfn one() {\n    rest();\n}\n\nfn two() {\n    work();\n}\n```\n",
    ];
    for answer in answers {
        if answer.contains("  work") && answer.contains("json") {
            // The indentation differs by no one rule: refused, not guessed.
            let base = Memory::of(&[("src/a.rs", BASE)]);
            assert!(land(answer.as_bytes(), &base, &LandOptions::default()).is_err());
            continue;
        }
        assert_eq!(
            after(answer, &[("src/a.rs", BASE)]),
            [("src/a.rs".to_owned(), wanted.clone())],
            "{answer}"
        );
    }
}

#[test]
fn files_are_created_deleted_and_moved_in_the_envelope() {
    let answer = "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** Delete File: old.txt\n\
                  *** Update File: from.txt\n*** Move to: to.txt\n@@\n-a\n+A\n b\n*** End Patch";
    assert_eq!(
        after(answer, &[("old.txt", b"x\n"), ("from.txt", b"a\nb\n")]),
        [
            ("new.txt".to_owned(), "one\ntwo\n".to_owned()),
            ("to.txt".to_owned(), "A\nb\n".to_owned())
        ]
    );
}

#[test]
fn a_call_that_deletes_a_file_states_it_by_its_name() {
    let call = serde_json::json!({"name": "delete_file", "arguments": {"target_file": "old.txt", "explanation": "unused"}});
    assert_eq!(after(&call.to_string(), &[("old.txt", b"x\n")]), []);
}

/// What is shown, the base, the answer.
const FIDELITY: &[(&str, &[u8], &str)] = &[
    (
        "mixed line ends",
        b"a\r\nb\nc\r\n",
        "--- a/f\n+++ b/f\n@@ @@\n a\n-b\n+B\n+BB\n c\n",
    ),
    ("crlf", b"a\r\nb\r\n", "--- a/f\n+++ b/f\n@@ @@\n a\n-b\n+B\n"),
    (
        "byte order mark",
        b"\xef\xbb\xbfa\nb\n",
        "--- a/f\n+++ b/f\n@@ @@\n-b\n+B\n",
    ),
    (
        "first line after the mark",
        b"\xef\xbb\xbfa\nb\n",
        "--- a/f\n+++ b/f\n@@ @@\n-a\n+A\n b\n",
    ),
    (
        "new first line",
        b"\xef\xbb\xbfa\nb\n",
        "--- a/f\n+++ b/f\n@@ @@\n+new\n a\n b\n",
    ),
    ("whole", b"\xef\xbb\xbfa\r\nb\r\nc", "f.txt\n```\na\nb\nC\n```\n"),
    (
        "no final newline",
        b"a\nb",
        "--- a/f\n+++ b/f\n@@ @@\n a\n-b\n+B\n",
    ),
    (
        "added after the last line",
        b"a\nb",
        "--- a/f\n+++ b/f\n@@ @@\n a\n b\n+c\n",
    ),
    ("not utf-8", b"caf\xe9\nb\n", "--- a/f\n+++ b/f\n@@ @@\n-b\n+B\n"),
    (
        "deeper",
        b"if x:\n    a\n    b\n",
        "--- a/f\n+++ b/f\n@@ @@\n a\n-b\n+B\n+  c\n",
    ),
    (
        "tabs",
        b"\tx {\n\t\ty\n\t}\n",
        "--- a/f\n+++ b/f\n@@ @@\n     x {\n-        y\n+        z\n     }\n",
    ),
];

#[test]
fn bytes_outside_the_edit_stay_and_added_lines_take_the_files_ways() {
    let results: Vec<String> = FIDELITY
        .iter()
        .map(|(name, base, answer)| {
            let path = if *name == "whole" { "f.txt" } else { "f" };
            format!("{name}: {:?}", after(answer, &[(path, base)])[0].1)
        })
        .collect();
    insta::assert_snapshot!(results.join("\n"), @r#"
    mixed line ends: "a\r\nB\nBB\nc\r\n"
    crlf: "a\r\nB\r\n"
    byte order mark: "\u{feff}a\nB\n"
    first line after the mark: "\u{feff}A\nb\n"
    new first line: "\u{feff}new\na\nb\n"
    whole: "\u{feff}a\r\nb\r\nC"
    no final newline: "a\nB"
    added after the last line: "a\nb\nc"
    not utf-8: "caf�\nB\n"
    deeper: "if x:\n    a\n    B\n      c\n"
    tabs: "\tx {\n\t\tz\n\t}\n"
    "#);
}

#[test]
fn the_order_of_hunks_makes_a_place_unique_and_their_lines_decide_only_together() {
    let base = b"a\nx\nb\nx\nc\nx\n";
    let between = "--- a/f\n+++ b/f\n@@ @@\n-b\n+B\n@@ @@\n-x\n+X\n@@ @@\n-c\n+C\n";
    assert_eq!(after(between, &[("f", base)])[0].1, "a\nx\nB\nX\nC\nx\n");
    let stated = "--- a/f\n+++ b/f\n@@ -4 +4 @@\n-x\n+X\n";
    assert_eq!(after(stated, &[("f", base)])[0].1, "a\nx\nb\nX\nc\nx\n");
}

#[test]
fn what_is_left_out_of_the_context_stays_as_it_is() {
    let base = b"fn a() {\n    one();\n    two();\n    three();\n    four();\n}\n";
    let elided = "--- a/f\n+++ b/f\n@@ @@\n fn a() {\n ...\n-    three();\n+    3();\n     four();\n";
    let wanted = "fn a() {\n    one();\n    two();\n    3();\n    four();\n}\n";
    assert_eq!(after(elided, &[("f", base)])[0].1, wanted);
    let block = "f\n<<<<<<< SEARCH\nfn a() {\n    // ... existing code ...\n    three();\n=======\nfn a() {\n    // ... existing code ...\n    3();\n>>>>>>> REPLACE\n";
    assert_eq!(after(block, &[("f", base)])[0].1, wanted);
    let deeper = "--- a/f\n+++ b/f\n@@ @@\n     one();\n ...\n-        deep();\n+        far();\n";
    let nested = b"fn a() {\n    one();\n    if x {\n        deep();\n    }\n}\n";
    assert_eq!(
        after(deeper, &[("f", nested)])[0].1,
        "fn a() {\n    one();\n    if x {\n        far();\n    }\n}\n"
    );
    // What is removed must be shown, and each piece must have one place.
    for refused in [
        "--- a/f\n+++ b/f\n@@ @@\n fn a() {\n-...\n-    four();\n }\n",
        "--- a/f\n+++ b/f\n@@ @@\n fn a() {\n ...\n-    x();\n+    y();\n",
    ] {
        let twice = [base.as_slice(), b"    x();\n    x();\n"].concat();
        let base = Memory::of(&[("f", &twice)]);
        assert!(
            land(refused.as_bytes(), &base, &LandOptions::default()).is_err(),
            "{refused}"
        );
    }
}

#[test]
fn text_that_was_damaged_on_its_way_is_read_as_it_was_written() {
    let base: &[(&str, &[u8])] = &[("f", b"if a < b {\n    one();\n}\n")];
    let wanted = "if a <= b {\n    one();\n}\n";
    for answer in [
        "--- a/f\n+++ b/f\n@@ @@\n-if a &lt; b {\n+if a &lt;= b {\n     one();\n }\n",
        "\u{1b}[1m--- a/f\u{1b}[m\n\u{1b}[1m+++ b/f\u{1b}[m\n@@ @@\n\u{1b}[31m-if a < b {\u{1b}[m\n\u{1b}[32m+if a <= b {\u{1b}[m\n     one();\n }\n",
        "{\"edits\":[{\"path\":\"f\",\"search\":\"if a < b {\n\",\"replace\":\"if a <= b {\n\"},]}",
        "f\n<<<<<<< SEARCH\nif a < b {\n=====\nif a <= b {\n>>>>>> REPLACE\n",
    ] {
        assert_eq!(after(answer, base)[0].1, wanted, "{answer}");
    }
}

#[test]
fn the_answers_line_ends_and_indentation_become_the_files() {
    let inline = |search: &str, replace: &str| {
        format!("{{\"edits\":[{{\"path\":\"f\",\"search\":\"{search}\",\"replace\":\"{replace}\"}}]}}")
    };
    let two = "{\"edits\":[{\"path\":\"f\",\"search\":\"foo\",\"replace\":\"bar\"},{\"path\":\"f\",\"search\":\"b)\",\"replace\":\"c)\"}]}";
    let cases = [
        ("a\r\nb\r\n", inline("b", "b\\nb2"), "a\r\nb\r\nb2\r\n"),
        (
            "def f():\n        return x\n",
            inline("    return x", "    z = 1\\n    return z"),
            "def f():\n        z = 1\n        return z\n",
        ),
        ("foo(a, b)\n", two.to_owned(), "bar(a, c)\n"),
    ];
    for (base, answer, wanted) in cases {
        assert_eq!(after(&answer, &[("f", base.as_bytes())])[0].1, wanted, "{answer}");
    }
}

#[test]
fn a_quote_of_an_added_line_is_changed_only_where_all_quotes_were() {
    let all = "--- a/f\n+++ b/f\n@@ @@\n-s = \u{201c}a\u{201d}\n+s = \u{201c}b\u{201d}\n t = 1\n";
    let landed = after(all, &[("f", b"s = \"a\"\nt = 1\n")]);
    assert_eq!(landed[0].1, "s = \"b\"\nt = 1\n");
    // The answer has plain blanks, too: nothing shows which one the other is.
    let some = "f\n<<<<<<< SEARCH\ns\u{a0}= 'a'\n=======\ns\u{a0}= 'b'\n>>>>>>> REPLACE\n";
    let base = Memory::of(&[("f", b"s = 'a'\ny\n")]);
    let refused = land(some.as_bytes(), &base, &LandOptions::default()).expect_err("a refusal");
    assert!(
        refused.to_string().contains("other blanks or quotes"),
        "{refused}"
    );
}

#[test]
fn what_stands_around_an_edit_does_not_hide_it() {
    let json = |search: &str, replace: &str| {
        format!("{{\"edits\":[{{\"path\":\"f\",\"search\":\"{search}\",\"replace\":\"{replace}\"}}]}}")
    };
    let both = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-alpha one\n-beta two\n+A\n+B\n last line of all\n";
    let wanted = "A\nB\nlast line of all\n";
    let cases = [
        format!(
            "```jsonc\n{}\n```\n```json5\n{}\n```\n",
            json("alpha one", "A"),
            json("beta two", "B")
        ),
        // Thoughts before the answer, and a tool's call around it.
        format!(
            "<think>\nMaybe:\n{}\nNo.\n</think>\n{both}",
            both.replace("+B", "+C")
        ),
        format!("Maybe:\n{}\n</think>\n{both}", both.replace("+B", "+C")),
        serde_json::json!({"name": "apply_patch", "arguments": {"patch": both}}).to_string(),
        serde_json::json!({"calls": [{"arguments": serde_json::json!({"input": both}).to_string()}]})
            .to_string(),
        "`f`\n```diff\n-alpha one\n-beta two\n+A\n+B\n last line of all\n```\n".to_owned(),
    ];
    let base: &[(&str, &[u8])] = &[("f", b"alpha one\nbeta two\nlast line of all\n")];
    for answer in &cases {
        assert_eq!(after(answer, base)[0].1, wanted, "{answer}");
    }
    let listed = "File: `n/a b/f`\n```\n1 | A\n2 | B\n3 | last line of all\n```\n";
    let base: &[(&str, &[u8])] = &[("n/a b/f", b"a\nB\nlast line of all\n")];
    assert_eq!(after(listed, base)[0].1, wanted);
}

#[test]
fn what_transport_added_to_every_line_is_no_part_of_a_file() {
    let new = "--- /dev/null\n+++ b/n\n@@ -0,0 +1,4 @@\n+a  \n+  \n+b  \n+c  \n";
    assert_eq!(after(new, &[("f", b"x\n")])[1].1, "a\n\nb\nc\n");
    let whole = "`f.x`\n```\na \n \nB \nc \n```\n";
    assert_eq!(after(whole, &[("f.x", b"a\n\nb\nc\n")])[0].1, "a\n\nB\nc\n");
    // A byte order mark inside an answer, and a carriage return before the line feed that a text begins with.
    let joined = "```diff\n\u{feff}--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n```\n";
    assert_eq!(after(joined, &[("f", b"x\n")])[0].1, "y\n");
    let inline = "{\"edits\":[{\"path\":\"f\",\"search\":\"\\nb\",\"replace\":\"\\nn\\nb\"}]}";
    assert_eq!(
        after(inline, &[("f", b"a\r\n\r\nb\r\n")])[0].1,
        "a\r\n\r\nn\r\nb\r\n"
    );
}

#[test]
fn a_file_may_have_lines_that_begin_an_edit_elsewhere() {
    let base = b"top\n*** Update File: x\n<think>\n</think>\nend\n";
    let diff = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n top\n *** Update File: x\n <think>\n </think>\n-end\n+END\n";
    let wanted = "top\n*** Update File: x\n<think>\n</think>\nEND\n";
    assert_eq!(after(diff, &[("f", base)])[0].1, wanted);
}

#[test]
fn a_heading_chooses_among_equal_lines() {
    let wanted = String::from_utf8_lossy(BASE).replacen("two() {\n    work", "two() {\n    rest", 1);
    let names = "--- a/src/a.rs\n+++ b/src/a.rs\n";
    for answer in [
        format!("{names}@@ fn two() {{\n-    work();\n+    rest();\n"),
        format!("{names}@@ fn two() {{ @@\n-    work();\n+    rest();\n"),
        format!("{names}@@ ... @@ fn two() {{\n-    work();\n+    rest();\n"),
        "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn two() {\n-    work();\n+    rest();\n*** End Patch\n".to_owned(),
    ] {
        let files = after(&answer, &[("src/a.rs", BASE)]);
        assert_eq!(files, [("src/a.rs".to_owned(), wanted.clone())], "{answer}");
    }
    // A heading that is not in the file, or twice, chooses nothing.
    let answer = format!("{names}@@ fn three() {{\n-    work();\n+    rest();\n");
    let base = Memory::of(&[("src/a.rs", BASE)]);
    assert!(land(answer.as_bytes(), &base, &LandOptions::default()).is_err());
}

#[test]
fn an_anchor_that_is_nowhere_is_told() {
    let answer = "*** Begin Patch\n*** Update File: f\n@@ class Z:\n-a\n+b\n*** End Patch\n";
    let landed = land(
        answer.as_bytes(),
        &Memory::of(&[("f", b"a\n")]),
        &LandOptions::default(),
    );
    let report = landed.expect("it lands").report;
    assert_eq!(report.files[0].hunks[0].repairs[0].kind, "missing-anchor");
}

#[test]
fn a_reserved_name_that_is_there_may_be_edited_and_may_go() {
    let edit = "--- a/aux.c\n+++ b/aux.c\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(after(edit, &[("aux.c", b"a\n")])[0].1, "b\n");
    let gone = "diff --git a/aux.c b/aux.c\ndeleted file mode 100644\n--- a/aux.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
    assert_eq!(after(gone, &[("aux.c", b"a\n")]), []);
}
