//! A text that shows an edit is not one: what an answer quotes, writes into a file or leaves as context.
//!
//! Owns: the table. Never: repeats what one dialect alone can show.

use agentos_landing::{LandError, LandOptions, land};

use crate::memory::Memory;

/// The files that change, or the code of the refusal.
fn outcome(answer: &str, files: &[(&str, &[u8])]) -> String {
    let base = Memory::of(files);
    match land(answer.as_bytes(), &base, &LandOptions::default()) {
        Ok(landed) => {
            let after = base.after(&landed.change);
            let changed = after
                .iter()
                .filter(|(path, (_, now))| base.tree.get(*path).is_none_or(|(_, was)| was != now));
            let mut said: Vec<String> = changed.map(|(path, _)| path.to_string()).collect();
            let gone = base.tree.keys().filter(|path| !after.contains_key(*path));
            said.extend(gone.map(|path| format!("{path} gone")));
            said.join(" ")
        }
        Err(LandError::Refused(report)) => report.refusal.expect("a refusal").code.to_string(),
        Err(error) => panic!("{error}"),
    }
}

const DIFF: &str = "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-x\n+y\n";
const EDITS: &str = r#"{"edits":[{"path":"a.c","search":"x","replace":"y"}]}"#;
const BASE: &[(&str, &[u8])] = &[
    ("a.c", b"x\n"),
    ("b.c", b"q\n"),
    ("d.md", b"# Doc\n*** Delete File: a.c\nend\n"),
    ("t.json", b"{\n  \"edits\": [],\n  \"v\": 1\n}\n"),
    (
        "t.jsonl",
        b"1\n{\"edits\":[{\"path\":\"a.c\",\"search\":\"x\",\"replace\":\"y\"}]}\n",
    ),
    ("t.tex", b"\\a\n\\b\nold\n"),
];

#[test]
fn lines_belong_to_the_outermost_part() {
    let doc = "diff --git a/d.md b/d.md\n--- a/d.md\n+++ b/d.md\n@@ -1,2 +1,2 @@\n-# Doc\n+# Doc 2\n *** Delete File: a.c\n";
    let jsonl = format!("--- a/t.jsonl\n+++ b/t.jsonl\n@@ -1,2 +1,2 @@\n-1\n+2\n {EDITS}\n");
    let block = "d.md\n<<<<<<< SEARCH\n# Doc\n*** Delete File: a.c\n=======\n# D\n*** Delete File: a.c\n>>>>>>> REPLACE\n";
    let table = [
        ("d.md", doc.to_owned()),
        ("d.md", format!("```diff\n{doc}```\n")),
        ("t.jsonl", jsonl),
        ("d.md", block.to_owned()),
        // A file whose text shows an edit.
        ("d.md", "The complete file:\n`d.md`\n```md\n# Doc\nwrite\n*** Delete File: b.c\n```\n".to_owned()),
        ("p.md", format!("`p.md`\n````md\n# Doc\n\n```diff\n{DIFF}```\n````\n")),
        ("malformed", format!("`p.md`\n````md\n# Doc\n\n```diff\n{DIFF}```\n````\n\n`b.c`\n```diff\n--- a/b.c\n+++ b/b.c\n@@ @@\n-q\n+r\n```\n")),
        ("ambiguous", "`t.json`\n```json\n{\n  \"edits\": [],\n  \"v\": 2\n}\n```\n".to_owned()),
        ("ambiguous", format!("`e.json`\n```json\n{EDITS}\n```\n")),
        ("a.c", format!("The edits:\n```json\n{EDITS}\n```\n")),
        ("ambiguous", "`t.py`\n```python\nP = 1\nQ = '''\na.c\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n'''\n```\n".to_owned()),
        ("a.c", "`a.c`\n```c\na.c\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n".to_owned()),
        // A patch that is a file.
        ("ambiguous", format!("`fix.patch`\n```diff\n{DIFF}```\n")),
        ("a.c", format!("`fix.patch`\n```diff\n{DIFF}```\nRun `git apply fix.patch`.\n")),
        ("malformed", format!("```bash\ncat > fix.patch <<'EOF'\n{DIFF}EOF\n```\n")),
        // Quoted beside an edit, and alone.
        ("ambiguous", format!("Not this:\n  *** Delete File: b.c\n\n```diff\n{DIFF}```\n")),
        ("b.c gone", "  *** Begin Patch\n  *** Delete File: b.c\n  *** End Patch\n".to_owned()),
    ];
    for (wanted, answer) in table {
        assert_eq!(outcome(&answer, BASE), wanted, "{answer}");
    }
}

#[test]
fn the_message_of_a_commit_is_not_read() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    let shown = [
        "    *** Delete File: b.c\n".to_owned(),
        "b.c\n<<<<<<< SEARCH\nq\n=======\nQ\n>>>>>>> REPLACE\n".to_owned(),
        "    --- a/b.c\n    +++ b/b.c\n    @@ -1 +1 @@\n    -q\n    +Q\n".to_owned(),
        format!("    {}\n", EDITS.replace("a.c", "b.c").replace('x', "q")),
    ];
    for text in shown {
        let mail = format!(
            "From {id} Mon Sep 17 00:00:00 2001\nFrom: M <m@x>\nSubject: [PATCH] y\n\nAs in\n\n{text}\n---\n a.c | 2 +-\n\ndiff --git a/a.c b/a.c\n{DIFF}-- \n2.39.0\n"
        );
        assert_eq!(outcome(&mail, BASE), "a.c", "{mail}");
        let commit = format!("commit {id}\nAuthor: M <m@x>\n\n{text}\ndiff --git a/a.c b/a.c\n{DIFF}");
        assert_eq!(outcome(&commit, BASE), "a.c", "{commit}");
    }
}

#[test]
fn a_backslash_begins_a_line_of_text() {
    let lost = "```diff\n--- a/t.tex\n+++ b/t.tex\n@@ -1,3 +1,3 @@\n\\a\n\\b\n-old\n+new\n```\n";
    assert_eq!(outcome(lost, BASE), "t.tex");
    // The mark of an added line got lost.
    let added = "--- a/t.tex\n+++ b/t.tex\n@@ -1,3 +1,4 @@\n \\a\n+c\n\\d\n \\b\n";
    assert_eq!(outcome(added, BASE), "does-not-apply");
    let marker = "--- a/b.c\n+++ b/b.c\n@@ -1 +1 @@\n-q\n+Q\n\\ Kein Zeilenumbruch am Dateiende.\n";
    assert_eq!(outcome(marker, BASE), "b.c");
}

#[test]
fn an_envelope_that_breaks_off_does_not_land() {
    for answer in [
        "*** Update File: b.c\n@@\n-q\n+calc(",
        "```\n*** Update File: b.c\n@@\n-q\n+calc(",
    ] {
        assert_eq!(outcome(answer, BASE), "malformed", "{answer}");
    }
    assert_eq!(outcome("*** Update File: b.c\n@@\n-q\n+calc()\n", BASE), "b.c");
}

#[test]
fn an_example_with_fences_in_it_hides_no_diff_below() {
    let example = "The README would then say:\n\n```markdown\n# Demo\n\n```sh\npip install demo\n```\n\nThen:\n\n```python\nimport demo\n```\n```\n\n";
    let answer = format!(
        "{example}Here is the change:\n\n```diff\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n```\n"
    );
    let base = Memory::of(&[("f", b"a\nc\n")]);
    let landed = land(answer.as_bytes(), &base, &LandOptions::default()).expect("it lands");
    assert_eq!(&*base.after(&landed.change)["f"].1, b"b\nc\n");
}
