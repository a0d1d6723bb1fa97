//! Edits that are apart are joined, and no others.

use proptest::prelude::*;

use super::{MergeConflict, merge_apart};

fn merge(base: &str, own: &str, other: &str) -> Result<String, (usize, usize)> {
    let merged = merge_apart(base.as_bytes(), own.as_bytes(), other.as_bytes());
    merged
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .map_err(|MergeConflict { own_lines }| own_lines)
}

#[test]
fn one_unchanged_line_between_two_edits_is_enough_and_needed() {
    let base = "a\nb\nc\nd\ne\n";
    let cases = [
        ("A\nb\nc\nd\ne\n", "a\nb\nC\nd\ne\n", Ok("A\nb\nC\nd\ne\n")),
        ("A\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n", Err((1, 1))),
        ("a\nB\nc\nd\ne\n", "A\nb\nc\nd\ne\n", Err((2, 2))),
        ("a\nb\nc\nd\nE\n", "a\nb\nC\nd\ne\n", Ok("a\nb\nC\nd\nE\n")),
        // The same edit on both sides is not apart: nothing says that the person means the same.
        ("a\nB\nc\nd\ne\n", "a\nB\nc\nd\ne\n", Err((2, 2))),
        // Insertions, deletions, ends without a line feed.
        (
            "a\nx\nb\nc\nd\ne\n",
            "a\nb\ny\nc\nd\ne\n",
            Ok("a\nx\nb\ny\nc\nd\ne\n"),
        ),
        ("a\nx\nb\nc\nd\ne\n", "a\ny\nb\nc\nd\ne\n", Err((2, 2))),
        ("b\nc\nd\ne\n", "a\nb\nc\nd\n", Ok("b\nc\nd\n")),
        ("b\nc\nd\ne\n", "a\nB\nc\nd\ne\n", Err((1, 0))),
        ("a\nb\nc\nd\ne", "A\nb\nc\nd\ne\n", Ok("A\nb\nc\nd\ne")),
        ("a\nb\nc\nd\ne", "a\nb\nc\nd\nE\n", Err((5, 5))),
        ("a\nb\nc\nd\ne\nf", "a\nb\nc\nD\ne\n", Ok("a\nb\nc\nD\ne\nf")),
        ("a\r\nb\nc\nd\ne\n", "a\nb\nC\nd\ne\n", Ok("a\r\nb\nC\nd\ne\n")),
        (
            "1\n2\n3\na\nb\nc\nd\ne\n",
            "a\nb\nc\nD\ne\n",
            Ok("1\n2\n3\na\nb\nc\nD\ne\n"),
        ),
        (base, "a\n", Ok("a\n")),
        ("a\n", base, Ok("a\n")),
        ("", "A\nb\nc\nd\ne\n", Err((1, 0))),
    ];
    for (own, other, expected) in cases {
        assert_eq!(
            merge(base, own, other),
            expected.map(str::to_owned),
            "{own:?} {other:?}"
        );
    }
}

/// Lines of a base, each with what the two sides make of it: 0 keeps it, 1 changes it, 2 deletes it, 3 adds a line below it.
fn edits() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((0..4_u8, 0..4_u8), 0..40)
}

fn side(kinds: impl Iterator<Item = u8>, mark: &str) -> String {
    let line = |(at, kind): (usize, u8)| match kind {
        0 => format!("line {at}\n"),
        1 => format!("{mark} {at}\n"),
        2 => String::new(),
        _ => format!("line {at}\n{mark} below {at}\n"),
    };
    kinds.enumerate().map(line).collect()
}

proptest! {
    #[test]
    fn edits_apart_give_what_both_sides_made(edits in edits()) {
        // Only one side edits a line, and an untouched line stands between two edits of different sides.
        let mut kept = Vec::new();
        for (own, other) in edits {
            kept.push((own, 0));
            kept.push((0, 0));
            kept.push((0, other));
            kept.push((0, 0));
        }
        let base = side(kept.iter().map(|_| 0), "");
        let own = side(kept.iter().map(|(own, _)| *own), "own");
        let other = side(kept.iter().map(|(_, other)| *other), "other");
        let line = |(at, (own, other)): (usize, &(u8, u8))| match (own, other) {
            (0, other) => side(std::iter::repeat_n(0, at).chain([*other]), "other"),
            (own, _) => side(std::iter::repeat_n(0, at).chain([*own]), "own"),
        }.split_inclusive('\n').skip(at).collect::<String>();
        let both: String = kept.iter().enumerate().map(line).collect();
        prop_assert_eq!(merge(&base, &own, &other), Ok(both.clone()));
        // In the other direction it is the same: undoing the change gives one's own version again.
        prop_assert_eq!(merge(&other, &both, &base), Ok(own));
    }

    #[test]
    fn no_input_makes_a_crash(base in "[ab\n]{0,30}", own in "[ab\n]{0,30}", other in "[ab\n]{0,30}") {
        if let Ok(merged) = merge(&base, &own, &other) {
            prop_assert!(base != own || merged == other);
            prop_assert!(base != other || merged == own);
        }
    }
}
