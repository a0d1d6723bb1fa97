//! Content-addressed files next to the tape: raw answers, prompts, canonical diffs, policy text.
//!
//! Owns: `blobs/<64 hex digits>`. Never: changes an existing blob.
//!
//! Earlier versions put blobs into a folder for each pair of first digits, as git does. Most new blobs then needed a new
//! folder, which costs one more sync. Blobs in such folders are still found.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_chain::{hash_bytes, parse_hash};
use agentos_durable::SyncError;
use serde_json::Value;

use crate::{EvidenceError, plain_file};

/// Maximum bytes of a blob. Answers, outputs and diffs are limited to 64 MiB each.
pub(crate) const MOST_BYTES: u64 = 256 << 20;

/// Blob that exists, and the paths that must be synced before a record may refer to it.
pub(crate) struct StoredBlob {
    pub id: String,
    pub unsynced: Vec<PathBuf>,
}

/// Stores bytes under their hash. The caller holds the store's lock.
///
/// # Errors
/// When there are too many bytes, or the file cannot be written.
pub(crate) fn store_blob(dir: &Path, bytes: &[u8]) -> Result<StoredBlob, EvidenceError> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(EvidenceError::RecordTooLarge {
            bytes: bytes.len(),
            limit: usize::try_from(MOST_BYTES).unwrap_or(usize::MAX),
        });
    }
    let id = hash_bytes(bytes);
    let path = path_of(dir, &id)?;
    let folder = dir.join("blobs");
    let mut unsynced = vec![path.clone()];
    unsynced.extend(agentos_durable::syncable_folder(folder.clone()));
    // An existing blob is synced too: the process that wrote it may not have done that yet.
    // `check_blob` also finds a blob in the folder of an earlier version. That file is not among the paths to sync, so the
    // content is then written again, in its present place.
    if check_blob(dir, &id).is_ok() && path.exists() {
        return Ok(StoredBlob { id, unsynced });
    }
    if !folder.is_dir() {
        fs::create_dir_all(&folder).map_err(EvidenceError::io_error("make", &folder))?;
        unsynced.extend(agentos_durable::syncable_folder(dir.to_owned()));
    }
    // `Store::open` looked at the folder too, but may have done so long ago.
    if fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink()) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link");
        return Err(EvidenceError::Io {
            action: "use",
            path: folder,
            source,
        });
    }
    // A reader, or a crash, must never find half a blob under its hash.
    let temp = path.with_extension("tmp");
    let written = write_plain(&temp, bytes).and_then(|()| fs::rename(&temp, &path));
    if let Err(source) = written {
        // No reader looks at the temporary file, and the next write removes it. The error below matters more.
        let _ = fs::remove_file(&temp);
        return Err(EvidenceError::Io {
            action: "write",
            path,
            source,
        });
    }
    Ok(StoredBlob { id, unsynced })
}

/// Writes a checked blob into a copy. Returns false if the copy has it already.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn copy_blob(dir: &Path, id: &str, bytes: &[u8]) -> Result<bool, EvidenceError> {
    let path = path_of(dir, id)?;
    if path.exists() {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(dir);
    fs::create_dir_all(folder).map_err(EvidenceError::io_error("make", folder))?;
    write_plain(&path, bytes).map_err(EvidenceError::io_error("write", &path))?;
    Ok(true)
}

/// Reads a blob and compares its content with its hash.
///
/// # Errors
/// When it does not exist, cannot be read, or does not match.
pub(crate) fn read_blob(dir: &Path, id: &str) -> Result<Vec<u8>, EvidenceError> {
    let bytes = open_with(dir, id, |file| plain_file::read_limited(file, MOST_BYTES))?;
    if hash_bytes(&bytes) == id {
        Ok(bytes)
    } else {
        Err(EvidenceError::BlobChanged { id: id.to_owned() })
    }
}

/// Reads a blob of exactly this length. `None` if it has another one.
///
/// # Errors
/// When it does not exist, cannot be read, or does not match.
pub(crate) fn read_blob_of(dir: &Path, id: &str, bytes: u64) -> Result<Option<Vec<u8>>, EvidenceError> {
    let read = open_with(dir, id, |file| match file.metadata()?.len() {
        len if len == bytes => plain_file::read_limited(file, bytes).map(Some),
        _ => Ok(None),
    })?;
    match read {
        Some(read) if hash_bytes(&read) != id => Err(EvidenceError::BlobChanged { id: id.to_owned() }),
        read => Ok(read),
    }
}

/// Compares a blob's content with its hash, without holding it in memory.
///
/// # Errors
/// When it does not exist, cannot be read, or does not match.
pub(crate) fn check_blob(dir: &Path, id: &str) -> Result<(), EvidenceError> {
    let (found, _) = open_with(dir, id, |file| plain_file::digest_file(file, MOST_BYTES))?;
    if found == id {
        Ok(())
    } else {
        Err(EvidenceError::BlobChanged { id: id.to_owned() })
    }
}

/// Opens a blob, in its place or in that of earlier versions, and reads it by `read`.
///
/// # Errors
/// [`EvidenceError::NoBlob`] if it does not exist; [`EvidenceError::BlobChanged`] if it is no regular file or larger than
/// any blob; other errors as the system reports them.
fn open_with<T>(dir: &Path, id: &str, read: impl Fn(File) -> io::Result<T>) -> Result<T, EvidenceError> {
    let digits = digits_of(id)?;
    let (first, rest) = digits.split_at_checked(2).unwrap_or_default();
    let found = match plain_file::open_below(dir, &["blobs"], digits) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            plain_file::open_below(dir, &["blobs", first], rest)
        }
        found => found,
    };
    found.and_then(read).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => EvidenceError::NoBlob { id: id.to_owned() },
        // A link or a FIFO in the place of a blob is a fault of the evidence, which a verification reports. An `Io` error
        // would end the verification.
        io::ErrorKind::InvalidInput | io::ErrorKind::FileTooLarge => {
            EvidenceError::BlobChanged { id: id.to_owned() }
        }
        _ => EvidenceError::Io {
            action: "read",
            path: dir.join("blobs").join(digits),
            source,
        },
    })
}

/// Lists the blobs that a body refers to: members whose name ends in `_sha256` and whose value is `sha256:…`. A digest
/// without that prefix names something that is not stored here.
pub(crate) fn find_references(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_references(body, &mut found);
    found
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(id) if name.ends_with("_sha256") && parse_hash(id).is_some() => {
                        found.push(id.to_owned())
                    }
                    Some(_) => {}
                    None => collect_references(value, found),
                }
            }
        }
    }
}

/// Returns the path of a blob.
///
/// # Errors
/// When the id is no digest.
pub(crate) fn path_of(dir: &Path, id: &str) -> Result<PathBuf, EvidenceError> {
    Ok(dir.join("blobs").join(digits_of(id)?))
}

fn digits_of(id: &str) -> Result<&str, EvidenceError> {
    parse_hash(id).ok_or_else(|| EvidenceError::NoBlob {
        id: id.chars().take(80).collect(),
    })
}

/// Writes a file, without waiting for the disk.
pub(crate) fn write_plain(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_fresh(path)?.write_all(bytes)
}

/// Creates a new file, and removes a file that a crash left under its name. A link is removed, never written through.
fn create_fresh(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Creates a folder and the folders above it.
///
/// # Errors
/// When they cannot be created or made durable.
pub(crate) fn make_dir(dir: &Path) -> Result<(), EvidenceError> {
    if dir.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(dir).map_err(EvidenceError::io_error("make", dir))?;
    match dir.parent() {
        // The parent of a single name is the empty path, which no system call accepts for the current folder.
        Some(above) if above.as_os_str().is_empty() => sync_dir(Path::new(".")),
        Some(above) => sync_dir(above),
        None => Ok(()),
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), EvidenceError> {
    agentos_durable::sync_folder(dir).map_err(not_synced)
}

/// Converts the failure of a sync.
pub(crate) fn not_synced(error: SyncError) -> EvidenceError {
    let SyncError { path, source } = error;
    EvidenceError::Io {
        action: "sync",
        path,
        source,
    }
}
