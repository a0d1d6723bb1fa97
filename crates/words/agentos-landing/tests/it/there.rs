//! What is there already, and what is there twice: in every dialect.
//!
//! Owns: the tables. Never: judges the words of a report.

use agentos_landing::{LandError, LandOptions, land};

use crate::memory::{Memory, blob_id};

/// The code of the refusal, or `lands`.
fn code(answer: &str, base: &Memory) -> &'static str {
    match land(answer.as_bytes(), base, &LandOptions::default()) {
        Ok(_) => "lands",
        Err(LandError::Refused(report)) => report.refusal.expect("a refusal").code.as_str(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_has_been_applied_before_leaves_nothing_to_do() {
    let base = Memory::of(&[("f", b"one\nafter();\ntwo\n"), ("moved", b"text of it\n")]);
    let cases = [
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-before();\n+after();\n two\n",
        "f\n<<<<<<< SEARCH\nbefore();\n=======\nafter();\n>>>>>>> REPLACE\n",
        "*** Begin Patch\n*** Update File: f\n@@\n one\n-before();\n+after();\n*** End Patch\n",
        "{\"edits\":[{\"path\":\"f\",\"search\":\"before();\",\"replace\":\"after();\"}]}",
        "f.txt\n```\nsame\n```\n",
        "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,3 @@\n+one\n+after();\n+two\n",
        "*** Begin Patch\n*** Add File: f\n+one\n+after();\n+two\n*** End Patch\n",
        "diff --git a/gone b/gone\ndeleted file mode 100644\nindex 5626abf..0000000\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n",
        "diff --git a/old b/moved\nsimilarity index 100%\nrename from old\nrename to moved\n",
        "diff --git a/f b/f\nold mode 100755\nnew mode 100644\n",
    ];
    let mut base = base;
    base.put("f.txt", "100644", b"same\n");
    let codes: Vec<String> = cases
        .iter()
        .map(|answer| code(answer, &base).to_owned())
        .collect();
    insta::assert_snapshot!(codes.join("\n"), @r"
    empty
    empty
    empty
    empty
    empty
    empty
    empty
    empty
    does-not-apply
    empty
    ");
}

#[test]
fn of_two_tracked_names_that_differ_by_case_each_can_be_edited() {
    let base = Memory::of(&[("README.md", b"upper\n"), ("readme.md", b"lower\n")]);
    for (path, line) in [("README.md", "upper"), ("readme.md", "lower")] {
        let answer = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{line}\n+new\n");
        let landed = land(answer.as_bytes(), &base, &LandOptions::default()).expect("it lands");
        let after = base.after(&landed.change);
        assert_eq!(&*after[path].1, b"new\n");
        assert_eq!(
            after
                .values()
                .filter(|(_, content)| **content == *b"new\n")
                .count(),
            1
        );
        let gone = format!(
            "diff --git a/{path} b/{path}\ndeleted file mode 100644\n--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{line}\n"
        );
        assert_eq!(code(&gone, &base), "lands");
    }
    let third = "--- /dev/null\n+++ b/Readme.md\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(code(third, &base), "case-collision");
    let neither = "--- a/ReadMe.md\n+++ b/ReadMe.md\n@@ -1 +1 @@\n-upper\n+new\n";
    assert_eq!(code(neither, &base), "does-not-apply");
}

#[test]
fn a_text_that_stands_twice_is_refused_with_the_lines_of_every_place() {
    let base = Memory::of(&[("f", b"let x = x + 1;\nlet y = 2;\nlet z = x + 1;\nx + 1\n")]);
    for search in ["x + 1", "x + 1;", "x"] {
        let answer =
            serde_json::json!({"edits": [{"path": "f", "search": search, "replace": "0"}]}).to_string();
        let Err(LandError::Refused(report)) = land(answer.as_bytes(), &base, &LandOptions::default()) else {
            panic!("{search}");
        };
        let wanted: Vec<u64> = match search {
            "x + 1" => vec![1, 3, 4],
            "x + 1;" => vec![1, 3],
            _ => vec![1, 1, 3, 4],
        };
        let mut found = report.files[0].hunks[0].candidates.clone();
        found.sort_unstable();
        let mut wanted_once = wanted;
        wanted_once.dedup();
        found.dedup();
        assert_eq!(found, wanted_once, "{search}");
        assert_eq!(report.refusal.expect("a refusal").code.as_str(), "ambiguous");
    }
}

/// The diff of git between these states of `f`, with its `index` line.
fn git_diff(old: &[u8], new: &[u8], hunk: &str) -> String {
    let [old, new] = [old, new].map(|content| blob_id(content).split_at(7).0.to_owned());
    format!("diff --git a/f b/f\nindex {old}..{new} 100644\n--- a/f\n+++ b/f\n{hunk}")
}

#[test]
fn a_diff_whose_index_line_names_another_state_is_stale_unless_its_result_is_there() {
    let (old, new) = (b"one\nold();\nend\n".as_slice(), b"one\nnew();\nend\n".as_slice());
    let (few, more) = (b"k\nx\nend\n".as_slice(), b"k\nx\nx\nend\n".as_slice());
    let change = "@@ -1,3 +1,3 @@\n one\n-old();\n+new();\n end\n";
    let again = "@@ -1,3 +1,4 @@\n k\n+x\n x\n end\n";
    let cases = [
        ("the result", git_diff(old, new, change), new, "empty"),
        (
            "a line more of the same",
            git_diff(few, more, again),
            more,
            "empty",
        ),
        (
            "the result and more",
            git_diff(old, new, change),
            b"one\nnew();\nend\nmore\n",
            "empty",
        ),
        (
            "another change",
            git_diff(old, new, change),
            b"one\nother();\nend\n",
            "stale",
        ),
        (
            "another change below",
            git_diff(old, new, change),
            b"one\nold();\nother\n",
            "stale",
        ),
        ("the old state", git_diff(old, new, change), old, "lands"),
        (
            "the old state, moved",
            git_diff(old, new, change),
            b"0\n0\none\nold();\nend\n",
            "lands",
        ),
        (
            "elsewhere",
            git_diff(old, new, change),
            b"one\nold();\nend\n0\n0\n",
            "lands",
        ),
    ];
    for (what, answer, present, expected) in cases {
        let mut base = Memory::of(&[("f", present)]);
        base.know(old);
        base.know(few);
        assert_eq!(code(&answer, &base), expected, "{what}");
    }
}

#[test]
fn a_stale_hunk_is_shown_beside_what_stands_there() {
    let (old, new) = (b"a\nbee\nc\n".as_slice(), b"a\nX\nc\n".as_slice());
    let answer = git_diff(old, new, "@@ -1,3 +1,3 @@\n a\n-bee\n+X\n c\n");
    let present = b"first line\nlast line\na\nYet\nc\n".as_slice();
    let mut base = Memory::of(&[("f", present)]);
    base.know(old);
    let Err(LandError::Refused(report)) = land(answer.as_bytes(), &base, &LandOptions::default()) else {
        panic!("it lands");
    };
    let bare = answer.lines().filter(|line| !line.starts_with("index "));
    let bare = bare.map(|line| format!("{line}\n")).collect::<String>();
    let Err(LandError::Refused(without)) = land(bare.as_bytes(), &base, &LandOptions::default()) else {
        panic!("it lands without the line");
    };
    let codes = [&report, &without].map(|report| report.refusal.as_ref().expect("a refusal").code.as_str());
    assert_eq!(codes, ["stale", "does-not-apply"]);
    assert_eq!(report.files[0].hunks, without.files[0].hunks);
    assert_eq!(report.files[0].hunks[0].expected, ["a", "bee", "c"]);
}
