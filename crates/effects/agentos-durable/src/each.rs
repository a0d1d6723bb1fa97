//! One sync for each file.
//!
//! Owns: asking for many at a time. Never: leaves one out.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use crate::{Missing, SyncError, open};

/// Syncs asked for at a time. More gained nothing where it was measured, an ext4 on a virtual disk.
const AT_ONCE: usize = 32;
/// Syncs for which a helper is worth its coming and going, a tenth of a millisecond: a disk takes longer for one.
const WORTH: usize = 2;

/// Makes files and folders durable, many at a time: a disk takes the requests of many together, where one after the
/// other each waits for it.
pub(crate) fn sync(paths: &[&PathBuf], missing: Missing) -> Result<(), SyncError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), SyncError> {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            sync_one(path, missing)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..AT_ONCE.min(paths.len().div_ceil(WORTH)))
            .map_while(|_| Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let own = work();
        // What it had taken, and may have heard, is heard by nobody else.
        let ended_early = |_| {
            Err(SyncError {
                path: paths.first().map(|path| path.to_path_buf()).unwrap_or_default(),
                source: io::Error::other("a helper ended early"),
            })
        };
        helpers
            .into_iter()
            .map(|helper| helper.join().unwrap_or_else(ended_early))
            .fold(own, Result::and)
    })
}

pub(crate) fn sync_one(path: &Path, missing: Missing) -> Result<(), SyncError> {
    let failed = |source: io::Error| SyncError {
        path: path.to_owned(),
        source,
    };
    match open(path, missing)? {
        Some(file) => file.sync_all().map_err(failed),
        None => Ok(()),
    }
}
