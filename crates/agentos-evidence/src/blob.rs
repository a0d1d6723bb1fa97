//! Content-addressed bytes beside the tape: raw answers, prompts, canonical diffs, policy text.
//!
//! Owns: `blobs/<64 hex digits>`. Never: changes a blob once it is there.
//!
//! A folder for each pair of first digits, where blobs lay before and are still found, cost most new ones a new folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_durable::SyncError;
use serde_json::Value;

use crate::EvidenceError;
use crate::record::{digest, hex_of};

/// A blob that is there, and what must be synced before a record may refer to it.
pub(crate) struct Stored {
    pub id: String,
    pub unsynced: Vec<PathBuf>,
}

/// Stores bytes under their hash. The caller holds the store's lock.
pub(crate) fn put(dir: &Path, bytes: &[u8]) -> Result<Stored, EvidenceError> {
    let id = digest(bytes);
    let path = path_of(dir, &id)?;
    let folder = dir.join("blobs");
    let mut unsynced = vec![path.clone()];
    unsynced.extend(agentos_durable::folder(folder.clone()));
    // Whoever wrote one that is there already may not have synced it yet.
    if fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(Stored { id, unsynced });
    }
    if !folder.is_dir() {
        fs::create_dir_all(&folder).map_err(EvidenceError::io("make", &folder))?;
        unsynced.extend(agentos_durable::folder(dir.to_owned()));
    }
    if fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink()) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link");
        return Err(EvidenceError::Io {
            action: "use",
            path: folder,
            source,
        });
    }
    let temp = path.with_extension("tmp");
    let written = write_plain(&temp, bytes).and_then(|()| fs::rename(&temp, &path));
    if let Err(source) = written {
        // The temporary file is ours alone; what matters is told below.
        let _ = fs::remove_file(&temp);
        return Err(EvidenceError::Io {
            action: "write",
            path,
            source,
        });
    }
    Ok(Stored { id, unsynced })
}

/// Puts a checked blob into a copy; false when it is there already.
pub(crate) fn copy(dir: &Path, id: &str, bytes: &[u8]) -> Result<bool, EvidenceError> {
    let path = path_of(dir, id)?;
    if path.exists() {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(dir);
    fs::create_dir_all(folder).map_err(EvidenceError::io("make", folder))?;
    write_plain(&path, bytes).map_err(EvidenceError::io("write", &path))?;
    Ok(true)
}

/// Reads a blob back, checked against its name.
pub(crate) fn get(dir: &Path, id: &str) -> Result<Vec<u8>, EvidenceError> {
    let path = path_of(dir, id)?;
    let read = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::read(old_path_of(dir, id)?),
        read => read,
    };
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(EvidenceError::NoBlob { id: id.to_owned() });
        }
        Err(source) => {
            return Err(EvidenceError::Io {
                action: "read",
                path,
                source,
            });
        }
    };
    if digest(&bytes) == id {
        Ok(bytes)
    } else {
        Err(EvidenceError::BlobChanged { id: id.to_owned() })
    }
}

/// The blobs a body refers to: members whose name ends in `_sha256` and whose value is `sha256:…`. (A plain
/// digest without that prefix names something that is not kept here.)
pub(crate) fn references(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(body, &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(id) if name.ends_with("_sha256") && hex_of(id).is_some() => {
                        found.push(id.to_owned())
                    }
                    Some(_) => {}
                    None => collect(value, found),
                }
            }
        }
    }
}

fn path_of(dir: &Path, id: &str) -> Result<PathBuf, EvidenceError> {
    Ok(dir.join("blobs").join(digits_of(id)?))
}

/// Where versions before looked.
fn old_path_of(dir: &Path, id: &str) -> Result<PathBuf, EvidenceError> {
    let (first, rest) = digits_of(id)?.split_at_checked(2).unwrap_or_default();
    Ok(dir.join("blobs").join(first).join(rest))
}

fn digits_of(id: &str) -> Result<&str, EvidenceError> {
    hex_of(id).ok_or_else(|| EvidenceError::NoBlob {
        id: id.chars().take(80).collect(),
    })
}

/// Writes a file, without waiting for the disk.
pub(crate) fn write_plain(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// Makes a new file in place of whatever a crash left there. A link is removed, never written through.
fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Makes a folder and those above it.
pub(crate) fn make_dir(dir: &Path) -> Result<(), EvidenceError> {
    if dir.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(dir).map_err(EvidenceError::io("make", dir))?;
    match dir.parent() {
        // A name alone lies in the current folder.
        Some(above) if above.as_os_str().is_empty() => sync_dir(Path::new(".")),
        Some(above) => sync_dir(above),
        None => Ok(()),
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), EvidenceError> {
    agentos_durable::sync_folder(dir).map_err(not_synced)
}

/// What a failed sync is here.
pub(crate) fn not_synced(error: SyncError) -> EvidenceError {
    let SyncError { path, source } = error;
    EvidenceError::Io {
        action: "sync",
        path,
        source,
    }
}
