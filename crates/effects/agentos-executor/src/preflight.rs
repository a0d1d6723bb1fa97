//! Inspects one path of the working tree before a landing, and compares its mode and content with a blob.
//!
//! Owns: the comparison of modes, links and content, with git's conversion of line ends. Never: writes, follows a link, or
//! reads the index.

use std::cell::OnceCell;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use agentos_durable::{LinkRule, read_regular_file};
use agentos_landing::FileMode;

use crate::blob_id::is_blob;
use crate::line_ends::LineEnds;
use crate::splice::parse_oid;
use crate::{ExecError, RepoError, Repository};

/// Returns the path of the `.gitattributes` file in a folder. An empty name is the top of the repository.
pub(crate) fn attributes_in(folder: &str) -> String {
    let separator = if folder.is_empty() { "" } else { "/" };
    format!("{folder}{separator}.gitattributes")
}

/// Lists the folders above a path, outermost first.
pub(crate) fn ancestor_folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// Returns the metadata of a path, without following a link. `None` if nothing exists there.
///
/// # Errors
/// When the system does not report it, as without permission to enter a folder above it.
pub(crate) fn look_at(path: &Path) -> Result<Option<Metadata>, ExecError> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(source) => Err(RepoError::Io {
            path: PathBuf::from(path),
            source,
        }
        .into()),
    }
}

/// Returns the owner's executable bit. `None` if the system has no such bit.
#[cfg(unix)]
pub(crate) fn is_executable(found: &Metadata) -> Option<bool> {
    use std::os::unix::fs::PermissionsExt;
    // git records only this permission bit.
    Some(found.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_executable(_found: &Metadata) -> Option<bool> {
    None
}

/// Returns whether a regular file has this mode. Returns true for any mode if the repository does not trust the file
/// system's modes (`core.fileMode`), or the system has none.
pub(crate) fn mode_fits(repository: &Repository, found: &Metadata, mode: FileMode) -> bool {
    let wanted = mode == FileMode::Executable;
    !repository.trusts_mode() || is_executable(found).is_none_or(|executable| executable == wanted)
}

/// Returns whether the path is a symbolic link whose target is the content of the blob. The link is not followed.
///
/// # Errors
/// When the blob's id is not valid.
pub(crate) fn link_is(path: &Path, id: &str) -> Result<bool, ExecError> {
    let Ok(leads_to) = fs::read_link(path) else {
        return Ok(false);
    };
    is_blob(leads_to.as_os_str().as_encoded_bytes(), id)
}

/// Content of a regular file, read at the first use and kept.
pub(crate) struct FileContent<'a> {
    path: &'a Path,
    bytes: OnceCell<Vec<u8>>,
}

impl<'a> FileContent<'a> {
    pub(crate) fn at_path(path: &'a Path) -> Self {
        Self {
            path,
            bytes: OnceCell::new(),
        }
    }

    fn read_bytes(&self) -> Result<&[u8], ExecError> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        // Another program may have replaced the file by a FIFO or a link since it was inspected.
        let bytes =
            read_regular_file(self.path, LinkRule::Refused, u64::MAX).map_err(RepoError::io(self.path))?;
        Ok(self.bytes.get_or_init(|| bytes))
    }

    /// Returns whether the content equals this blob, byte by byte.
    ///
    /// # Errors
    /// When the file cannot be read, or the blob's id is not valid.
    pub(crate) fn is_content_of(&self, id: &str) -> Result<bool, ExecError> {
        is_blob(self.read_bytes()?, id)
    }
}

/// Returns whether git would show a regular file as unchanged from a blob of the base. Different line ends alone are no
/// change, except if `git add` would have to lose them and `core.safecrlf` forbids that.
///
/// # Errors
/// When the file, the blob or a setting cannot be read.
pub(crate) fn is_base_content(
    repository: &Repository,
    file: &FileContent<'_>,
    id: &str,
    ends: LineEnds,
) -> Result<bool, ExecError> {
    let is_same = file.is_content_of(id)?;
    if is_same || ends.are_kept() {
        return Ok(is_same);
    }
    let bytes = file.read_bytes()?;
    let blob = repository.git.find_blob(parse_oid(id)?);
    let blob = blob.map_err(RepoError::git("read a file of the base"))?;
    let content = blob.content();
    if *ends.to_work_tree(content) == *bytes {
        return Ok(true);
    }
    // git shows no change if `git add` would store the same content again.
    let is_stored_same = *ends.to_git(bytes, Some(content)) == *content;
    Ok(is_stored_same && !repository.line_end_settings()?.safe)
}

/// Returns whether a regular file has exactly the content that a checkout of this blob writes.
///
/// # Errors
/// When the file or the blob cannot be read.
pub(crate) fn is_checked_out(
    repository: &Repository,
    file: &FileContent<'_>,
    id: &str,
    ends: LineEnds,
) -> Result<bool, ExecError> {
    if ends.are_kept() {
        return file.is_content_of(id);
    }
    let bytes = file.read_bytes()?;
    let blob = repository.git.find_blob(parse_oid(id)?);
    let blob = blob.map_err(RepoError::git("read a file of the change"))?;
    Ok(*ends.to_work_tree(blob.content()) == *bytes)
}
