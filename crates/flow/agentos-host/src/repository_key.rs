//! Keys of repositories in files of the user's settings.
//!
//! Owns: the choice of a repository's entry in such a file. Never: trusts an id alone, because an unpacked archive can contain the id of
//! another repository.
//!
//! | the file has | and the repository | entry |
//! |---|---|---|
//! | an entry of the id | is in the folder that the file names, or nothing with the id is in that folder any more | the entry of the id |
//! | an entry of the id | is in another folder, and the folder that the file names still has the id | an entry of the folder |
//! | no entry of the id | is in a folder of which there is an entry, from before there were ids | the entry of the folder, until it is written again |
//!
//! Worktrees share an id, a moved folder keeps it, and a copied folder gets another one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_executor::Repository;

use crate::host::Host;
use crate::repository_id::{has_id, identify};

/// Folders in which repositories were when an entry of their id was written, by id.
pub(crate) type KnownFolders = BTreeMap<String, String>;

/// Key of a repository.
#[derive(Debug, Clone)]
pub(crate) struct RepositoryKey {
    id: String,
    /// Git's common folder.
    folder: PathBuf,
}

impl RepositoryKey {
    /// Returns the key of a repository. A repository without an id gets an id.
    pub(crate) fn of(host: &Host, repo: &Repository) -> Self {
        let folder = repo.common_dir();
        Self {
            id: identify(host, repo).id,
            folder: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
        }
    }

    /// Returns the folder of the repository, for people.
    pub(crate) fn folder(&self) -> String {
        self.folder.display().to_string()
    }

    /// Finds the entry of the repository. `None` if there is no entry.
    pub(crate) fn find<'e, T>(
        &self,
        entries: &'e BTreeMap<String, T>,
        folders: &KnownFolders,
    ) -> Option<&'e T> {
        let of_id = (!self.is_taken(folders)).then(|| entries.get(&self.id)).flatten();
        of_id.or_else(|| entries.get(self.folder.to_str()?))
    }

    /// Returns the entry of the repository to change it. An entry of the folder becomes the entry of the id.
    pub(crate) fn claim<'e, T: Default>(
        &self,
        entries: &'e mut BTreeMap<String, T>,
        folders: &mut KnownFolders,
    ) -> &'e mut T {
        if self.is_taken(folders) {
            return entries.entry(self.folder()).or_default();
        }
        let of_folder = self.folder.to_str().and_then(|folder| entries.remove(folder));
        folders.insert(self.id.clone(), self.folder());
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

    /// Returns true if another folder, of which the file has the entry, still has the id of this repository.
    fn is_taken(&self, folders: &KnownFolders) -> bool {
        let known = folders.get(&self.id).map(Path::new);
        known.is_some_and(|known| known != self.folder && has_id(known, &self.id))
    }
}

#[cfg(test)]
mod tests;
