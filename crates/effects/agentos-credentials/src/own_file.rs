//! Small files of the user next to the keys, such as settings that name keys.
//!
//! Owns: replacing a file as a whole. Never: writes a key into one.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::io_error;
use crate::{CredentialError, owner_only};

/// Locks the file `path` until the returned file is dropped. Waits for another process that has the lock. Creates missing folders.
///
/// # Errors
/// [`CredentialError::Io`] if the file of the lock, which has the ending `.lock`, cannot be made or locked.
pub fn lock_own_file(path: &Path) -> Result<fs::File, CredentialError> {
    let (file, name) = open_lock(path)?;
    file.lock().map_err(io_error("lock", &name))?;
    Ok(file)
}

/// Opens the file of a lock, and returns its path.
fn open_lock(path: &Path) -> Result<(fs::File, PathBuf), CredentialError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        owner_only::create_folder(folder).map_err(io_error("make", folder))?;
    }
    let mut name = path.as_os_str().to_owned();
    // A file of its own, because a rename replaces the other one, and the next command would lock the new one.
    name.push(".lock");
    let name = PathBuf::from(name);
    let file = owner_only::lock_file(&name).map_err(io_error("open", &name))?;
    Ok((file, name))
}

/// Locks the file `path` as [`lock_own_file`] does, without waiting. `None` if another process has the lock.
///
/// # Errors
/// [`CredentialError::Io`] if the file of the lock cannot be made or locked.
pub fn try_lock_own_file(path: &Path) -> Result<Option<fs::File>, CredentialError> {
    let (file, name) = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(source)) => Err(io_error("lock", &name)(source)),
    }
}

/// Writes `text` to `path` atomically, readable by its owner only. Creates missing folders.
///
/// # Errors
/// [`CredentialError::Io`] if the file cannot be written. The previous file is unchanged then.
pub fn replace_own_file(path: &Path, text: &str) -> Result<(), CredentialError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        owner_only::create_folder(folder).map_err(io_error("make", folder))?;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    match fs::remove_file(&temporary) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(io_error("remove", &temporary)(source));
        }
        // A command that was killed may have left its temporary file.
        Ok(()) | Err(_) => {}
    }
    let mut file = owner_only::create_new(&temporary).map_err(io_error("make", &temporary))?;
    let written = file.write_all(text.as_bytes());
    let moved = written.and_then(|()| fs::rename(&temporary, path));
    if let Err(source) = moved {
        // An error of the removal is ignored: the first error is the cause.
        let _ = fs::remove_file(&temporary);
        return Err(io_error("write", path)(source));
    }
    Ok(())
}

/// Removes a file of this kind. A missing file is no error.
///
/// # Errors
/// [`CredentialError::Io`] if the file cannot be removed.
pub fn remove_own_file(path: &Path) -> Result<(), CredentialError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path)(source)),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a").join("b.json");
        for text in ["one", "two"] {
            replace_own_file(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let names = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(names, 1);
        assert!(replace_own_file(folder.path(), "a folder is there").is_err());
    }
}
