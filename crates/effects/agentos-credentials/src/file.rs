//! Keys in one file that only its owner can read: `{"version":1,"keys":{"openai.api_key":"…"}}`.
//!
//! Owns: reading and replacing the file as a whole, under a lock. Never: writes in place, follows a link, or reads
//! a file that others can reach.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use agentos_tool::Secret;
use serde::{Deserialize, Serialize};

use crate::error::io_error;
use crate::{CredentialError, owner_only};

/// Maximum size of a key file. A larger file is something else.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Key store in a file.
#[derive(Debug, Clone)]
pub struct FileStore {
    path: PathBuf,
}

/// Content of the file. It has no `Debug`, because it contains keys.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFileContent {
    version: u32,
    keys: BTreeMap<String, String>,
}

impl FileStore {
    /// Makes a store of the file at `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn set_key(&self, name: &str, key: &Secret) -> Result<(), CredentialError> {
        let folder = self.parent_folder();
        owner_only::create_folder(folder).map_err(io_error("make", folder))?;
        // Taken before the file is read: a key that another command adds in between would be lost.
        let _lock = self.lock_store()?;
        let mut keys = self.read_all()?;
        keys.insert(name.to_owned(), key.expose().to_owned());
        self.replace_keys(keys)
    }

    pub(crate) fn read_key(&self, name: &str) -> Result<Option<Secret>, CredentialError> {
        Ok(self.read_all()?.get(name).map(|key| Secret::new(key)))
    }

    pub(crate) fn remove_key(&self, name: &str) -> Result<bool, CredentialError> {
        if read_metadata(&self.path)?.is_none() {
            return Ok(false);
        }
        let _lock = self.lock_store()?;
        let mut keys = self.read_all()?;
        if keys.remove(name).is_none() {
            return Ok(false);
        }
        self.replace_keys(keys)?;
        Ok(true)
    }

    fn parent_folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        }
    }

    fn sibling_path(&self, ending: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        self.parent_folder().join(name)
    }

    /// Locks the store until the returned file is dropped. Without the lock, two commands that read, change and write the file
    /// at the same time would lose a key.
    fn lock_store(&self) -> Result<File, CredentialError> {
        let folder = self.parent_folder();
        let found = fs::metadata(folder).map_err(io_error("look at", folder))?;
        owner_only::check_folder(folder, &found)?;
        // A file of its own, because replacing the key file by a rename would leave the next command with a lock on the old one.
        let path = self.sibling_path(".lock");
        let file = owner_only::lock_file(&path).map_err(io_error("open", &path))?;
        file.lock().map_err(io_error("lock", &path))?;
        Ok(file)
    }

    fn read_all(&self) -> Result<BTreeMap<String, String>, CredentialError> {
        let Some(named) = read_metadata(&self.path)? else {
            return Ok(BTreeMap::new());
        };
        let folder_path = self.parent_folder();
        let folder = fs::metadata(folder_path).map_err(io_error("look at", folder_path))?;
        // Whoever can write to the folder can put another file in the place of this one, whatever its own mode is.
        owner_only::check_folder(folder_path, &folder)?;
        owner_only::check_file(&self.path, &named, &folder)?;
        let file = owner_only::open(&self.path).map_err(io_error("read", &self.path))?;
        let opened = file.metadata().map_err(io_error("look at", &self.path))?;
        // Checked again on the opened file: between the first check and `open`, the path may have been replaced.
        owner_only::check_file(&self.path, &opened, &folder)?;
        if opened.len() > MOST_BYTES {
            return Err(self.format_error("the file is too large"));
        }
        let mut text = String::new();
        file.take(MOST_BYTES)
            .read_to_string(&mut text)
            .map_err(io_error("read", &self.path))?;
        let content: KeyFileContent = serde_json::from_str(&text).map_err(|error| {
            // serde_json's own message may quote a value from the file, and a value may be a key.
            self.format_error(&format!(
                "invalid JSON at line {} column {}",
                error.line(),
                error.column()
            ))
        })?;
        // Refused and not converted: writing the file again would drop what a newer version keeps in it.
        if content.version != 1 {
            return Err(self.format_error(&format!(
                "version {} is not supported, only version 1",
                content.version
            )));
        }
        Ok(content.keys)
    }

    fn replace_keys(&self, keys: BTreeMap<String, String>) -> Result<(), CredentialError> {
        let path = self.sibling_path(".new");
        let content = KeyFileContent { version: 1, keys };
        let mut text = serde_json::to_vec_pretty(&content)
            .map_err(|_| self.format_error("the keys cannot be written as JSON"))?;
        text.push(b'\n');
        // `create_new` fails on an existing file. That also keeps another user's link from receiving the keys.
        remove_left_over(&path).map_err(io_error("remove", &path))?;
        let mut file = owner_only::create_new(&path).map_err(io_error("make", &path))?;
        // Synced before the rename: after a loss of power the name must not refer to an empty file.
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        let moved = written.and_then(|()| fs::rename(&path, &self.path));
        if let Err(source) = moved {
            // A partly written file of keys must not stay. An error of the removal is ignored: the first error is the cause.
            let _ = remove_left_over(&path);
            return Err(io_error("write", &self.path)(source));
        }
        // The rename is an entry of the folder, which only a sync of the folder itself makes durable (fsync(2)).
        sync_folder(self.parent_folder()).map_err(io_error("write", self.parent_folder()))
    }

    fn format_error(&self, reason: &str) -> CredentialError {
        CredentialError::Format {
            path: self.path.clone(),
            reason: reason.to_owned(),
        }
    }
}

/// Reads the metadata of a path without following a link. `None` if nothing exists there.
fn read_metadata(path: &Path) -> Result<Option<Metadata>, CredentialError> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(io_error("look at", path)(source)),
    }
}

/// Removes a temporary file that a killed command has left.
fn remove_left_over(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    owner_only::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    // Windows cannot open a folder as a file to sync it.
    Ok(())
}
