//! An edit is called applied only if its whole post-image is in the file, borders included: in every dialect.
//!
//! Owns: the tables, and the properties of edits with one changed run. Never: judges the words of a report.

use agentos_landing::{LandError, LandOptions, land};
use proptest::prelude::*;

use crate::memory::{Memory, blob_id};

/// The code of the refusal, or `lands`.
fn code(answer: &str, base: &Memory) -> &'static str {
    match land(answer.as_bytes(), base, &LandOptions::default()) {
        Ok(_) => "lands",
        Err(LandError::Refused(report)) => report.refusal.map_or("none", |refusal| refusal.code.as_str()),
        Err(LandError::Base(_)) => "base",
    }
}

/// Edit of `f`: shown lines above, removed and added lines, shown lines below.
#[derive(Debug, Clone)]
struct Edit {
    above: Vec<String>,
    removed: Vec<String>,
    added: Vec<String>,
    below: Vec<String>,
    /// First line of the edit in the old file; 1 is the first of the file.
    line: usize,
}

fn lines(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

impl Edit {
    fn of(above: &str, removed: &str, added: &str, below: &str, line: usize) -> Self {
        Self {
            above: lines(above),
            removed: lines(removed),
            added: lines(added),
            below: lines(below),
            line,
        }
    }

    fn old_lines(&self) -> Vec<String> {
        [&self.above[..], &self.removed, &self.below].concat()
    }

    fn new_lines(&self) -> Vec<String> {
        [&self.above[..], &self.added, &self.below].concat()
    }

    fn marked(&self) -> String {
        let mark = |mark: &str, lines: &[String]| -> String {
            lines.iter().map(|line| format!("{mark}{line}\n")).collect()
        };
        mark(" ", &self.above) + &mark("-", &self.removed) + &mark("+", &self.added) + &mark(" ", &self.below)
    }

    fn plain_diff(&self) -> String {
        let (old, new) = (self.old_lines().len(), self.new_lines().len());
        // An empty side states the line before it.
        let start = |count: usize| if count == 0 { self.line - 1 } else { self.line };
        let (from, to) = (start(old), start(new));
        format!(
            "--- a/f\n+++ b/f\n@@ -{from},{old} +{to},{new} @@\n{}",
            self.marked()
        )
    }

    fn git_diff(&self) -> String {
        format!("diff --git a/f b/f\n{}", self.plain_diff())
    }

    fn indexed_diff(&self, old: &str, new: &str) -> String {
        let [old, new] = [old, new].map(|content| blob_id(content.as_bytes()).split_at(7).0.to_owned());
        format!(
            "diff --git a/f b/f\nindex {old}..{new} 100644\n{}",
            self.plain_diff()
        )
    }

    fn bare_diff(&self) -> String {
        format!("--- a/f\n+++ b/f\n@@ @@\n{}", self.marked())
    }

    fn blocks(&self) -> String {
        let (old, new) = (text(&self.old_lines()), text(&self.new_lines()));
        format!("f\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n")
    }

    fn envelope(&self) -> String {
        format!(
            "*** Begin Patch\n*** Update File: f\n@@\n{}*** End Patch\n",
            self.marked()
        )
    }

    fn json(&self) -> String {
        let (old, new) = (text(&self.old_lines()), text(&self.new_lines()));
        serde_json::json!({"edits": [{"path": "f", "search": old, "replace": new}]}).to_string()
    }

    /// The edit in every dialect of edits that states no blob id.
    fn all(&self) -> [(&'static str, String); 6] {
        [
            ("plain", self.plain_diff()),
            ("git", self.git_diff()),
            ("bare", self.bare_diff()),
            ("blocks", self.blocks()),
            ("envelope", self.envelope()),
            ("json", self.json()),
        ]
    }
}

/// The code in every dialect of edits, or the one code that all have.
fn codes(edit: &Edit, file: &str) -> String {
    let base = Memory::of(&[("f", file.as_bytes())]);
    let all = edit
        .all()
        .map(|(dialect, answer)| (dialect, code(&answer, &base)));
    match all.iter().find(|(_, code)| *code != all[0].1) {
        None => all[0].1.to_owned(),
        Some(_) => all.map(|(dialect, code)| format!("{dialect} {code}")).join(", "),
    }
}

#[test]
fn a_removal_is_applied_only_if_nothing_else_is_in_its_place() {
    let at_the_end = Edit::of("xx yy one", "two", "", "", 1);
    let at_the_top = Edit::of("", "one", "", "two three four", 1);
    let below_a_line = Edit::of("foo();", "bar(1);", "", "", 1);
    let between = Edit::of("foo();", "bar(1);", "", "end();", 1);
    let of_two = Edit::of("aa", "bb aa", "", "", 1);
    let shortened = Edit::of("", "one two", "1();", "", 1);
    let cases = [
        ("another line at the end", &at_the_end, "xx yy one TWO"),
        ("the end", &at_the_end, "xx yy one"),
        ("another line at the top", &at_the_top, "ONE two three four"),
        ("the top", &at_the_top, "two three four"),
        ("another line below", &below_a_line, "foo(); bar(2);"),
        ("the end below", &below_a_line, "foo();"),
        ("another line between", &between, "foo(); bar(2); end();"),
        ("nothing between", &between, "foo(); end();"),
        (
            "another line between, and the same pair elsewhere",
            &between,
            "foo(); bar(2); end(); foo(); end();",
        ),
        ("a slid removal, half of it", &of_two, "aa BB aa"),
        ("a slid removal", &of_two, "aa"),
        ("a line that stayed", &shortened, "1(); two"),
        ("the whole file", &shortened, "1();"),
    ];
    let table: Vec<String> = cases
        .iter()
        .map(|(what, edit, file)| format!("{what}: {}", codes(edit, &text(&lines(file)))))
        .collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    another line at the end: does-not-apply
    the end: empty
    another line at the top: does-not-apply
    the top: empty
    another line below: does-not-apply
    the end below: empty
    another line between: does-not-apply
    nothing between: empty
    another line between, and the same pair elsewhere: does-not-apply
    a slid removal, half of it: does-not-apply
    a slid removal: empty
    a line that stayed: does-not-apply
    the whole file: empty
    ");
}

#[test]
fn added_lines_prove_what_they_replace_and_nothing_more() {
    let replaced = Edit::of("", "before();", "after();", "", 2);
    let of_two = Edit::of("", "one(); two();", "1(); 2();", "", 2);
    let last = Edit::of("aa bb cc", "old();", "new();", "", 1);
    let inserted = Edit::of("aa bb cc", "", "dd", "", 1);
    let cases = [
        ("replaced", &replaced, "aa after(); bb"),
        ("replaced twice", &replaced, "after(); aa after();"),
        ("half replaced", &of_two, "aa 1(); 2(); two(); bb"),
        ("the last line", &last, "aa bb cc new();"),
        ("the last line, and more", &last, "aa bb cc new(); more();"),
        ("an insertion at the end", &inserted, "aa bb cc dd"),
        ("an insertion at the end, and more", &inserted, "aa bb cc dd ee"),
    ];
    let table: Vec<String> = cases
        .iter()
        .map(|(what, edit, file)| format!("{what}: {}", codes(edit, &text(&lines(file)))))
        .collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    replaced: empty
    replaced twice: does-not-apply
    half replaced: does-not-apply
    the last line: empty
    the last line, and more: plain does-not-apply, git does-not-apply, bare empty, blocks empty, envelope empty, json empty
    an insertion at the end: plain empty, git empty, bare does-not-apply, blocks does-not-apply, envelope does-not-apply, json does-not-apply
    an insertion at the end, and more: does-not-apply
    ");
}

#[test]
fn a_blob_id_of_the_result_proves_what_the_lines_do_not() {
    let cases = [
        // The lines repeat, so that they fit the old and the new text.
        (Edit::of("kk", "", "xx", "xx end", 1), "kk xx end", "kk xx xx end"),
        (Edit::of("aa", "bb aa", "", "", 1), "aa bb aa cc", "aa cc"),
        (
            Edit::of("", "aa aa", "", "aa aa", 1),
            "aa aa aa aa cc",
            "aa aa cc",
        ),
    ];
    for (edit, old, new) in cases {
        let (old, new) = (text(&lines(old)), text(&lines(new)));
        let answer = edit.indexed_diff(&old, &new);
        assert_eq!(
            code(&answer, &Memory::of(&[("f", new.as_bytes())])),
            "empty",
            "{answer}"
        );
        // The old text in the object store, as after a landing.
        let mut base = Memory::of(&[("f", new.as_bytes())]);
        base.know(old.as_bytes());
        assert_eq!(code(&answer, &base), "empty", "{answer}");
    }
}

#[test]
fn a_mode_or_a_name_is_part_of_the_change() {
    let hunk = "@@ -1,3 +1,3 @@\n one\n-old();\n+new();\n end\n";
    let mode = format!("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n--- a/f\n+++ b/f\n{hunk}");
    let name = format!("diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n{hunk}");
    let name_and_mode = "diff --git a/f b/g\nold mode 100644\nnew mode 100755\nrename from f\nrename to g\n";
    let new_mode = "diff --git a/f b/f\nnew file mode 100755\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+one\n";
    let copy = "diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n";
    let (old, new) = ("one\nold();\nend\n", "one\nnew();\nend\n");
    let cases = [
        ("lines without mode", mode.as_str(), "f", "100644", new),
        ("mode without lines", &mode, "f", "100755", old),
        ("lines and mode", &mode, "f", "100755", new),
        ("lines without name", &name, "f", "100644", new),
        ("name without lines", &name, "g", "100644", old),
        ("lines and name", &name, "g", "100644", new),
        ("mode without name", name_and_mode, "f", "100755", new),
        ("name without mode", name_and_mode, "g", "100644", new),
        ("name and mode", name_and_mode, "g", "100755", new),
        ("a new file with another mode", new_mode, "f", "100644", "one\n"),
        ("a new file", new_mode, "f", "100755", "one\n"),
        ("a copy without its source", copy, "g", "100644", "one\n"),
    ];
    let table: Vec<String> = cases
        .iter()
        .map(|(what, answer, path, mode, content)| {
            let mut base = Memory::default();
            base.put(path, mode, content.as_bytes());
            format!("{what}: {}", code(answer, &base))
        })
        .collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    lines without mode: does-not-apply
    mode without lines: does-not-apply
    lines and mode: does-not-apply
    lines without name: does-not-apply
    name without lines: does-not-apply
    lines and name: does-not-apply
    mode without name: does-not-apply
    name without mode: does-not-apply
    name and mode: does-not-apply
    a new file with another mode: does-not-apply
    a new file: empty
    a copy without its source: does-not-apply
    ");
}

#[test]
fn a_final_newline_is_part_of_the_change() {
    let without = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+three\n";
    let ends =
        "*** Begin Patch\n*** Update File: f\n@@\n one\n-two\n+three\n*** End of File\n*** End Patch\n";
    for (answer, file, expected) in [
        (without, "one\nthree\n", "empty"),
        (without, "one\nthree", "does-not-apply"),
        (without, "one\nthree\nfour\n", "does-not-apply"),
        (ends, "one\nthree\n", "empty"),
        (ends, "one\nthree\nfour\n", "does-not-apply"),
    ] {
        assert_eq!(
            code(answer, &Memory::of(&[("f", file.as_bytes())])),
            expected,
            "{answer}{file}"
        );
    }
}

#[test]
fn two_edits_do_not_share_one_result() {
    let block = "@@\n-old();\n+new();\n";
    let twice = format!("*** Begin Patch\n*** Update File: f\n{block}{block}*** End Patch\n");
    let base = |content: &str| Memory::of(&[("f", content.as_bytes())]);
    assert_eq!(
        code(&twice, &base("aa\nnew();\nbb\nother();\n")),
        "does-not-apply"
    );
    let (first, second) = (
        Edit::of("", "old();", "new();", "", 2),
        Edit::of("", "old();", "new();", "", 4),
    );
    let hunk = |edit: &Edit| edit.plain_diff().split_off("--- a/f\n+++ b/f\n".len());
    let diff = format!("{}{}", first.plain_diff(), hunk(&second));
    assert_eq!(code(&diff, &base("aa\nnew();\nbb\nother();\n")), "does-not-apply");
    assert_eq!(code(&diff, &base("aa\nnew();\nbb\nnew();\n")), "empty");
    let json = serde_json::json!({"edits": [
        {"path": "f", "search": "one", "replace": "one two"},
        {"path": "f", "search": "six", "replace": "six ten"},
    ]});
    assert_eq!(code(&json.to_string(), &base("one two\nsix ten\n")), "empty");
    assert_eq!(code(&json.to_string(), &base("one two\nsix\n")), "does-not-apply");
}

#[test]
fn an_added_line_is_applied_only_as_it_was_written() {
    let edit = |added: &str| format!("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two;\n+{added}\n three\n");
    for (added, there, expected) in [
        ("say \"it\"", "say \u{201c}it\u{201d}", "does-not-apply"),
        ("say  it", "say it", "does-not-apply"),
        ("say it  ", "say it", "does-not-apply"),
        ("    say it", "  say it", "does-not-apply"),
        ("    say it", "    say it", "empty"),
    ] {
        let file = format!("one\n{there}\nthree\n");
        assert_eq!(
            code(&edit(added), &Memory::of(&[("f", file.as_bytes())])),
            expected,
            "{added}"
        );
    }
    // The indentation that all lines lack is the author's, so the landing adds it and the comparison does as well.
    let shallow =
        "f\n<<<<<<< SEARCH\none();\n  two();\nend();\n=======\none();\n  2();\nend();\n>>>>>>> REPLACE\n";
    let file = "fn a() {\n    one();\n      2();\n    end();\n}\n";
    assert_eq!(code(shallow, &Memory::of(&[("f", file.as_bytes())])), "empty");
}

fn words(of: &'static str, count: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(of.split(' ').map(str::to_owned).collect::<Vec<_>>());
    prop::collection::vec(word, count)
}

/// An edit with the file around it: lines above, the edit, lines below. Old lines are few different ones, so that they
/// repeat; added ones are different from them.
fn placed_edit() -> impl Strategy<Value = (Vec<String>, Edit, Vec<String>)> {
    let old = "aa bb cc";
    (
        words(old, 0..=4),
        words(old, 0..=3),
        words(old, 0..=3),
        words("xx yy", 0..=3),
        words(old, 0..=3),
        words(old, 0..=4),
    )
        .prop_filter("it changes something", |(_, _, removed, added, _, _)| {
            !removed.is_empty() || !added.is_empty()
        })
        .prop_map(|(before, above, removed, added, below, after)| {
            let line = before.len() + 1;
            let edit = Edit {
                above,
                removed,
                added,
                below,
                line,
            };
            (before, edit, after)
        })
}

/// Returns true if the post-image is in the file with the borders that the edit leaves open.
fn is_there(edit: &Edit, file: &[String]) -> bool {
    let new = edit.new_lines();
    let shrinks = edit.added.len() < edit.removed.len();
    (0..=file.len().saturating_sub(new.len())).any(|start| {
        let end = start + new.len();
        file.get(start..end) == Some(&new[..])
            && (!edit.above.is_empty() || !shrinks || start == 0)
            && (!edit.below.is_empty() || !shrinks || end == file.len())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_without_its_post_image_is_never_called_applied(
        (before, edit, after) in placed_edit(),
        changed in prop::option::of((any::<prop::sample::Index>(), words("aa bb cc xx QQ", 0..=2))),
    ) {
        let mut file = [before, edit.new_lines(), after].concat();
        if let Some((at, to)) = changed && !file.is_empty() {
            let at = at.index(file.len());
            file.splice(at..=at, to);
        }
        let base = Memory::of(&[("f", text(&file).as_bytes())]);
        for (dialect, answer) in edit.all() {
            if code(&answer, &base) == "empty" {
                prop_assert!(is_there(&edit, &file), "{dialect}\n{answer}\nFILE\n{}", text(&file));
            }
        }
    }

    #[test]
    fn an_edit_whose_removed_lines_were_changed_instead_is_never_called_applied(
        (before, edit, after) in placed_edit(),
        at in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!edit.removed.is_empty());
        let mut other = edit.clone();
        let at = at.index(other.removed.len());
        other.removed[at] = "QQ".to_owned();
        let file = [before, other.old_lines(), after].concat();
        // Lines that repeat can have the same result elsewhere in the file, and then nothing distinguishes the two places.
        prop_assume!(!is_there(&edit, &file));
        let base = Memory::of(&[("f", text(&file).as_bytes())]);
        for (dialect, answer) in edit.all() {
            prop_assert_ne!(code(&answer, &base), "empty", "{}\n{}\nFILE\n{}", dialect, answer, text(&file));
        }
    }

    #[test]
    fn an_edit_is_called_applied_on_its_own_result_where_that_shows(
        (before, edit, after) in placed_edit(),
    ) {
        // Every line is different, so each dialect shows as much as it can.
        let number = |lines: &[String], from: usize| -> Vec<String> {
            lines.iter().enumerate().map(|(at, line)| format!("{line}{}", from + at)).collect()
        };
        let edit = Edit {
            above: number(&edit.above, 10),
            removed: number(&edit.removed, 20),
            added: number(&edit.added, 30),
            below: number(&edit.below, 40),
            line: edit.line,
        };
        let (before, after) = (number(&before, 50), number(&after, 60));
        let old = [before.clone(), edit.old_lines(), after.clone()].concat();
        let file = [before.clone(), edit.new_lines(), after.clone()].concat();
        let base = Memory::of(&[("f", text(&file).as_bytes())]);
        let indexed = edit.indexed_diff(&text(&old), &text(&file));
        prop_assert!(!edit.old_lines().is_empty() || !edit.new_lines().is_empty());
        if !edit.old_lines().is_empty() {
            prop_assert_eq!(code(&indexed, &base), "empty", "{}", indexed);
        }
        let shown = !edit.above.is_empty() && !edit.below.is_empty();
        let replaced = edit.added.len() >= edit.removed.len() && !edit.old_lines().is_empty();
        for (dialect, answer) in edit.all() {
            let numbered = dialect == "plain" || dialect == "git";
            let open = numbered && (!after.is_empty() || before.is_empty());
            // Context at one side of an insertion, or a removal alone, shows nothing without a number.
            let bounded = !edit.removed.is_empty() || (numbered && (!edit.above.is_empty() || before.is_empty()));
            let whole = before.is_empty() && after.is_empty();
            let says = !edit.added.is_empty() || numbered || whole;
            if says && (shown || (replaced && !open && bounded)) {
                prop_assert_eq!(code(&answer, &base), "empty", "{}\n{}", dialect, answer);
            }
        }
    }
}
