//! Renames files of the working tree so that nothing is replaced, on every file system.
//!
//! Owns: the steps that replace a call that a file system lacks, and the names that a crash between two of them leaves.
//! Never: removes content, or looks at it.
//!
//! Linux and macOS exchange two names in one call, and rename a file to a free name in one call. On other systems (Windows,
//! NFS, old FAT drivers, kernels before 3.15) the exchange takes three renames to free names. Another program then sees no
//! file at the path for a moment, but a file that it saves there is still not replaced. Renaming to a free name is done by a
//! hard link (link(2) fails if the name is taken) and the removal of the old name. Only on a file system that has no links
//! either, there is a gap between a look at the name and the rename; FAT on such a kernel is the one known case.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Repository;

/// Result of an exchange.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ExchangeResult {
    /// Each name leads to the file that the other one led to.
    Wholly,
    /// Another program saved a file at the path between two steps, and that file stays there. The file that was at the path
    /// before has the spare name, and the staged file has kept its name.
    SavedMeanwhile,
}

/// Exchanges the names of a staged file and of a file of the working tree.
///
/// # Errors
/// When a name does not exist or cannot be changed.
pub(crate) fn exchange(repository: &Repository, staged: &Path, place: &Path) -> io::Result<ExchangeResult> {
    match agentos_durable::exchange_names(staged, place) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            exchange_by_steps(repository, staged, place)
        }
        done => done.map(|()| ExchangeResult::Wholly),
    }
}

fn exchange_by_steps(repository: &Repository, staged: &Path, place: &Path) -> io::Result<ExchangeResult> {
    let spare = spare_name(staged);
    move_to_free_name(repository, place, &spare)?;
    repository.reach("place made free");
    match move_to_free_name(repository, staged, place) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Ok(ExchangeResult::SavedMeanwhile);
        }
        Err(error) => {
            // If this fails too, recovery finds the file under the spare name.
            let _ = move_to_free_name(repository, &spare, place);
            return Err(error);
        }
    }
    repository.reach("place taken");
    move_to_free_name(repository, &spare, staged)?;
    Ok(ExchangeResult::Wholly)
}

/// Returns the spare name for an exchange in steps.
pub(crate) fn spare_name(staged: &Path) -> PathBuf {
    let name = staged.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".tmp").unwrap_or(&name);
    staged.with_file_name(format!("{stem}-spare.tmp"))
}

/// Renames a file, unless the new name is taken.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the new name is taken; other errors as the system reports them.
pub(crate) fn move_to_free_name(repository: &Repository, from: &Path, to: &Path) -> io::Result<()> {
    match agentos_durable::rename_to_free_name(from, to) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        done => return done,
    }
    match fs::hard_link(from, to) {
        Ok(()) => {
            repository.reach("file named twice");
            fs::remove_file(from)
        }
        // A folder cannot have a second name (link(2)), and some file systems have no hard links at all.
        Err(error) if no_links(&error) => match fs::symlink_metadata(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(from, to),
        },
        Err(error) => Err(error),
    }
}

/// Returns true if a call failed because the file system has no hard links.
pub(crate) fn no_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices
    )
}

#[cfg(test)]
mod tests;
