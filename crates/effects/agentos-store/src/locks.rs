//! Locks of the ledger's folder: one front end in a session at a time, and no removal of a text while it is being referred to.
//!
//! Owns: the lock files. Never: waits for a session that somebody uses; the caller reports that.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::{StoreError, make_private_folder};

/// Lock, until it is dropped. The system releases it if the process ends in any way.
#[derive(Debug)]
pub struct LedgerLock {
    _file: File,
}

impl LedgerLock {
    /// Locks a session. `None` if another process, or another part of this one, uses it.
    ///
    /// # Errors
    /// When the lock file cannot be made or locked.
    pub fn lock_session(folder: &Path, session: &str) -> Result<Option<Self>, StoreError> {
        // A colon is no part of a file's name on Windows, and no other part of a session's name is `+`.
        let path = folder.join("locks").join(session.replace(':', "+"));
        let file = open_lock(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(StoreError::Folder { path, source }),
        }
    }

    /// Locks the memory of a server for one model. `None` if another program changes it. `key` names both and is part of a file's name.
    ///
    /// # Errors
    /// When the lock file cannot be made or locked.
    pub fn lock_model(folder: &Path, key: &str) -> Result<Option<Self>, StoreError> {
        Self::lock_session(folder, &format!("model:{key}"))
    }

    /// Waits until no text is being removed, and keeps it so.
    ///
    /// # Errors
    /// When the lock file cannot be made or locked.
    pub fn keep_texts(folder: &Path) -> Result<Self, StoreError> {
        Self::lock_texts(folder, File::lock_shared)
    }

    /// Waits until no record that refers to texts is being written, and keeps it so.
    ///
    /// # Errors
    /// When the lock file cannot be made or locked.
    pub fn remove_texts(folder: &Path) -> Result<Self, StoreError> {
        Self::lock_texts(folder, File::lock)
    }

    fn lock_texts(folder: &Path, lock: fn(&File) -> std::io::Result<()>) -> Result<Self, StoreError> {
        let path = folder.join("locks").join("texts");
        let file = open_lock(&path)?;
        lock(&file).map_err(|source| StoreError::Folder { path, source })?;
        Ok(Self { _file: file })
    }
}

/// Opens a lock file. It is never removed: a process that waits for it would otherwise lock a file without a name.
fn open_lock(path: &Path) -> Result<File, StoreError> {
    if let Some(folder) = path.parent() {
        make_private_folder(folder)?;
    }
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path);
    opened.map_err(|source| StoreError::Folder {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn one_front_end_uses_a_session_at_a_time() {
        let folder = TempDir::new().unwrap();
        let lock = |name: &str| LedgerLock::lock_session(folder.path(), name).unwrap();
        let first = lock("conversation:a");
        assert!(first.is_some() && lock("conversation:a").is_none());
        assert!(lock("conversation:b").is_some());
        drop(first);
        assert!(lock("conversation:a").is_some());
    }

    #[test]
    fn several_may_keep_texts_at_once() {
        let folder = TempDir::new().unwrap();
        let [_one, _other] = [0, 1].map(|_| LedgerLock::keep_texts(folder.path()).unwrap());
    }
}
