//! What is found in added text is denied, whatever else allows the change.

use std::sync::Arc;

use agentos_landing::{Change, FileMode, FileState, RepoPath};

use crate::support::*;

#[test]
fn a_credential_is_denied_whatever_else_allows_it() {
    let set = with("[[rule]]\nid = \"all\"\neffect = \"allow\"\nwhy = \"w\"\n");
    // Put together here, so that no scanner of this repository takes it for a leak.
    let key = format!(
        "let key = \"{}_{}\";
",
        "ghp", "0123456789abcdefghijklmnopqrstuvwxyz"
    );
    let decision = set.judge(&change(&[("src/key.rs", None, Some(&key))]), &local());
    assert_eq!(word(&decision), "deny secret");
    assert_eq!(decision.facts().findings, ["secret"]);
}

#[test]
fn invisible_direction_marks_are_denied() {
    let set = PolicySet::builtin().unwrap();
    let edit = change(&[("src/a.rs", Some("a\n"), Some("if x {\u{202e} } // ok\n"))]);
    assert_eq!(word(&set.judge(&edit, &local())), "deny bidi");
}

#[test]
fn characters_of_no_width_need_a_person() {
    let set = PolicySet::builtin().unwrap();
    let edit = change(&[("src/a.js", Some("a\n"), Some("let \u{3164} = f();\n"))]);
    assert_eq!(word(&set.judge(&edit, &local())), "ask bidi");
}

#[test]
fn a_file_that_becomes_a_diff_needs_a_person() {
    let set = PolicySet::builtin().unwrap();
    let diff = "--- a/src/db.rs\n+++ b/src/db.rs\n@@ -1 +1 @@\n-fn a() {}\n+fn b() {}\n";
    let edit = change(&[("src/db.rs", Some("fn a() {}\n"), Some(diff))]);
    assert!(word(&set.judge(&edit, &local())).starts_with("ask "));
    let patch = change(&[("fix.patch", None, Some(diff))]);
    assert!(word(&set.judge(&patch, &local())).starts_with("allow"));
}

#[test]
fn nul_bytes_in_text_are_denied_and_binary_files_need_a_person() {
    let set = PolicySet::builtin().unwrap();
    let cases = [
        ("a new file", None, Some("a\0b\n"), "ask binary"),
        (
            "a binary file that changes",
            Some("\0a\n"),
            Some("\0b\n"),
            "ask binary",
        ),
        (
            "a binary file that becomes text",
            Some("\0a\n"),
            Some("b\n"),
            "ask binary",
        ),
        ("a deleted one", Some("\0a\n"), None, "allow"),
        (
            "a text that becomes binary",
            Some("a\n"),
            Some("a\nb\0\n"),
            "deny binary",
        ),
        (
            "an empty file that becomes binary",
            Some(""),
            Some("\0"),
            "ask binary",
        ),
    ];
    for (what, old, new, expected) in cases {
        let edit = change(&[("data.bin", old, new)]);
        assert_eq!(word(&set.judge(&edit, &local())), expected, "{what}");
    }
}

#[test]
fn links_need_a_person_and_none_leads_out() {
    let set = PolicySet::builtin().unwrap();
    let link = |target: Option<&str>| {
        target.map(|target| FileState {
            mode: FileMode::Symlink,
            content: Arc::from(target.as_bytes()),
        })
    };
    let cases = [
        (None, Some("guide.md"), "ask mode-change"),
        (Some("a.md"), Some("guide.md"), "ask mode-change"),
        (Some("/etc/passwd"), None, "allow"),
        (None, Some("/etc/passwd"), "deny symlink-traversal"),
        (None, Some("../../x"), "deny symlink-traversal"),
        (Some("a.md"), Some("../.git/config"), "deny symlink-traversal"),
    ];
    for (old, new, expected) in cases {
        let path = RepoPath::new("docs/latest").unwrap();
        let edit = Change::new(vec![(path, link(old), link(new))]).unwrap();
        assert_eq!(word(&set.judge(&edit, &local())), expected, "{old:?} -> {new:?}");
    }
}
