//! Sizes that must work, sizes that must not, and shapes that make naive searches explode. No clock: a search
//! that explodes does not end.
//!
//! Owns: the sizes. Never: measures time.

use agentos_landing::{LandError, LandOptions, land};

use crate::memory::Memory;

fn code(answer: &[u8], base: &Memory) -> String {
    match land(answer, base, &LandOptions::default()) {
        Ok(landed) => format!("landed {}", landed.change.files().len()),
        Err(LandError::Refused(report)) => report.refusal.expect("a refusal").code.to_string(),
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

fn new_files(count: usize, bytes: usize) -> String {
    (0..count)
        .map(|at| {
            let text = "x".repeat(bytes);
            format!("diff --git a/n/f{at} b/n/f{at}\nnew file mode 100644\n--- /dev/null\n+++ b/n/f{at}\n@@ -0,0 +1 @@\n+{text}\n")
        })
        .collect()
}

#[test]
fn ordinary_sizes_land_and_absurd_ones_do_not() {
    let nothing = Memory::default();
    assert_eq!(code(new_files(150, 2_000).as_bytes(), &nothing), "landed 150");
    assert_eq!(code(new_files(1, 20_000).as_bytes(), &nothing), "landed 1");
    assert_eq!(code(new_files(20_000, 1).as_bytes(), &nothing), "too-large");
    assert_eq!(code(new_files(1, 2_000_000).as_bytes(), &nothing), "too-large");
    assert_eq!(code(&vec![b'x'; 20_000_000], &nothing), "too-large");
    assert_eq!(code(&vec![b'\n'; 3_000_000], &nothing), "empty");
}

#[test]
fn many_hunks_in_a_large_file_all_find_their_place() {
    let base: String = (0..40_000).map(|at| format!("line {at}\n")).collect();
    let hunks: String = (0..4_000)
        .map(|at| format!("@@ @@\n line {}\n-line {}\n+new {at}\n", at * 10, at * 10 + 1))
        .collect();
    let base = Memory::of(&[("f", base.as_bytes())]);
    let answer = format!("--- a/f\n+++ b/f\n{hunks}");
    let landed = land(answer.as_bytes(), &base, &LandOptions::default()).expect("it lands");
    assert_eq!(landed.change.stats().added, 4_000);
}

#[test]
fn repetition_is_refused_and_does_not_explode() {
    let same = "a\n".repeat(20_000);
    let base = Memory::of(&[("f", same.as_bytes())]);
    let hunk = format!("@@ @@\n{}-a\n+b\n", " a\n".repeat(2_000));
    assert_eq!(
        code(format!("--- a/f\n+++ b/f\n{hunk}").as_bytes(), &base),
        "too-large"
    );
    let hunks = "@@ @@\n a\n-a\n+b\n".repeat(5_000);
    assert_eq!(
        code(format!("--- a/f\n+++ b/f\n{hunks}").as_bytes(), &base),
        "too-large"
    );
    let fences = "```\n".repeat(200_000);
    assert_eq!(code(fences.as_bytes(), &base), "no-diff");
    let searches = "f\n<<<<<<< SEARCH\na\n".repeat(50_000);
    assert_eq!(code(searches.as_bytes(), &base), "malformed");
    let names = format!("diff --git {}\n", "a b ".repeat(200_000));
    assert_eq!(code(names.as_bytes(), &base), "malformed");
    let heads = "--- a/f\n+++ b/f\n".repeat(200_000);
    assert_eq!(code(heads.as_bytes(), &base), "malformed");
}

/// Files of `lines` lines each with a changed line in every `distance`; the answer says nothing of where.
fn edited(files: usize, lines: usize, distance: usize) -> (Memory, String) {
    let mut base = Memory::default();
    let mut answer = String::new();
    for file in 0..files {
        let path = format!("src/part_{}/f{file}.rs", file % 40);
        let text: String = (0..lines).map(|at| format!("line {at} of {file}\n")).collect();
        base.put(&path, "100644", text.as_bytes());
        answer += &format!("--- a/{path}\n+++ b/{path}\n");
        for at in (0..lines - 1).step_by(distance) {
            answer += &format!(
                "@@ @@\n line {at} of {file}\n-line {} of {file}\n+new {at}\n",
                at + 1
            );
        }
    }
    (base, answer)
}

/// Every hunk of an answer made by `edited` is in the result, at its place and nowhere else.
fn lands_whole(files: usize, lines: usize, distance: usize) {
    let (base, answer) = edited(files, lines, distance);
    let landed = land(answer.as_bytes(), &base, &LandOptions::default()).expect("it lands");
    assert_eq!(landed.change.files().len(), files);
    for file in landed.change.files() {
        let (old, new) = (
            file.old.as_ref().expect("an old"),
            file.new.as_ref().expect("a new"),
        );
        let expected: Vec<u8> = old
            .content
            .split_inclusive(|byte| *byte == b'\n')
            .enumerate()
            .flat_map(|(at, line)| match at % distance {
                1 => format!("new {}\n", at - 1).into_bytes(),
                _ => line.to_vec(),
            })
            .collect();
        assert!(*new.content == expected, "{}", file.path);
    }
}

#[test]
fn ten_megabytes_of_answer() {
    let line = "a line of a new file that is as long as lines of code may well be, or a little longer\n";
    let lines = 100_000 / line.len();
    let file = |at: usize| {
        let body = format!("+{line}").repeat(lines);
        format!("--- /dev/null\n+++ b/n/f{at}\n@@ -0,0 +1,{lines} @@\n{body}")
    };
    let answer: String = (0..104).map(file).collect();
    assert!(answer.len() > 10_000_000);
    let landed = land(answer.as_bytes(), &Memory::default(), &LandOptions::default()).expect("it lands");
    let content = |file: &agentos_landing::FileChange| file.new.as_ref().map(|new| new.content.to_vec());
    let expected = Some(line.repeat(lines).into_bytes());
    assert_eq!(landed.change.files().len(), 104);
    assert!(landed.change.files().iter().all(|file| content(file) == expected));
}

#[test]
fn a_file_of_a_hundred_thousand_lines() {
    lands_whole(1, 100_000, 10_000);
}

#[test]
fn five_thousand_files() {
    lands_whole(5_000, 10, 10);
}

#[test]
fn fifty_thousand_hunks_in_one_file() {
    lands_whole(1, 150_000, 3);
}

#[test]
fn fifty_thousand_hunks_in_many_files() {
    lands_whole(500, 300, 3);
}

/// `piece` again and again, so many MB of it.
fn megabytes_of(count: usize, piece: &str) -> String {
    piece.repeat(count * 1_000_000 / piece.len())
}

/// Checks the code of each named answer to a base of two lines.
fn all_end_with(cases: &[(&str, String, &str)]) {
    let base = Memory::of(&[("f", b"a\nb\n")]);
    let wrong: Vec<String> = cases
        .iter()
        .map(|(name, answer, expected)| (name, code(answer.as_bytes(), &base), expected))
        .filter(|(_, code, expected)| code != *expected)
        .map(|(name, code, expected)| format!("{name}: {code}, not {expected}"))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn ten_megabytes_of_anything_end_in_a_refusal() {
    let head = "--- a/f\n+++ b/f\n";
    let cases = [
        (
            "hunk headers",
            format!("{head}{}", megabytes_of(10, "@@ -1 +1 @@\n")),
            "malformed",
        ),
        (
            "bare hunk headers",
            format!("{head}{}", megabytes_of(10, "@@\n")),
            "too-large",
        ),
        ("one line", megabytes_of(10, "x"), "too-large"),
        (
            "one added line",
            format!("{head}@@ -1 +1 @@\n+{}", megabytes_of(10, "x")),
            "too-large",
        ),
        ("open fences", megabytes_of(10, "```\n"), "too-large"),
        ("open searches", megabytes_of(10, "<<<<<<< SEARCH\n"), "malformed"),
        ("nested lists", megabytes_of(10, "[\n"), "too-large"),
        ("nested edits", megabytes_of(10, "{\"edits\": [\n"), "malformed"),
        ("envelopes", megabytes_of(10, "*** Begin Patch\n"), "malformed"),
        ("old names", megabytes_of(10, "--- a/f\n"), "no-diff"),
    ];
    all_end_with(&cases);
}

#[test]
fn a_fence_below_two_that_closed_together_is_read() {
    let answer = "```diff\n```diff\n\n```\n~~~\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+c\n~~~\n";
    let base = Memory::of(&[("f", b"a\nb\n")]);
    assert_eq!(code(answer.as_bytes(), &base), "landed 1");
}

#[test]
fn fences_that_begin_in_others_end_in_a_refusal() {
    let cases = [
        (
            "fences in fences",
            megabytes_of(3, "````\n~~~x\nsome text\nsome text\n````\n"),
            "no-diff",
        ),
        ("long fences", megabytes_of(3, "````rust\nx\n"), "no-diff"),
        ("titled fences", megabytes_of(3, "f.py\n````py\nx\n"), "malformed"),
        ("fences of JSON", megabytes_of(3, "```` json\n{\n"), "no-diff"),
        (
            "scripts without an end",
            megabytes_of(3, "````bash\ncat > x <<'EOF'\n"),
            "malformed",
        ),
        ("marks of reasoning", megabytes_of(3, "<think>\n"), "malformed"),
        (
            "marks of calls",
            megabytes_of(3, "<tool_call>\n{\"path\":\n"),
            "malformed",
        ),
        (
            "JSON without an end",
            megabytes_of(3, "{\"path\": [\n"),
            "malformed",
        ),
        (
            "patch files",
            megabytes_of(
                3,
                "fix.patch\n```diff\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n```\n",
            ),
            "ambiguous",
        ),
        (
            "patch files and commands",
            megabytes_of(
                3,
                "git apply x\nfix.patch\n```diff\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n```\n",
            ) + "git apply fix.patch\n",
            "too-large",
        ),
    ];
    all_end_with(&cases);
}

#[test]
fn lines_full_of_beginnings_of_tokens_are_looked_at_once() {
    let line = megabytes_of(1, "xapp-1-").split_at(1_000_000 - 8).0.to_owned();
    let answer = format!("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+{line}\n");
    let landed = land(answer.as_bytes(), &Memory::default(), &LandOptions::default()).expect("it lands");
    assert!(agentos_landing::scan_change(&landed.change).secrets.is_empty());
}

#[test]
fn a_million_places_are_too_many_to_choose_from() {
    let base = Memory::of(&[("f", "a\n".repeat(1_000_000).as_bytes())]);
    assert_eq!(code(b"--- a/f\n+++ b/f\n@@ @@\n-a\n+b\n", &base), "ambiguous");
    let search = b"f\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
    assert_eq!(code(search, &base), "ambiguous");
}

#[test]
fn ten_thousand_elisions_end() {
    let text: String = (0..20_001).map(|at| format!("line {at}\n")).collect();
    let base = Memory::of(&[("f", text.as_bytes())]);
    let head = "--- a/f\n+++ b/f\n@@ @@\n";
    let told: String = (0..10_000)
        .map(|at| format!(" line {}\n ...\n", at * 2))
        .collect();
    let meant = format!("{head}{told}-line 20000\n+the end\n");
    assert_eq!(code(meant.as_bytes(), &base), "landed 1");
    let lost = format!("{head}{told}-line that is not there\n+the end\n");
    assert_eq!(code(lost.as_bytes(), &base), "does-not-apply");
    let alike = Memory::of(&[("f", "a\n".repeat(20_000).as_bytes())]);
    let anywhere = format!("{head}{}-a\n+b\n", " a\n ...\n".repeat(10_000));
    assert_eq!(code(anywhere.as_bytes(), &alike), "too-large");
    // Lines of an envelope without their mark are each a repair.
    let bare = format!(
        "*** Begin Patch\n*** Update File: f\n@@\n{}*** End Patch\n",
        "x\n...\n".repeat(10_000)
    );
    assert_eq!(code(bare.as_bytes(), &base), "does-not-apply");
}

#[test]
fn many_pieces_below_one_long_heading_are_too_large() {
    let base = Memory::of(&[("a.txt", b"one\ntwo\n")]);
    let heading = "x".repeat(500_000);
    let gaps = " p\n ...\n".repeat(20_000);
    let body = format!("-not in the file\n+y\n{gaps}");
    // Each piece has a copy of the heading: 10 GB, unless the copies count.
    for answer in [
        format!("*** Begin Patch\n*** Update File: a.txt\n@@ {heading}\n{body}*** End Patch\n"),
        format!("--- a/a.txt\n+++ b/a.txt\n@@ @@ {heading}\n{body}"),
    ] {
        assert_eq!(code(answer.as_bytes(), &base), "too-large");
    }
}

/// A lock file has one heading, and thousands of hunks far below it.
#[test]
fn a_heading_far_above_many_hunks_lands() {
    const LINES: usize = 200_000;
    const APART: usize = 20;
    let line = |at: usize| match at {
        0 => "packages:".to_owned(),
        at => format!("  entry {at}"),
    };
    let text: String = (0..LINES).map(|at| line(at) + "\n").collect();
    let base = Memory::of(&[("lock.yaml", text.as_bytes())]);
    let mut answer = String::from("--- a/lock.yaml\n+++ b/lock.yaml\n");
    for at in (APART..LINES).step_by(APART) {
        let number = at + 1;
        answer += &format!(
            "@@ -{number} +{number} @@ packages:\n-{}\n+  changed {at}\n",
            line(at)
        );
    }
    let landed = land(answer.as_bytes(), &base, &LandOptions::default()).expect("it lands");
    let after = base.after(&landed.change);
    let wanted: String = (0..LINES)
        .map(|at| match at {
            at if at > 0 && at % APART == 0 => format!("  changed {at}\n"),
            at => line(at) + "\n",
        })
        .collect();
    assert!(after["lock.yaml"].1.as_ref() == wanted.as_bytes());
}

/// Blocks of one file are parts of their own. If each read the file, memory would grow with blocks times file.
#[test]
fn a_file_of_many_blocks_is_read_once() {
    let text: String = (0..400).map(|at| format!("line {at}\n")).collect();
    let block =
        |at: usize| format!("f\n<<<<<<< SEARCH\nline {at}\n=======\nchanged {at}\n>>>>>>> REPLACE\n\n");
    let blocks: String = (0..400).step_by(4).map(block).collect();
    let base = Memory::of(&[("f", text.as_bytes())]);
    land(blocks.as_bytes(), &base, &LandOptions::default()).expect("it lands");
    assert_eq!(base.reads.get(), 1);
}
