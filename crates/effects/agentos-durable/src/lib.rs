//! Bringing what was written to the disk, and the system calls that a file written by somebody else asks for.
//!
//! Owns: syncing files and folders, each by itself or their whole file system at once; exchanging names so that nothing
//! is replaced, asking who writes a file, and opening what may be no file. Never: writes or removes content, and never decides what must be on the disk before what.

#[cfg(not(target_os = "linux"))]
mod alone;
mod each;
#[cfg(target_os = "linux")]
mod lease;
mod names;
mod plain;
#[cfg(target_os = "linux")]
mod range;
#[cfg(target_os = "linux")]
mod whole;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(not(target_os = "linux"))]
use crate::alone::Whole;
#[cfg(target_os = "linux")]
use crate::whole::Whole;

pub use names::{exchange_names, rename_to_free_name};
pub use plain::{Links, open_plain_file, read_plain_file};

/// A file or folder that may not be on the disk.
#[derive(Debug, thiserror::Error)]
#[error("cannot sync `{}`", path.display())]
pub struct SyncError {
    /// Which one; the folder of [`Disk::of`] where all were waited for at once.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// The file system that a folder lies in, opened before anything is written: a failure to write is told to those who
/// had it open then (syncfs(2)).
#[derive(Debug)]
pub struct Disk {
    whole: Option<Whole>,
}

/// Brings a file to the disk, together with whatever else its maker has to bring there.
pub type SyncFile<'a> = dyn FnMut(&Path) -> io::Result<()> + 'a;

/// What becomes of a path where nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    IsPassedOver,
    IsAFailure,
}

impl Disk {
    /// The file system of a folder. One that is not there, or is of a kind that was not tried, is no failure: then each
    /// file is synced by itself.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        Self {
            whole: Whole::of(folder),
        }
    }

    /// Makes files, and the names in folders, durable. Many take one wait for their whole file system, where that is
    /// cheaper; those that lie in another one, and few, are synced by themselves, some at a time.
    ///
    /// # Errors
    /// When the system cannot say that all of them are on the disk, or one is not there.
    pub fn sync(&self, paths: &[PathBuf]) -> Result<(), SyncError> {
        self.bring(paths, Missing::IsAFailure)
    }

    /// The same where a path that is not there is passed over.
    ///
    /// # Errors
    /// As [`Disk::sync`].
    pub fn sync_where_there(&self, paths: &[PathBuf]) -> Result<(), SyncError> {
        self.bring(paths, Missing::IsPassedOver)
    }

    fn bring(&self, paths: &[PathBuf], missing: Missing) -> Result<(), SyncError> {
        match &self.whole {
            Some(whole) => {
                let alone = whole.sync(paths, missing)?;
                each::sync(&alone, missing)
            }
            None => each::sync(&Vec::from_iter(paths), missing),
        }
    }
}

/// Makes one file durable.
///
/// # Errors
/// When it is not there, or the system cannot say that it is on the disk.
pub fn sync_file(path: &Path) -> Result<(), SyncError> {
    each::sync_one(path, Missing::IsAFailure)
}

/// A [`SyncFile`] for a maker who has nothing else to bring there.
///
/// # Errors
/// As [`sync_file`], without its path.
pub fn sync_alone(path: &Path) -> io::Result<()> {
    sync_file(path).map_err(|error| error.source)
}

/// Makes the names in a folder durable, where a system can be asked for that.
///
/// # Errors
/// As [`sync_file`].
pub fn sync_folder(path: &Path) -> Result<(), SyncError> {
    folder(path.to_owned()).map_or(Ok(()), |path| sync_file(&path))
}

/// A folder as something to be synced, where folders can be.
#[must_use]
pub fn folder(path: PathBuf) -> Option<PathBuf> {
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

/// Opens a path to sync it; nothing when nothing is there and that is no failure.
fn open(path: &Path, missing: Missing) -> Result<Option<File>, SyncError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(source) => absent(path, source, missing).map(|()| None),
    }
}

fn absent(path: &Path, source: io::Error, missing: Missing) -> Result<(), SyncError> {
    match missing {
        Missing::IsPassedOver if source.kind() == io::ErrorKind::NotFound => Ok(()),
        Missing::IsPassedOver | Missing::IsAFailure => Err(SyncError {
            path: path.to_owned(),
            source,
        }),
    }
}
