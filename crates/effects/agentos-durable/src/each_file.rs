//! One fsync for each file.
//!
//! Owns: running several of them at a time. Never: leaves a file out.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use crate::{MissingFiles, SyncError, open_existing};

/// Maximum number of fsync calls at one time. More gained nothing where it was measured, on ext4 on a virtual disk.
const MAX_PARALLEL_SYNCS: usize = 32;
/// Number of files for which one more thread is worth starting. A thread costs a tenth of a millisecond, and the first
/// fsync of a journaling file system often makes the others quick: of six threads for the 13 files of one small landing,
/// four found nothing left to do (`strace -f` of a landing on ext4).
const FILES_PER_THREAD: usize = 4;

/// Makes files and folders durable, several at a time. A disk serves the requests of many threads together; in one
/// thread each request would wait for the one before it.
///
/// # Errors
/// When one of them cannot be opened or synced; the error is that of one file, and the others may or may not be durable.
pub(crate) fn sync_each(paths: &[&PathBuf], missing: MissingFiles) -> Result<(), SyncError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), SyncError> {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            sync_one(path, missing)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        // A thread that cannot be started is no failure: this thread takes every file that no other one took.
        let threads: Vec<_> = (1..MAX_PARALLEL_SYNCS.min(paths.len().div_ceil(FILES_PER_THREAD)))
            .map_while(|_| Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let own_result = work();
        // A thread that panicked may have taken a file and seen its fsync fail, and nobody else knows which one.
        // Reporting success here would call a lost file durable.
        let thread_panicked = |_| {
            Err(SyncError {
                path: paths.first().map(|path| path.to_path_buf()).unwrap_or_default(),
                source: io::Error::other("a thread that syncs files stopped unexpectedly"),
            })
        };
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(thread_panicked))
            .fold(own_result, Result::and)
    })
}

/// Makes one file or folder durable.
///
/// # Errors
/// When it cannot be opened or synced; a missing one is an error only with [`MissingFiles::AreFailures`].
pub(crate) fn sync_one(path: &Path, missing: MissingFiles) -> Result<(), SyncError> {
    let failed = |source: io::Error| SyncError {
        path: path.to_owned(),
        source,
    };
    match open_existing(path, missing)? {
        Some(file) => file.sync_all().map_err(failed),
        None => Ok(()),
    }
}
