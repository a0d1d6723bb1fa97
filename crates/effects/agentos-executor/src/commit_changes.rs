//! What commits change: all files of one commit, or some paths over the whole history.
//!
//! Owns: reading these differences from trees. Never: looks at content, or finds renamed files.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Commit, ObjectType, Oid, Tree};

use crate::tree_diff::{TreeFile, list_differences_within};
use crate::{RepoError, Repository};

/// File of a commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitFile {
    /// Id of the blob, or of a submodule's commit.
    pub oid: String,
    /// Mode as git prints it, as in `100644`.
    pub mode: String,
}

/// File that a commit creates, deletes or changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitChange {
    /// Path of the file. A path that is no UTF-8 begins with `\0`, which no other path does.
    pub path: String,
    /// File in the first parent. `None` if there is none.
    pub old: Option<CommitFile>,
    /// File in the commit. `None` if there is none.
    pub new: Option<CommitFile>,
}

/// Wanted paths as a tree of names.
#[derive(Default)]
struct WantedPaths {
    below: BTreeMap<String, WantedPaths>,
    /// True if the path that ends here is wanted.
    is_wanted: bool,
}

impl Repository {
    /// Lists the files that differ between a commit and its first parent, sorted by path. `None` if one of the two is not in
    /// the object store, or more than `most` files differ.
    #[must_use]
    pub fn commit_changes(&self, id: &str, most: usize) -> Option<Vec<CommitChange>> {
        let commit = Oid::from_str(id).and_then(|id| self.git.find_commit(id)).ok()?;
        let trees = [parent_tree(&commit)?, Some(commit.tree().ok()?)];
        let ids = trees.map(|tree| tree.map(|tree| tree.id()));
        let found = list_differences_within(&self.git, ids, most).ok()??;
        let changes = found.into_iter().map(|(path, old, new)| CommitChange {
            path: path_text(path),
            old: old.map(commit_file),
            new: new.map(commit_file),
        });
        let mut changes: Vec<CommitChange> = changes.collect();
        changes.sort();
        Some(changes)
    }

    /// Walks the commits that can be reached from HEAD or a branch, newest first, and passes those with at most one parent
    /// that change one of the paths to `visit`, with the changes of these paths, until it returns false. Returns false if
    /// there are more than `limit` commits.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn walk_changes(
        &self,
        paths: &BTreeSet<String>,
        limit: usize,
        visit: &mut dyn FnMut(&str, &[CommitChange]) -> bool,
    ) -> Result<bool, RepoError> {
        let mut wanted = WantedPaths::default();
        for path in paths {
            let mut at = &mut wanted;
            for name in path.split('/') {
                at = at.below.entry(name.to_owned()).or_default();
            }
            at.is_wanted = true;
        }
        for (count, id) in self.walk_of_branches()?.enumerate() {
            if count >= limit {
                return Ok(false);
            }
            let commit = id
                .and_then(|id| self.git.find_commit(id))
                .map_err(RepoError::git("read the history"))?;
            if commit.parent_count() > 1 {
                continue;
            }
            let (Some(old), Ok(new)) = (parent_tree(&commit), commit.tree()) else {
                continue;
            };
            let mut changes = Vec::new();
            self.collect_changes(&wanted, "", [old, Some(new)], &mut changes)
                .map_err(RepoError::git("read the history"))?;
            if !changes.is_empty() && !visit(&commit.id().to_string(), &changes) {
                break;
            }
        }
        Ok(true)
    }

    /// Adds the wanted files that differ between two trees.
    fn collect_changes(
        &self,
        wanted: &WantedPaths,
        prefix: &str,
        [old, new]: [Option<Tree<'_>>; 2],
        changes: &mut Vec<CommitChange>,
    ) -> Result<(), git2::Error> {
        if old.as_ref().map(Tree::id) == new.as_ref().map(Tree::id) {
            return Ok(());
        }
        for (name, below) in &wanted.below {
            let path = format!("{prefix}{name}");
            let entries = [&old, &new].map(|tree| {
                let entry = tree.as_ref()?.get_name(name)?;
                Some((
                    entry.id(),
                    entry.filemode(),
                    entry.kind() == Some(ObjectType::Tree),
                ))
            });
            let [before, after] = entries;
            if before == after {
                continue;
            }
            let file = |entry: Option<(Oid, i32, bool)>| {
                entry.and_then(|(id, mode, is_tree)| (!is_tree).then(|| commit_file((id, mode))))
            };
            if below.is_wanted && file(before) != file(after) {
                changes.push(CommitChange {
                    path: path.clone(),
                    old: file(before),
                    new: file(after),
                });
            }
            if !below.below.is_empty() {
                let tree = |entry: Option<(Oid, i32, bool)>| {
                    entry
                        .filter(|(_, _, is_tree)| *is_tree)
                        .map(|(id, _, _)| self.git.find_tree(id))
                        .transpose()
                };
                let folders = [tree(before)?, tree(after)?];
                self.collect_changes(below, &format!("{path}/"), folders, changes)?;
            }
        }
        Ok(())
    }

    /// Returns whether a commit is another one or leads to it. False if one of the two is not in the object store.
    #[must_use]
    pub fn precedes(&self, id: &str, other: &str) -> bool {
        let (Ok(id), Ok(other)) = (Oid::from_str(id), Oid::from_str(other)) else {
            return false;
        };
        id == other || self.git.graph_descendant_of(other, id).unwrap_or(false)
    }

    /// Counts the commits by which `new` is ahead of `old`. `None` if `old` does not lead to it, or one of the two is not in the
    /// object store.
    #[must_use]
    pub fn count_commits(&self, old: &str, new: &str) -> Option<u64> {
        let (from, to) = (Oid::from_str(old).ok()?, Oid::from_str(new).ok()?);
        if !self.precedes(old, new) {
            return None;
        }
        let (ahead, _) = self.git.graph_ahead_behind(to, from).ok()?;
        u64::try_from(ahead).ok()
    }

    /// Reads the content of a blob. `None` if there is no such blob, or it has more than `most` bytes.
    #[must_use]
    pub fn blob_content(&self, oid: &str, most: usize) -> Option<Vec<u8>> {
        let oid = Oid::from_str(oid).ok()?;
        // The header is read first, so that a large object is never held in memory.
        let (size, kind) = self.git.odb().and_then(|odb| odb.read_header(oid)).ok()?;
        if size > most || kind != ObjectType::Blob {
            return None;
        }
        let blob = self.git.find_blob(oid).ok()?;
        Some(blob.content().to_vec())
    }
}

/// Reads the tree of the first parent. The inner `None` means that the commit has no parent; the outer one that its parent
/// is not in the object store.
fn parent_tree<'a>(commit: &Commit<'a>) -> Option<Option<Tree<'a>>> {
    if commit.parent_count() > 0 {
        return Some(Some(commit.parent(0).and_then(|parent| parent.tree()).ok()?));
    }
    // At the end of a shallow clone libgit2 hides the parents that the commit names.
    let names_parent = commit
        .raw_header_bytes()
        .split(|byte| *byte == b'\n')
        .any(|line| line.starts_with(b"parent "));
    (!names_parent).then_some(None)
}

fn commit_file((oid, mode): TreeFile) -> CommitFile {
    CommitFile {
        oid: oid.to_string(),
        mode: format!("{mode:06o}"),
    }
}

fn path_text(path: Vec<u8>) -> String {
    String::from_utf8(path).unwrap_or_else(|error| format!("\0{}", String::from_utf8_lossy(error.as_bytes())))
}
