//! The files of a tape: `tape.jsonl`, and the full ones before it, `tape.000001.jsonl` and on.
//!
//! Owns: their names, their order, and the lock that keeps writers apart while they change. Never: reads a record.
//! The chain goes on from one file into the next.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::{EvidenceError, blob, plain_file};

/// The file that is appended to.
pub(crate) const CURRENT: &str = "tape.jsonl";
/// Not `….lock`: it stays, and a file of that name would look left over.
const LOCK: &str = "tape.writer";
/// A file of the tape that has grown to this many bytes is full.
pub(crate) const FULL: u64 = 64 << 20;

/// The full files, oldest first.
pub(crate) fn full(dir: &Path) -> Result<Vec<PathBuf>, EvidenceError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(EvidenceError::io("read", dir)(source)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(EvidenceError::io("read", dir))?.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix("tape.")?.strip_suffix(".jsonl"))
            .filter(|digits| digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_digit()));
        if number.is_some() {
            found.push(dir.join(name));
        }
    }
    found.sort();
    Ok(found)
}

/// Puts the current file aside as full. The caller holds the lock and begins the next.
pub(crate) fn turn(dir: &Path) -> Result<(), EvidenceError> {
    let number = full(dir)?.len() + 1;
    let aside = dir.join(format!("tape.{number:06}.jsonl"));
    if fs::symlink_metadata(&aside).is_ok() {
        let source = io::Error::new(io::ErrorKind::AlreadyExists, "it is there already");
        return Err(EvidenceError::io("turn the tape to", &aside)(source));
    }
    fs::rename(dir.join(CURRENT), &aside).map_err(EvidenceError::io("turn the tape to", &aside))?;
    blob::sync_dir(dir)
}

/// Keeps other writers away until it is dropped.
pub(crate) fn lock(dir: &Path) -> Result<File, EvidenceError> {
    let path = dir.join(LOCK);
    let file = plain_file::open_to_lock(&path).map_err(EvidenceError::io("open", &path))?;
    file.lock().map_err(EvidenceError::io("lock", &path))?;
    Ok(file)
}

/// Keeps writers away while the files are looked up. None where nobody has written yet, or nobody can: a copy.
pub(crate) fn lock_to_read(dir: &Path) -> Option<File> {
    let file = plain_file::open_regular(&dir.join(LOCK)).ok()?;
    file.lock_shared().ok()?;
    Some(file)
}

/// The places where something else than a plain file would lead elsewhere.
pub(crate) fn fixed_files(dir: &Path) -> [PathBuf; 3] {
    [dir.join(CURRENT), dir.join("head.json"), dir.join(LOCK)]
}
