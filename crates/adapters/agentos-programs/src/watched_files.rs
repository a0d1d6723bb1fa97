//! The files that a command changed, read from outside after it has ended.
//!
//! Owns: the comparison, and the names of what differs. Never: takes a file of the command's over, or relies on its git.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agentos_beneath::OpenFolder;

use crate::difference::{CopyView, compare_trees};
use crate::{AgentError, CandidateFile, Checkout};

/// Folder of the copy's git directory, whose files are compared one by one.
const GIT_DIR: &str = ".git/";
/// Most bytes of a file of the git directory that are compared. A longer one was not written by us.
const MOST_BYTES: u64 = 1 << 20;

/// Files of one run of a command.
pub(crate) struct WatchedFiles<'a> {
    /// The copy.
    pub(crate) checkout: &'a dyn Checkout,
    /// Folder with the files that were written, or with all files.
    pub(crate) place: &'a Path,
    /// True if the files are shown through an overlay.
    pub(crate) overlaid: bool,
    /// Files that were written before the command.
    pub(crate) files: &'a [CandidateFile],
}

impl WatchedFiles<'_> {
    /// Reads the difference between the commit and the files as one diff.
    ///
    /// # Errors
    /// If the files cannot be read, or are too many or too large.
    pub(crate) fn read(&self) -> Result<String, AgentError> {
        let shown = if self.overlaid {
            CopyView::Overlaid
        } else {
            CopyView::Copied
        };
        let ignored = |path: &str| self.checkout.is_ignored(path);
        Ok(compare_trees(&self.checkout.files(), self.place, shown, &ignored)?.text)
    }

    /// Lists the paths whose content differs from that in an earlier diff, and the files of the git directory that were
    /// written before and are different now.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn list_changed(&self, before: &str) -> Result<Vec<String>, AgentError> {
        let mut changed = list_different(before, &self.read()?);
        for file in self.files.iter().filter(|file| file.path.starts_with(GIT_DIR)) {
            if self.read_file(&file.path) != file.content {
                changed.push(file.path.clone());
            }
        }
        Ok(changed)
    }

    /// Returns the content of a file. `None` if it is gone, or is no file any more.
    fn read_file(&self, path: &str) -> Option<Vec<u8>> {
        let path = Path::new(path);
        let folder = OpenFolder::open_root(self.place)
            .ok()?
            .open_path(path.parent()?)
            .ok()?;
        let read = folder.read_file(path.file_name()?, MOST_BYTES).ok()?;
        Some(read.bytes)
    }
}

/// Lists the paths whose part of a diff differs between two diffs of the same base.
fn list_different(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (split_files(before), split_files(after));
    let paths: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    paths
        .into_iter()
        .filter(|path| before.get(path) != after.get(path))
        .map(str::to_owned)
        .collect()
}

/// Splits a diff into the parts of its files, by the path after the change.
fn split_files(diff: &str) -> BTreeMap<&str, &str> {
    const HEAD: &str = "diff --git ";
    let mut parts = BTreeMap::new();
    let mut rest = diff;
    // A line of content begins with a blank, `+`, `-` or `\\`, so this one is a header.
    while let Some(part) = rest.strip_prefix(HEAD) {
        let end = part.find("\ndiff --git ").map_or(part.len(), |at| at + 1);
        let (this, next) = part.split_at(end);
        let names = this.lines().next().unwrap_or_default();
        let path = names.rsplit_once(" b/").map_or(names, |(_, path)| path);
        parts.insert(path, this);
        rest = next;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_two_diffs_that_differ_are_named() {
        let part = |path: &str, line: &str| {
            format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x\n+{line}\n")
        };
        let one = part("a", "y") + &part("b c", "diff --git a/q b/q");
        let cases = [
            (one.clone(), vec![]),
            (part("a", "y"), vec!["b c"]),
            (part("a", "z") + &part("b c", "diff --git a/q b/q"), vec!["a"]),
            (one.clone() + &part("d/e", "y"), vec!["d/e"]),
            (String::new(), vec!["a", "b c"]),
        ];
        for (other, expected) in cases {
            assert_eq!(list_different(&one, &other), expected, "{other}");
            assert_eq!(list_different(&other, &one), expected, "{other}");
        }
    }
}
