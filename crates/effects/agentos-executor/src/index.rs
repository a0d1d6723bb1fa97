//! Updates the index after a change: the entries of its paths, and nothing else. The file format is that of `agentos-index`.
//!
//! Owns: reading the index, writing a new one under another name and renaming it, and entries with the stat data that keeps
//! `git status` quick and clean. Never: refreshes or drops other entries that the user has staged.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use agentos_durable::{LinkRule, open_regular_file, read_regular_file};
use agentos_index::{EntryStat, IndexEntry, IndexError, IndexFile, NewEntry};
use agentos_landing::{FileMode, RepoPath};
use git2::{AttrCheckFlags, Oid};

use crate::conversion::{AttributeSource, FileConversion};
use crate::disk::{ReplacedFiles, object_files};
use crate::error::Unsupported;
use crate::file_state::FileStamp;
use crate::index_lock::HeldIndex;
use crate::journal::JournalFile;
use crate::mentions::{self, AttributeMentions};
use crate::preflight::{FileContent, ancestor_folders, attributes_in, is_base_content};
use crate::presence::{find_indexed, is_indexed_base, splice_folders};
use crate::splice::{mode_bits, parse_oid};
use crate::worktree::PlacedFiles;
use crate::{ExecError, RepoError, Repository};

/// Mode of an entry that represents a folder, in a sparse index.
const FOLDER: u32 = 0o040_000;

/// Reads an index. A missing file reads as an empty index.
///
/// # Errors
/// When it cannot be read, or is of a kind that is not supported.
pub(crate) fn read_index(place: &Path) -> Result<IndexFile, RepoError> {
    let bytes = match read_regular_file(place, LinkRule::Followed, u64::MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(IndexFile::new()),
        Err(error) => return Err(RepoError::io(place)(error)),
    };
    IndexFile::parse(bytes).map_err(|error| match error {
        IndexError::SplitIndex => RepoError::Unsupported(Unsupported::SplitIndex),
        IndexError::ChecksumMismatch
        | IndexError::InvalidName
        | IndexError::NamesTooLarge
        | IndexError::Truncated
        | IndexError::UnknownExtension(_)
        | IndexError::UnsupportedVersion
        | IndexError::WrongOrder => RepoError::Git {
            action: "read the index",
            why: error.to_string(),
            source: Some(Box::new(error)),
        },
    })
}

/// Writes the entries of a change. The caller holds the lock of the index.
///
/// A path that is not in `placed`, or was written since, contains a user's later work: its entry gets no stat data, so that
/// git reads the file. The new index and `also` are synced before the rename; the rename itself is durable when the caller
/// has synced the folder.
///
/// # Errors
/// When the index cannot be written or synced.
pub(crate) fn update_index(
    repository: &Repository,
    held: &mut HeldIndex,
    root: &Path,
    files: &[JournalFile],
    placed: &PlacedFiles<'_>,
    also: Vec<PathBuf>,
    replaced: &mut ReplacedFiles,
) -> Result<(), ExecError> {
    let (place, next) = (repository.index_path(), repository.next_index());
    let trees = change_entries(repository, &mut held.index, root, files, placed)?;
    let written = write_index(&held.index, &next);
    written.map_err(ExecError::write("write", &next))?;
    repository.reach("index written");
    // A rename can become durable before the content of the file. git could not read such an index.
    let unsynced = [
        vec![next.clone()],
        also,
        object_files(repository.common_dir(), &trees),
    ]
    .concat();
    repository.sync_paths(&unsynced)?;
    repository.reach("work tree durable");
    replaced.keep_open(&place);
    fs::rename(&next, &place).map_err(ExecError::write("replace", &place))?;
    repository.reach("index replaced");
    Ok(())
}

fn write_index(index: &IndexFile, next: &Path) -> io::Result<()> {
    index.write_to(&mut OpenOptions::new().write(true).create_new(true).open(next)?)
}

/// Replaces the entries of a change in memory. Returns the trees that were written for folders of a sparse index.
///
/// # Errors
/// When an id is not valid, or the tree of such a folder cannot be read or written.
fn change_entries(
    repository: &Repository,
    index: &mut IndexFile,
    root: &Path,
    files: &[JournalFile],
    placed: &PlacedFiles<'_>,
) -> Result<Vec<Oid>, ExecError> {
    let mut trees = Vec::new();
    let (below, files): (Vec<_>, Vec<_>) = files
        .iter()
        .partition(|entry| index.find_folder_above(entry.file.path.as_str()).is_some());
    let below: Vec<_> = below.iter().map(|entry| &entry.file).collect();
    let folders = splice_folders(repository, index, &below, &mut trees)?;
    let paths = || files.iter().map(|entry| entry.file.path.as_str());
    let mut new = Vec::with_capacity(files.len());
    for JournalFile {
        file, presence, work, ..
    } in &files
    {
        if let Some(id) = &file.new {
            let path = file.path.as_str();
            let blob = work.as_ref().map_or(&id.oid, |work| &work.index_new);
            let stat = fs::symlink_metadata(root.join(path)).ok();
            let is_placed = |found: &Metadata| placed.get(path) == Some(&FileStamp::from_metadata(found));
            // With a person's work, the file differs from its entry, and stat data would tell git that it does not.
            let is_kind = |found: &Metadata| match id.mode {
                FileMode::Symlink => found.is_symlink(),
                FileMode::Regular | FileMode::Executable => found.is_file(),
            };
            let stat = stat.filter(|found| is_kind(found) && is_placed(found) && work.is_none());
            new.push(NewEntry {
                path,
                mode: u32::try_from(mode_bits(id.mode)).unwrap_or_default(),
                id: id_bytes(parse_oid(blob)?),
                stat: stat.as_ref().map(stat_of).unwrap_or_default(),
                skip_worktree: !presence.is_checked_out(),
            });
        }
    }
    new.extend(folders.iter().filter_map(|(path, tree)| {
        Some(NewEntry {
            path,
            mode: FOLDER,
            id: id_bytes((*tree)?),
            stat: EntryStat::default(),
            skip_worktree: true,
        })
    }));
    let emptied = folders.iter().filter(|(_, tree)| tree.is_none());
    index.replace_entries(paths().chain(emptied.map(|(path, _)| path.as_str())), &[]);
    // After the old entries of the change are gone and before the new ones are there: only the files of other entries need a
    // second look.
    look_again(repository, root, index);
    index.replace_entries(std::iter::empty(), &new);
    index.invalidate_trees(paths().chain(below.iter().map(|file| file.path.as_str())));
    Ok(trees)
}

fn id_bytes(id: Oid) -> [u8; 20] {
    id.as_bytes().try_into().unwrap_or_default()
}

/// Returns whether the index was replaced already: no entry of the change is as it was before the landing. The working tree was
/// durable before, so whatever else it contains now is a user's work.
///
/// # Errors
/// When the tree of a folder of a sparse index cannot be read.
pub(crate) fn is_up_to_date(
    repository: &Repository,
    index: &IndexFile,
    files: &[JournalFile],
) -> Result<bool, ExecError> {
    for entry in files {
        let is_old = match &entry.work {
            None => is_indexed_base(repository, index, &entry.file)?,
            Some(work) => {
                let found = find_indexed(repository, index, entry.file.path.as_str())?;
                found.is_some_and(|(id, _)| id == work.index_old)
            }
        };
        if is_old {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Refuses an index of a kind that is not supported, before a tool is called.
///
/// # Errors
/// When the index is of such a kind, or cannot be read.
pub(crate) fn check_kind(repository: &Repository) -> Result<(), RepoError> {
    // Reading a large index takes long, and it is read again under the lock. So here only an unusual one is read.
    let looks_usual = is_usual(&repository.index_path()) && !has_company(repository.git.path());
    if looks_usual {
        return Ok(());
    }
    read_index(&repository.index_path()).map(drop)
}

/// Returns whether the file is missing, or begins like an index of version 2 to 4 (gitformat-index(5)).
fn is_usual(place: &Path) -> bool {
    let mut head = [0; 8];
    match open_regular_file(place, LinkRule::Followed).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) => matches!(&head, b"DIRC\0\0\0\x02" | b"DIRC\0\0\0\x03" | b"DIRC\0\0\0\x04"),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Returns whether the git directory contains the other part of a split index.
fn has_company(git_dir: &Path) -> bool {
    fs::read_dir(git_dir).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex."))
    })
}

/// Looks at the content of files that are as young as the old index, and marks the edited ones by a size of 0.
///
/// git compares times in whole seconds. If a file was written in the same second as the index, its time does not show
/// whether it was edited after it was staged, so git reads the content ("racy git" in git's technical documentation). The
/// new index is younger than these files, and git would take them for unchanged. git itself marks them in the same way.
fn look_again(repository: &Repository, root: &Path, index: &mut IndexFile) {
    let Ok(modified) = fs::metadata(repository.index_path()).and_then(|found| found.modified()) else {
        // There is no index yet.
        return;
    };
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let written = u32::try_from(since.as_secs()).unwrap_or(u32::MAX);
    let is_young = |entry: &IndexEntry<'_>| entry.modified_seconds() >= written && entry.stage() == 0;
    let is_plain = |entry: &IndexEntry<'_>| !entry.has_extended_flags() && entry.file_size() != 0;
    index.smudge_entries(|entry| is_young(entry) && is_plain(entry) && !is_unedited(repository, root, entry));
}

/// Returns whether the working tree has the content that this entry names. Returns false if that is not certain; then git
/// reads the file itself.
fn is_unedited(repository: &Repository, root: &Path, entry: &IndexEntry<'_>) -> bool {
    // An index may contain any name. A name that leads out of the working tree is not followed.
    let path = std::str::from_utf8(entry.path()).ok();
    let Some(path) = path.filter(|path| RepoPath::new(path).is_ok()) else {
        return false;
    };
    let place = root.join(path);
    let is_file = fs::symlink_metadata(&place).is_ok_and(|found| found.is_file());
    let id = entry.blob_id();
    let content = FileContent::at_path(&place);
    let same = is_file && content.is_content_of(&id).unwrap_or(false);
    // libgit2 would follow a link, or wait at a FIFO, in the place of `.gitattributes`.
    let is_odd = |folder: &str| mentions::is_odd(&root.join(attributes_in(folder)));
    if !same && [""].into_iter().chain(ancestor_folders(path)).any(is_odd) {
        return false;
    }
    let as_git_sees_it = || {
        let conversion = FileConversion {
            attributes: AttributeSource::Ask {
                git: &repository.git,
                from: AttrCheckFlags::FILE_THEN_INDEX,
                mentions: &AttributeMentions::Anything,
            },
            settings: repository.line_end_settings()?,
        };
        is_base_content(repository, &content, &id, conversion.line_ends_of(path)?)
    };
    same || (is_file && as_git_sees_it().unwrap_or(false))
}

/// Converts stat data. The index has 32 bits for each number, and git compares the low 32 bits.
#[cfg(unix)]
fn stat_of(found: &Metadata) -> EntryStat {
    use std::os::unix::fs::MetadataExt;
    let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
    let time = |seconds: i64, nanos: i64| {
        (
            low(seconds.cast_unsigned()),
            u32::try_from(nanos).unwrap_or_default(),
        )
    };
    EntryStat {
        changed: time(found.ctime(), found.ctime_nsec()),
        modified: time(found.mtime(), found.mtime_nsec()),
        device: low(found.dev()),
        inode: low(found.ino()),
        user: found.uid(),
        group: found.gid(),
        size: low(found.size()),
    }
}

#[cfg(not(unix))]
fn stat_of(found: &Metadata) -> EntryStat {
    EntryStat {
        size: u32::try_from(found.len()).unwrap_or_default(),
        ..EntryStat::default()
    }
}
