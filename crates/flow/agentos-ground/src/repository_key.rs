//! Keys of repositories in files of the user's settings.
//!
//! Owns: the choice of a repository's entry in such a file. Never: trusts an id alone, because an unpacked archive can contain the id of
//! another repository.
//!
//! | the file has | and the repository | entry |
//! |---|---|---|
//! | an entry of the id | is in the folder of the entry, also after it was moved or renamed | the entry of the id |
//! | an entry of the id | is in another folder | an entry of the folder |
//! | no entry of the id | is in a folder of which there is an entry, from before there were ids | the entry of the folder, until it is written again |
//!
//! Worktrees share an id, a moved folder keeps it, and a copied folder gets another one. A folder that moved within a file system keeps
//! its inode number and its time of creation; where these are not the same, or the system does not know them, the user is asked again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_executor::Repository;
use serde::{Deserialize, Serialize};

use crate::Ground;
use crate::repository_id::{identify, mark_of};

/// Folders in which repositories were when an entry of their id was written, by id.
pub type KnownFolders = BTreeMap<String, KnownFolder>;

/// Git's common folder of a repository when an entry of its id was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenFolder")]
pub struct KnownFolder {
    /// Path of the folder.
    pub(crate) path: String,
    /// Mark of the folder. `None` if the system does not have what makes the mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
}

/// A [`KnownFolder`] as files have it: the first files had the path alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenFolder {
    Path(String),
    Marked { path: String, mark: Option<String> },
}

impl From<WrittenFolder> for KnownFolder {
    fn from(written: WrittenFolder) -> Self {
        match written {
            WrittenFolder::Path(path) => Self { path, mark: None },
            WrittenFolder::Marked { path, mark } => Self { path, mark },
        }
    }
}

/// Key of a repository.
#[derive(Debug, Clone)]
pub struct RepositoryKey {
    id: String,
    /// Git's common folder.
    folder: PathBuf,
    /// Mark of the folder.
    mark: Option<String>,
}

impl RepositoryKey {
    /// Returns the key of a repository. A repository without an id gets an id.
    pub fn of(ground: &Ground, repo: &Repository) -> Self {
        let folder = repo.common_dir();
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Self {
            id: identify(ground, repo).id,
            mark: mark_of(&folder),
            folder,
        }
    }

    /// Returns the folder of the repository, for people.
    pub(crate) fn folder(&self) -> String {
        self.folder.display().to_string()
    }

    /// Finds the entry of the repository. `None` if there is no entry.
    pub fn find<'e, T>(&self, entries: &'e BTreeMap<String, T>, folders: &KnownFolders) -> Option<&'e T> {
        let of_id = (!self.is_taken(folders)).then(|| entries.get(&self.id)).flatten();
        of_id.or_else(|| entries.get(self.folder.to_str()?))
    }

    /// Returns the entry of the repository to change it. An entry of the folder becomes the entry of the id.
    pub fn claim<'e, T: Default>(
        &self,
        entries: &'e mut BTreeMap<String, T>,
        folders: &mut KnownFolders,
    ) -> &'e mut T {
        if self.is_taken(folders) {
            return entries.entry(self.folder()).or_default();
        }
        let of_folder = self.folder.to_str().and_then(|folder| entries.remove(folder));
        let known = KnownFolder {
            path: self.folder(),
            mark: self.mark.clone(),
        };
        folders.insert(self.id.clone(), known);
        entries
            .entry(self.id.clone())
            .or_insert_with(|| of_folder.unwrap_or_default())
    }

    /// Removes every entry of the repository. Returns false if there was no entry.
    pub(crate) fn remove<T>(&self, entries: &mut BTreeMap<String, T>, folders: &mut KnownFolders) -> bool {
        let of_folder = self.folder.to_str().and_then(|folder| entries.remove(folder));
        if self.is_taken(folders) {
            return of_folder.is_some();
        }
        folders.remove(&self.id);
        entries.remove(&self.id).is_some() || of_folder.is_some()
    }

    /// Returns true if the entry of the id belongs to another folder than this one.
    fn is_taken(&self, folders: &KnownFolders) -> bool {
        folders
            .get(&self.id)
            .is_some_and(|known| match (&known.mark, &self.mark) {
                (Some(known), Some(own)) => known != own,
                // An entry of an earlier version, or a system without marks.
                (Some(_) | None, _) => Path::new(&known.path) != self.folder,
            })
    }
}

#[cfg(test)]
mod tests;
