//! Brings the index up to a landed change: the touched paths, and nothing else.
//!
//! Owns: whether an index can be read, the new one, made under another name and then renamed, and entries with the stat data that keeps `git
//! status` quick and clean. Never: refreshes or drops what the user has staged elsewhere.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, ErrorCode, Index, IndexEntry, IndexTime};

use crate::conversion::Conversion;
use crate::disk;
use crate::index_lock::HeldIndex;
use crate::preflight::{content_is, is_base_content};
use crate::splice::{mode_bits, oid};
use crate::{ExecError, FileId, ReceiptFile, RepoError, Repository};

/// The bits of an entry's flags that are set while a conflict is open.
const STAGE: u16 = 0x3000;

/// Sets the entries of a change. The caller holds the index. Paths in `kept` hold a user's later work: their entries
/// carry no stat data, so that git looks at the files. It is durable when this is done, together with `also`.
pub(crate) fn update(
    repository: &Repository,
    held: &mut HeldIndex,
    root: &Path,
    files: &[ReceiptFile],
    kept: &[String],
    also: Vec<PathBuf>,
) -> Result<(), ExecError> {
    let (place, next) = (repository.index_path(), repository.next_index());
    change(repository, &mut held.index, root, files, kept)?;
    held.index.write().map_err(ExecError::git("write the index"))?;
    repository.reach("index written");
    let unsynced = [also, vec![next.clone()]].concat();
    disk::sync_each(&unsynced).map_err(ExecError::write("sync", &next))?;
    fs::rename(&next, &place).map_err(ExecError::write("replace", &place))?;
    repository.reach("index replaced");
    // Else a loss of power could bring back the old index without the journal that tells of it.
    let folder = repository.git.path();
    disk::sync_dir(folder).map_err(ExecError::write("sync", folder))
}

/// Changes the index in memory.
fn change(
    repository: &Repository,
    index: &mut Index,
    root: &Path,
    files: &[ReceiptFile],
    kept: &[String],
) -> Result<(), ExecError> {
    for file in files {
        match index.remove(Path::new(file.path.as_str()), 0) {
            Ok(()) => {}
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(ExecError::git("update the index")(error)),
        }
    }
    // The entries of the change are new ones, and their files need no second look.
    look_again(repository, root, index)?;
    for file in files {
        if let Some(new) = &file.new {
            let path = file.path.as_str();
            let stat = fs::symlink_metadata(root.join(path)).ok();
            let stat = stat.filter(|found| found.is_file() && !kept.iter().any(|kept| kept == path));
            let entry = entry(path, new, stat.as_ref())?;
            index.add(&entry).map_err(ExecError::git("update the index"))?;
        }
    }
    Ok(())
}

/// Finds out early what a reading under the lock would find: an index of a kind that libgit2 does not read. Reading a
/// large one takes long, so only one that looks odd is read here.
pub(crate) fn check_kind(repository: &Repository) -> Result<(), RepoError> {
    let looks_usual = is_usual(&repository.index_path()) && !has_company(repository.git.path());
    if looks_usual {
        return Ok(());
    }
    let index = repository.git.index();
    index.map(|_| ()).map_err(RepoError::git("read the index"))
}

/// No index, or one of the versions 2 to 4, as git's `index-format` page has them.
fn is_usual(place: &Path) -> bool {
    let mut head = [0; 8];
    match File::open(place).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) => matches!(&head, b"DIRC\0\0\0\x02" | b"DIRC\0\0\0\x03" | b"DIRC\0\0\0\x04"),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// The other part of a split index lies beside it, and the list by which an index became sparse.
fn has_company(git_dir: &Path) -> bool {
    let sparse = git_dir.join("info/sparse-checkout").exists();
    sparse
        || fs::read_dir(git_dir).is_ok_and(|entries| {
            entries
                .flatten()
                .any(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex."))
        })
}

/// Git compares whole seconds: of a file as young as the index, only its content tells whether it was edited. The new
/// index is younger, so that is found out now, as git does: one that was edited is marked by a size of nothing.
fn look_again(repository: &Repository, root: &Path, index: &mut Index) -> Result<(), ExecError> {
    let Ok(modified) = fs::metadata(repository.index_path()).and_then(|found| found.modified()) else {
        // There is no index yet.
        return Ok(());
    };
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let written = i32::try_from(since.as_secs()).unwrap_or(i32::MAX);
    let young: Vec<IndexEntry> = index
        .iter()
        .filter(|entry| entry.mtime.seconds() >= written && entry.flags & STAGE == 0)
        .filter(|entry| entry.flags_extended == 0 && entry.file_size != 0)
        .filter(|entry| !is_unedited(repository, root, entry))
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

/// Does the work tree hold what this entry names? Where that is not certain, git shall look itself.
fn is_unedited(repository: &Repository, root: &Path, entry: &IndexEntry) -> bool {
    let Ok(path) = std::str::from_utf8(&entry.path) else {
        return false;
    };
    let place = root.join(path);
    let is_file = fs::symlink_metadata(&place).is_ok_and(|found| found.is_file());
    let id = entry.id.to_string();
    let same = is_file && content_is(&place, &id).unwrap_or(false);
    let as_git_sees_it = || {
        let conversion = Conversion {
            git: &repository.git,
            from: AttrCheckFlags::FILE_THEN_INDEX,
            settings: repository.line_end_settings()?,
        };
        is_base_content(repository, &place, &id, conversion.of(path)?)
    };
    same || (is_file && as_git_sees_it().unwrap_or(false))
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
