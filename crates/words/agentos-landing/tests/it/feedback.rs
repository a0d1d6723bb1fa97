//! What a model is told when its answer does not land.
//!
//! Owns: the feedback text for every code, and its bound. Never: decides what lands; see `refusals`.

use std::sync::Arc;

use agentos_landing::{
    LandError, LandOptions, LandingReport, Refusal, RefusalCode, RepoPath, SeenFile, land,
};

use crate::memory::Memory;
use crate::refusals::{BASE, CASES, refused};

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
    Copy the lines exactly as they are in the file.

    File `src/a.rs`:
    - 1 of its 2 hunks would land; keep them as they are.
    - Hunk 1: The lines this hunk expects are not in the file; copy the lines exactly as they are in the file.
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
    Nothing was changed. A diff is in the middle of a block of another kind.
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
    Add lines above and below until only one place fits.

    File `f`:
    - Hunk 1: The lines this hunk expects are at several places; add lines above and below until only one place fits.
      It expects these lines:
    ```
    x
    ```
      They are at lines 2, 4.

    Send the whole change again, with enough lines around each edit that it has only one place.

    == does-not-apply
    Nothing was changed. Hunk 1 of `f` does not land: the lines this hunk expects are not in the file.
    Copy the lines exactly as they are in the file.

    File `f`:
    - Hunk 1: The lines this hunk expects are not in the file; copy the lines exactly as they are in the file.
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
    Nothing was changed. `f` is binary, and the diff leaves out its content.

    File `f`:
    - `f` is binary, and the diff leaves out its content.

    Send the whole change again in one well-formed answer.
    ");
}

/// What needs more than a small repository of plain files to be refused.
#[test]
fn feedback_says_what_to_change_about_states_and_paths() {
    let seen = SeenFile {
        path: RepoPath::new("f").expect("a path"),
        content: Arc::from(b"a\nb\nc\n".as_slice()),
        lines: Vec::new(),
    };
    let seen = LandOptions {
        seen: vec![seen],
        ..LandOptions::default()
    };
    let plain = LandOptions::default();
    let mut base = Memory::of(&[("f", b"a\nX\nc\n"), ("large", &b"a\n".repeat((32 << 20) + 1))]);
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
        ("symlink-traversal", edit("link/f", "a"), &plain),
    ];
    let text: Vec<String> = cases
        .iter()
        .map(
            |(code, answer, options)| match land(answer.as_bytes(), &base, options) {
                Err(LandError::Refused(report)) => {
                    let refusal = report.refusal.as_ref().expect("a refusal");
                    assert_eq!(refusal.code.as_str(), *code, "{refusal}");
                    format!("== {code}\n{}", report.feedback())
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
    - Hunk 1: The lines this hunk expects are not in the file; copy the lines exactly as they are in the file.
      It expects these lines:
    ```
    a
    b
    ```

    Send the whole change again, with context and removed lines copied exactly from the file.

    == encoding
    Nothing was changed. `f\u{200b}` has invisible characters.

    File `f\u{200b}`:
    - `f\u{200b}` has invisible characters.

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

    == symlink-traversal
    Nothing was changed. `link/f` cannot be reached: `link` is a symbolic link.

    File `link/f`:
    - `link/f` cannot be reached: `link` is a symbolic link.

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
