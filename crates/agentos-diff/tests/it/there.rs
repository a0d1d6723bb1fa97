//! What is there already, and what is there twice: in every dialect.
//!
//! Owns: the tables. Never: judges the words of a report.

use agentos_diff::{LandError, LandOptions, land};

use crate::memory::Memory;

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
    empty
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
