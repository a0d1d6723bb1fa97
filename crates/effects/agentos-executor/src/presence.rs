//! Decides which files of a change the working tree has, and which a sparse checkout leaves out of it.
//!
//! Owns: the decision for each path, made as git makes it, and looking up a path in an index that has whole folders as
//! entries. Never: writes.
//!
//! | Entry in the index | Path in the working tree | Sparse checkout | Presence |
//! |---|---|---|---|
//! | without the flag `skip-worktree` | any | any | checked out |
//! | with the flag | nothing | any | left out |
//! | with the flag | a file | on | checked out: git clears the flag when it reads the index |
//! | with the flag | a file | off | marked: a person set the flag, and it stays |
//! | a folder above the path (sparse index) | nothing | on | left out |
//! | none, new file | nothing | on, a pattern leaves it out | left out |
//! | none, new file | any | off, or the patterns include it | checked out |
//!
//! A left-out file changes in the commit and in the index alone, as with `git cherry-pick` or `git merge`. A file that is in
//! the way of one that is to be left out counts as uncommitted work.

use agentos_index::IndexFile;
use agentos_landing::RepoPath;
use git2::Oid;
use serde::{Deserialize, Serialize};

use crate::base::find_entry;
use crate::sparse_checkout::SparsePatterns;
use crate::splice::{parse_oid, splice_tree};
use crate::{ExecError, ReceiptFile, RepoError, Repository};

/// Presence of a file in the working tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FilePresence {
    /// The working tree has it, or will have it.
    #[default]
    CheckedOut,
    /// The working tree has it, and its entry in the index has the flag `skip-worktree`, which hides edits from `git status`.
    Marked,
    /// A sparse checkout leaves it out.
    LeftOut,
}

impl FilePresence {
    pub(crate) fn is_checked_out(&self) -> bool {
        *self == Self::CheckedOut
    }

    /// Returns whether the working tree has the file.
    pub(crate) fn is_written(self) -> bool {
        matches!(self, Self::CheckedOut | Self::Marked)
    }
}

/// Decides the presence of a file of a change. `is_there` says whether the working tree has something at its path.
pub(crate) fn decide_presence(
    index: &IndexFile,
    patterns: Option<&SparsePatterns>,
    file: &ReceiptFile,
    is_there: bool,
) -> FilePresence {
    let path = file.path.as_str();
    let is_skipped = match index.find_entry(path, 0) {
        Some(entry) => entry.is_skip_worktree(),
        None if index.find_folder_above(path).is_some() => return FilePresence::LeftOut,
        None => {
            let is_excluded = patterns.is_some_and(|patterns| !patterns.include(path));
            return if file.old.is_none() && is_excluded {
                FilePresence::LeftOut
            } else {
                FilePresence::CheckedOut
            };
        }
    };
    match (is_skipped, is_there, patterns) {
        (false, _, _) | (true, true, Some(_)) => FilePresence::CheckedOut,
        (true, false, _) => FilePresence::LeftOut,
        (true, true, None) => FilePresence::Marked,
    }
}

/// Returns blob id and mode that the index has at a path, also within a folder of a sparse index. `None` if it has no such
/// file.
///
/// # Errors
/// When the tree of such a folder cannot be read.
pub(crate) fn find_indexed(
    repository: &Repository,
    index: &IndexFile,
    path: &str,
) -> Result<Option<(String, i64)>, ExecError> {
    if let Some(entry) = index.find_entry(path, 0) {
        return Ok(Some((entry.blob_id(), i64::from(entry.mode()))));
    }
    let Some(folder) = index.find_folder_above(path) else {
        return Ok(None);
    };
    let Some(rest) = std::str::from_utf8(folder.path())
        .ok()
        .and_then(|prefix| path.strip_prefix(prefix))
    else {
        return Ok(None);
    };
    let tree = repository.find_tree(&folder.blob_id())?;
    let found = find_entry(&tree, rest).map_err(RepoError::git("read the index"))?;
    Ok(found.map(|entry| (entry.id().to_string(), i64::from(entry.filemode()))))
}

/// Folder of a sparse index, with the tree that it has after a change. The tree is `None` if nothing is left in the folder.
pub(crate) type IndexedFolder = (String, Option<Oid>);

/// Computes the trees of the folders of a sparse index that contain files of a change. Adds the ids of written trees to
/// `written`; those of the change itself exist already.
///
/// # Errors
/// When a tree cannot be read or written.
pub(crate) fn splice_folders(
    repository: &Repository,
    index: &IndexFile,
    files: &[&ReceiptFile],
    written: &mut Vec<Oid>,
) -> Result<Vec<IndexedFolder>, ExecError> {
    let mut folders: Vec<(String, String, Vec<ReceiptFile>)> = Vec::new();
    for file in files {
        let path = file.path.as_str();
        let Some(folder) = index.find_folder_above(path) else {
            continue;
        };
        let Ok(prefix) = std::str::from_utf8(folder.path()) else {
            continue;
        };
        let Some(Ok(below)) = path.strip_prefix(prefix).map(RepoPath::new) else {
            continue;
        };
        let below = ReceiptFile {
            path: below,
            old: file.old.clone(),
            new: file.new.clone(),
        };
        match folders.iter_mut().find(|(name, ..)| name == prefix) {
            Some((_, _, inside)) => inside.push(below),
            None => folders.push((prefix.to_owned(), folder.blob_id(), vec![below])),
        }
    }
    let mut trees = Vec::with_capacity(folders.len());
    for (name, id, files) in folders {
        let base = repository.find_tree(&id)?;
        let tree = splice_tree(&repository.git, &base, &files, written)?;
        let is_empty = repository.find_tree(&tree.to_string())?.is_empty();
        trees.push((name, (!is_empty).then_some(tree)));
    }
    Ok(trees)
}

/// Returns whether the index has the base's state of a file: the change has not reached it.
///
/// # Errors
/// When a tree cannot be read, or an id is not valid.
pub(crate) fn is_indexed_base(
    repository: &Repository,
    index: &IndexFile,
    file: &ReceiptFile,
) -> Result<bool, ExecError> {
    let found = find_indexed(repository, index, file.path.as_str())?;
    Ok(match (found, &file.old) {
        (None, None) => true,
        (Some((id, mode)), Some(old)) => {
            parse_oid(&id)? == parse_oid(&old.oid)? && mode == i64::from(crate::splice::mode_bits(old.mode))
        }
        (None, Some(_)) | (Some(_), None) => false,
    })
}
