//! Binary content and symbolic links, as a complete git diff states them.
//!
//! Owns: that such a diff lands exactly, and that one which lies does not. Never: asks whether it is wanted; policy asks.

use std::sync::Arc;

use agentos_landing::{Change, FileMode, FileState, LandError, LandOptions, LandedChange, RepoPath, land};

use crate::memory::{Memory, blob_id};

/// Printed by `git diff --cached --binary -M` of git 2.47: a binary file is deleted, changed and new, and a link is renamed, new,
/// moved to another target and deleted.
const OF_GIT: &str = r#"diff --git a/d/logo b/d/renamed
similarity index 100%
rename from d/logo
rename to d/renamed
diff --git a/fresh b/fresh
new file mode 120000
index 0000000..0e8e114
--- /dev/null
+++ b/fresh
@@ -0,0 +1 @@
+logo.bin
\ No newline at end of file
diff --git a/gone.bin b/gone.bin
deleted file mode 100644
index 3c4f499b31d846fc4e1028011429bd744f88c59a..0000000000000000000000000000000000000000
GIT binary patch
literal 0
HcmV?d00001

literal 6
NcmZQb&(BNc0ssZ$0ki-B

diff --git a/latest b/latest
index 28c218c..8494ac2 120000
--- a/latest
+++ b/latest
@@ -1 +1 @@
-v1
\ No newline at end of file
+v2
\ No newline at end of file
diff --git a/logo.bin b/logo.bin
index fff0ba8e41a3db97cb7a58cfb2b563e6a0f3a164..baef686f10d3d88f3d2b093d35cbefae12a2dca7 100644
GIT binary patch
delta 12
TcmZ3(w1H`Z4kJrRVrC8i8Y2Vj

delta 7
OcmdnMw1#Pe4kG{xumU~+

diff --git a/new.bin b/new.bin
new file mode 100644
index 0000000000000000000000000000000000000000..561f00b70bfee14952f82c8704bf7249603e946c
GIT binary patch
literal 2000
ccmZQz7zLvtFd71*Aut*OqaiRF0z*9n00+<j0RR91

literal 0
HcmV?d00001

diff --git a/stale b/stale
deleted file mode 120000
index 28c218c..0000000
--- a/stale
+++ /dev/null
@@ -1 +0,0 @@
-v1
\ No newline at end of file
"#;

/// A mebibyte of zeros as git packs it.
const ZEROS: &str = r#"zc-rm3F#!Mo0K%a4Pi+Wapa1{>0000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
z00000000000000000000000000000000000000000000000000000000000000000
y000000000000000000000000000000000000000000000000000000006qf%@Bje-
"#;

/// Bytes with every value, from a generator that the fixture above was made with, too.
fn logo() -> Vec<u8> {
    let mut state: u32 = 1;
    let next = || {
        state = (state * 75 + 74) % 65537;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(300).collect()
}

fn logo_after() -> Vec<u8> {
    let mut bytes = logo();
    bytes[7] = 1;
    bytes.extend_from_slice(b"tail");
    bytes
}

fn base() -> Memory {
    let mut base = Memory::of(&[
        ("logo.bin", &logo()),
        ("gone.bin", b"\0gone\n"),
        ("a.txt", b"a\n"),
    ]);
    for (path, target) in [("latest", "v1"), ("stale", "v1"), ("d/logo", "../logo.bin")] {
        base.put(path, "120000", target.as_bytes());
    }
    base
}

fn landed(answer: &str) -> LandedChange {
    land(answer.as_bytes(), &base(), &LandOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{answer}"))
}

/// The code of the refusal, with the sentence.
fn refused(answer: &str) -> String {
    match land(answer.as_bytes(), &base(), &LandOptions::default()) {
        Err(LandError::Refused(report)) => {
            let refusal = report.refusal.expect("a refusal");
            format!("{}: {refusal}", refusal.code.as_str())
        }
        other => panic!("{other:?}\n{answer}"),
    }
}

/// The part of a diff about one path.
fn part<'a>(diff: &'a str, path: &str) -> &'a str {
    let begin = diff.find(&format!("diff --git a/{path} ")).expect("a part");
    let (_, rest) = diff.split_at(begin);
    let next = rest.match_indices("diff --git ").nth(1);
    rest.split_at(next.map_or(rest.len(), |(at, _)| at)).0
}

#[test]
fn a_diff_of_git_with_binary_files_and_links_lands_exactly() {
    let base = base();
    let mut expected = base.tree.clone();
    for path in ["gone.bin", "stale", "d/logo"] {
        expected.remove(path);
    }
    for (path, mode, content) in [
        ("logo.bin", "100644", logo_after()),
        ("new.bin", "100644", vec![0; 2000]),
        ("latest", "120000", b"v2".to_vec()),
        ("fresh", "120000", b"logo.bin".to_vec()),
        ("d/renamed", "120000", b"../logo.bin".to_vec()),
    ] {
        expected.insert(path.to_owned(), (mode.to_owned(), Arc::from(content)));
    }
    for answer in [
        OF_GIT.to_owned(),
        format!("Here is the change:\n\n```diff\n{OF_GIT}```\n\nDone.\n"),
        OF_GIT.replace('\n', "\r\n"),
    ] {
        assert_eq!(base.after(&landed(&answer).change), expected, "{answer}");
    }
}

#[test]
fn the_canonical_diff_lands_as_itself_and_its_inverse_takes_it_back() {
    let base = base();
    let change = landed(OF_GIT).change;
    let again = landed(std::str::from_utf8(change.canonical_diff()).expect("data is ASCII"));
    assert_eq!(again.change.canonical_diff(), change.canonical_diff());
    let inverse = change.inverse().expect("an inverse");
    let mut after = Memory::default();
    for (path, (mode, content)) in base.after(&change) {
        after.put(&path, &mode, &content);
    }
    let back = land(inverse.canonical_diff(), &after, &LandOptions::default()).expect("the way back");
    assert_eq!(after.after(&back.change), base.tree);
}

#[test]
fn a_deleted_binary_file_needs_no_data_but_its_id() {
    let id = blob_id(b"\0gone\n");
    let deletion = |id: &str| {
        format!(
            "diff --git a/gone.bin b/gone.bin\ndeleted file mode 100644\nindex {id}..0000000\n\
             Binary files a/gone.bin and /dev/null differ\n"
        )
    };
    assert!(
        landed(&deletion(id.split_at(7).0)).change.files()[0]
            .new
            .is_none()
    );
    assert!(refused(&deletion("1234567")).starts_with("does-not-apply: "));
}

#[test]
fn binary_data_that_lies_is_refused() {
    let canonical = |path: &str, old: Option<&[u8]>, new: &[u8]| {
        let state = |content: &[u8]| FileState::regular(content);
        let path = RepoPath::new(path).expect("a path");
        let change = Change::new(vec![(path, old.map(state), Some(state(new)))]).expect("a change");
        String::from_utf8(change.canonical_diff().to_vec()).expect("ASCII")
    };
    let edit = part(OF_GIT, "logo.bin");
    let new = part(OF_GIT, "new.bin");
    let other = canonical("logo.bin", Some(b"\0other"), &logo_after());
    let zeros = "0".repeat(40);
    let cases = [
        ("other old content", other),
        (
            "ids cut short",
            edit.replace("fff0ba8e41a3db97cb7a58cfb2b563e6a0f3a164", "fff0ba8"),
        ),
        (
            "no ids",
            edit.lines()
                .filter(|line| !line.starts_with("index "))
                .map(|line| format!("{line}\n"))
                .collect(),
        ),
        ("another result", edit.replace("baef686f10", "baef686f11")),
        ("a size too large", new.replace("literal 2000", "literal 2001")),
        ("a size too small", new.replace("literal 2000", "literal 1999")),
        (
            "a size of gigabytes",
            new.replace("literal 2000", "literal 90000000000"),
        ),
        (
            "a size that is no number",
            new.replace("literal 2000", "literal 2e3"),
        ),
        ("no digit of the data", new.replace("ccmZQz7", "ccmZQ\"7")),
        ("a line cut short", new.replace("RR91", "RR9")),
        ("damaged data", new.replace("ccmZQz7", "ccmZQz8")),
        (
            "a delta for a new file",
            edit.replace(
                "index fff0ba8e41a3db97cb7a58cfb2b563e6a0f3a164",
                &format!("new file mode 100644\nindex {zeros}"),
            )
            .replace("logo.bin", "n"),
        ),
        ("a delta as content", edit.replace("delta 12", "literal 12")),
        (
            "no data",
            new.replace(
                "GIT binary patch\n",
                "Binary files /dev/null and b/new.bin differ\n",
            )
            .lines()
            .take(4)
            .map(|line| format!("{line}\n"))
            .collect(),
        ),
        ("lines and data", format!("{edit}@@ -1 +1 @@\n-a\n+b\n")),
        (
            "twice with other results",
            format!("{edit}{}", canonical("logo.bin", Some(&logo()), b"\0")),
        ),
        ("data of a link", new.replace("100644", "120000")),
        ("the same again", canonical("logo.bin", Some(b"\0old"), &logo())),
        (
            "a text file below it",
            format!(
                "{new}diff --git a/new.bin/x b/new.bin/x\nnew file mode 100644\n--- /dev/null\n+++ b/new.bin/x\n@@ -0,0 +1 @@\n+x\n"
            ),
        ),
    ];
    let mut table = String::new();
    for (what, answer) in cases {
        table.push_str(&format!("{what}: {}\n", refused(&answer)));
    }
    insta::assert_snapshot!(table, @r"
    other old content: stale: `logo.bin` has other content than the one that the binary patch is for
    ids cut short: malformed: `logo.bin` is a binary patch without an `index` line that has both whole ids
    no ids: malformed: `logo.bin` is a binary patch without an `index` line that has both whole ids
    another result: malformed: `logo.bin` is a binary patch with another result than its `index` line names
    a size too large: malformed: `new.bin` is a binary patch whose data is damaged
    a size too small: malformed: `new.bin` is a binary patch whose data is damaged
    a size of gigabytes: too-large: `new.bin` is larger than the binary files of one answer may be
    a size that is no number: malformed: a binary patch cannot be read: no `literal` or `delta` line follows
    no digit of the data: malformed: a binary patch cannot be read: a line of it is no data
    a line cut short: malformed: a binary patch cannot be read: a line of it is no data
    damaged data: malformed: `new.bin` is a binary patch whose data is damaged
    a delta for a new file: malformed: `n` is a binary patch for content of another size
    a delta as content: malformed: `logo.bin` is a binary patch with another result than its `index` line names
    no data: binary: `new.bin` is binary, and the diff leaves out its content
    lines and data: malformed: `logo.bin` has lines and binary data
    twice with other results: malformed: two parts of the answer contradict each other about `logo.bin`
    data of a link: malformed: `new.bin` is a symbolic link, and its target is no binary data
    the same again: empty: `logo.bin` has this content already
    a text file below it: malformed: `new.bin/x` cannot be both a file and a directory
    ");
}

#[test]
fn a_small_answer_cannot_unpack_to_more_than_a_large_one() {
    // Each file is 1 MiB of zeros in about 1400 bytes of text; the limit holds for all of them together.
    let part = |at: usize| {
        let path = RepoPath::new(&format!("f{at}")).expect("a path");
        let content = vec![0; 1 << 20];
        let change = Change::new(vec![(path, None, Some(FileState::regular(&content)))]).expect("a change");
        let header = String::from_utf8_lossy(change.canonical_diff());
        let header = header.split("literal").next().expect("a header").to_owned();
        format!("{header}literal {}\n{}\n", content.len(), ZEROS)
    };
    let answer = |count: usize| (0..count).map(part).collect::<String>();
    assert_eq!(landed(&answer(8)).change.files().len(), 8);
    assert!(refused(&answer(9)).starts_with("too-large: "));
}

#[test]
fn a_link_leads_only_to_what_the_repository_holds() {
    let new = |target: &str| {
        format!(
            "diff --git a/d/l b/d/l\nnew file mode 120000\n--- /dev/null\n+++ b/d/l\n@@ -0,0 +1 @@\n+{target}\n\
             \\ No newline at end of file\n"
        )
    };
    let edit = part(OF_GIT, "latest");
    let cases = [
        ("absolute", new("/etc/passwd")),
        ("outside", new("../../x")),
        ("outside behind a name", new("a/../../../x")),
        ("git's files", new("../.git/hooks")),
        ("the top folder", new("..")),
        ("no target", new("")),
        ("another old target", edit.replace("-v1", "-v0")),
        ("already there", edit.replace("+v2", "+v1")),
        ("two lines", edit.replace("+v2", "+v2\n+v3")),
        (
            "renamed to where it leads out",
            "diff --git a/d/logo b/logo\nsimilarity index 100%\nrename from d/logo\nrename to logo\n"
                .to_owned(),
        ),
        (
            "a link that is there",
            part(OF_GIT, "fresh").replace("fresh", "latest"),
        ),
        (
            "a file becomes a link",
            "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 120000\n".to_owned(),
        ),
        ("an agent's link in place of a file", new("v1").replace("d/l", "a.txt")),
        (
            "git's deletion of a file and its link",
            format!(
                "diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n{}",
                new("v1").replace("d/l", "a.txt")
            ),
        ),
        (
            "a file in place of a link",
            "diff --git a/latest b/latest\nnew file mode 100644\n--- /dev/null\n+++ b/latest\n@@ -0,0 +1 @@\n+x\n".to_owned(),
        ),
        ("an edit of a file as a link", edit.replace("latest", "a.txt")),
        ("an edit of a link as a file", edit.replace(" 120000", " 100644")),
        (
            "a file below a new link",
            format!(
                "{}diff --git a/d/l/x b/d/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/d/l/x\n@@ -0,0 +1 @@\n+x\n",
                new("../d")
            ),
        ),
        (
            "a file below a link",
            "--- /dev/null\n+++ b/latest/x\n@@ -0,0 +1 @@\n+x\n".to_owned(),
        ),
    ];
    let mut table = String::new();
    for (what, answer) in cases {
        table.push_str(&format!("{what}: {}\n", refused(&answer)));
    }
    insta::assert_snapshot!(table, @r"
    absolute: symlink-traversal: `d/l` would be a symbolic link that leads out of the repository
    outside: symlink-traversal: `d/l` would be a symbolic link that leads out of the repository
    outside behind a name: symlink-traversal: `d/l` would be a symbolic link that leads out of the repository
    git's files: symlink-traversal: `d/l` would be a symbolic link that leads to git's own files, or to the folder that holds them
    the top folder: symlink-traversal: `d/l` would be a symbolic link that leads to git's own files, or to the folder that holds them
    no target: symlink-traversal: `d/l` would be a symbolic link that not every system can make
    another old target: does-not-apply: `latest` is a link with another target than the answer removes
    already there: empty: `latest` is a link with this target already
    two lines: malformed: `latest` is a symbolic link, and a link has one target
    renamed to where it leads out: symlink-traversal: `logo` would be a symbolic link that leads out of the repository
    a link that is there: does-not-apply: `latest` is stated as new, but already exists
    a file becomes a link: mode-change: `a.txt` has mode `120000`, which cannot be landed
    an agent's link in place of a file: mode-change: `a.txt` is a symbolic link on one side of the change and a file on the other
    git's deletion of a file and its link: does-not-apply: `a.txt` does not have the content that the answer deletes
    a file in place of a link: mode-change: `latest` is a symbolic link on one side of the change and a file on the other
    an edit of a file as a link: mode-change: `a.txt` is not a symbolic link
    an edit of a link as a file: symlink-traversal: `latest` is a symbolic link
    a file below a new link: malformed: `d/l/x` cannot be both a file and a directory
    a file below a link: symlink-traversal: `latest/x` cannot be written: `latest` is a symbolic link
    ");
    // The mark of the missing newline is easily lost, and no link has one in its target.
    let unmarked = new("../logo.bin").replace("\\ No newline at end of file\n", "");
    let change = landed(&unmarked).change;
    let made = change.files()[0].new.as_ref().expect("a link");
    assert_eq!(
        (made.mode, &*made.content),
        (FileMode::Symlink, &b"../logo.bin"[..])
    );
}
