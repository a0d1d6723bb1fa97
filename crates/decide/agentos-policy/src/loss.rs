//! Lines and files that a change takes away, counted so that moved text does not count as lost.
//!
//! Owns: the counts and what they mean. Never: judges them; rules do.
//!
//! | what happens | lost lines of the file | lost file |
//! |---|---|---|
//! | a line is removed, and nothing equal is added anywhere in the change | 1 | |
//! | a line moves, inside its file or to another file of the change | 0 | |
//! | only white space at the ends of a line changes | 0 | |
//! | a file is deleted or emptied | each line that is added nowhere else | yes, if that is more than half of its lines |
//! | a file is renamed | as for each line above | no |
//! | text becomes binary data | every line | no |
//! | binary data is deleted | 0, it has no lines | yes, unless it is renamed |
//!
//! Lines that the change adds make up for as many equal lines that it removes, and for no more.
//!
//! The lines come from the canonical diff and not from the files: one changed line in a file of a gigabyte then costs no
//! table of all its lines.

use std::collections::{HashMap, HashSet};

use agentos_landing::{Change, FileChange, FileState, RepoPath};

/// Loss of one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileLoss {
    /// Number of lines before the change. 0 for a new file, and for binary data.
    pub(crate) old_lines: u64,
    /// Number of lines after the change. 0 for a deleted file, and for binary data.
    pub(crate) new_lines: u64,
    /// Number of removed lines that the change adds nowhere.
    pub(crate) lost_lines: u64,
    /// True if the file is deleted or emptied and its text is not in another file.
    pub(crate) is_lost: bool,
}

impl FileLoss {
    /// Returns the share of lost lines in percent, rounded up: one line more than a half is 51.
    pub(crate) fn lost_percent(self) -> u64 {
        let hundredfold = self.lost_lines.saturating_mul(100);
        hundredfold.div_ceil(self.old_lines.max(1))
    }

    /// Returns by how many lines the file became shorter.
    pub(crate) fn net_removed(self) -> u64 {
        self.old_lines.saturating_sub(self.new_lines)
    }
}

/// Losses of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangeLosses {
    /// Loss of each file, in the order of the change.
    pub(crate) files: Vec<FileLoss>,
}

impl ChangeLosses {
    /// Counts the losses of a change. The work is linear in its diff and in the content of its files.
    pub(crate) fn count(change: &Change) -> Self {
        let mut edits = read_edits(change);
        let mut added = LineCounts::new();
        for edit in &mut edits {
            edit.drop_moved_lines();
            for (line, count) in edit.added.drain() {
                *added.entry(line).or_default() += count;
            }
        }
        let continued = change
            .files()
            .iter()
            .filter_map(|file| file.renamed_from.as_ref());
        let continued: HashSet<&RepoPath> = continued.collect();
        let mut files = vec![FileLoss::default(); edits.len()];
        // Renamed files take their lines first. Otherwise a deleted copy could take them, and the renamed file would
        // look lost.
        for is_renamed in [true, false] {
            for ((file, edit), loss) in change.files().iter().zip(&edits).zip(&mut files) {
                if continued.contains(&file.path) == is_renamed {
                    *loss = count_file(file, &edit.removed, &mut added);
                    loss.is_lost = !is_renamed && is_text_gone(file, *loss);
                }
            }
        }
        Self { files }
    }

    /// Returns the number of lost files.
    pub(crate) fn lost_files(&self) -> u64 {
        self.files.iter().filter(|loss| loss.is_lost).count() as u64
    }

    /// Returns the sum of the lines before and of the lines after the change, in a loss of which nothing else is set.
    pub(crate) fn sum_lines(&self) -> FileLoss {
        self.files.iter().fold(FileLoss::default(), |sum, loss| FileLoss {
            old_lines: sum.old_lines.saturating_add(loss.old_lines),
            new_lines: sum.new_lines.saturating_add(loss.new_lines),
            ..sum
        })
    }

    /// Names the files that are lost, and those that become shorter by most lines.
    pub(crate) fn name_largest(&self, change: &Change) -> LargestLosses {
        let named = || change.files().iter().zip(&self.files);
        let gone = named().filter(|(_, loss)| loss.is_lost);
        let mut shorter: Vec<(u64, &str)> = named()
            .map(|(file, loss)| (loss.net_removed(), file.path.as_str()))
            .filter(|(lines, _)| *lines > 0)
            .collect();
        shorter.sort_by_key(|(lines, _)| std::cmp::Reverse(*lines));
        let shorter = shorter.into_iter().take(NAMED_FILES);
        LargestLosses {
            gone: gone
                .take(NAMED_FILES)
                .map(|(file, _)| file.path.to_string())
                .collect(),
            shorter: shorter.map(|(lines, path)| format!("{path} ({lines})")).collect(),
        }
    }
}

/// Number of files that a description of a loss names.
const NAMED_FILES: usize = 3;

/// Names of the files that lose most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LargestLosses {
    /// First lost files, in the order of their paths.
    pub(crate) gone: Vec<String>,
    /// Files that become shorter by most lines, with that number.
    pub(crate) shorter: Vec<String>,
}

/// Number of times that each line occurs. Lines have no white space at their ends.
type LineCounts<'c> = HashMap<&'c [u8], u64>;

/// Lines that a change removes from one file and adds to it.
#[derive(Debug, Default)]
struct EditedLines<'c> {
    removed: LineCounts<'c>,
    added: LineCounts<'c>,
}

impl EditedLines<'_> {
    /// Drops the lines that are removed and added: they only move inside the file.
    fn drop_moved_lines(&mut self) {
        self.removed.retain(|line, removed| {
            if let Some(added) = self.added.get_mut(line) {
                let moved = (*removed).min(*added);
                *removed -= moved;
                *added -= moved;
            }
            *removed > 0
        });
    }
}

/// Reads the removed and added lines of each file from the canonical diff.
fn read_edits(change: &Change) -> Vec<EditedLines<'_>> {
    let mut edits: Vec<EditedLines<'_>> = Vec::with_capacity(change.files().len());
    let mut in_hunk = false;
    for line in change.canonical_diff().split(|byte| *byte == b'\n') {
        // Lines of content begin with a blank, `+`, `-` or `\`, so these two are always headers.
        if line.starts_with(b"diff --git ") {
            in_hunk = false;
            edits.push(EditedLines::default());
        } else if line.starts_with(b"@@ ") {
            in_hunk = true;
        } else if in_hunk && let (Some((mark, text)), Some(edit)) = (line.split_first(), edits.last_mut()) {
            let counts = match mark {
                b'-' => &mut edit.removed,
                b'+' => &mut edit.added,
                _ => continue,
            };
            *counts.entry(text.trim_ascii()).or_default() += 1;
        }
    }
    edits
}

/// Counts the lines of one file, and takes what makes up for its removed lines from the lines that the change adds.
fn count_file<'c>(file: &'c FileChange, removed: &LineCounts<'c>, added: &mut LineCounts<'c>) -> FileLoss {
    let (old_lines, new_lines) = (count_lines(&file.old), count_lines(&file.new));
    let lost_lines = if is_binary(&file.new) {
        // The diff of binary data shows no line.
        old_lines
    } else {
        let lost = removed.iter().map(|(line, count)| {
            let made_up = added.get(line).copied().unwrap_or_default().min(*count);
            if let Some(left) = added.get_mut(line) {
                *left -= made_up;
            }
            count - made_up
        });
        lost.sum()
    };
    FileLoss {
        old_lines,
        new_lines,
        lost_lines,
        is_lost: false,
    }
}

/// Returns true if a file that is not renamed is deleted or emptied, and its text is not in another file.
fn is_text_gone(file: &FileChange, loss: FileLoss) -> bool {
    let is_emptied = file
        .new
        .as_ref()
        .is_none_or(|new| new.content.trim_ascii().is_empty());
    // An empty file has nothing to lose.
    is_emptied && (is_binary(&file.old) || loss.lost_lines.saturating_mul(2) > loss.old_lines)
}

fn is_binary(state: &Option<FileState>) -> bool {
    state.as_ref().is_some_and(FileState::is_binary)
}

/// Returns the number of lines as the diff shows them: the last one may lack its line feed. 0 for binary data.
fn count_lines(state: &Option<FileState>) -> u64 {
    let Some(state) = state.as_ref().filter(|state| !state.is_binary()) else {
        return 0;
    };
    let ends = state.content.iter().filter(|byte| **byte == b'\n').count();
    let has_rest = state.content.last().is_some_and(|last| *last != b'\n');
    ends as u64 + u64::from(has_rest)
}

#[cfg(test)]
mod tests;
