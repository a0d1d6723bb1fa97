//! The files of a tape: `tape.jsonl`, and the full files before it, `tape.000001.jsonl` and so on.
//!
//! Owns: their names, their order, and the lock that lets one writer at a time change them. Never: reads a record.
//! The chain continues from one file into the next.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::{EvidenceError, blob, plain_file};

/// Name of the file that is appended to.
pub(crate) const CURRENT: &str = "tape.jsonl";
/// Name of the lock file. It does not end with `.lock`, because it is never removed, and such a file would look as if a
/// crash had left it.
const LOCK: &str = "tape.writer";
/// Size in bytes at which a file of the tape is full.
pub(crate) const FULL_SIZE: u64 = 64 << 20;

/// Lists the full files, oldest first.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn full_files(dir: &Path) -> Result<Vec<PathBuf>, EvidenceError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(EvidenceError::io_error("read", dir)(source)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(EvidenceError::io_error("read", dir))?.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix("tape.")?.strip_suffix(".jsonl"))
            .filter(|digits| digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_digit()));
        if number.is_some() {
            found.push(dir.join(name));
        }
    }
    // Six digits each, so that the order of the names is the order of the numbers.
    found.sort();
    Ok(found)
}

/// Renames the current file to that of a full one. The caller holds the lock and creates the next file.
///
/// # Errors
/// When the new name is taken, or the file cannot be renamed.
pub(crate) fn rotate_tape(dir: &Path) -> Result<(), EvidenceError> {
    let number = full_files(dir)?.len() + 1;
    let full_path = dir.join(format!("tape.{number:06}.jsonl"));
    // A missing number in between makes this name taken. Renaming would then replace a file of the tape.
    if fs::symlink_metadata(&full_path).is_ok() {
        let source = io::Error::new(io::ErrorKind::AlreadyExists, "the name is taken");
        return Err(EvidenceError::io_error("rename the full tape to", &full_path)(
            source,
        ));
    }
    fs::rename(dir.join(CURRENT), &full_path)
        .map_err(EvidenceError::io_error("rename the full tape to", &full_path))?;
    blob::sync_dir(dir)
}

/// Waits until no other writer holds the lock, and holds it until the file is dropped.
///
/// # Errors
/// When the lock file cannot be opened or locked.
pub(crate) fn lock_to_write(dir: &Path) -> Result<File, EvidenceError> {
    let path = dir.join(LOCK);
    let file = plain_file::open_to_lock(&path).map_err(EvidenceError::io_error("open", &path))?;
    file.lock().map_err(EvidenceError::io_error("lock", &path))?;
    Ok(file)
}

/// Keeps writers away while the files are listed. `None` if there is no lock file, because nobody has written yet or the
/// folder is a copy, or if it cannot be locked.
pub(crate) fn lock_to_read(dir: &Path) -> Option<File> {
    // Opened for reading and never created: the folder may be read-only, or somebody else's.
    let file = plain_file::open_regular(&dir.join(LOCK)).ok()?;
    file.lock_shared().ok()?;
    Some(file)
}

/// Lists the files that must be regular files, since writes through a link would leave the folder.
pub(crate) fn fixed_files(dir: &Path) -> [PathBuf; 3] {
    [dir.join(CURRENT), dir.join("head.json"), dir.join(LOCK)]
}
