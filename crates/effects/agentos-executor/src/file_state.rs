//! Compares a file of the working tree with the base and the change.
//!
//! Owns: the comparison of one path with both sides of a change, and the stamp by which a later write is noticed.
//! Never: follows a link, or writes.

use std::fs::Metadata;
use std::path::Path;
use std::time::SystemTime;

use agentos_landing::FileMode;

use crate::journal::JournalFile;
use crate::preflight::{
    FileContent, is_base_content, is_checked_out, is_executable, link_is, look_at, mode_fits,
};
use crate::{ExecError, FileId, Repository};

/// Side of a change that a file of the working tree equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDisk {
    /// The file equals the change.
    New,
    /// The file equals the base.
    Old,
    /// The file equals neither: it is somebody's work.
    Other,
}

/// Lists the paths of the working tree that do not equal the change.
///
/// # Errors
/// When a path cannot be read.
pub(crate) fn find_others(
    repository: &Repository,
    root: &Path,
    files: &[JournalFile],
) -> Result<Vec<String>, ExecError> {
    let mut others = Vec::new();
    for entry in files.iter().filter(|entry| entry.presence.is_written()) {
        let path = entry.file.path.as_str();
        match read_state(repository, &root.join(path), entry)? {
            OnDisk::Old | OnDisk::Other => others.push(path.to_owned()),
            OnDisk::New => {}
        }
    }
    Ok(others)
}

/// Compares the file at `place` with both sides of a change of one file. `place` is the file's own path, or a temporary name
/// to which the file was renamed.
///
/// Exact modes are compared first: if the repository does not trust modes, the two sides of a change of mode alone would
/// otherwise be equal, and the change would never be made.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn read_state(
    repository: &Repository,
    place: &Path,
    entry: &JournalFile,
) -> Result<OnDisk, ExecError> {
    let JournalFile { file, ends, work, .. } = entry;
    let exactly = |found: &Metadata, mode| {
        is_executable(found).is_none_or(|executable| executable == (mode == FileMode::Executable))
    };
    let nearly = |found: &Metadata, mode| mode_fits(repository, found, mode);
    let content = FileContent::at_path(place);
    // With a person's work in the file, only the exact bytes before and after count.
    let is_new = |id: &str| match work {
        Some(work) => content.is_content_of(&work.tree_new),
        None => is_checked_out(repository, &content, id, ends.after),
    };
    let is_old = |id: &str| match work {
        Some(work) => content.is_content_of(&work.tree_old),
        None => is_base_content(repository, &content, id, ends.before),
    };
    // A change of mode alone has the same content on both sides, and only the exact mode distinguishes them.
    if holds_file(place, file.new.as_ref(), &exactly, &is_new)? {
        return Ok(OnDisk::New);
    }
    if holds_file(place, file.old.as_ref(), &nearly, &is_old)? {
        return Ok(OnDisk::Old);
    }
    Ok(if holds_file(place, file.new.as_ref(), &nearly, &is_new)? {
        OnDisk::New
    } else {
        OnDisk::Other
    })
}

/// Returns whether the path has exactly this file, or no file if `id` is `None`.
fn holds_file(
    place: &Path,
    id: Option<&FileId>,
    mode_fits: &dyn Fn(&Metadata, FileMode) -> bool,
    content_fits: &dyn Fn(&str) -> Result<bool, ExecError>,
) -> Result<bool, ExecError> {
    match (look_at(place)?, id) {
        (None, None) => Ok(true),
        // A folder counts as no file: another program may have created it, or it is to be removed for a new file.
        (Some(found), None) => Ok(found.is_dir()),
        (Some(_), Some(id)) if id.mode == FileMode::Symlink => link_is(place, &id.oid),
        (Some(found), Some(id)) if found.is_file() => {
            Ok(mode_fits(&found, id.mode) && content_fits(&id.oid)?)
        }
        (None | Some(_), Some(_)) => Ok(false),
    }
}

/// Inode, size and time of the last write of a file. A later write changes one of them. The time of the last status change
/// (ctime) is not included, since our own rename changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    /// Number of the inode; 0 on a system without inodes.
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

/// Returns whether two names lead to one file. Returns false on a system without inodes.
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
