//! Whether a file of the working tree is as the base has it, as the change has it, or somebody's work.
//!
//! Owns: the comparison of one path with both sides of a change, and the stamp by which a later write is noticed.
//! Never: follows a link, or writes.

use std::fs::Metadata;
use std::path::Path;
use std::time::SystemTime;

use agentos_landing::FileMode;

use crate::journal::JournalFile;
use crate::preflight::{
    Content, is_base_content, is_checked_out, is_executable, link_is, look_at, mode_fits,
};
use crate::{ExecError, FileId, Repository};

/// One side of a change that a file of the working tree equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDisk {
    /// As the change has it.
    New,
    /// As the base has it.
    Old,
    /// Somebody's work.
    Other,
}

/// Returns the paths that are not as the change has them.
pub(crate) fn find_others(
    repository: &Repository,
    root: &Path,
    files: &[JournalFile],
) -> Result<Vec<String>, ExecError> {
    let mut others = Vec::new();
    for entry in files {
        let path = entry.file.path.as_str();
        match read_state(repository, &root.join(path), entry)? {
            OnDisk::Old | OnDisk::Other => others.push(path.to_owned()),
            OnDisk::New => {}
        }
    }
    Ok(others)
}

/// Compares what stands at `place` with both sides of a change of one file. `place` is the file's own path, or a name
/// of ours that its content was moved to.
///
/// Where modes are not trusted, a change of mode alone is still to be made: only then a mode that does not fit counts
/// as before.
pub(crate) fn read_state(
    repository: &Repository,
    place: &Path,
    entry: &JournalFile,
) -> Result<OnDisk, ExecError> {
    let JournalFile { file, ends, .. } = entry;
    let exactly = |found: &Metadata, mode| {
        is_executable(found).is_none_or(|executable| executable == (mode == FileMode::Executable))
    };
    let nearly = |found: &Metadata, mode| mode_fits(repository, found, mode);
    let content = Content::of(place);
    let is_new = |id: &str| is_checked_out(repository, &content, id, ends.after);
    let is_old = |id: &str| is_base_content(repository, &content, id, ends.before);
    if holds(place, file.new.as_ref(), &exactly, &is_new)? {
        return Ok(OnDisk::New);
    }
    if holds(place, file.old.as_ref(), &nearly, &is_old)? {
        return Ok(OnDisk::Old);
    }
    Ok(if holds(place, file.new.as_ref(), &nearly, &is_new)? {
        OnDisk::New
    } else {
        OnDisk::Other
    })
}

/// Does the path hold exactly this file, or no file?
fn holds(
    place: &Path,
    id: Option<&FileId>,
    mode_fits: &dyn Fn(&Metadata, FileMode) -> bool,
    content_fits: &dyn Fn(&str) -> Result<bool, ExecError>,
) -> Result<bool, ExecError> {
    match (look_at(place)?, id) {
        (None, None) => Ok(true),
        // A folder is no file: one that came instead, or one that must still make room.
        (Some(found), None) => Ok(found.is_dir()),
        (Some(_), Some(id)) if id.mode == FileMode::Symlink => link_is(place, &id.oid),
        (Some(found), Some(id)) if found.is_file() => {
            Ok(mode_fits(&found, id.mode) && content_fits(&id.oid)?)
        }
        (None | Some(_), Some(_)) => Ok(false),
    }
}

/// Identity, size and time of last write of a file: a later write changes one of them. The time of last status change
/// is no part of it, since a rename changes that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    /// Zero where the system has no such number.
    inode: u64,
    length: u64,
    /// `None` if the file system does not keep it.
    modified: Option<SystemTime>,
}

impl FileStamp {
    pub(crate) fn from_metadata(found: &Metadata) -> Self {
        Self {
            inode: inode_of(found),
            length: found.len(),
            modified: found.modified().ok(),
        }
    }
}

/// Returns whether two names lead to one file; false where the system cannot say.
pub(crate) fn are_one_file(one: &Metadata, other: &Metadata) -> bool {
    cfg!(unix) && inode_of(one) == inode_of(other) && device_of(one) == device_of(other)
}

#[cfg(unix)]
fn inode_of(found: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    found.ino()
}

#[cfg(unix)]
fn device_of(found: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    found.dev()
}

#[cfg(not(unix))]
fn inode_of(_found: &Metadata) -> u64 {
    0
}

#[cfg(not(unix))]
fn device_of(_found: &Metadata) -> u64 {
    0
}
