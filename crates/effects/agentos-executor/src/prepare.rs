//! Writes the objects of a change, before anything visible is written.
//!
//! Owns: the blobs and trees of the result, in the store that the caller chooses. Never: moves a ref, or touches the
//! working tree.

use std::path::PathBuf;

use agentos_landing::Change;
use git2::{Oid, Tree};

use crate::line_ends::FileLineEnds;
use crate::own_work::KeptWork;
use crate::presence::FilePresence;
use crate::splice::{parse_oid, splice_tree};
use crate::{ExecError, FailPoints, ReceiptFile, opinion};

/// Result of a change, computed before anything visible is written.
pub(crate) struct PreparedChange {
    /// Files with the ids of their contents.
    pub files: Vec<ReceiptFile>,
    /// Tree of the result.
    pub tree: Oid,
    /// Ids of all objects that were written.
    pub objects: Vec<Oid>,
    /// Paths to be synced for the objects to be durable.
    pub unsynced: Vec<PathBuf>,
    /// Line-end conversion of each file. Empty if no working tree is written.
    pub ends: Vec<FileLineEnds>,
    /// Presence of each file in the working tree. Empty if no working tree is written.
    pub presence: Vec<FilePresence>,
    /// Blobs of each file with uncommitted work. Empty if no working tree is written.
    pub work: Vec<Option<KeptWork>>,
}

/// Writes blobs and trees, which nothing refers to yet, and checks the result. The check writes its objects to `memory`.
///
/// # Errors
/// When an object cannot be written, or the second computation gives another result.
pub(crate) fn prepare_change(
    git: &git2::Repository,
    memory: &git2::Repository,
    base: &Tree<'_>,
    change: &Change,
    files: Vec<ReceiptFile>,
    fail: &FailPoints,
) -> Result<PreparedChange, ExecError> {
    let mut objects = Vec::new();
    for (file, listed) in change.files().iter().zip(&files) {
        let (Some(state), Some(listed)) = (&file.new, &listed.new) else {
            continue;
        };
        let id = git
            .blob(&state.content)
            .map_err(ExecError::git("write a file's content"))?;
        // The id in the receipt was computed with another implementation of SHA-1 (`blob_id`).
        if id != parse_oid(&listed.oid)? {
            return Err(opinion::opinions_differ(
                "a file's content is stored under another name",
            ));
        }
        objects.push(id);
        fail.reach("content written");
    }
    let tree = splice_tree(git, base, &files, &mut objects)?;
    fail.reach("trees written");
    opinion::check_result(git, memory, base, tree, change, &files)?;
    fail.reach("second opinion agreed");
    Ok(PreparedChange {
        files,
        tree,
        objects,
        unsynced: Vec::new(),
        ends: Vec::new(),
        presence: Vec::new(),
        work: Vec::new(),
    })
}
