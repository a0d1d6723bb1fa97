//! The change that an answer describes: for each path the exact old and new bytes and modes, and one canonical diff.
//!
//! Owns: `Change` and its SHA-256. Never: remembers how the answer was written.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use crate::file_change::{PathState, PathStates};
use crate::path::parent_dirs;
use crate::{FileChange, FileMode, FileState, LineStats, RepoPath, canonical};

/// Reason why file states do not form a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// A path is listed twice.
    #[error("`{0}` is listed twice in the change")]
    Twice(RepoPath),
    /// A path is both a file and a directory above another file.
    #[error("`{0}` cannot be both a file and a directory")]
    FileAndDirectory(RepoPath),
    /// A file exists neither before nor after the change.
    #[error("`{0}` exists neither before nor after the change")]
    Nowhere(RepoPath),
    /// A symbolic link would become a file, or a file a link.
    #[error("`{0}` is a symbolic link on one side of the change and a file on the other")]
    Link(RepoPath),
}

/// Change: landing makes it, policy judges it, a person approves it, and the executor writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    files: Vec<FileChange>,
    diff: Vec<u8>,
    sha256: String,
}

impl Change {
    /// Creates a change from the old and new state of each path. Paths whose states are equal are left out; the rest
    /// is sorted.
    ///
    /// # Errors
    /// Fails if a path is listed twice, exists neither before nor after, is both a file and a directory in the
    /// result, or is a symbolic link on one side and a file on the other.
    pub fn new(mut states: PathStates) -> Result<Self, ChangeError> {
        // Sorted by bytes, as git sorts a tree: the canonical diff must not depend on the order of the answer.
        states.sort_by(|a, b| a.0.as_str().as_bytes().cmp(b.0.as_str().as_bytes()));
        if let Some([(path, _, _), _]) = states.array_windows().find(|[a, b]| a.0 == b.0) {
            return Err(ChangeError::Twice(path.clone()));
        }
        if let Some(nowhere) = states.iter().find(|(_, old, new)| old.is_none() && new.is_none()) {
            return Err(ChangeError::Nowhere(nowhere.0.clone()));
        }
        let is_link = |state: &FileState| state.mode == FileMode::Symlink;
        // Git shows a link that becomes a file as a deletion and a creation of one path, and a change has each path once.
        let mixes = |(_, old, new): &&PathState| {
            let states = old.as_ref().zip(new.as_ref());
            states.is_some_and(|(old, new)| is_link(old) != is_link(new))
        };
        if let Some((link, _, _)) = states.iter().find(mixes) {
            return Err(ChangeError::Link(link.clone()));
        }
        // Equal states are dropped only after the checks above: a path that is listed twice is an error in any case.
        states.retain(|(_, old, new)| old != new);
        check_directories(&states)?;
        let (files, diff) = canonical::render_diff(states);
        let sha256 = canonical::to_hex(&Sha256::digest(&diff));
        Ok(Self { files, diff, sha256 })
    }

    /// Returns the changed files, sorted by path.
    #[must_use]
    pub fn files(&self) -> &[FileChange] {
        &self.files
    }

    /// Returns the canonical git diff. It depends on the base and the result alone, and is not always UTF-8.
    #[must_use]
    pub fn canonical_diff(&self) -> &[u8] {
        &self.diff
    }

    /// Returns the SHA-256 of the canonical diff as 64 hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns true if nothing would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the number of lines added and removed in the whole change.
    #[must_use]
    pub fn stats(&self) -> LineStats {
        let mut sum = LineStats::default();
        for FileChange { stats, .. } in &self.files {
            sum.added += stats.added;
            sum.removed += stats.removed;
        }
        sum
    }

    /// Returns the change that undoes this one.
    ///
    /// # Errors
    /// Fails if the inverse cannot be expressed; see [`Change::new`].
    pub fn inverse(&self) -> Result<Self, ChangeError> {
        let files = self.files.iter();
        let undone = files.map(|file| (file.path.clone(), file.new.clone(), file.old.clone()));
        Self::new(undone.collect())
    }
}

/// Fails if a path of the result is a directory of another one.
fn check_directories(states: &PathStates) -> Result<(), ChangeError> {
    let there = states
        .iter()
        .filter(|(_, _, new)| new.is_some())
        .map(|(path, _, _)| path);
    let paths: HashSet<&str> = there.clone().map(RepoPath::as_str).collect();
    for path in there {
        if parent_dirs(path.as_str()).any(|parent| paths.contains(parent)) {
            return Err(ChangeError::FileAndDirectory(path.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn link(to: &str) -> Option<FileState> {
        Some(FileState {
            mode: FileMode::Symlink,
            content: Arc::from(to.as_bytes()),
        })
    }

    #[test]
    fn a_link_is_a_file_with_one_line() {
        let path = || RepoPath::new("latest").unwrap();
        let change = Change::new(vec![(path(), link("../v1"), link("v2"))]).unwrap();
        let diff = String::from_utf8_lossy(change.canonical_diff()).into_owned();
        insta::assert_snapshot!(diff, @r"
        diff --git a/latest b/latest
        index 26a02fbbd57e9fabcc0cdc88ae85bd6266c9f174..8494ac27064713465d43ddea83398365ac0ba721 120000
        --- a/latest
        +++ b/latest
        @@ -1 +1 @@
        -../v1
        \ No newline at end of file
        +v2
        \ No newline at end of file
        ");
        for (old, new) in [(None, link("x")), (link("x"), None), (link("x"), link("y"))] {
            let change = Change::new(vec![(path(), old, new)]).unwrap();
            assert_eq!(change.inverse().unwrap().inverse(), Ok(change));
        }
        let file = Some(FileState::regular(b"../v1"));
        for (old, new) in [(link("x"), file.clone()), (file, link("x"))] {
            assert_eq!(
                Change::new(vec![(path(), old, new)]),
                Err(ChangeError::Link(path()))
            );
        }
    }

    #[test]
    fn content_with_a_nul_is_shown_as_data_in_both_directions() {
        let path = RepoPath::new("logo.bin").unwrap();
        let file = |content: &[u8]| Some(FileState::regular(content));
        let change = Change::new(vec![(path, file(b"text\n"), file(b"a\0b"))]).unwrap();
        let diff = String::from_utf8_lossy(change.canonical_diff()).into_owned();
        insta::assert_snapshot!(diff, @r"
        diff --git a/logo.bin b/logo.bin
        index 8e27be7d6154a1f68ea9160ef0e18691d20560dc..20b5be91886d0b6f26dc98a225c0dac05fe2c86e 100644
        GIT binary patch
        literal 3
        NcmV+e0Q~=90Ac}%0K@<Q

        literal 5
        PcmV+g0Q&!QWq5Q71~&oF

        ");
        assert_eq!(change.stats(), LineStats::default());
    }

    #[test]
    fn a_file_does_not_carry_on_a_link() {
        let names = ["latest", "new"].map(|name| RepoPath::new(name).unwrap());
        let [old, new] = names;
        let file = Some(FileState::regular(b"../v1"));
        let change = Change::new(vec![(old, link("../v1"), None), (new, None, file)]).unwrap();
        assert!(change.files().iter().all(|file| file.renamed_from.is_none()));
    }
}
