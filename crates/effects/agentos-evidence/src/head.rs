//! `head.json`: the number and hash of the last record, beside the tape.
//!
//! Owns: noticing a tape that was cut off. Never: is trusted for anything else. It is written after the tape, so a
//! crash can leave it behind the tape but never ahead of it.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{EvidenceError, plain_file};

/// The last record that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub v: u64,
    pub seq: u64,
    pub hash: String,
}

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeadFile {
    Missing,
    Unreadable,
    Says(Head),
}

impl Head {
    pub(crate) fn new(seq: u64, hash: &str) -> Self {
        Self {
            v: 1,
            seq,
            hash: hash.to_owned(),
        }
    }
}

/// Bytes of the file: the longest head fits, and each is as long as the one before, whose place it takes. A sector of a
/// disk holds 512, and is written whole or not at all.
const LENGTH: usize = 128;
/// Who reads while another process writes may see some bytes of each of two heads, which can look like a third one: only
/// what is seen twice is believed.
const LOOKS: usize = 8;
/// Bytes of the file beyond which it is no head.
const MOST_BYTES: u64 = 64 << 10;

/// Reads the head.
pub(crate) fn read(path: &Path) -> Result<HeadFile, EvidenceError> {
    let mut found = read_once(path)?;
    for _ in 1..LOOKS {
        let again = read_once(path)?;
        if again == found && found != HeadFile::Unreadable {
            break;
        }
        found = again;
    }
    Ok(found)
}

fn read_once(path: &Path) -> Result<HeadFile, EvidenceError> {
    let read = plain_file::open_regular(path).and_then(|file| plain_file::read_limited(file, MOST_BYTES));
    match read {
        Ok(bytes) => Ok(serde_json::from_slice::<Head>(&bytes)
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

/// Replaces the head in one step. Not synced on its own: after a loss of power it may be behind, which the next
/// append repairs and tells.
pub(crate) fn write(path: &Path, head: &Head) -> Result<(), EvidenceError> {
    let text = serde_json::to_string(head).map_err(|error| EvidenceError::Json(error.to_string()))?;
    let text = format!("{text:<most$}\n", most = LENGTH - 1);
    let written = overwrite(path, text.as_bytes()).and_then(|done| match done {
        true => Ok(()),
        false => replace(path, text.as_bytes()),
    });
    written.map_err(EvidenceError::io("write", path))
}

/// Writes over a head of this length: no new file, and no file system that brings one to the disk before it takes the
/// place of another. False where there is none, it has a second name, as a copy made of links has, or it cannot be written.
fn overwrite(path: &Path, text: &[u8]) -> io::Result<bool> {
    let mut file = match plain_file::open_to_overwrite(path) {
        Ok(file) => file,
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
