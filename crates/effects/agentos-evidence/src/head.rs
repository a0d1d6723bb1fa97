//! `head.json`: the number and hash of the last record, in a file next to the tape.
//!
//! Owns: the file by which a tape is noticed whose end was cut off. Never: is trusted for anything else. It is written
//! after the tape, so after a crash it may name an earlier record, but never a later one.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{EvidenceError, plain_file};

/// Last record whose write succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TapeHead {
    pub v: u64,
    pub seq: u64,
    pub hash: String,
}

/// Content of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeadFile {
    Missing,
    Unreadable,
    Says(TapeHead),
}

impl TapeHead {
    pub(crate) fn new(seq: u64, hash: &str) -> Self {
        Self {
            v: 1,
            seq,
            hash: hash.to_owned(),
        }
    }
}

/// Length of the file in bytes. The longest head fits, and all heads have this length, so that one can overwrite another
/// in place. A disk writes a sector of 512 bytes completely or not at all.
const LENGTH: usize = 128;
/// Maximum number of reads. During a write by another process a reader may see bytes of the old and of the new head, which
/// together can look like a valid third one. So a head counts only if two reads in a row agree.
const LOOKS: usize = 8;
/// Size in bytes above which a file is no head.
const MOST_BYTES: u64 = 64 << 10;

/// Reads the head.
///
/// # Errors
/// When the file exists and cannot be read.
pub(crate) fn read(path: &Path) -> Result<HeadFile, EvidenceError> {
    let mut found = read_once(path)?;
    for _ in 1..LOOKS {
        let again = read_once(path)?;
        // An unreadable head may be one that is being written. If it stays unreadable, the loop ends by its limit.
        if again == found && found != HeadFile::Unreadable {
            break;
        }
        found = again;
    }
    Ok(found)
}

/// Reads the head as its only possible writer: the caller holds the lock of the tape, so one read is enough.
///
/// # Errors
/// Those of [`read`].
pub(crate) fn read_locked(path: &Path) -> Result<HeadFile, EvidenceError> {
    read_once(path)
}

fn read_once(path: &Path) -> Result<HeadFile, EvidenceError> {
    let read = plain_file::open_regular(path).and_then(|file| plain_file::read_limited(file, MOST_BYTES));
    match read {
        Ok(bytes) => Ok(serde_json::from_slice::<TapeHead>(&bytes)
            .ok()
            .filter(|head| head.v == 1)
            .map_or(HeadFile::Unreadable, HeadFile::Says)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HeadFile::Missing),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(HeadFile::Unreadable),
        Err(source) => Err(EvidenceError::Io {
            action: "read",
            path: path.to_owned(),
            source,
        }),
    }
}

/// Replaces the head. The file is not synced: after a loss of power it may name an earlier record, which the next append
/// repairs and records.
///
/// # Errors
/// When the file can be neither overwritten nor replaced.
pub(crate) fn write(path: &Path, head: &TapeHead) -> Result<(), EvidenceError> {
    let text = serde_json::to_string(head).map_err(EvidenceError::Json)?;
    let text = format!("{text:<most$}\n", most = LENGTH - 1);
    let written = overwrite(path, text.as_bytes()).and_then(|done| match done {
        true => Ok(()),
        false => replace(path, text.as_bytes()),
    });
    written.map_err(EvidenceError::io_error("write", path))
}

/// Overwrites an existing head in place. Replacing the file by a renamed one costs more: a new file, and on some file
/// systems a write to the disk before the rename. Returns false if there is no head of the same length, it has a second
/// name, or it may not be written.
fn overwrite(path: &Path, text: &[u8]) -> io::Result<bool> {
    let mut file = match plain_file::open_to_overwrite(path) {
        Ok(file) => file,
        // A link is replaced by a file and never written through. A read-only head can still be replaced, since that needs
        // permission on the folder alone.
        Err(error)
            if plain_file::is_odd(&error)
                || matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                ) =>
        {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    let there = file.metadata()?;
    let is_alike = has_one_name(&there)
        && there.is_file()
        && usize::try_from(there.len()).is_ok_and(|len| len == text.len());
    if is_alike {
        file.write_all(text)?;
    }
    Ok(is_alike)
}

/// Returns whether the file has no second name. A copy of the folder may consist of hard links, and overwriting the file
/// would change that copy too.
#[cfg(unix)]
fn has_one_name(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.nlink() == 1
}

#[cfg(not(unix))]
fn has_one_name(_found: &Metadata) -> bool {
    true
}

fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let temp = path.with_extension("json.tmp");
    crate::blob::write_plain(&temp, text)?;
    fs::rename(&temp, path)
}

#[cfg(test)]
mod tests;
