//! Writes the working tree: each file under a temporary name first, which is then moved to its path.
//!
//! Owns: files, folders and modes of the working tree. Never: follows a link, writes into an existing file, whose content
//! may have a second name elsewhere, or replaces a file without a look at what it replaced (`displaced` does it). Every part
//! of a path is looked at directly before it is used. A link that another program creates in between is a race that cannot
//! be prevented with path names alone; and that program could have written the same file itself.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_landing::FileMode;

use crate::disk::ReplacedFiles;
use crate::displaced::{DisplacedFiles, remove_temp};
use crate::exchange::move_to_free_name;
use crate::file_state::{FileStamp, OnDisk, read_state};
use crate::index;
use crate::index_lock::HeldIndex;
use crate::journal::JournalFile;
use crate::preflight::{ancestor_folders, look_at};
use crate::{ExecError, Repository};

/// Chooses a temporary name for the new content of each file, in the innermost folder that exists already. For a deleted
/// file it is the name of an empty file by which its folder is tried.
///
/// # Errors
/// When a folder cannot be looked at.
pub(crate) fn plan_temps(root: &Path, run: &str, files: &mut [JournalFile]) -> Result<(), ExecError> {
    // A run is part of a file name here, so only letters that no file system treats specially are kept.
    let run: String = run
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    for (number, file) in files.iter_mut().enumerate() {
        if !file.presence.is_written() {
            continue;
        }
        let mut folder = "";
        for above in ancestor_folders(file.file.path.as_str()) {
            match look_at(&root.join(above))? {
                Some(found) if found.is_dir() => folder = above,
                Some(_) | None => break,
            }
        }
        let name = format!(".agentos-{run}-{number}.tmp");
        file.temp = Some(if folder.is_empty() {
            name
        } else {
            format!("{folder}/{name}")
        });
    }
    Ok(())
}

/// Writes the new bytes of each file, from `contents` in the same order, under its temporary name. Returns the paths to be
/// synced. Each folder that a file will be deleted from is tried, so that one that cannot be written is noticed before the
/// branch moves.
///
/// # Errors
/// When a file cannot be written or a folder does not permit deletions.
pub(crate) fn stage_files<'a>(
    repository: &Repository,
    root: &Path,
    files: &[JournalFile],
    contents: impl Iterator<Item = Result<Option<Cow<'a, [u8]>>, ExecError>>,
) -> Result<Vec<PathBuf>, ExecError> {
    let mut written = Vec::new();
    let mut tried = BTreeSet::new();
    for (entry, content) in files.iter().zip(contents) {
        let JournalFile { file, temp, .. } = entry;
        let Some(temp) = temp else {
            continue;
        };
        let content = content?;
        let Some(new) = &file.new else {
            let temp = safe_path(root, temp)?;
            if tried.insert(temp.parent().map(Path::to_owned)) {
                let folder = temp.parent().unwrap_or(root);
                let made = write_new(&temp, &[], FileMode::Regular);
                repository.reach("folder tried");
                let made = made.and_then(|()| fs::remove_file(&temp));
                made.map_err(ExecError::write("delete files in", folder))?;
            }
            continue;
        };
        let temp = safe_path(root, temp)?;
        let content = content.ok_or_else(|| ExecError::BaseDiffers(file.path.as_str().to_owned()))?;
        write_new(&temp, &content, new.mode).map_err(ExecError::write("write", &temp))?;
        // A sync would open what the link leads to. The link itself is durable with the folder that it is moved into.
        written.extend(Some(temp).filter(|_| new.mode != FileMode::Symlink));
        repository.reach("file staged");
    }
    Ok(written)
}

/// Reads what the working tree gets from the object store, one at a time. An item is `None` for a deleted file.
pub(crate) fn stored_contents<'a>(
    repository: &'a Repository,
    files: &'a [JournalFile],
) -> impl Iterator<Item = Result<Option<Cow<'a, [u8]>>, ExecError>> {
    files
        .iter()
        .map(|entry| Ok(entry.read_staged(repository)?.map(Cow::Owned)))
}

/// Result of writing working tree and index.
pub(crate) struct SettledTree {
    /// Paths that contain somebody's later work.
    pub kept: Vec<String>,
    /// Folder of the index, whose names are not durable yet.
    pub unsynced: Vec<PathBuf>,
    /// Replaced files, to be closed while that folder is synced.
    pub replaced: ReplacedFiles,
}

/// Moves staged files to their paths and updates the index. A file that equals neither the base nor the change contains
/// somebody's later work: it is left alone and reported. Each file is looked at directly before its own step, since the
/// steps before it take time, and again after it, under the temporary name that it has then. All files, and `also`, are
/// durable before the index is replaced.
///
/// # Errors
/// When a file or the index cannot be written or synced.
pub(crate) fn settle_unless_edited(
    repository: &Repository,
    held: &mut HeldIndex,
    root: &Path,
    files: &[JournalFile],
    also: Vec<PathBuf>,
) -> Result<SettledTree, ExecError> {
    let mut settling = TreeSettling {
        repository,
        root,
        displaced: DisplacedFiles::new(repository),
        placed: PlacedFiles::default(),
        left: Vec::new(),
        folders: BTreeSet::new(),
    };
    let settled = settling.settle_files(files);
    // Even if a later file failed: files of the user that wait under temporary names must go back to their paths.
    let finished = settling.displaced.remove_waiting();
    settled.and(finished)?;
    let left = std::mem::take(&mut settling.left);
    left.iter().try_for_each(|temp| discard_one(root, temp))?;
    let TreeSettling {
        displaced,
        mut placed,
        folders,
        ..
    } = settling;
    let (kept, mut replaced) = (displaced.kept, displaced.replaced);
    for path in &kept {
        placed.remove(path.as_str());
    }
    let mut unsynced = also;
    // A folder may have been removed after it was noted; then the folder above it was noted too, and syncing skips it.
    unsynced.extend(folders.into_iter().filter_map(agentos_durable::syncable_folder));
    index::update_index(repository, held, root, files, &placed, unsynced, &mut replaced)?;
    Ok(SettledTree {
        kept,
        unsynced: Vec::from_iter(agentos_durable::syncable_folder(repository.git.path().to_owned())),
        replaced,
    })
}

/// Files of a change that are at their paths, with the stamp that each had there.
pub(crate) type PlacedFiles<'a> = HashMap<&'a str, FileStamp>;

/// State while the working tree is brought to the landed state. All of it can be repeated after a crash.
struct TreeSettling<'a> {
    repository: &'a Repository,
    root: &'a Path,
    displaced: DisplacedFiles<'a>,
    placed: PlacedFiles<'a>,
    /// Staged files that may still be there.
    left: Vec<&'a str>,
    /// Folders whose names changed.
    folders: BTreeSet<PathBuf>,
}

impl<'a> TreeSettling<'a> {
    /// Removes the deleted files first, since a new file may need the place of a folder, and then moves the staged ones to
    /// their paths.
    ///
    /// # Errors
    /// When a file cannot be moved or removed.
    fn settle_files(&mut self, files: &'a [JournalFile]) -> Result<(), ExecError> {
        let mut removed = Vec::new();
        for entry in files.iter().filter(|entry| entry.file.new.is_none()) {
            if let Some(temp) = &entry.temp
                && self.remove_entry(entry, temp)?
            {
                removed.push(entry);
            }
        }
        // The renamed files lie in the folders that are to be removed next.
        self.displaced.remove_waiting()?;
        for entry in removed {
            self.folders
                .insert(prune_folders(self.root, entry.file.path.as_str()));
        }
        for entry in files {
            if let (Some(_), Some(temp)) = (&entry.file.new, &entry.temp) {
                self.put_file(entry, temp)?;
            }
        }
        Ok(())
    }

    /// Returns whether the path still equals the base, so that the step is to be done. Notes a path with somebody's work.
    ///
    /// # Errors
    /// When the path cannot be read.
    fn is_open(&mut self, entry: &'a JournalFile) -> Result<bool, ExecError> {
        let path = entry.file.path.as_str();
        let place = self.root.join(path);
        // The stamp is taken before the content is read, so that a write in between shows as a difference later.
        let found = look_at(&place)?;
        Ok(match read_state(self.repository, &place, entry)? {
            OnDisk::Old => true,
            OnDisk::New => {
                if let Some(found) = found {
                    self.placed.insert(path, FileStamp::from_metadata(&found));
                }
                self.note_folders(entry)?;
                false
            }
            OnDisk::Other => {
                self.displaced.keep_path(path);
                false
            }
        })
    }

    /// Notes the folders above a file to be synced. The process that moved the file there may have ended before the names
    /// were durable.
    ///
    /// # Errors
    /// When a folder cannot be looked at.
    fn note_folders(&mut self, entry: &JournalFile) -> Result<(), ExecError> {
        self.folders.insert(self.root.to_owned());
        for above in ancestor_folders(entry.file.path.as_str()) {
            let folder = self.root.join(above);
            if !look_at(&folder)?.is_some_and(|found| found.is_dir()) {
                break;
            }
            self.folders.insert(folder);
        }
        Ok(())
    }

    /// Removes a file of the working tree. Returns false if it was left alone.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove_entry(&mut self, entry: &'a JournalFile, temp: &str) -> Result<bool, ExecError> {
        let place = safe_path(self.root, entry.file.path.as_str())?;
        if !self.is_open(entry)? {
            return Ok(false);
        }
        self.repository.reach("file to be removed");
        let temp = safe_path(self.root, temp)?;
        self.displaced.remove_file(entry, temp, place)?;
        Ok(true)
    }

    /// Moves a staged file to its path.
    ///
    /// # Errors
    /// When it cannot be moved.
    fn put_file(&mut self, entry: &'a JournalFile, name: &'a str) -> Result<(), ExecError> {
        let path = entry.file.path.as_str();
        if !self.is_open(entry)? {
            self.left.push(name);
            return Ok(());
        }
        let temp = safe_path(self.root, name)?;
        let staged = look_at(&temp)?;
        let place = make_room(self.root, path, &mut self.folders)?;
        self.repository.reach("room made");
        self.folders.extend(place.parent().map(Path::to_owned));
        self.folders.extend(temp.parent().map(Path::to_owned));
        if entry.file.old.is_some() {
            self.displaced.replace_file(entry, temp, place)?;
        } else {
            match move_to_free_name(self.repository, &temp, &place) {
                // Another program created the file in this moment. Unless it has the same content, it is that program's.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if self.is_open(entry)? {
                        self.displaced.keep_path(path);
                    }
                    self.left.push(name);
                    return Ok(());
                }
                moved => moved.map_err(ExecError::write("make", &place))?,
            }
        }
        if let Some(staged) = staged {
            self.placed.insert(path, FileStamp::from_metadata(&staged));
        }
        self.repository.reach("file in place");
        Ok(())
    }
}

/// Removes the staged files that exist.
///
/// # Errors
/// When one of them cannot be removed.
pub(crate) fn discard_staged(root: &Path, files: &[JournalFile]) -> Result<(), ExecError> {
    let mut temps = files.iter().filter_map(|file| file.temp.as_deref());
    temps.try_for_each(|temp| discard_one(root, temp))
}

fn discard_one(root: &Path, temp: &str) -> Result<(), ExecError> {
    // If a folder above is a link by now, the file behind it is not the one that was staged.
    let Ok(temp) = safe_path(root, temp) else {
        return Ok(());
    };
    remove_temp(&temp)
}

/// Returns the full path, after a look at every folder above it.
///
/// # Errors
/// [`ExecError::SymlinkTraversal`] if one of them is a link.
pub(crate) fn safe_path(root: &Path, path: &str) -> Result<PathBuf, ExecError> {
    for above in ancestor_folders(path) {
        if look_at(&root.join(above))?.is_some_and(|found| found.is_symlink()) {
            return Err(ExecError::SymlinkTraversal(path.to_owned()));
        }
    }
    Ok(root.join(path))
}

/// Creates the folders above a path, and removes an empty folder in its place.
///
/// # Errors
/// When a link or a file is in the way, or a folder cannot be created or removed.
fn make_room(root: &Path, path: &str, folders: &mut BTreeSet<PathBuf>) -> Result<PathBuf, ExecError> {
    for above in ancestor_folders(path) {
        let folder = root.join(above);
        match look_at(&folder)? {
            Some(found) if found.is_dir() => {}
            Some(found) if found.is_symlink() => return Err(ExecError::SymlinkTraversal(path.to_owned())),
            Some(_) => return Err(ExecError::DirtyOverlap(vec![above.to_owned().into()])),
            None => {
                fs::create_dir(&folder).map_err(ExecError::write("make", &folder))?;
                folders.extend(folder.parent().map(Path::to_owned));
            }
        }
    }
    let place = root.join(path);
    if look_at(&place)?.is_some_and(|found| found.is_dir()) {
        remove_empty(&place).map_err(ExecError::write("remove", &place))?;
    }
    Ok(place)
}

/// Removes a folder that contains nothing but folders.
///
/// # Errors
/// When it contains a file, or cannot be removed.
fn remove_empty(folder: &Path) -> io::Result<()> {
    let mut order = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(folder) = order.get(at).cloned() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                order.push(entry.path());
            }
        }
        at += 1;
    }
    order.iter().rev().try_for_each(fs::remove_dir)
}

/// Removes the folders above a deleted file that are empty now, and returns the innermost one that stays.
fn prune_folders(root: &Path, path: &str) -> PathBuf {
    let above: Vec<&str> = ancestor_folders(path).collect();
    for folder in above.iter().rev() {
        let folder = root.join(folder);
        // A folder that is not empty stays; so does one that cannot be removed, which loses nothing.
        if fs::remove_dir(&folder).is_err() && folder.is_dir() {
            return folder;
        }
    }
    root.to_owned()
}

fn write_new(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    if mode == FileMode::Symlink {
        return make_link(path, bytes);
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // The system removes the bits of the user's umask, as it does for git.
        options.mode(match mode {
            FileMode::Regular | FileMode::Symlink => 0o666,
            FileMode::Executable => 0o777,
        });
    }
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path)?;
    file.write_all(bytes)
}

/// Makes a link. Like `create_new` the call fails if the name is taken (symlink(2)).
#[cfg(unix)]
fn make_link(path: &Path, target: &[u8]) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target), path)
}

/// Refuses to make a link. On Windows the caller needs a right that most users lack, and must know whether the link leads to a
/// folder.
#[cfg(not(unix))]
fn make_link(_path: &Path, _target: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
