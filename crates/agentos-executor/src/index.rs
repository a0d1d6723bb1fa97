//! Brings the index up to a landed change: the touched paths, and nothing else.
//!
//! Owns: index entries with the stat data that keeps `git status` quick and clean. Never: refreshes or drops what
//! the user has staged elsewhere.

use std::fs::{self, Metadata};
use std::path::Path;

use git2::{ErrorCode, IndexEntry, IndexTime};

use crate::splice::{mode_bits, oid};
use crate::{ExecError, FileId, ReceiptFile, Repository};

/// Sets the entries of a change. Paths in `kept` hold a user's later work: their entries carry no stat data, so that
/// git looks at the files.
pub(crate) fn update(
    repository: &Repository,
    root: &Path,
    files: &[ReceiptFile],
    kept: &[String],
) -> Result<(), ExecError> {
    let failed = ExecError::git("update the index");
    let mut index = repository.git.index().map_err(failed)?;
    index.read(false).map_err(ExecError::git("update the index"))?;
    for file in files {
        match index.remove(Path::new(file.path.as_str()), 0) {
            Ok(()) => {}
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(ExecError::git("update the index")(error)),
        }
    }
    for file in files {
        if let Some(new) = &file.new {
            let path = file.path.as_str();
            let stat = fs::symlink_metadata(root.join(path)).ok();
            let stat = stat.filter(|found| found.is_file() && !kept.iter().any(|kept| kept == path));
            let entry = entry(path, new, stat.as_ref())?;
            index.add(&entry).map_err(ExecError::git("update the index"))?;
        }
    }
    index.write().map_err(|error| match error.code() {
        ErrorCode::Locked => ExecError::IndexLocked(repository.git.path().join("index.lock")),
        _ => ExecError::git("write the index")(error),
    })
}

fn entry(path: &str, new: &FileId, stat: Option<&Metadata>) -> Result<IndexEntry, ExecError> {
    let mut entry = IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode: u32::try_from(mode_bits(new.mode)).unwrap_or_default(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id: oid(&new.oid)?,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    };
    if let Some(stat) = stat {
        fill(&mut entry, stat);
    }
    Ok(entry)
}

/// The index keeps the low 32 bits of each number.
#[cfg(unix)]
fn fill(entry: &mut IndexEntry, stat: &Metadata) {
    use std::os::unix::fs::MetadataExt;
    let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
    let time = |seconds: i64, nanos: i64| {
        IndexTime::new(
            i32::try_from(seconds).unwrap_or(i32::MAX),
            u32::try_from(nanos).unwrap_or_default(),
        )
    };
    entry.ctime = time(stat.ctime(), stat.ctime_nsec());
    entry.mtime = time(stat.mtime(), stat.mtime_nsec());
    entry.dev = low(stat.dev());
    entry.ino = low(stat.ino());
    entry.uid = stat.uid();
    entry.gid = stat.gid();
    entry.file_size = low(stat.size());
}

#[cfg(not(unix))]
fn fill(entry: &mut IndexEntry, stat: &Metadata) {
    entry.file_size = u32::try_from(stat.len()).unwrap_or_default();
}
