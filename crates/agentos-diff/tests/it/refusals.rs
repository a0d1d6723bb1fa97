//! What must not land, with the code and the words a reader gets.
//!
//! Owns: the table. Never: repeats what the public corpora show.

use std::sync::Arc;

use agentos_diff::{LandError, LandOptions, LandingReport, Refusal, RefusalCode, RepoPath, SeenFile, land};

use crate::memory::Memory;

fn refused(answer: &str, files: &[(&str, &[u8])], options: &LandOptions) -> LandingReport {
    match land(answer.as_bytes(), &Memory::of(files), options) {
        Err(LandError::Refused(report)) => *report,
        other => panic!("{other:?}\n{answer}"),
    }
}

/// A small repository.
const BASE: &[(&str, &[u8])] = &[
    ("f", b"a\nx\nb\nx\n"),
    ("g/h", b"a\n"),
    ("sql", b"one\n-- a/sql\ntwo\nthree\n"),
    ("done", b"after();\nmore();\n"),
    (
        "two.py",
        b"class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 2\n",
    ),
    ("twin", b"head\nfoo()  \nbar()\nm1\nm2\nm3\nfoo()\nbar()\n"),
    ("quotes", b"s = \"a\"\nt = 1\n"),
];

/// Code and answer.
const CASES: &[(&str, &str)] = &[
    // A page that shows a diff is not that diff.
    (
        "malformed",
        "docs/x.md\n````markdown\n# How to\n\n--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+A\n````\n",
    ),
    ("empty", ""),
    ("no-diff", "All good, nothing to do."),
    ("ambiguous", "--- a/f\n+++ b/f\n@@ @@\n-x\n+X\n"),
    ("ambiguous", "--- a/f\n+++ b/f\n@@ -9,0 +10 @@\n+X\n"),
    ("does-not-apply", "--- a/f\n+++ b/f\n@@ @@\n-y\n+X\n"),
    ("does-not-apply", "--- a/h\n+++ b/h\n@@ @@\n-a\n+X\n"),
    (
        "does-not-apply",
        "diff --git a/f/x b/f/x\nnew file mode 100644\n--- /dev/null\n+++ b/f/x\n@@ -0,0 +1 @@\n+x\n",
    ),
    ("malformed", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n"),
    (
        "malformed",
        "```diff\n--- a/f\n+++ b/f\n@@ -1,4 +1,5 @@\n-a\n+A\n",
    ),
    (
        "malformed",
        "diff --git a/f b/f\n--- a/g/h\n+++ b/g/h\n@@ -1 +1 @@\n-a\n+A\n",
    ),
    ("malformed", "f\n<<<<<<< SEARCH\na\n=======\nA\n"),
    (
        "malformed",
        "f\n<<<<<<< SEARCH\na\n=======\nA\n=======\nB\n>>>>>>> REPLACE\n",
    ),
    ("malformed", "*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n"),
    (
        "malformed",
        "f.rs\n```\na\n// ... rest of the file unchanged ...\n```\n",
    ),
    (
        "malformed",
        "{\"edits\":[{\"path\":\"f\",\"search\":\"a\",\"replace\":\"b\",\"mode\":\"x\"}]}",
    ),
    (
        "ambiguous",
        "{\"edits\":[{\"path\":\"f\",\"search\":\"x\",\"replace\":\"b\"}]}",
    ),
    (
        "empty",
        "--- a/done\n+++ b/done\n@@ -1,2 +1,2 @@\n-before();\n+after();\n more();\n",
    ),
    ("path-escape", "--- a//etc/x\n+++ b//etc/x\n@@ -0,0 +1 @@\n+x\n"),
    (
        "path-escape",
        "{\"edits\":[{\"path\":\"../f\",\"search\":\"\",\"replace\":\"b\"}]}",
    ),
    (
        "git-dir",
        "diff --git a/f b/.git/x\nrename from f\nrename to .git/x\n",
    ),
    (
        "mode-change",
        "diff --git a/f b/f\nold mode 100644\nnew mode 120000\n",
    ),
    (
        "submodule",
        "diff --git a/f b/f\nold mode 100644\nnew mode 160000\n",
    ),
    (
        "case-collision",
        "diff --git a/G/i b/G/i\nnew file mode 100644\n--- /dev/null\n+++ b/G/i\n@@ -0,0 +1 @@\n+x\n",
    ),
    (
        "case-collision",
        "*** Begin Patch\n*** Add File: n/a\n+1\n*** Add File: n/A\n+2\n*** End Patch\n",
    ),
    // Two lines of the file, or the header of the next part.
    (
        "ambiguous",
        "--- a/sql\n+++ b/sql\n@@ @@\n one\n--- a/sql\n+++ b/sql\n two\n-three\n+3\n",
    ),
    // Edits that a reader sees and no hunk holds.
    (
        "malformed",
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n\nThen\n\n-b\n+B\n",
    ),
    // A diff that takes every line away may mean that the file goes.
    ("ambiguous", "--- a/g/h\n+++ b/g/h\n@@ -1 +0,0 @@\n-a\n"),
    // Escaped for a page, or meant so: both would land.
    ("ambiguous", "--- a/g/h\n+++ b/g/h\n@@ @@\n-a\n+b &lt; c\n"),
    // A part of a longer word.
    (
        "ambiguous",
        "{\"edits\":[{\"path\":\"done\",\"search\":\"fter\",\"replace\":\"lter\"}]}",
    ),
    // Two edits of the same text.
    (
        "ambiguous",
        "{\"edits\":[{\"path\":\"done\",\"search\":\"after()\",\"replace\":\"b()\"},{\"path\":\"done\",\"search\":\"();\\nmore\",\"replace\":\"c\"}]}",
    ),
    // The only such lines stand above the line that is said to stand above them.
    (
        "does-not-apply",
        "*** Begin Patch\n*** Update File: two.py\n@@ class B:\n     def f(self):\n-        return 1\n+        return 3\n*** End Patch\n",
    ),
    (
        "does-not-apply",
        "--- a/two.py\n+++ b/two.py\n@@ -6,2 +6,2 @@ class B:\n     def f(self):\n-        return 1\n+        return 3\n",
    ),
    // The stated place but for a blank at a line's end, and another word for word.
    (
        "ambiguous",
        "--- a/twin\n+++ b/twin\n@@ -2,2 +2,2 @@\n foo()\n-bar()\n+baz()\n",
    ),
    // A typographic character that no line of the file tells the meaning of.
    (
        "does-not-apply",
        "--- a/quotes\n+++ b/quotes\n@@ @@\n-s = \u{201c}a\u{201d}\n+s = \u{201c}b\u{2026}\u{201d}\n t = 1\n",
    ),
    // A new name that Windows reserves.
    (
        "reserved-name",
        "diff --git a/aux.rs b/aux.rs\nnew file mode 100644\n--- /dev/null\n+++ b/aux.rs\n@@ -0,0 +1 @@\n+x\n",
    ),
    (
        "reserved-name",
        "diff --git a/f b/nul.c\nrename from f\nrename to nul.c\n",
    ),
    // The new text stands for lines that it does not show.
    (
        "malformed",
        "f\n<<<<<<< SEARCH\na\nx\nb\n=======\na\n# ... existing code ...\nB\n>>>>>>> REPLACE\n",
    ),
    (
        "malformed",
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-x\n+// ...\n",
    ),
    ("malformed", "`f.rs`\n```\na\n// ...\nb\n```\n"),
    (
        "malformed",
        "`f.py`\n```\na\n# (remaining functions stay the same)\n```\n",
    ),
    // An excerpt, one line of it changed.
    (
        "ambiguous",
        "`done.c` is not meant\n\n`sql`\n```\n-- a/sql\n2\n```\n",
    ),
    // The page ends at its own fence, or below.
    (
        "malformed",
        "`r.md`\n```markdown\n# T\n\n```\ncode\n```\n\nmore\n```\n",
    ),
    // Cut off inside an added line, and inside a fence.
    (
        "malformed",
        "--- a/f\n+++ b/f\n@@ -1,3 +1,6 @@\n a\n-x\n+first\n+second lin",
    ),
    (
        "malformed",
        "```diff\n--- a/f\n+++ b/f\n@@ -1,3 +1,5 @@\n a\n x\n b\n+y\n",
    ),
    // Half of the answer in another dialect.
    (
        "malformed",
        "```diff\n--- a/g/h\n+++ b/g/h\n@@ -1 +1 @@\n-a\n+A\n```\n\n`src/new.py`\n```python\nprint(1)\n```\n",
    ),
    (
        "malformed",
        "**g/h**\n```\nA\n```\n```bash\ncat > new.py <<'EOF'\nprint(1)\nEOF\n```\n",
    ),
    // A sentence about a file, which the block below shows or uses.
    (
        "ambiguous",
        "`g/h`\n```\nA\n```\n\nRun it with `run.sh`:\n```sh\n./run.sh\n```\n",
    ),
    ("binary", "diff --git a/f b/f\nBinary files a/f and b/f differ\n"),
];

#[test]
fn each_kind_of_broken_answer_has_its_code() {
    for (code, answer) in CASES {
        let report = refused(answer, BASE, &LandOptions::default());
        let refusal = report.refusal.expect("a refusal");
        assert_eq!(refusal.code.as_str(), *code, "{refusal}\n{answer}");
    }
}

#[test]
fn a_change_for_another_state_is_carried_over_cleanly_or_stale() {
    let seen = b"a\nb\nc\nd\ne\nf\ng\n";
    let options = LandOptions {
        seen: vec![SeenFile {
            path: RepoPath::new("f").expect("a path"),
            content: Arc::from(seen.as_slice()),
        }],
        ..LandOptions::default()
    };
    let answer = "--- a/f\n+++ b/f\n@@ -5,2 +5,2 @@\n-e\n+E\n f\n";
    let moved = Memory::of(&[("f", b"new\ne\na\nb\nc\nd\ne\nf\ng\n")]);
    let landed = land(answer.as_bytes(), &moved, &options).expect("it lands");
    assert_eq!(
        &*moved.after(&landed.change)["f"].1,
        b"new\ne\na\nb\nc\nd\nE\nf\ng\n"
    );
    let report = refused(answer, &[("f", b"e\nf\na\nb\nc\nd\nX\nf\ng\n")], &options);
    assert_eq!(report.refusal.expect("a refusal").code.as_str(), "stale");
}

#[test]
fn feedback_quotes_the_real_lines_and_says_what_to_change() {
    let base: &[(&str, &[u8])] = &[(
        "src/a.rs",
        b"fn one() {\n    work(1);\n}\n\nfn two() {\n    rest();\n}\n",
    )];
    let answer = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n fn one() {\n-    work(2);\n+    work(3);\n }\n\
                  @@ -5,3 +5,3 @@\n fn two() {\n-    rest();\n+    test();\n }\n";
    insta::assert_snapshot!(refused(answer, base, &LandOptions::default()).feedback(), @r"
    Nothing was changed. Hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file.
    Copy the lines exactly as they stand in the file.

    File `src/a.rs`:
    - 1 of its 2 hunks would land; keep them as they are.
    - Hunk 1: The lines this hunk expects are not in the file; copy the lines exactly as they stand in the file.
      It expects these lines:
    ```
    fn one() {
        work(2);
    }
    ```
      The file has these lines from line 1 on:
    ```
    fn one() {
        work(1);
    }
    ```

    Send the whole change again, with context and removed lines copied exactly from the file.
    ");
}

/// One answer for each code that landing itself gives, and the text a model gets.
#[test]
fn feedback_says_for_every_code_what_to_change() {
    let mut told: Vec<(String, String)> = Vec::new();
    for (code, answer) in CASES {
        if told.iter().all(|(other, _)| other != code) {
            told.push((
                (*code).to_owned(),
                refused(answer, BASE, &LandOptions::default()).feedback(),
            ));
        }
    }
    for (_, feedback) in &told {
        assert!(feedback.starts_with("Nothing was changed. "), "{feedback}");
    }
    let text: Vec<String> = told
        .into_iter()
        .map(|(code, text)| format!("== {code}\n{text}"))
        .collect();
    insta::assert_snapshot!(text.join("\n"), @r"
    == malformed
    Nothing was changed. A diff stands in the middle of a block of another kind.
    Put the diff alone into its fence.

    Send the whole change again in one well-formed answer.

    == empty
    Nothing was changed. The answer is empty.

    Nothing needs to be done if the file is already as it should be.

    == no-diff
    Nothing was changed. No edit was found in the answer.
    Answer with a unified diff, or with search/replace blocks under the file's path.

    Answer with one unified diff (`--- a/path`, `+++ b/path`, `@@` hunks) or with search/replace blocks.

    == ambiguous
    Nothing was changed. Hunk 1 of `f` does not land: the lines this hunk expects are at several places.
    Add lines above and below until the place is the only one.

    File `f`:
    - Hunk 1: The lines this hunk expects are at several places; add lines above and below until the place is the only one.
      It expects these lines:
    ```
    x
    ```
      They are at lines 2, 4.

    Send the whole change again, with enough lines around each edit that it has only one place.

    == does-not-apply
    Nothing was changed. Hunk 1 of `f` does not land: the lines this hunk expects are not in the file.
    Copy the lines exactly as they stand in the file.

    File `f`:
    - Hunk 1: The lines this hunk expects are not in the file; copy the lines exactly as they stand in the file.
      It expects these lines:
    ```
    y
    ```

    Send the whole change again, with context and removed lines copied exactly from the file.

    == path-escape
    Nothing was changed. `/etc/x` is not a plain path inside the repository.

    File `/etc/x`:
    - `/etc/x` is not a plain path inside the repository.

    This is not allowed. Send the change without it.

    == git-dir
    Nothing was changed. `.git/x` reaches git's own files.

    File `.git/x`:
    - `.git/x` reaches git's own files.

    This is not allowed. Send the change without it.

    == mode-change
    Nothing was changed. `f` has mode `120000`, which cannot be landed.

    File `f`:
    - `f` has mode `120000`, which cannot be landed.

    This is not allowed. Send the change without it.

    == submodule
    Nothing was changed. `f` has mode `160000`, which cannot be landed.

    File `f`:
    - `f` has mode `160000`, which cannot be landed.

    This is not allowed. Send the change without it.

    == case-collision
    Nothing was changed. `G/i` and `g` differ only by case, form or look-alike letters.

    This is not allowed. Send the change without it.

    == reserved-name
    Nothing was changed. `aux.rs` is the name of a device on Windows.

    File `aux.rs`:
    - `aux.rs` is the name of a device on Windows.

    This is not allowed. Send the change without it.

    == binary
    Nothing was changed. `f` is a binary patch, which nobody can review.

    File `f`:
    - `f` is a binary patch, which nobody can review.

    Send the whole change again in one well-formed answer.
    ");
}

/// What needs more than a small repository of plain files to be refused.
#[test]
fn feedback_says_what_to_change_about_states_and_paths() {
    let seen = SeenFile {
        path: RepoPath::new("f").expect("a path"),
        content: Arc::from(b"a\nb\nc\n".as_slice()),
    };
    let seen = LandOptions {
        seen: vec![seen],
        ..LandOptions::default()
    };
    let mut plain = LandOptions::default();
    plain.limits.file_bytes = 100;
    let mut base = Memory::of(&[("f", b"a\nX\nc\n"), ("large", &b"a\n".repeat(51))]);
    base.put("link", "120000", b"elsewhere");
    let edit =
        |path: &str, old: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n a\n-{old}\n+new\n");
    let new = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    let cases = [
        ("stale", edit("f", "b"), &seen),
        ("encoding", edit("f\u{200b}", "b"), &plain),
        ("too-large", edit("large", "a"), &plain),
        ("symlink-traversal", edit("link", "a"), &plain),
        ("symlink-traversal", new("link/f"), &plain),
    ];
    let text: Vec<String> = cases
        .iter()
        .map(
            |(code, answer, options)| match land(answer.as_bytes(), &base, options) {
                Err(LandError::Refused(report)) => {
                    let refusal = report.refusal.as_ref().expect("a refusal");
                    assert_eq!(refusal.code.as_str(), *code, "{refusal}");
                    format!("== {code}\n{}", report.feedback().replace('\u{200b}', "<200b>"))
                }
                Ok(_) => panic!("{code} lands\n{answer}"),
                Err(error) => panic!("{code}: {error}\n{answer}"),
            },
        )
        .collect();
    insta::assert_snapshot!(text.join("\n"), @r"
    == stale
    Nothing was changed. `f` has changed since: the same lines were changed.
    Make the change again for the file as it is now.

    File `f`:
    - `f` has changed since: the same lines were changed; make the change again for the file as it is now.

    Send the whole change again, with context and removed lines copied exactly from the file.

    == encoding
    Nothing was changed. `f<200b>` has characters in it that nobody can see.

    File `f<200b>`:
    - `f<200b>` has characters in it that nobody can see.

    Send the whole change again in one well-formed answer.

    == too-large
    Nothing was changed. `large` is larger than the limit.

    File `large`:
    - `large` is larger than the limit.

    Send the whole change again in one well-formed answer.

    == symlink-traversal
    Nothing was changed. `link` is a symbolic link.

    File `link`:
    - `link` is a symbolic link.

    This is not allowed. Send the change without it.

    == symlink-traversal
    Nothing was changed. `link/f` cannot be written: `link` is a symbolic link.

    This is not allowed. Send the change without it.
    ");
}

/// Codes that only others than landing give: the advice below their message is landing's.
#[test]
fn feedback_has_advice_for_what_policy_refuses() {
    let codes = [RefusalCode::Secret, RefusalCode::Bidi, RefusalCode::ProtectedPath];
    for code in codes {
        let report = LandingReport {
            version: 1,
            refusal: Some(Refusal::new(code, "the reason").at("f").hint("the hint")),
            files: Vec::new(),
            notes: Vec::new(),
            partial: false,
        };
        let wanted = "Nothing was changed. The reason.\nThe hint.\n\nThis is not allowed. Send the change without it.\n";
        assert_eq!(report.feedback(), wanted, "{code}");
    }
}

#[test]
fn feedback_is_bounded_however_much_is_wrong() {
    let line = "x".repeat(5_000);
    let hunks: String = (0..2_000)
        .map(|at| format!("@@ @@\n {line}{at}\n-a{at}\n+b\n"))
        .collect();
    let files: String = (0..200)
        .map(|at| format!("--- a/none{at}\n+++ b/none{at}\n@@ @@\n-a\n+b\n"))
        .collect();
    let report = refused(
        &format!("--- a/f\n+++ b/f\n{hunks}{files}"),
        BASE,
        &LandOptions::default(),
    );
    let feedback = report.feedback();
    assert!(feedback.len() < 40_000, "{}", feedback.len());
    assert!(feedback.contains("and "), "{feedback}");
}
