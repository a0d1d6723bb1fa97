//! Whether a recorded diff, applied to one text, gives another: the test for the same change on another base.
//!
//! Owns: reading the hunks of a canonical diff, and placing all of them at once. Never: accepts a line that differs, by
//! white space or otherwise; only the line numbers of a hunk may.
//!
//! Both texts are known, so nothing is guessed: the question is whether the hunks can be placed, in their order, so that
//! every line between them is the same in both texts. Where a hunk has no context on one side, the recorded change
//! touched that end of the file and must touch it here too.

use std::collections::{BTreeMap, BTreeSet};

/// Most steps of one comparison. A file of 100,000 lines with 100 hunks takes about 200,000.
const MOST_STEPS: usize = 8_000_000;

/// Hunk of a recorded diff.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PatchHunk<'a> {
    /// Lines before the change with their line feeds: context and removed lines.
    old: Vec<&'a [u8]>,
    /// Lines after the change: context and added lines.
    new: Vec<&'a [u8]>,
    /// Mark of the first line: a blank for context, `-` or `+`.
    first: u8,
    /// Mark of the last line.
    last: u8,
}

/// Hunks of each file of a diff, by the ids of the file's content before and after.
pub(super) type PatchFiles<'a> = BTreeMap<(&'a [u8], &'a [u8]), Vec<PatchHunk<'a>>>;

/// Reads the hunks of a canonical diff. `None` if one is incomplete.
pub(super) fn read_patch(diff: &[u8]) -> Option<PatchFiles<'_>> {
    let mut files = PatchFiles::new();
    let mut file = None;
    let mut lines = diff.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(ids) = line.strip_prefix(b"index ") {
            let ids = ids.split(u8::is_ascii_whitespace).next()?;
            let at = ids.windows(2).position(|pair| pair == b"..")?;
            file = Some((ids.get(..at)?, ids.get(at + 2..)?));
        } else if line.starts_with(b"@@ -") {
            let (mut old, mut new) = read_counts(line)?;
            let mut hunk = PatchHunk::default();
            while old > 0 || new > 0 || lines.peek().is_some_and(|line| line.starts_with(b"\\")) {
                hunk.add_line(lines.next()?, &mut old, &mut new)?;
            }
            files.entry(file?).or_default().push(hunk);
        }
    }
    Some(files)
}

/// Reads the numbers of lines from the header of a hunk, as in `@@ -12,3 +14 @@`.
fn read_counts(header: &[u8]) -> Option<(usize, usize)> {
    let text = String::from_utf8_lossy(header);
    let mut ranges = text.split(' ').skip(1);
    let mut count = |sign: char| -> Option<usize> {
        let range = ranges.next()?.strip_prefix(sign)?;
        match range.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        }
    };
    Some((count('-')?, count('+')?))
}

impl<'a> PatchHunk<'a> {
    /// Adds one line of the diff. `None` if the hunk has more lines than its header says.
    fn add_line(&mut self, line: &'a [u8], old: &mut usize, new: &mut usize) -> Option<()> {
        let (mark, text) = line.split_first()?;
        // "\ No newline at end of file" is about the line before it.
        let (is_old, is_new) = match mark {
            b'\\' => (self.last != b'+', self.last != b'-'),
            b' ' | b'-' | b'+' => (*mark != b'+', *mark != b'-'),
            _ => return None,
        };
        for (is_of_side, side, left) in [(is_old, &mut self.old, old), (is_new, &mut self.new, new)] {
            if !is_of_side {
                continue;
            }
            if *mark == b'\\' {
                let last = side.last_mut()?;
                *last = last.strip_suffix(b"\n").unwrap_or(last);
            } else {
                *left = left.checked_sub(1)?;
                side.push(text);
            }
        }
        if *mark != b'\\' {
            self.last = *mark;
            if self.first == 0 {
                self.first = *mark;
            }
        }
        Some(())
    }

    /// Returns whether the hunk fits at a line of the old text and a line of the new one.
    fn fits(&self, old: &[&[u8]], at_old: usize, new: &[&[u8]], at_new: usize) -> bool {
        let (end_old, end_new) = (at_old + self.old.len(), at_new + self.new.len());
        (self.first == b' ' || at_old == 0)
            && (self.last == b' ' || end_old == old.len())
            && old.get(at_old..end_old) == Some(&self.old)
            && new.get(at_new..end_new) == Some(&self.new)
    }
}

/// Returns whether the hunks, placed in their order, turn the old text into the new one.
pub(super) fn turns_into(old: &[u8], new: &[u8], hunks: &[PatchHunk<'_>]) -> bool {
    let (old, new) = (split_lines(old), split_lines(new));
    let mut steps = 0_usize;
    // Lines of the old text at which all earlier hunks may have ended. Together with `moved` each names a line of the new
    // text, because the hunks before it add and remove a fixed number of lines.
    let mut ends = BTreeSet::from([0_usize]);
    let mut moved = 0_isize;
    for hunk in hunks {
        let mut next = BTreeSet::new();
        let mut is_reached = false;
        for at in ends.first().copied().unwrap_or(old.len())..=old.len() {
            let same = |at: usize| old.get(at) == at.checked_add_signed(moved).and_then(|at| new.get(at));
            is_reached = ends.contains(&at) || (is_reached && at.checked_sub(1).is_some_and(same));
            steps += 1;
            if is_reached && let Some(at_new) = at.checked_add_signed(moved) {
                // Only a hunk whose first lines match is compared further.
                let starts = old.get(at) == hunk.old.first() && new.get(at_new) == hunk.new.first();
                steps += if starts {
                    hunk.old.len() + hunk.new.len()
                } else {
                    0
                };
                if hunk.fits(&old, at, &new, at_new) {
                    next.insert(at + hunk.old.len());
                }
            } else if ends.range(at..).next().is_none() {
                break;
            }
            if steps > MOST_STEPS {
                return false;
            }
        }
        moved += hunk.new.len().cast_signed() - hunk.old.len().cast_signed();
        ends = next;
    }
    ends.iter().any(|at| {
        let rest = at.checked_add_signed(moved).and_then(|at| new.get(at..));
        old.get(*at..) == rest
    })
}

fn split_lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hunk of a change in the middle of a file, with its context.
    const MIDDLE: &str = "@@ -2,4 +2,4 @@\n one\n two\n-three\n+THREE\n four\n";

    fn holds(hunks: &str, old: &str, new: &str) -> bool {
        let diff = format!("diff --git a/f b/f\nindex aa..bb 100644\n--- a/f\n+++ b/f\n{hunks}");
        let files = read_patch(diff.as_bytes()).unwrap();
        let hunks = files.get(&(&b"aa"[..], &b"bb"[..])).unwrap();
        turns_into(old.as_bytes(), new.as_bytes(), hunks)
    }

    #[test]
    fn hunks_may_stand_elsewhere_and_nothing_else_may_differ() {
        let two = &format!("{MIDDLE}@@ -9,2 +9,3 @@\n x\n+y\n z\n");
        let top = "@@ -1,2 +1,3 @@\n+new\n one\n two\n";
        let end = "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n";
        let fresh = "@@ -0,0 +1 @@\n+new\n";
        let cases: [(&str, &str, &str, &str, bool); 14] = [
            (
                "in place",
                MIDDLE,
                "0\none\ntwo\nthree\nfour\n",
                "0\none\ntwo\nTHREE\nfour\n",
                true,
            ),
            (
                "moved",
                MIDDLE,
                "0\n0\n0\none\ntwo\nthree\nfour\n9\n",
                "0\n0\n0\none\ntwo\nTHREE\nfour\n9\n",
                true,
            ),
            (
                "twice, the second",
                MIDDLE,
                "one\ntwo\nthree\nfour\none\ntwo\nthree\nfour\n",
                "one\ntwo\nthree\nfour\none\ntwo\nTHREE\nfour\n",
                true,
            ),
            (
                "twice, both",
                MIDDLE,
                "one\ntwo\nthree\nfour\none\ntwo\nthree\nfour\n",
                "one\ntwo\nTHREE\nfour\none\ntwo\nTHREE\nfour\n",
                false,
            ),
            (
                "other context",
                MIDDLE,
                "0\nOne\ntwo\nthree\nfour\n",
                "0\nOne\ntwo\nTHREE\nfour\n",
                false,
            ),
            (
                "and another line",
                MIDDLE,
                "0\none\ntwo\nthree\nfour\n",
                "1\none\ntwo\nTHREE\nfour\n",
                false,
            ),
            (
                "both hunks",
                two,
                "one\ntwo\nthree\nfour\nx\nz\n",
                "one\ntwo\nTHREE\nfour\nx\ny\nz\n",
                true,
            ),
            (
                "one of two",
                two,
                "one\ntwo\nthree\nfour\nx\nz\n",
                "one\ntwo\nTHREE\nfour\nx\nz\n",
                false,
            ),
            ("at the top", top, "one\ntwo\n3\n", "new\none\ntwo\n3\n", true),
            (
                "not at the top",
                top,
                "0\none\ntwo\n",
                "0\nnew\none\ntwo\n",
                false,
            ),
            ("at the end", end, "0\none\ntwo", "0\none\ntwo\n", true),
            ("the whole file", end, "one\ntwo", "one\ntwo\n", true),
            ("into an empty file", fresh, "", "new\n", true),
            ("into a full file", fresh, "one\n", "one\nnew\n", false),
        ];
        for (name, hunks, old, new, expected) in cases {
            assert_eq!(holds(hunks, old, new), expected, "{name}");
        }
    }

    #[test]
    fn a_diff_that_is_cut_or_too_long_is_no_patch() {
        for diff in [
            "index aa..bb\n@@ -1,2 +1,2 @@\n one\n",
            "index aa..bb\n@@ -1 +1 @@\n-a\n-b\n+c\n",
            "index aa..bb\n@@ -1 +1 @@\nx\n",
            "@@ -1 +1 @@\n-a\n+b\n",
            "index aa\n",
            "index aa..bb\n@@ nothing\n@@ -x +1 @@\n",
        ] {
            assert_eq!(read_patch(diff.as_bytes()), None, "{diff}");
        }
    }

    /// Two texts in which a hunk fits everywhere must not take more than the limit.
    #[test]
    fn a_comparison_ends() {
        let text = "a\n".repeat(100_000);
        let context = " a\n".repeat(5_000);
        let hunk = format!("@@ -1,10000 +1,10001 @@\n{context}+a\n{context}");
        assert!(!holds(&hunk.repeat(50), &text, &format!("{text}b\n")));
    }

    proptest::proptest! {
        #[test]
        fn an_edit_is_found_on_any_base_around_it(
            before in "([ab]\n){0,6}", after in "([ab]\n){0,6}", put in "([cd]\n){0,3}", gone in "([ab]\n){1,3}",
            above in "([ab]\n){0,5}", at in 0_usize..40,
        ) {
            let mark = |text: &str, mark: &str| text.lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
            let count = |text: &str| text.lines().count();
            let (old, new) = (count(&before) + count(&gone) + count(&after), count(&before) + count(&put) + count(&after));
            let hunk = format!("@@ -1,{old} +1,{new} @@\n{}{}{}{}", mark(&before, " "), mark(&gone, "-"), mark(&put, "+"), mark(&after, " "));
            // Without context above, a hunk stands at the top of its file.
            let above = if before.is_empty() { String::new() } else { above };
            let (from, to) = (format!("{above}{before}{gone}{after}"), format!("{above}{before}{put}{after}"));
            proptest::prop_assert!(holds(&hunk, &from, &to));
            let mut other: Vec<&str> = to.lines().collect();
            if !other.is_empty() {
                let at = at % other.len();
                other[at] = "z";
                let other: String = other.iter().map(|line| format!("{line}\n")).collect();
                proptest::prop_assert!(!holds(&hunk, &from, &other));
            }
        }
    }
}
