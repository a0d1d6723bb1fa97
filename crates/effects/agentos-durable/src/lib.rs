//! Makes written files durable, and wraps the few system calls for files that other programs may change.
//!
//! Owns: syncing files and folders, one by one or their whole file system at once; exchanging names so that nothing is
//! replaced; asking whether a program writes a file; opening what may be no regular file. Never: writes or removes
//! content, or decides what must be durable before what. Start at [`FileSystemSync`].
//!
//! # The problem
//!
//! `write(2)` puts bytes into memory. They survive a loss of power only after the disk confirmed them, and `fsync(2)`
//! waits for that. A landing of 200 files would wait 200 times. On ext4, XFS and btrfs one `syncfs(2)` took a fifth, a
//! fifth and a tenth of that time (module `whole`), but alone it can report success for a file that was lost.
//!
//! # The steps, and what goes wrong without each
//!
//! | step | without it |
//! |---|---|
//! | [`FileSystemSync::open`] opens the folder before anything is written | the kernel reports a failed write only to descriptors that were open when it failed (syncfs(2)), so ours would hear of none |
//! | `FileSystemSync::open` refuses kernels before 5.17 | `syncfs` succeeds there though a write (before 5.8) or the file system itself (before kernel commit 5679897eb104) failed |
//! | `sync_file_range(2)` on every file | ext4 allocates blocks only when it writes a file back; if the disk is full by then, it drops the data, and `syncfs` does not report it |
//! | `syncfs(2)`, only where little else waits for the disk | we would wait for gigabytes that another program wrote |
//! | `fstatvfs(2)` afterwards | a file system that turned read-only after an error of its own answers every `syncfs` with success |
//! | `fsync(2)` for each file that lies in another file system, or if one of these steps is not possible | they would not be durable |
//!
//! A failed step is final. The kernel reports a lost write once; whoever asks again hears that all is well. So nothing
//! here tries a second time, and a caller has to treat the files as not written.

mod each_file;
#[cfg(target_os = "linux")]
mod lease;
mod names;
#[cfg(not(target_os = "linux"))]
mod other_systems;
mod plain;
#[cfg(target_os = "linux")]
mod whole;
#[cfg(target_os = "linux")]
mod writeback;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(not(target_os = "linux"))]
use crate::other_systems::WholeFileSystem;
#[cfg(target_os = "linux")]
use crate::whole::WholeFileSystem;

pub use names::{exchange_names, rename_to_free_name};
pub use plain::{LinkRule, open_regular_file, read_regular_file};

/// Failure to make a file or folder durable: its content may be lost at a loss of power.
#[derive(Debug, thiserror::Error)]
#[error("cannot sync `{}`", path.display())]
pub struct SyncError {
    /// The file; the folder given to [`FileSystemSync::open`] if the whole file system was synced at once.
    pub path: PathBuf,
    /// Error that the system reported.
    pub source: io::Error,
}

/// File system that a folder lies in. Open it before the first write: the kernel reports a failed write only to
/// descriptors that were open at that time (syncfs(2)).
#[derive(Debug)]
pub struct FileSystemSync {
    whole: Option<WholeFileSystem>,
}

/// Function that makes a file durable, together with whatever else its creator has to make durable in the same wait.
pub type SyncFile<'a> = dyn FnMut(&Path) -> io::Result<()> + 'a;

/// Treatment of a path at which no file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingFiles {
    AreSkipped,
    AreFailures,
}

impl FileSystemSync {
    /// Opens the file system of a folder. A folder that does not exist, and a kind of file system for which syncing at
    /// once was not tried, are no failure: then each file is synced by itself.
    #[must_use]
    pub fn open(folder: &Path) -> Self {
        Self {
            whole: WholeFileSystem::open(folder),
        }
    }

    /// Makes files durable, and for a folder the names in it. Many files of this file system are synced in one call,
    /// where that is cheaper; a few files, and files of another file system, are synced by themselves, several at a time.
    ///
    /// # Errors
    /// When the system does not confirm that all of them are on the disk, or one does not exist.
    pub fn sync(&self, paths: &[PathBuf]) -> Result<(), SyncError> {
        self.sync_all(paths, MissingFiles::AreFailures)
    }

    /// Makes files and names in folders durable as [`FileSystemSync::sync`] does, but skips paths that do not exist.
    ///
    /// # Errors
    /// When the system does not confirm that all existing ones are on the disk.
    pub fn sync_existing(&self, paths: &[PathBuf]) -> Result<(), SyncError> {
        self.sync_all(paths, MissingFiles::AreSkipped)
    }

    fn sync_all(&self, paths: &[PathBuf], missing: MissingFiles) -> Result<(), SyncError> {
        match &self.whole {
            Some(whole) => {
                let remaining = whole.sync(paths, missing)?;
                each_file::sync_each(&remaining, missing)
            }
            None => each_file::sync_each(&Vec::from_iter(paths), missing),
        }
    }
}

/// Makes one file durable.
///
/// # Errors
/// When it does not exist, or the system does not confirm that it is on the disk.
pub fn sync_file(path: &Path) -> Result<(), SyncError> {
    each_file::sync_one(path, MissingFiles::AreFailures)
}

/// Makes one file durable and nothing else: the [`SyncFile`] of a caller who has no other file to sync in the same wait.
///
/// # Errors
/// Those of [`sync_file`], without the path.
pub fn sync_alone(path: &Path) -> io::Result<()> {
    sync_file(path).map_err(|error| error.source)
}

/// Makes the names in a folder durable. Does nothing on a system that cannot sync folders.
///
/// # Errors
/// When the folder does not exist, or the system does not confirm that its names are on the disk.
pub fn sync_folder(path: &Path) -> Result<(), SyncError> {
    syncable_folder(path.to_owned()).map_or(Ok(()), |path| sync_file(&path))
}

/// Returns a folder as a path to be synced. `None` if this system cannot sync folders, as on Windows.
#[must_use]
pub fn syncable_folder(path: PathBuf) -> Option<PathBuf> {
    cfg!(unix).then_some(path)
}

/// Returns whether any process has this file open for writing, or maps it writable; `None` if the system cannot say:
/// another user's file, a file system without leases, or a system that is not Linux.
///
/// `file` must be open for reading only: a descriptor that can write counts as a writer.
#[must_use]
pub fn has_writer(file: &File) -> Option<bool> {
    #[cfg(target_os = "linux")]
    {
        lease::has_writer(file)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        None
    }
}

/// Opens a path to sync it. `None` if it does not exist and `missing` permits that.
fn open_existing(path: &Path, missing: MissingFiles) -> Result<Option<File>, SyncError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(source) => check_missing(path, source, missing).map(|()| None),
    }
}

/// Accepts the failure to open a path if the path does not exist and `missing` permits that.
fn check_missing(path: &Path, source: io::Error, missing: MissingFiles) -> Result<(), SyncError> {
    match missing {
        MissingFiles::AreSkipped if source.kind() == io::ErrorKind::NotFound => Ok(()),
        MissingFiles::AreSkipped | MissingFiles::AreFailures => Err(SyncError {
            path: path.to_owned(),
            source,
        }),
    }
}
