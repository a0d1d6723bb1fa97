//! What must not land, with the code and the words a reader gets.
//!
//! Owns: the table. Never: repeats what the public corpora show.

use std::sync::Arc;

use agentos_landing::{LandError, LandOptions, LandingReport, RepoPath, SeenFile, land};

use crate::memory::Memory;

/// The report of an answer that must not land.
pub fn refused(answer: &str, files: &[(&str, &[u8])], options: &LandOptions) -> LandingReport {
    match land(answer.as_bytes(), &Memory::of(files), options) {
        Err(LandError::Refused(report)) => *report,
        other => panic!("{other:?}\n{answer}"),
    }
}

/// A small repository.
pub const BASE: &[(&str, &[u8])] = &[
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
    (
        "fns.py",
        b"def a():\n    x = 1\n    return x\n\ndef b():\n    return z\n",
    ),
    ("keys.ini", b"[one]\nk = 1\n[two]\nz = 2\n"),
    ("rule", b"a\nb\n-\n"),
    ("page.rst", b"T\n=======\nx\n"),
    ("rows", b"s\nv\nw\nv\nw\nv\nw\nv\nw\n"),
];

/// Each code with an answer that gets it.
pub const CASES: &[(&str, &str)] = &[
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
    // Changed lines below a line that lost its blank, and that looks like prose.
    (
        "malformed",
        "--- a/f\n+++ b/f\n@@ @@\n-a\n+A\n x\n\nb\n\n+ * c\nx\n",
    ),
    (
        "malformed",
        "--- a/f\n+++ b/f\n@@ @@\n-a\n+A\n x\n\nb\n\n- * c\nx\n",
    ),
    ("malformed", "--- a/f\n+++ b/f\n@@ @@\n-a\n+A\nx\n\nb\n\n-\nx\n"),
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
    // An empty line that comes, below what reads as prose.
    ("malformed", "--- a/f\n+++ b/f\n@@ @@\n-a\n+A\n\nb\n+\n\nc\n"),
    ("malformed", "--- a/f\n+++ b/f\n@@ @@\n-a\n+A\n\nb\n-\n\nc\n"),
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
    // What the context leaves out goes on into another function, or another section.
    (
        "ambiguous",
        "--- a/fns.py\n+++ b/fns.py\n@@ @@\n def a():\n ...\n-    return z\n+    return 0\n",
    ),
    (
        "ambiguous",
        "--- a/keys.ini\n+++ b/keys.ini\n@@ @@\n [one]\n ...\n-z = 2\n+z = 3\n",
    ),
    // A line that goes, or the signature of a mail; a rule of the page, or the divider.
    ("ambiguous", "--- a/rule\n+++ b/rule\n@@ @@\n a\n-b\n+c\n--\n"),
    (
        "ambiguous",
        "page.rst\n<<<<<<< SEARCH\nT\n=======\nx\n>>>>>>> REPLACE\n",
    ),
    // The old line number means one place, the new one another, and both fit.
    (
        "ambiguous",
        "--- a/rows\n+++ b/rows\n@@ -1 +1,3 @@\n s\n+p\n+q\n@@ -6,2 +6,2 @@\n v\n-w\n+W\n",
    ),
    // A listing from the middle of the file, and a diff without a header.
    ("ambiguous", "`sql`\n```\n3 | two\n4 | 3\n```\n"),
    ("malformed", "`sql`\n```\n one\n-two\n+2\n```\n"),
    // The first lines of the file, the first of them changed.
    ("ambiguous", "`rows`\n```\nS\nv\nw\nv\n```\n"),
    // A new file in a sentence beside a diff, and one whose path is its first line.
    (
        "ambiguous",
        "```diff\n--- a/g/h\n+++ b/g/h\n@@ -1 +1 @@\n-a\n+A\n```\nIt needs `src/util.py`:\n```python\nx = 1\n```\n",
    ),
    (
        "ambiguous",
        "`g/h`\n```\nA\n```\n\n```python\n# src/util.py\nx = 1\n```\n",
    ),
    // Lines that would stand left of the line they come into.
    (
        "ambiguous",
        "{\"edits\":[{\"path\":\"fns.py\",\"search\":\"return z\",\"replace\":\"y = z\\nreturn y\"}]}",
    ),
    (
        "malformed",
        "*** Begin Patch\n*** Add File: n.c\n+a\n\n+b\n*** End Patch\n",
    ),
    // An insertion whose header counts lines that it does not have.
    (
        "ambiguous",
        "--- a/f\n+++ b/f\n@@ -3,1 +3,2 @@\n+n\n@@ -1 +1 @@\n-a\n+A\n",
    ),
    // Cut off: in a block that has no end, and in a changed line below hunks that are as long as they say.
    ("malformed", "```diff\n--- a/g/h\n+++ b/g/h\n@@ @@\n-a\n+A\n"),
    (
        "malformed",
        "--- a/g/h\n+++ b/g/h\n@@ -1 +1 @@\n-a\n+A\n--- a/f\n+++ b/f\n@@ -1,4 +1,5 @@\n a\n-x\n",
    ),
    // Changed lines that name no file, and a bullet that no prose holds.
    (
        "malformed",
        "```diff\n--- a/g/h\n+++ b/g/h\n@@ @@\n-a\n+A\n```\nand\n```diff\n-x\n+X\n```\n",
    ),
    (
        "malformed",
        "```diff\n--- a/f\n+++ b/f\n@@ @@\n-a\n+A\n@@x\n+ - b\n```\n",
    ),
    // A file of a name that nothing marks as one, and a file that a script writes in a way that is not read.
    ("ambiguous", "`g/h`\n```\nA\n```\n\n**rule**\n```\na\n```\n"),
    (
        "malformed",
        "```diff\n--- a/g/h\n+++ b/g/h\n@@ @@\n-a\n+A\n```\n```sh\ncat > $DIR/f <<'EOF'\nx\nEOF\n```\n",
    ),
    // Escaped blocks that have no place are no text of the file.
    (
        "ambiguous",
        "`rows`\n```\n&lt;&lt;&lt;&lt;&lt;&lt;&lt; SEARCH\nv\n=======\nV\n&gt;&gt;&gt;&gt;&gt;&gt;&gt; REPLACE\n```\n",
    ),
    // Escaped, in an answer that has marks elsewhere; and a fence below a file that its own lines close.
    (
        "ambiguous",
        "> On Monday\n\n--- a/g/h\n+++ b/g/h\n@@ @@\n-a\n+b &lt; c\n",
    ),
    ("malformed", "`r.md`\n```\n# T\n```\n\n```sh\ncode\n```\n```\n"),
    // Two ways to do it, of which one was meant.
    (
        "ambiguous",
        "```diff\n--- a/f\n+++ b/f\n@@ @@\n-a\n+A\n```\nAlternatively:\n```diff\n--- a/f\n+++ b/f\n@@ @@\n-b\n+B\n```\n",
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
            lines: Vec::new(),
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
