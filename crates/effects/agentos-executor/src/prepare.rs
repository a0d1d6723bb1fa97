//! The objects of a change, made before anything visible is written.
//!
//! Owns: the blobs and trees of the result, in whichever store they are made. Never: moves a ref, or touches the work
//! tree.

use std::path::PathBuf;

use agentos_landing::Change;
use git2::{Oid, Tree};

use crate::line_ends::Ends;
use crate::splice::{oid, splice};
use crate::{ExecError, FailPoints, ReceiptFile, opinion};

/// Result of a change, computed before anything visible is written.
pub(crate) struct Prepared {
    /// Files with the ids of their contents.
    pub files: Vec<ReceiptFile>,
    /// Tree of the result.
    pub tree: Oid,
    /// Every object made.
    pub objects: Vec<Oid>,
    /// What is to be synced for them to be on the disk.
    pub unsynced: Vec<PathBuf>,
    /// Of each file, where the work tree is written.
    pub ends: Vec<Ends>,
}

/// Writes blobs and trees, which nothing refers to yet, and has the result checked, in `memory`.
pub(crate) fn prepare(
    git: &git2::Repository,
    memory: &git2::Repository,
    base: &Tree<'_>,
    change: &Change,
    files: Vec<ReceiptFile>,
    fail: &FailPoints,
) -> Result<Prepared, ExecError> {
    let mut objects = Vec::new();
    for (file, told) in change.files().iter().zip(&files) {
        let (Some(state), Some(told)) = (&file.new, &told.new) else {
            continue;
        };
        let id = git
            .blob(&state.content)
            .map_err(ExecError::git("write a file's content"))?;
        if id != oid(&told.oid)? {
            return Err(opinion::disagree("a file's content is stored under another name"));
        }
        objects.push(id);
        fail.reach("content written");
    }
    let tree = splice(git, base, &files, &mut objects)?;
    fail.reach("trees written");
    opinion::check(git, memory, base, tree, change, &files)?;
    fail.reach("second opinion agreed");
    Ok(Prepared {
        files,
        tree,
        objects,
        unsynced: Vec::new(),
        ends: Vec::new(),
    })
}
