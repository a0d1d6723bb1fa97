//! Looks at one place of the working tree, and compares it with a blob.
//!
//! Owns: places and folders by name, modes, links and content. Never: writes, follows a link, or reads the index.

use std::cell::OnceCell;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use agentos_durable::{Links, read_plain_file};
use agentos_landing::FileMode;

use crate::blob_id::is_blob;
use crate::line_ends::LineEnds;
use crate::splice::oid;
use crate::{ExecError, RepoError, Repository};

/// Returns the file of attributes in a folder; the outermost folder has no name.
pub(crate) fn attributes_in(folder: &str) -> String {
    let separator = if folder.is_empty() { "" } else { "/" };
    format!("{folder}{separator}.gitattributes")
}

/// Lists the folders above a path, outermost first.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// Looks at a place without following a link. `None` if nothing is there.
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

/// Returns the owner's executable bit; `None` if the system has none.
#[cfg(unix)]
pub(crate) fn is_executable(found: &Metadata) -> Option<bool> {
    use std::os::unix::fs::PermissionsExt;
    Some(found.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_executable(_found: &Metadata) -> Option<bool> {
    None
}

/// Returns true if a regular file has this mode, as far as the repository lets the file system say.
pub(crate) fn mode_fits(repository: &Repository, found: &Metadata, mode: FileMode) -> bool {
    let wanted = mode == FileMode::Executable;
    !repository.trusts_mode() || is_executable(found).is_none_or(|executable| executable == wanted)
}

/// Returns true for a symbolic link that leads where the blob says. It is not followed.
pub(crate) fn link_is(path: &Path, id: &str) -> Result<bool, ExecError> {
    let Ok(leads_to) = fs::read_link(path) else {
        return Ok(false);
    };
    is_blob(leads_to.as_os_str().as_encoded_bytes(), id)
}

/// Content of a regular file, read once when it is first asked for.
pub(crate) struct Content<'a> {
    path: &'a Path,
    bytes: OnceCell<Vec<u8>>,
}

impl<'a> Content<'a> {
    pub(crate) fn of(path: &'a Path) -> Self {
        Self {
            path,
            bytes: OnceCell::new(),
        }
    }

    fn bytes(&self) -> Result<&[u8], ExecError> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        // It was a regular file a moment ago.
        let bytes = read_plain_file(self.path, Links::Refused, u64::MAX).map_err(RepoError::io(self.path))?;
        Ok(self.bytes.get_or_init(|| bytes))
    }

    /// Returns true if it is exactly this blob.
    pub(crate) fn is(&self, id: &str) -> Result<bool, ExecError> {
        is_blob(self.bytes()?, id)
    }
}

/// Returns true if a regular file holds what a commit has in this blob, as git sees it: line ends that are not those of a checkout
/// are nobody's work, unless the user wants none of them lost.
pub(crate) fn is_base_content(
    repository: &Repository,
    file: &Content<'_>,
    id: &str,
    ends: LineEnds,
) -> Result<bool, ExecError> {
    let is_same = file.is(id)?;
    if is_same || ends.are_kept() {
        return Ok(is_same);
    }
    let bytes = file.bytes()?;
    let blob = repository.git.find_blob(oid(id)?);
    let blob = blob.map_err(RepoError::git("read a file of the base"))?;
    let content = blob.content();
    if *ends.to_work_tree(content) == *bytes {
        return Ok(true);
    }
    let comes_back = *ends.to_git(bytes, Some(content)) == *content;
    Ok(comes_back && !repository.line_end_settings()?.safe)
}

/// Returns true if a regular file holds exactly what a checkout makes of this blob.
pub(crate) fn is_checked_out(
    repository: &Repository,
    file: &Content<'_>,
    id: &str,
    ends: LineEnds,
) -> Result<bool, ExecError> {
    if ends.are_kept() {
        return file.is(id);
    }
    let bytes = file.bytes()?;
    let blob = repository.git.find_blob(oid(id)?);
    let blob = blob.map_err(RepoError::git("read a file of the change"))?;
    Ok(*ends.to_work_tree(blob.content()) == *bytes)
}
