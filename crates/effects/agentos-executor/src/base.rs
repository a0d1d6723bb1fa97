//! The base commit as landing sees it: git objects that are read on demand.
//!
//! Owns: answering landing's questions from one tree. Never: looks at the working tree.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use agentos_landing::{Base, BaseEntry, BaseError, DirEntry, EntryKind, FileMode};
use git2::{ErrorCode, ObjectType, Oid, Tree, TreeEntry};

use crate::{RepoError, Repository, Target};

/// Read access to the tree of a commit.
pub struct GitBase<'repo> {
    git: &'repo git2::Repository,
    tree: Tree<'repo>,
    /// Paths of all files by their last part. Filled at the first use and kept: an answer may name many missing files, and
    /// each would otherwise need a walk over the whole tree.
    names: OnceCell<HashMap<String, Vec<String>>>,
    /// Folders that were read. libgit2 keeps no tree of more than 4 KB, and reading one again inflates, hashes and parses it
    /// again: a landing asks several times for the folder of a file.
    folders: RefCell<HashMap<Oid, Rc<Tree<'repo>>>>,
}

impl std::fmt::Debug for GitBase<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitBase").field("tree", &self.tree.id()).finish()
    }
}

impl Repository {
    /// Opens the target's base for reading.
    ///
    /// # Errors
    /// When its tree cannot be read.
    pub fn base(&self, target: &Target) -> Result<GitBase<'_>, RepoError> {
        Ok(GitBase::from_tree(&self.git, self.find_tree(&target.base_tree)?))
    }

    /// Opens the tree of any commit for reading, by a revision as git accepts it: `HEAD`, `main~2`, an id.
    ///
    /// # Errors
    /// When the revision is no commit or tree.
    pub fn base_at(&self, revision: &str) -> Result<GitBase<'_>, RepoError> {
        let found = self.git.revparse_single(revision);
        let tree = found.and_then(|object| object.peel_to_tree());
        match tree {
            Ok(tree) => Ok(GitBase::from_tree(&self.git, tree)),
            Err(_) => Err(RepoError::UnknownRevision(revision.to_owned())),
        }
    }
}

impl<'repo> GitBase<'repo> {
    fn from_tree(git: &'repo git2::Repository, tree: Tree<'repo>) -> Self {
        Self {
            git,
            tree,
            names: OnceCell::new(),
            folders: RefCell::default(),
        }
    }

    /// Returns a folder by its id, read at most once.
    ///
    /// # Errors
    /// When it cannot be read.
    fn folder(&self, id: Oid) -> Result<Rc<Tree<'repo>>, git2::Error> {
        if let Some(folder) = self.folders.borrow().get(&id) {
            return Ok(Rc::clone(folder));
        }
        let folder = Rc::new(self.git.find_tree(id)?);
        self.folders.borrow_mut().insert(id, Rc::clone(&folder));
        Ok(folder)
    }

    /// Finds the entry at a path. `None` if there is none, or the path is not one that a tree can contain.
    ///
    /// # Errors
    /// When a folder on the way cannot be read.
    fn find_entry(&self, path: &str) -> Result<Option<TreeEntry<'static>>, git2::Error> {
        if !is_tree_path(path) {
            return Ok(None);
        }
        let Some((above, name)) = path.rsplit_once('/') else {
            return Ok(self.tree.get_name(path).map(|entry| entry.to_owned()));
        };
        let above = self.find_entry(above)?;
        let Some(above) = above.filter(|entry| entry.kind() == Some(ObjectType::Tree)) else {
            return Ok(None);
        };
        let folder = self.folder(above.id())?;
        Ok(folder.get_name(name).map(|entry| entry.to_owned()))
    }

    /// Lists the paths of the files with this last part, in order.
    ///
    /// # Errors
    /// When the tree cannot be read.
    fn files_named(&self, last: &str) -> Result<&[String], BaseError> {
        if self.names.get().is_none() {
            let names = self.collect_names().map_err(|error| base_error(&error))?;
            // Setting fails only if it is set already, which cannot happen: the cell is not shared between threads.
            let _ = self.names.set(names);
        }
        let found = self.names.get().and_then(|names| names.get(last));
        Ok(found.map_or(&[], Vec::as_slice))
    }

    /// Returns a path of the tree that has this object. `None` if none has it, or a folder on the way is missing too.
    fn path_of(&self, id: &str) -> Option<String> {
        let wanted = Oid::from_str(id).ok()?;
        let mut folders = vec![(String::new(), self.tree.id())];
        while let Some((prefix, folder)) = folders.pop() {
            for entry in &self.git.find_tree(folder).ok()? {
                let path = format!("{prefix}{}", String::from_utf8_lossy(entry.name_bytes()));
                if entry.id() == wanted {
                    return Some(path);
                }
                if entry.kind() == Some(ObjectType::Tree) {
                    folders.push((path + "/", entry.id()));
                }
            }
        }
        None
    }

    fn collect_names(&self) -> Result<HashMap<String, Vec<String>>, git2::Error> {
        let mut names: HashMap<String, Vec<String>> = HashMap::new();
        let mut folders = vec![(String::new(), self.tree.id())];
        while let Some((prefix, id)) = folders.pop() {
            let folder = self.git.find_tree(id)?;
            for entry in &folder {
                // An answer is text and cannot name such a file.
                let Ok(name) = std::str::from_utf8(entry.name_bytes()) else {
                    continue;
                };
                let path = format!("{prefix}{name}");
                match entry.kind() {
                    Some(ObjectType::Tree) => folders.push((path + "/", entry.id())),
                    Some(ObjectType::Blob) => names.entry(name.to_owned()).or_default().push(path),
                    Some(ObjectType::Commit | ObjectType::Tag | ObjectType::Any) | None => {}
                }
            }
        }
        names.values_mut().for_each(|paths| paths.sort());
        Ok(names)
    }
}

impl Base for GitBase<'_> {
    fn entry(&self, path: &str) -> Result<Option<BaseEntry>, BaseError> {
        if path.is_empty() {
            return Ok(Some(BaseEntry {
                kind: EntryKind::Directory,
                id: self.tree.id().to_string(),
            }));
        }
        match self.find_entry(path) {
            Ok(found) => Ok(found.as_ref().map(entry_of)),
            Err(error) => Err(base_error(&error)),
        }
    }

    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError> {
        let blob = Oid::from_str(id).and_then(|id| self.git.find_blob(id));
        match blob {
            Ok(blob) => Ok(Arc::from(blob.content())),
            Err(error) if error.code() == ErrorCode::NotFound && has_promisor(self.git) => {
                Err(BaseError::NotFetched {
                    id: id.to_owned(),
                    path: self.path_of(id),
                })
            }
            Err(error) => Err(base_error(&error)),
        }
    }

    fn size(&self, id: &str) -> Option<u64> {
        let id = Oid::from_str(id).ok()?;
        let (size, kind) = self.git.odb().and_then(|odb| odb.read_header(id)).ok()?;
        (kind == ObjectType::Blob).then(|| u64::try_from(size).ok())?
    }

    fn list(&self, dir: &str) -> Result<Vec<DirEntry>, BaseError> {
        let folder;
        let tree = if dir.is_empty() {
            &self.tree
        } else {
            match self.find_entry(dir).map_err(|error| base_error(&error))? {
                Some(found) if found.kind() == Some(ObjectType::Tree) => {
                    folder = self.folder(found.id()).map_err(|error| base_error(&error))?;
                    &*folder
                }
                Some(_) | None => return Ok(Vec::new()),
            }
        };
        Ok(tree
            .iter()
            .map(|found| DirEntry {
                name: found.name_bytes().to_vec(),
                entry: entry_of(&found),
            })
            .collect())
    }

    fn blob_by_prefix(&self, prefix: &str) -> Result<Option<(String, Arc<[u8]>)>, BaseError> {
        // git abbreviates an id to no fewer than four digits.
        let fits = (4..=40).contains(&prefix.len()) && prefix.bytes().all(|b| b.is_ascii_hexdigit());
        let Some(short) = fits.then(|| Oid::from_str(prefix).ok()).flatten() else {
            return Ok(None);
        };
        let odb = self.git.odb().map_err(|error| base_error(&error))?;
        let full = match odb.exists_prefix(short, prefix.len()) {
            Ok(full) => full,
            // Of several objects with this prefix nobody knows which one was meant.
            Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::Ambiguous) => {
                return Ok(None);
            }
            Err(error) => return Err(base_error(&error)),
        };
        match self.git.find_blob(full) {
            Ok(blob) => Ok(Some((full.to_string(), Arc::from(blob.content())))),
            Err(_) => Ok(None),
        }
    }

    fn paths_ending_with(&self, suffix: &str, limit: usize) -> Result<Vec<String>, BaseError> {
        let last = suffix.rsplit('/').next().unwrap_or(suffix);
        let ends = |path: &&String| {
            path.strip_suffix(suffix)
                .is_some_and(|above| above.is_empty() || above.ends_with('/'))
        };
        let found = self.files_named(last)?.iter().filter(ends);
        Ok(found.take(limit).cloned().collect())
    }
}

/// Finds the entry at a path of a tree. `None` if there is none, or the path is not one that a tree can contain.
///
/// # Errors
/// When the tree cannot be read.
pub(crate) fn find_entry(tree: &Tree<'_>, path: &str) -> Result<Option<TreeEntry<'static>>, git2::Error> {
    if !is_tree_path(path) {
        return Ok(None);
    }
    match tree.get_path(Path::new(path)) {
        Ok(entry) => Ok(Some(entry)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether a tree can contain the path. For another one libgit2 reports an error, but it only means that the tree
/// has no such entry.
fn is_tree_path(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn entry_of(found: &TreeEntry<'_>) -> BaseEntry {
    let kind = match found.filemode() {
        0o120_000 => EntryKind::Symlink,
        0o160_000 => EntryKind::Gitlink,
        0o040_000 => EntryKind::Directory,
        0o100_755 => EntryKind::File(FileMode::Executable),
        _ => EntryKind::File(FileMode::Regular),
    };
    BaseEntry {
        kind,
        id: found.id().to_string(),
    }
}

/// Returns whether a remote promises objects that are not in this repository (a partial clone). git fetches such an object
/// when it reads it; libgit2 reports it as missing, and nothing here ever fetches.
pub(crate) fn has_promisor(git: &git2::Repository) -> bool {
    let Ok(config) = git.config() else {
        return false;
    };
    let Ok(mut found) = config.entries(Some("^remote\\..*\\.(promisor|partialclonefilter)$")) else {
        return false;
    };
    found.next().is_some()
}

fn base_error(error: &git2::Error) -> BaseError {
    BaseError::Unreadable(error.message().to_owned())
}
