//! Parts of a canonical diff: its files and their hunks.
//!
//! Owns: cutting a canonical diff into parts, comparing two diffs without their line numbers, and joining chosen parts.
//! Never: reads any other diff than a canonical one, or judges a part; a joined diff is an answer like any other.

use crate::parse::hunk_header;

/// File of a canonical diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffFile<'a> {
    /// Lines before the first hunk, from `diff --git` on.
    header: Vec<&'a [u8]>,
    /// Hunks in order. Empty if only the mode changes, or an empty file is created or deleted.
    pub hunks: Vec<DiffHunk<'a>>,
}

/// Hunk of a canonical diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk<'a> {
    /// First line in the old file, as the hunk's header names it.
    pub old_start: u64,
    /// First line in the new file, as the hunk's header names it.
    pub new_start: u64,
    /// Header and marked lines.
    lines: Vec<&'a [u8]>,
}

/// Difference between two canonical diffs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffDifference {
    /// Every byte is equal.
    None,
    /// Equal lines change, with the same context. Hunks are at other lines, or other parts of the files differ.
    LineNumbers(Vec<MovedHunk>),
    /// Other lines change, or the context is another.
    Lines,
}

/// Hunk that is at another line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedHunk {
    /// Number of the file in the diff, from 0.
    pub file: usize,
    /// First line in the old file of the first diff.
    pub from: u64,
    /// First line in the old file of the second diff.
    pub to: u64,
}

impl<'a> DiffFile<'a> {
    /// Returns the header without the ids of the two contents, which other parts of the file change too.
    fn stable_header(&self) -> impl Iterator<Item = &[u8]> {
        let lines = self.header.iter().copied();
        lines.map(|line| match line.strip_prefix(b"index ") {
            // The mode after the ids is a part of the change.
            Some(ids) => ids.splitn(2, |byte| *byte == b' ').nth(1).unwrap_or_default(),
            None => line,
        })
    }

    /// Returns true if hunks of the file can be chosen one by one. A created or deleted file is one part.
    #[must_use]
    pub fn is_divisible(&self) -> bool {
        let is_whole =
            |line: &&[u8]| line.starts_with(b"new file mode") || line.starts_with(b"deleted file mode");
        self.hunks.len() > 1 && !self.header.iter().any(is_whole)
    }

    /// Returns the text of the file's header and of some of its hunks.
    #[must_use]
    pub fn part_text(&self, hunks: impl IntoIterator<Item = usize>) -> Vec<u8> {
        let mut text = self.header.concat();
        for hunk in hunks.into_iter().filter_map(|at| self.hunks.get(at)) {
            text.extend(hunk.lines.concat());
        }
        text
    }
}

impl<'a> DiffHunk<'a> {
    fn of_lines(lines: &[&'a [u8]]) -> Self {
        let header = lines.first().and_then(|header| hunk_header(header));
        let (stated, _) = header.unwrap_or_default();
        Self {
            old_start: stated.old_start.unwrap_or_default(),
            new_start: stated.new_start.unwrap_or_default(),
            lines: lines.to_vec(),
        }
    }

    /// Returns the marked lines without the header.
    fn body(&self) -> Option<&[&'a [u8]]> {
        self.lines.get(1..)
    }
}

/// Cuts a canonical diff into its files, in their order.
#[must_use]
pub fn split_diff(diff: &[u8]) -> Vec<DiffFile<'_>> {
    // Lines of content begin with a blank, `+`, `-` or `\`, so these are always headers.
    let is_file = |line: &[u8]| line.starts_with(b"diff --git ");
    let is_hunk = |line: &[u8]| line.starts_with(b"@@ ");
    let lines: Vec<&[u8]> = diff.split_inclusive(|byte| *byte == b'\n').collect();
    let files = lines.chunk_by(|_, next| !is_file(next)).map(|file| {
        let mut parts = file.chunk_by(|_, next| !is_hunk(next));
        DiffFile {
            header: parts.next().unwrap_or_default().to_vec(),
            hunks: parts.map(DiffHunk::of_lines).collect(),
        }
    });
    let begins = |file: &DiffFile<'_>| file.header.first().is_some_and(|line| is_file(line));
    files.filter(begins).collect()
}

/// Compares two canonical diffs.
#[must_use]
pub fn compare_diffs(one: &[u8], other: &[u8]) -> DiffDifference {
    if one == other {
        return DiffDifference::None;
    }
    let (ones, others) = (split_diff(one), split_diff(other));
    if ones.len() != others.len() {
        return DiffDifference::Lines;
    }
    let mut moved = Vec::new();
    for (file, (one, other)) in ones.iter().zip(&others).enumerate() {
        let is_same = |(one, other): (&DiffHunk<'_>, &DiffHunk<'_>)| one.body() == other.body();
        let pairs = one.hunks.iter().zip(&other.hunks);
        let same_header = one.stable_header().eq(other.stable_header());
        if !same_header || one.hunks.len() != other.hunks.len() || !pairs.clone().all(is_same) {
            return DiffDifference::Lines;
        }
        let pairs = pairs.map(|(one, other)| (one.old_start, other.old_start));
        let elsewhere = pairs.filter(|(from, to)| from != to);
        moved.extend(elsewhere.map(|(from, to)| MovedHunk { file, from, to }));
    }
    DiffDifference::LineNumbers(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "diff --git a/a b/a\nindex 11..22 100644\n--- a/a\n+++ b/a\n";

    #[test]
    fn a_diff_is_cut_into_files_and_hunks() {
        let diff = format!(
            "{FILE}@@ -1,2 +1 @@\n-diff --git\n @@ x\n@@ -10 +9,2 @@\n x\n+y\n\\ No newline at end of file\n\
             diff --git a/m b/m\nold mode 100644\nnew mode 100755\n"
        );
        let files = split_diff(diff.as_bytes());
        let starts = |file: &DiffFile<'_>| {
            let hunks = file.hunks.iter();
            hunks
                .map(|hunk| (hunk.old_start, hunk.new_start))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            files.iter().map(starts).collect::<Vec<_>>(),
            [vec![(1, 1), (10, 9)], vec![]]
        );
        let whole: Vec<u8> = files
            .iter()
            .flat_map(|file| file.part_text(0..file.hunks.len()))
            .collect();
        assert_eq!(String::from_utf8_lossy(&whole), diff);
        let second = files.first().map(|file| file.part_text([1]));
        assert_eq!(
            second.as_deref().map(String::from_utf8_lossy).as_deref(),
            Some(&*format!(
                "{FILE}@@ -10 +9,2 @@\n x\n+y\n\\ No newline at end of file\n"
            ))
        );
        assert_eq!(
            files.iter().map(DiffFile::is_divisible).collect::<Vec<_>>(),
            [true, false]
        );
        assert!(split_diff(b"").is_empty());
    }

    #[test]
    fn line_numbers_and_ids_are_the_only_harmless_differences() {
        use DiffDifference::{LineNumbers, Lines, None};
        let base = format!("{FILE}@@ -1,2 +1 @@\n-x\n y\n");
        let moved = |from, to| LineNumbers(vec![MovedHunk { file: 0, from, to }]);
        let cases = [
            (base.clone(), None),
            (base.replace("-1,2 +1", "-7,2 +8"), moved(1, 7)),
            (base.replace("11..22", "33..44"), LineNumbers(Vec::new())),
            (base.replace("22 100644", "22 100755"), Lines),
            (base.replace("b/a", "b/b"), Lines),
            (base.replace(" y", " z"), Lines),
            (base.replace("-x", "+x"), Lines),
            (format!("{base}@@ -9 +9 @@\n-x\n"), Lines),
            (format!("{base}{base}"), Lines),
            (String::new(), Lines),
        ];
        for (other, expected) in cases {
            assert_eq!(
                compare_diffs(base.as_bytes(), other.as_bytes()),
                expected,
                "{other}"
            );
        }
    }
}
