//! A folder by its path, on systems where the standard library opens nothing beneath a descriptor.
//!
//! Owns: the same operations as `folder`, each after a look that refuses links. Never: guarantees that no process replaces
//! an entry between the look and the operation.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::shown;
use crate::name::{check_name, split_path};
use crate::{EntryFacts, EntryKind, FileContent, FolderOwner, MAX_DEPTH, TreeError};

/// Folder by its path, which was checked to be a folder.
#[derive(Debug)]
pub struct OpenFolder {
    path: PathBuf,
}

impl OpenFolder {
    /// Opens a folder by its path. The folders above it are trusted and may be links; the folder itself may not.
    ///
    /// # Errors
    /// [`TreeError::NotAFolder`] if it is a link or no folder; [`TreeError::Io`] if it cannot be looked at.
    pub fn open_root(path: &Path) -> Result<Self, TreeError> {
        let found = fs::symlink_metadata(path).map_err(TreeError::io("open the folder", path.as_os_str()))?;
        if !found.is_dir() {
            return Err(TreeError::NotAFolder(shown(path.as_os_str())));
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Opens a folder that lies directly in this one.
    ///
    /// # Errors
    /// [`TreeError::NotAFolder`] if it is a link or no folder; [`TreeError::Io`] if it cannot be looked at.
    pub fn open_folder(&self, name: &OsStr) -> Result<Self, TreeError> {
        Self::open_root(&self.at(name)?)
    }

    /// Opens a folder some names beneath this one; the empty path opens this one again.
    ///
    /// # Errors
    /// Those of [`OpenFolder::open_folder`]; [`TreeError::TooDeep`] beyond [`MAX_DEPTH`] names.
    pub fn open_path(&self, path: &Path) -> Result<Self, TreeError> {
        let names = split_path(path)?;
        if names.len() > MAX_DEPTH {
            return Err(TreeError::TooDeep(MAX_DEPTH));
        }
        let here = Self::open_root(&self.path)?;
        names
            .into_iter()
            .try_fold(here, |folder, name| folder.open_folder(name))
    }

    /// Lists the names in this folder, sorted.
    ///
    /// # Errors
    /// [`TreeError::TooMany`] if there are more than `limit`; [`TreeError::Io`] if it cannot be listed.
    pub fn read_names(&self, limit: u64) -> Result<Vec<OsString>, TreeError> {
        let failed = || TreeError::io("list", self.path.as_os_str());
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed())? {
            let name = entry.map_err(failed())?.file_name();
            if names.len() as u64 >= limit {
                return Err(TreeError::TooMany(limit));
            }
            names.push(name);
        }
        names.sort();
        Ok(names)
    }

    /// Returns the facts about this folder.
    ///
    /// # Errors
    /// When the system does not report them.
    pub fn inspect(&self) -> Result<EntryFacts, TreeError> {
        let found = fs::symlink_metadata(&self.path);
        Ok(facts(
            &found.map_err(TreeError::io("look at", self.path.as_os_str()))?,
        ))
    }

    /// Returns the facts about an entry; for a link, those of the link itself. `None` if there is no such entry.
    ///
    /// # Errors
    /// When the system does not report them.
    pub fn inspect_entry(&self, name: &OsStr) -> Result<Option<EntryFacts>, TreeError> {
        match fs::symlink_metadata(self.at(name)?) {
            Ok(found) => Ok(Some(facts(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(TreeError::io("look at", name)(error)),
        }
    }

    /// Opens a regular file for reading. An entry of another kind is not opened.
    ///
    /// # Errors
    /// [`TreeError::NotAFile`] if it is no regular file; [`TreeError::Io`] if it cannot be opened.
    pub fn open_file(&self, name: &OsStr) -> Result<(File, EntryFacts), TreeError> {
        let missing = || TreeError::io("open", name)(io::Error::from(io::ErrorKind::NotFound));
        let found = self.inspect_entry(name)?.ok_or_else(missing)?;
        if found.kind != EntryKind::File {
            return Err(TreeError::NotAFile(shown(name)));
        }
        let file = File::open(self.at(name)?).map_err(TreeError::io("open", name))?;
        Ok((file, found))
    }

    /// Reads a whole regular file.
    ///
    /// # Errors
    /// Those of [`OpenFolder::open_file`]; [`TreeError::TooLarge`] if it has more than `limit` bytes.
    pub fn read_file(&self, name: &OsStr, limit: u64) -> Result<FileContent, TreeError> {
        let (file, facts) = self.open_file(name)?;
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(TreeError::io("read", name))?;
        if bytes.len() as u64 > limit {
            return Err(TreeError::TooLarge(limit));
        }
        Ok(FileContent { bytes, facts })
    }

    /// Reads the target of a link, without following it.
    ///
    /// # Errors
    /// When it is no link or cannot be read.
    pub fn read_link(&self, name: &OsStr) -> Result<OsString, TreeError> {
        let target = fs::read_link(self.at(name)?).map_err(TreeError::io("read the link", name))?;
        Ok(target.into_os_string())
    }

    /// Returns false, since these systems have no overlay file system.
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        false
    }

    /// Creates a file for writing; these systems have no permission bits. Fails if the name is taken.
    ///
    /// # Errors
    /// When it cannot be created; [`TreeError::is_taken`] is true if the name is taken.
    pub fn create_file(&self, name: &OsStr, _mode: u32) -> Result<File, TreeError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        options
            .open(self.at(name)?)
            .map_err(TreeError::io("create", name))
    }

    /// Opens a file that serves as a lock, and creates it if it is missing. Never writes to it.
    ///
    /// # Errors
    /// [`TreeError::NotAFile`] if something else has the name; [`TreeError::Io`] if it cannot be opened.
    pub fn open_lock(&self, name: &OsStr) -> Result<File, TreeError> {
        if self
            .inspect_entry(name)?
            .is_some_and(|found| found.kind != EntryKind::File)
        {
            return Err(TreeError::NotAFile(shown(name)));
        }
        // LockFileEx needs a handle for reading or writing; one for appending alone is neither.
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.open(self.at(name)?).map_err(TreeError::io("open", name))
    }

    /// Creates a folder and opens it; these systems have no permission bits. Fails if the name is taken.
    ///
    /// # Errors
    /// When it cannot be created; [`TreeError::is_taken`] is true if the name is taken.
    pub fn create_folder(&self, name: &OsStr, _mode: u32) -> Result<Self, TreeError> {
        let path = self.at(name)?;
        fs::create_dir(&path).map_err(TreeError::io("create the folder", name))?;
        Ok(Self { path })
    }

    /// Fails: creating a link needs a privilege that users do not have on Windows.
    ///
    /// # Errors
    /// Always.
    pub fn create_link(&self, name: &OsStr, _target: &OsStr) -> Result<(), TreeError> {
        Err(unsupported("create the link", name))
    }

    /// Fails, since these systems have no overlay file system.
    ///
    /// # Errors
    /// Always.
    pub fn create_whiteout(&self, name: &OsStr) -> Result<(), TreeError> {
        Err(unsupported("mark as deleted", name))
    }

    /// Does nothing, since these systems have no permission bits.
    ///
    /// # Errors
    /// Never.
    pub fn change_mode(&self, _mode: u32) -> Result<(), TreeError> {
        Ok(())
    }

    /// Does nothing: tools run as the user here.
    ///
    /// # Errors
    /// Never.
    pub fn give_to(&self, _owner: FolderOwner) -> Result<(), TreeError> {
        Ok(())
    }

    /// Does nothing: tools run as the user here.
    ///
    /// # Errors
    /// Never.
    pub fn give_entry(&self, _name: &OsStr, _owner: FolderOwner) -> Result<(), TreeError> {
        Ok(())
    }

    /// Removes an entry that is no folder. A missing entry is no error.
    ///
    /// # Errors
    /// When it is a folder or cannot be removed.
    pub fn remove_entry(&self, name: &OsStr) -> Result<(), TreeError> {
        match fs::remove_file(self.at(name)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(TreeError::io("remove", name)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes an entry of any kind and everything beneath it. A missing entry is no error. On Windows the standard library
    /// walks by handle, without recursion.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove_tree(&self, name: &OsStr) -> Result<(), TreeError> {
        match self.inspect_entry(name)?.map(|found| found.kind) {
            None => Ok(()),
            Some(EntryKind::Folder) => {
                fs::remove_dir_all(self.at(name)?).map_err(TreeError::io("remove", name))
            }
            Some(_) => self.remove_entry(name),
        }
    }

    fn at(&self, name: &OsStr) -> Result<PathBuf, TreeError> {
        Ok(self.path.join(check_name(name)?))
    }
}

fn unsupported(action: &'static str, name: &OsStr) -> TreeError {
    TreeError::io(action, name)(io::Error::from(io::ErrorKind::Unsupported))
}

fn facts(found: &fs::Metadata) -> EntryFacts {
    let kind = found.file_type();
    let kind = if kind.is_symlink() {
        EntryKind::Link
    } else if kind.is_dir() {
        EntryKind::Folder
    } else if kind.is_file() {
        EntryKind::File
    } else {
        EntryKind::Special
    };
    EntryFacts {
        kind,
        mode: 0,
        length: found.len(),
        disk_bytes: found.len(),
        owner: FolderOwner { user: 0, group: 0 },
        identity: (0, 0),
    }
}
