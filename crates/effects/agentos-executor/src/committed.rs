//! Reads an existing commit as a change of its parent.
//!
//! Owns: reading it. Never: judges or writes anything.

use agentos_landing::{Change, FileMode, RepoPath};
use git2::{Delta, DiffFile, Oid};

use crate::receipt::{FileId, ReceiptFile};
use crate::target::Writes;
use crate::{ExecError, RepoError, Repository, Target};

impl Repository {
    /// Returns the change that a commit made to its first parent, and that parent as a target to which nothing is written.
    ///
    /// # Errors
    /// When the revision is no commit with a parent, or the commit contains something that a [`Change`] cannot: a changed
    /// submodule, or a new symbolic link.
    pub fn committed(&self, revision: &str) -> Result<(Target, Change), ExecError> {
        let unknown = |_| RepoError::UnknownRevision(revision.to_owned());
        let object = self.git.revparse_single(revision).map_err(unknown)?;
        let commit = object.peel_to_commit().map_err(unknown)?;
        let parent = commit
            .parent(0)
            .map_err(|_| RepoError::UnknownRevision(format!("{revision}^")))?;
        let read = RepoError::git("read a commit");
        let (old, new) = match (parent.tree(), commit.tree()) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(error), _) | (_, Err(error)) => return Err(read(error).into()),
        };
        let diff = self
            .git
            .diff_tree_to_tree(Some(&old), Some(&new), None)
            .map_err(RepoError::git("compare two trees"))?;
        let mut files = Vec::new();
        for delta in diff.deltas() {
            let (before, after) = (delta.old_file(), delta.new_file());
            let name = match delta.status() {
                Delta::Deleted => before.path_bytes(),
                _ => after.path_bytes(),
            };
            let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
            let path = RepoPath::new(&name).map_err(|refusal| ExecError::SecondOpinion(refusal.message))?;
            files.push(ReceiptFile {
                old: file_side(&before, &path)?,
                new: file_side(&after, &path)?,
                path,
            });
        }
        let target = Target {
            refname: "HEAD".to_owned(),
            base_commit: parent.id().to_string(),
            base_tree: old.id().to_string(),
            creates_branch: false,
            writes: Writes::Nothing,
        };
        Ok((target, self.change_of(&files)?))
    }
}

/// Returns id and mode of one side of a file. `None` if the file does not exist on that side.
///
/// # Errors
/// When it is a submodule.
fn file_side(side: &DiffFile<'_>, path: &RepoPath) -> Result<Option<FileId>, ExecError> {
    if side.id() == Oid::ZERO_SHA1 {
        return Ok(None);
    }
    let mode = match u32::from(side.mode()) {
        // Early versions of git wrote group-writable files with the mode 100664.
        0o100_644 | 0o100_664 => FileMode::Regular,
        0o100_755 => FileMode::Executable,
        0o120_000 => FileMode::Symlink,
        _ => return Err(ExecError::SecondOpinion(format!("`{path}` is a submodule"))),
    };
    Ok(Some(FileId {
        mode,
        oid: side.id().to_string(),
    }))
}
