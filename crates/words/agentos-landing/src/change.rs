//! The change that an answer describes: for each path the exact old and new bytes and modes, and one canonical diff.
//!
//! Owns: `Change` and its SHA-256. Never: remembers how the answer was written.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use crate::file_change::PathStates;
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
    /// A symbolic link would be created or changed.
    #[error("`{0}` is a symbolic link, which can only be deleted")]
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
    /// result, or is a symbolic link that is not deleted.
    pub fn new(states: Vec<(RepoPath, Option<FileState>, Option<FileState>)>) -> Result<Self, ChangeError> {
        let mut states = states;
        // Sorted by bytes, as git sorts a tree: the canonical diff must not depend on the order of the answer.
        states.sort_by(|a, b| a.0.as_str().as_bytes().cmp(b.0.as_str().as_bytes()));
        for pair in states.windows(2) {
            if let [a, b] = pair
                && a.0 == b.0
            {
                return Err(ChangeError::Twice(a.0.clone()));
            }
        }
        if let Some(nowhere) = states.iter().find(|(_, old, new)| old.is_none() && new.is_none()) {
            return Err(ChangeError::Nowhere(nowhere.0.clone()));
        }
        if let Some((link, _, _)) = states
            .iter()
            .find(|(_, old, new)| makes_link(old.as_ref(), new.as_ref()))
        {
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
        self.files
            .iter()
            .fold(LineStats::default(), |sum, file| LineStats {
                added: sum.added + file.stats.added,
                removed: sum.removed + file.stats.removed,
            })
    }

    /// Returns the change that undoes this one.
    ///
    /// # Errors
    /// Fails if the inverse cannot be expressed, as for the deletion of a symbolic link; see [`Change::new`].
    pub fn inverse(&self) -> Result<Self, ChangeError> {
        Self::new(
            self.files
                .iter()
                .map(|file| (file.path.clone(), file.new.clone(), file.old.clone()))
                .collect(),
        )
    }
}

/// Returns true if a symbolic link is created or changed. Its deletion is the only thing that a change can express.
fn makes_link(old: Option<&FileState>, new: Option<&FileState>) -> bool {
    let is_link = |state: Option<&FileState>| state.is_some_and(|state| state.mode == FileMode::Symlink);
    is_link(new) || (is_link(old) && new.is_some())
}

/// Fails if a path of the result is a directory of another one.
fn check_directories(states: &PathStates) -> Result<(), ChangeError> {
    let there = states
        .iter()
        .filter(|(_, _, new)| new.is_some())
        .map(|(path, _, _)| path);
    let paths: HashSet<&str> = there.clone().map(RepoPath::as_str).collect();
    for path in there {
        let mut parents = path
            .as_str()
            .match_indices('/')
            .filter_map(|(at, _)| path.as_str().get(..at));
        if parents.any(|parent| paths.contains(parent)) {
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
    fn of_a_symbolic_link_only_its_deletion_can_be_expressed() {
        let path = || RepoPath::new("latest").unwrap();
        let change = Change::new(vec![(path(), link("../v1"), None)]).unwrap();
        let diff = String::from_utf8_lossy(change.canonical_diff()).into_owned();
        insta::assert_snapshot!(diff, @r"
        diff --git a/latest b/latest
        deleted file mode 120000
        index 26a02fbbd57e9fabcc0cdc88ae85bd6266c9f174..0000000000000000000000000000000000000000
        --- a/latest
        +++ /dev/null
        @@ -1 +0,0 @@
        -../v1
        \ No newline at end of file
        ");
        let file = Some(FileState::regular(b"../v1"));
        for (old, new) in [
            (None, link("x")),
            (link("x"), link("y")),
            (link("x"), file.clone()),
            (file, link("x")),
        ] {
            assert_eq!(
                Change::new(vec![(path(), old, new)]),
                Err(ChangeError::Link(path()))
            );
        }
        assert_eq!(change.inverse(), Err(ChangeError::Link(path())));
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
