//! What a person reads of a report, without its colours.
//!
//! Owns: the snapshots. Never: lands anything.

use super::*;

fn plain(painted: &str) -> String {
    anstream::adapter::strip_str(painted).to_string()
}

fn hunk(
    code: agentos_landing::RefusalCode,
    candidates: &[u64],
    expected: &[&str],
    actual: &[&str],
) -> HunkReport {
    let texts = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    HunkReport {
        index: 1,
        status: HunkStatus::Refused,
        rung: None,
        stated_line: Some(3),
        found_line: None,
        candidates: candidates.to_vec(),
        repairs: Vec::new(),
        refusal: Some(agentos_landing::Refusal::new(
            code,
            "the lines are not in the file",
        )),
        expected: texts(expected),
        actual: texts(actual),
    }
}

#[test]
fn a_hunk_that_failed_and_the_file_stand_side_by_side() {
    let long = "    let a_name_that_is_long = another_name_that_is_long.method_of_some_length();";
    let mut out = String::new();
    let expected = ["fn one() {", "    work(2);", long, "}"];
    let actual = ["fn one() {", "    work(1);", long];
    write_hunk(
        &mut out,
        &hunk(
            agentos_landing::RefusalCode::DoesNotApply,
            &[7],
            &expected,
            &actual,
        ),
        100,
    );
    insta::assert_snapshot!(plain(&out), @r"
    x hunk 1: does-not-apply: the lines are not in the file (line 7)
        the answer expects                             the file has, from line 7
        fn one() {                                   | fn one() {
            work(2);                                 !     work(1);
            let a_name_that_is_long = another_name_… |     let a_name_that_is_long = another_name_…
        }                                            !
    ");
}

#[test]
fn a_difference_at_the_end_of_a_long_line_is_shown() {
    for (left, right, wide, expected) in [
        ("a = 1;", "a = 2;", 30, ("a = 1;", "a = 2;")),
        (
            "ordered = sorted(counts.items(), key=lambda pair: pair[0])",
            "ordered = sorted(counts.items(), key=lambda pair: pair[1])",
            24,
            ("…r: pair[0])", "…r: pair[1])"),
        ),
        // The beginnings differ already, so both are cut at the end.
        (
            "one two three four five",
            "two two three four five",
            10,
            ("one two t…", "two two t…"),
        ),
        // One side ends where the other goes on.
        (
            "abcdefghijklmnop",
            "abcdefghijklmnopqrs",
            12,
            ("…ijklmnop", "…ijklmnopqrs"),
        ),
        (
            "same same same same",
            "same same same same",
            10,
            ("same same…", "same same…"),
        ),
    ] {
        let (left, right) = cut_sides(left, right, wide);
        assert_eq!((left.as_str(), right.as_str()), expected);
    }
}

#[test]
fn a_hunk_that_resembles_nothing_shows_what_it_expects_alone() {
    let mut out = String::new();
    write_hunk(
        &mut out,
        &hunk(
            agentos_landing::RefusalCode::DoesNotApply,
            &[],
            &["\u{1b}[2Jx"],
            &[],
        ),
        100,
    );
    insta::assert_snapshot!(plain(&out), @r"
    x hunk 1: does-not-apply: the lines are not in the file
        the answer expects
        | \u{1b}[2Jx
    ");
}

#[test]
fn several_places_are_told_and_a_landed_hunk_says_where() {
    let mut out = String::new();
    write_hunk(
        &mut out,
        &hunk(agentos_landing::RefusalCode::Ambiguous, &[2, 4], &["x"], &["x"]),
        100,
    );
    let mut landed = hunk(agentos_landing::RefusalCode::Empty, &[], &[], &[]);
    landed.status = HunkStatus::Landed;
    landed.rung = Some(Rung::ExactMoved);
    landed.found_line = Some(12);
    landed.refusal = None;
    write_hunk(&mut out, &landed, 100);
    landed.status = HunkStatus::AlreadyThere;
    write_hunk(&mut out, &landed, 100);
    insta::assert_snapshot!(plain(&out), @r"
    x hunk 1: ambiguous: the lines are not in the file (lines 2, 4)
        the answer expects                           the file has, from line 2
        x                                          | x
    + hunk 1: line 12 (the answer states line 3; exactly one place fits)
    = hunk 1: already in the file
    ");
}

#[test]
fn on_a_narrow_screen_one_text_follows_the_other() {
    let mut seen = String::new();
    for width in [40, 60, 80, 120] {
        let mut out = String::new();
        let hunk = hunk(
            agentos_landing::RefusalCode::DoesNotApply,
            &[7],
            &["fn one() {", "    work(2);"],
            &["fn one() {", "    work(1);"],
        );
        write_hunk(&mut out, &hunk, width);
        seen.push_str(&format!("-- {width}\n{}", plain(&out)));
    }
    insta::assert_snapshot!(seen, @r"
    -- 40
        x hunk 1: does-not-apply: the lines are not in the file (line 7)
            the answer expects
            | fn one() {
            |     work(2);
            the file has
            | fn one() {
            |     work(1);
    -- 60
        x hunk 1: does-not-apply: the lines are not in the file (line 7)
            the answer expects
            | fn one() {
            |     work(2);
            the file has
            | fn one() {
            |     work(1);
    -- 80
        x hunk 1: does-not-apply: the lines are not in the file (line 7)
            the answer expects                   the file has, from line 7
            fn one() {                         | fn one() {
                work(2);                       !     work(1);
    -- 120
        x hunk 1: does-not-apply: the lines are not in the file (line 7)
            the answer expects                           the file has, from line 7
            fn one() {                                 | fn one() {
                work(2);                               !     work(1);
    ");
}
