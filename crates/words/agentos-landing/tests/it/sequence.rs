//! Several parts of one answer about the same file: what one leaves is what the next was made for, or is not.
//!
//! Owns: the tables. Never: repeats what one part alone can show.

use agentos_landing::{LandOptions, land};

use crate::memory::Memory;

const BASE: &[(&str, &[u8])] = &[("f", b"one\ntwo\nthree\nfour\nfive\nsix\n"), ("g", b"other\n")];

/// The files after the answer, or the code of its refusal.
fn outcome(answer: &str, files: &[(&str, &[u8])]) -> String {
    let base = Memory::of(files);
    match land(answer.as_bytes(), &base, &LandOptions::default()) {
        Ok(landed) => base
            .after(&landed.change)
            .into_iter()
            .filter(|(path, (_, now))| base.tree.get(path).is_none_or(|(_, before)| before != now))
            .map(|(path, (_, content))| {
                format!("{path}={}", String::from_utf8_lossy(&content).replace('\n', " "))
            })
            .chain(
                base.tree
                    .keys()
                    .filter(|path| !base.after(&landed.change).contains_key(*path))
                    .map(|path| format!("{path} gone")),
            )
            .collect::<Vec<_>>()
            .join("; "),
        Err(agentos_landing::LandError::Refused(report)) => {
            report.refusal.expect("a refusal").code.to_string()
        }
        Err(error) => panic!("{error}"),
    }
}

fn block(path: &str, search: &str, replace: &str) -> String {
    format!("{path}\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n\n")
}

fn json(edits: &[(&str, &str, &str)]) -> String {
    let edits: Vec<_> = edits
        .iter()
        .map(
            |(path, search, replace)| serde_json::json!({"path": path, "search": search, "replace": replace}),
        )
        .collect();
    serde_json::json!({ "edits": edits }).to_string()
}

#[test]
fn a_later_edit_may_be_made_for_what_an_earlier_one_leaves() {
    let wanted = "f=one 2 deux three four five six ";
    let answers = [
        block("f", "two", "2\nII") + &block("f", "II\nthree", "deux\nthree"),
        json(&[("f", "two\n", "2\nII\n"), ("f", "II", "deux")]),
        "```diff\n--- a/f\n+++ b/f\n@@ @@\n-two\n+2\n+II\n```\nThen\n```diff\n--- a/f\n+++ b/f\n@@ @@\n-II\n+deux\n three\n```\n".to_owned(),
        "*** Begin Patch\n*** Update File: f\n@@\n-two\n+2\n+II\n*** Update File: f\n@@\n-II\n+deux\n*** End Patch\n".to_owned(),
    ];
    for answer in answers {
        assert_eq!(outcome(&answer, BASE), wanted, "{answer}");
    }
}

#[test]
fn files_that_come_change_move_and_go_in_one_answer_end_as_the_last_part_leaves_them() {
    let new = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n";
    let edit = "diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    let moved = "diff --git a/n b/m\nrename from n\nrename to m\n";
    let gone =
        "diff --git a/m b/m\ndeleted file mode 100644\n--- a/m\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-B\n";
    let edited = "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-other\n+more\n";
    let old_gone =
        "diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-other\n";
    let new_g = "diff --git a/g b/g\nnew file mode 100644\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+fresh\n";
    let g_moved = "diff --git a/g b/h\nrename from g\nrename to h\n";
    let cases: [(String, &str); 9] = [
        (format!("{new}{edit}"), "n=a B "),
        (format!("{new}{edit}{moved}"), "m=a B "),
        (format!("{new}{edit}{moved}{gone}"), "empty"),
        (format!("{edited}{new}{edit}{moved}{gone}"), "g=more "),
        (format!("{old_gone}{new_g}"), "g=fresh "),
        (format!("{edited}{g_moved}"), "h=more ; g gone"),
        (format!("{g_moved}{new_g}"), "g=fresh ; h=other "),
        // The file that is edited went before.
        (format!("{old_gone}{edited}"), "malformed"),
        (format!("{new}{moved}{edit}"), "does-not-apply"),
    ];
    for (answer, wanted) in cases {
        assert_eq!(outcome(&answer, BASE), wanted, "{answer}");
    }
}

#[test]
fn without_a_sign_two_readings_that_differ_are_refused() {
    let rows = b"top\nx\ny\nx\ny\nx\ny\nx\ny\nend\n";
    let files: &[(&str, &[u8])] = &[("f", rows)];
    let part = |index: &str, hunk: &str| format!("diff --git a/f b/f\n{index}--- a/f\n+++ b/f\n{hunk}");
    let (first, second) = (
        "@@ -1,2 +1,4 @@\n top\n+p\n+q\n x\n",
        "@@ -6,2 +6,2 @@\n x\n-y\n+Y\n",
    );
    let mail = |text: &str| {
        format!(
            "From {} Mon Sep 17 00:00:00 2001\nSubject: [PATCH]\n\n---\n{text}-- \n2.40.1\n\n",
            "1".repeat(40)
        )
    };
    let cases = [
        // Line 6 of the base, or of what the first part leaves: nothing tells.
        (part("", first) + &part("", second), "ambiguous"),
        // `index` lines are copied or made up, so they do not tell either.
        (
            part("index 1111111..2222222 100644\n", first) + &part("index 2222222..3333333 100644\n", second),
            "ambiguous",
        ),
        // Mails of a series follow each other.
        (
            mail(&part("", first)) + &mail(&part("", second)),
            "f=top p q x y x Y x y x y end ",
        ),
    ];
    for (answer, wanted) in cases {
        assert_eq!(outcome(&answer, files), wanted, "{answer}");
    }
}

#[test]
fn what_was_not_made_for_the_result_of_another_edit_is_refused_as_before() {
    let cases = [
        // Two edits of one line, both made for the base.
        (block("f", "two", "2") + &block("f", "two", "zwei"), "ambiguous"),
        // Two insertions at one place: their order is not known.
        (
            block("f", "one", "one\nA") + &block("f", "one", "one\nB"),
            "ambiguous",
        ),
        // The second stands nowhere, also afterwards.
        (
            block("f", "two", "2") + &block("f", "seven", "7"),
            "does-not-apply",
        ),
        // After the first it stands twice.
        (
            block("f", "two", "new\nnew") + &block("f", "new", "old"),
            "does-not-apply",
        ),
        // It stands in the result only but for its indentation.
        (
            block("f", "two", "    deep\n    er") + &block("f", "deep", "DEEP"),
            "does-not-apply",
        ),
        (
            block("f", "two", "2") + &block("f", "two", "2"),
            "f=one 2 three four five six ",
        ),
        // There and back changes nothing.
        (block("f", "two", "2") + &block("f", "2", "two"), "empty"),
    ];
    for (answer, wanted) in cases {
        assert_eq!(outcome(&answer, BASE), wanted, "{answer}");
    }
}

#[test]
fn the_order_of_parts_tells_no_places_apart() {
    // Each of the two texts stands twice; as hunks of one diff they are in the order of the file, as parts in any.
    let base: &[(&str, &[u8])] = &[("f", b"top\na\nb\nmid\na\nb\nend\n")];
    let (first, second) = ("@@ @@\n-a\n+A\n b\n", "@@ @@\n a\n-b\n+B\n");
    let part = |hunk: &str| format!("--- a/f\n+++ b/f\n{hunk}");
    let cases = [
        (part(&(first.to_owned() + second)), "f=top A b mid a B end "),
        (part(first) + &part(second), "ambiguous"),
        (
            "```diff\n".to_owned() + &part(first) + "```\nand\n```diff\n" + &part(second) + "```\n",
            "ambiguous",
        ),
        (
            block("f", "a\nb", "A\nb") + &block("f", "a\nb", "a\nB"),
            "ambiguous",
        ),
        (json(&[("f", "a\nb", "A\nb"), ("f", "a\nb", "a\nB")]), "ambiguous"),
        // Lines of the diffs' own that fit say which is which.
        (
            part("@@ -5,2 +5,2 @@\n-a\n+A\n b\n") + &part("@@ -2,2 +2,2 @@\n a\n-b\n+B\n"),
            "f=top a B mid A b end ",
        ),
    ];
    for (answer, wanted) in cases {
        assert_eq!(outcome(&answer, base), wanted, "{answer}");
    }
}

#[test]
fn a_part_that_is_there_twice_is_meant_once_unless_it_can_be_done_twice() {
    let base: &[(&str, &[u8])] = &[("f", b"a\nb\nx\n3\n\n"), ("g", b"x\nx\nx\n")];
    let part = |hunk: &str| format!("--- a/f\n+++ b/f\n@@ @@\n{hunk}");
    let (goes, comes) = (part(" b\n x\n-3\n"), part(" b\n x\n-\n+3\n"));
    let insert = part(" b\n+new\n x\n");
    let shorter = "--- a/g\n+++ b/g\n@@ -1,2 +1 @@\n-x\n x\n".to_owned();
    let cases = [
        (goes.clone() + &goes, "f=a b x  "),
        (insert.clone() + &insert, "f=a b new x 3  "),
        // The line goes, comes again, and goes again; or it goes and comes.
        (goes.clone() + &comes + &goes, "ambiguous"),
        // One line less, or two.
        (shorter.clone() + &shorter, "ambiguous"),
        (shorter, "g=x x "),
    ];
    for (answer, wanted) in cases {
        assert_eq!(outcome(&answer, base), wanted, "{answer}");
    }
    // Of four the last goes; below another part there are five, and two places.
    let four: &[(&str, &[u8])] = &[("f", b"1\n2\nq\nx\nq\nq\nq\nq\n")];
    let (first, last) = (part("-1\n-2\n q\n-x\n q\n q\n q\n"), part(" q\n q\n q\n-q\n"));
    assert_eq!(outcome(&last, four), "f=1 2 q x q q q ");
    assert_eq!(outcome(&(first.clone() + &last), four), "ambiguous");
    assert_eq!(outcome(&(first + &last + &last), four), "ambiguous");
    // What the first part takes away makes a second place for the other.
    let two: &[(&str, &[u8])] = &[("f", b"q\nq\ny\nz\nx\n1\nq\nq\ny\nx\n2\n")];
    let (makes_room, goes) = (part(" q\n y\n-z\n x\n 1\n"), part(" q\n-q\n y\n x\n"));
    assert_eq!(outcome(&goes, two), "f=q q y z x 1 q y x 2 ");
    assert_eq!(outcome(&(makes_room + &goes), two), "ambiguous");
}

#[test]
fn a_removed_line_that_reads_as_a_header_is_never_left_out() {
    // `-- a/a.rs` goes and `++ b/a.rs` comes: in a diff they look like the header of the next part.
    let base: &[(&str, &[u8])] = &[("a.rs", b"one\n-- a/a.rs\ntwo\nthree\nfour\n")];
    let diff = |header: &str| {
        format!("--- a/a.rs\n+++ b/a.rs\n{header}\n one\n--- a/a.rs\n+++ b/a.rs\n two\n-three\n+3\n four\n")
    };
    let blank: &[(&str, &[u8])] = &[(
        "a.rs",
        b"  \n-- a/a.rs\n \n \n \n=======\n \n \n \n \n-- a/a.rs\n ",
    )];
    let blanks = "--- a/a.rs\n+++ b/a.rs\n@@ @@\n   \n--- a/a.rs\n+++ b/a.rs\n  \n  \n  \n-=======\n+3\n  \n";
    let fenced = |text: &str| format!("```diff\n{text}```\n");
    let cases = [
        (diff("@@ -1,5 +1,5 @@"), base, "a.rs=one ++ b/a.rs two 3 four "),
        (diff("@@ @@"), base, "ambiguous"),
        (diff("@@ -1,9 +1,9 @@"), base, "ambiguous"),
        (fenced(&diff("@@ @@")).replace('\n', "\r\n"), base, "ambiguous"),
        (blanks.to_owned(), blank, "ambiguous"),
        (fenced(blanks), blank, "ambiguous"),
        (fenced(blanks).replace('\n', "\r\n"), blank, "ambiguous"),
    ];
    for (answer, files, wanted) in cases {
        assert_eq!(outcome(&answer, files), wanted, "{answer}");
    }
}

const INTO_FOLDER: &str = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-f\n\
                           diff --git a/f/x b/f/x\nnew file mode 100644\n--- /dev/null\n+++ b/f/x\n@@ -0,0 +1 @@\n+x\n";
const INTO_FILE: &str = "diff --git a/d b/d\nnew file mode 100644\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+d\n\
                         diff --git a/d/a b/d/a\ndeleted file mode 100644\n--- a/d/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\
                         diff --git a/d/e/b b/d/e/b\ndeleted file mode 100644\n--- a/d/e/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n";
const MOVED_UP: &str = "diff --git a/d/a b/d\nsimilarity index 100%\nrename from d/a\nrename to d\n";

#[test]
fn a_file_and_a_directory_of_one_name_replace_each_other_where_the_one_goes_whole() {
    let file: &[(&str, &[u8])] = &[("f", b"f\n")];
    let alone: &[(&str, &[u8])] = &[("d/a", b"a\n")];
    let deep: &[(&str, &[u8])] = &[("d/a", b"a\n"), ("d/e/b", b"b\n")];
    let more: &[(&str, &[u8])] = &[("d/a", b"a\n"), ("d/e/b", b"b\n"), ("d/e/c", b"c\n")];
    let cases = [
        (INTO_FOLDER, file, "f/x=x ; f gone"),
        (INTO_FILE, deep, "d=d ; d/a gone; d/e/b gone"),
        (MOVED_UP, alone, "d=a ; d/a gone"),
        (INTO_FILE, more, "does-not-apply"),
        (MOVED_UP, deep, "does-not-apply"),
    ];
    for (answer, files, expected) in cases {
        assert_eq!(outcome(answer, files), expected, "{files:?} {answer}");
    }
}
