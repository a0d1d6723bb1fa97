//! Brings the index up to a landed change: the touched paths, and nothing else.
//!
//! Owns: the new index, made under another name and then renamed, and entries with the stat data that keeps `git
//! status` quick and clean. Never: refreshes or drops what the user has staged elsewhere.

use std::fs::{self, Metadata};
use std::path::Path;

use git2::{ErrorCode, Index, IndexEntry, IndexTime};

use crate::preflight::content_is;
use crate::splice::{mode_bits, oid};
use crate::{ExecError, FileId, ReceiptFile, Repository, index_lock};

/// The bits of an entry's flags that are set while a conflict is open.
const STAGE: u16 = 0x3000;

/// Sets the entries of a change. The caller holds the index. Paths in `kept` hold a user's later work: their entries
/// carry no stat data, so that git looks at the files.
pub(crate) fn update(
    repository: &Repository,
    root: &Path,
    files: &[ReceiptFile],
    kept: &[String],
) -> Result<(), ExecError> {
    let place = repository.git.path().join("index");
    let next = repository.git.path().join("agentos-index.tmp");
    let made = index_lock::second_name(&place, &next)
        .map_err(ExecError::write("write", &next))
        .and_then(|()| make(repository, &next, root, files, kept))
        .and_then(|()| fs::rename(&next, &place).map_err(ExecError::write("replace", &place)));
    if made.is_err() {
        // What is left under this name is taken away before the next use as well.
        let _ = fs::remove_file(&next);
    }
    repository.reach("index replaced");
    made
}

/// Changes the index that stands under its second name.
fn make(
    repository: &Repository,
    next: &Path,
    root: &Path,
    files: &[ReceiptFile],
    kept: &[String],
) -> Result<(), ExecError> {
    let failed = || ExecError::git("update the index");
    repository.reach("index copied");
    let mut index = Index::open(next).map_err(failed())?;
    look_again(next, root, &mut index)?;
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
    index.write().map_err(ExecError::git("write the index"))?;
    repository.reach("index written");
    Ok(())
}

/// Git compares whole seconds: of a file as young as the index, only its content tells whether it was edited. The new
/// index is younger, so that is found out now, as git does: one that was edited is marked by a size of nothing.
fn look_again(place: &Path, root: &Path, index: &mut Index) -> Result<(), ExecError> {
    let Ok(modified) = fs::metadata(place).and_then(|found| found.modified()) else {
        // There is no index yet.
        return Ok(());
    };
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let written = i32::try_from(since.as_secs()).unwrap_or(i32::MAX);
    let young: Vec<IndexEntry> = index
        .iter()
        .filter(|entry| entry.mtime.seconds() >= written && entry.flags & STAGE == 0)
        .filter(|entry| entry.flags_extended == 0 && entry.file_size != 0)
        .filter(|entry| !is_unedited(root, entry))
        .collect();
    for entry in young {
        let entry = IndexEntry {
            file_size: 0,
            ..entry
        };
        index.add(&entry).map_err(ExecError::git("update the index"))?;
    }
    Ok(())
}

/// Does the work tree hold exactly what this entry names? Where that is not certain, git shall look itself.
fn is_unedited(root: &Path, entry: &IndexEntry) -> bool {
    let Ok(path) = std::str::from_utf8(&entry.path) else {
        return false;
    };
    let place = root.join(path);
    let is_file = fs::symlink_metadata(&place).is_ok_and(|found| found.is_file());
    is_file && content_is(&place, &entry.id.to_string()).unwrap_or(false)
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
