//! Writing the work tree: each file under a temporary name first, then brought to its place.
//!
//! Owns: files, folders and modes of the work tree. Never: follows a link, writes into a file that is there, so that
//! content that another name shares stays as it is, or replaces a file unseen (`displaced` does it). Every part of a path
//! is looked at right before it is used; a link that another program plants in between is a race that cannot be closed
//! with path names alone, and that program could have written the same file itself.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_landing::FileMode;

use crate::disk::Replaced;
use crate::displaced::{DisplacedFiles, remove};
use crate::exchange::move_to_free_name;
use crate::file_state::{FileStamp, OnDisk, read_state};
use crate::index;
use crate::index_lock::HeldIndex;
use crate::journal::JournalFile;
use crate::preflight::{ancestors, look_at};
use crate::splice::oid;
use crate::{ExecError, Repository};

/// Names where the new content of each file will wait: in the innermost folder that is already there. For a deleted
/// file it is the name by which its folder is tried.
pub(crate) fn plan_temps(root: &Path, run: &str, files: &mut [JournalFile]) -> Result<(), ExecError> {
    let run: String = run
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    for (number, file) in files.iter_mut().enumerate() {
        let mut folder = "";
        for above in ancestors(file.file.path.as_str()) {
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

/// Writes the new content of each file, as `contents` has it in their order, under its temporary name; gives what is to be
/// synced. A folder that a file is to be deleted from is tried: one that cannot be written is found before the branch
/// moves.
pub(crate) fn stage<'a>(
    repository: &Repository,
    root: &Path,
    files: &[JournalFile],
    contents: impl Iterator<Item = Result<Option<Cow<'a, [u8]>>, ExecError>>,
) -> Result<Vec<PathBuf>, ExecError> {
    let mut written = Vec::new();
    let mut tried = BTreeSet::new();
    for (JournalFile { file, temp, ends }, content) in files.iter().zip(contents) {
        let Some(temp) = temp else {
            continue;
        };
        let content = content?;
        let Some(new) = &file.new else {
            let temp = safe(root, temp)?;
            if tried.insert(temp.parent().map(Path::to_owned)) {
                let folder = temp.parent().unwrap_or(root);
                let made = write_new(&temp, &[], FileMode::Regular);
                repository.reach("folder tried");
                let made = made.and_then(|()| fs::remove_file(&temp));
                made.map_err(ExecError::write("delete files in", folder))?;
            }
            continue;
        };
        let temp = safe(root, temp)?;
        let content = content.ok_or_else(|| ExecError::BaseDiffers(file.path.as_str().to_owned()))?;
        let bytes = ends.after.to_work_tree(&content);
        write_new(&temp, &bytes, new.mode).map_err(ExecError::write("write", &temp))?;
        written.push(temp);
        repository.reach("file staged");
    }
    Ok(written)
}

/// The new content of files, from the object store.
pub(crate) fn stored<'a>(
    repository: &'a Repository,
    files: &'a [JournalFile],
) -> impl Iterator<Item = Result<Option<Cow<'a, [u8]>>, ExecError>> {
    files.iter().map(|entry| {
        let Some(new) = &entry.file.new else {
            return Ok(None);
        };
        let blob = repository.git.find_blob(oid(&new.oid)?);
        let blob = blob.map_err(ExecError::git("read a new file"))?;
        Ok(Some(Cow::Owned(blob.content().to_vec())))
    })
}

/// What is left to do once work tree and index hold the change.
pub(crate) struct Settled {
    /// Paths that hold somebody's later work.
    pub kept: Vec<String>,
    /// The folder that holds the index; its names are not on the disk yet.
    pub unsynced: Vec<PathBuf>,
    /// What was replaced, to be let go of beside that wait.
    pub replaced: Replaced,
}

/// Brings what is staged to its places, and the index up to it. A file that is no longer as the base has it, and not
/// yet as the change has it, holds somebody's later work: it is left alone and named. Each is looked at right before
/// its own step, since the steps before it take their time, and after it, under the name that its content has then. All
/// of it, and `also`, is on the disk before the index is replaced.
pub(crate) fn settle_unless_edited(
    repository: &Repository,
    held: &mut HeldIndex,
    root: &Path,
    files: &[JournalFile],
    also: Vec<PathBuf>,
) -> Result<Settled, ExecError> {
    let mut settling = Settling {
        repository,
        root,
        displaced: DisplacedFiles::new(repository),
        placed: Placed::default(),
        left: Vec::new(),
        folders: BTreeSet::new(),
    };
    let settled = settling.settle(files);
    // What came out is not left behind if a later file cannot be written.
    let finished = settling.displaced.finish();
    settled.and(finished)?;
    let left = std::mem::take(&mut settling.left);
    left.iter().try_for_each(|temp| discard_one(root, temp))?;
    let Settling {
        displaced,
        mut placed,
        folders,
        ..
    } = settling;
    let (kept, mut replaced) = (displaced.kept, displaced.replaced);
    for path in &kept {
        placed.remove(path.as_str());
    }
    let files: Vec<_> = files.iter().map(|entry| entry.file.clone()).collect();
    let mut unsynced = also;
    // A folder that was emptied and removed after it was noted is not there; the folder above it was noted then.
    unsynced.extend(folders.into_iter().filter_map(agentos_durable::folder));
    index::update(repository, held, root, &files, &placed, unsynced, &mut replaced)?;
    Ok(Settled {
        kept,
        unsynced: Vec::from_iter(agentos_durable::folder(repository.git.path().to_owned())),
        replaced,
    })
}

/// Files of a change that are in their places, with the stamp that each had then.
pub(crate) type Placed<'a> = HashMap<&'a str, FileStamp>;

/// The work tree on its way to the landed state. Can be repeated after a crash.
struct Settling<'a> {
    repository: &'a Repository,
    root: &'a Path,
    displaced: DisplacedFiles<'a>,
    placed: Placed<'a>,
    /// Staged files that may still be there.
    left: Vec<&'a str>,
    /// Folders whose names changed.
    folders: BTreeSet<PathBuf>,
}

impl<'a> Settling<'a> {
    /// Removes the deleted files, which makes room, and brings the staged ones to their places.
    fn settle(&mut self, files: &'a [JournalFile]) -> Result<(), ExecError> {
        let mut removed = Vec::new();
        for entry in files.iter().filter(|entry| entry.file.new.is_none()) {
            if let Some(temp) = &entry.temp
                && self.remove(entry, temp)?
            {
                removed.push(entry);
            }
        }
        // What was moved aside lies in the folders that are to go.
        self.displaced.finish()?;
        for entry in removed {
            self.folders.insert(prune(self.root, entry.file.path.as_str()));
        }
        for entry in files {
            if let (Some(_), Some(temp)) = (&entry.file.new, &entry.temp) {
                self.put(entry, temp)?;
            }
        }
        Ok(())
    }

    /// Returns whether the path is as the base has it. Somebody's later work is noted.
    fn is_open(&mut self, entry: &'a JournalFile) -> Result<bool, ExecError> {
        let path = entry.file.path.as_str();
        let place = self.root.join(path);
        // The stamp is taken before the content is read: what is written after that has another one.
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
                self.displaced.keep(path);
                false
            }
        })
    }

    /// Who brought a file to its place, or made room for it, may have died before the names were on the disk.
    fn note_folders(&mut self, entry: &JournalFile) -> Result<(), ExecError> {
        self.folders.insert(self.root.to_owned());
        for above in ancestors(entry.file.path.as_str()) {
            let folder = self.root.join(above);
            if !look_at(&folder)?.is_some_and(|found| found.is_dir()) {
                break;
            }
            self.folders.insert(folder);
        }
        Ok(())
    }

    /// Returns whether the file was taken away.
    fn remove(&mut self, entry: &'a JournalFile, temp: &str) -> Result<bool, ExecError> {
        let place = safe(self.root, entry.file.path.as_str())?;
        if !self.is_open(entry)? {
            return Ok(false);
        }
        self.repository.reach("file to be removed");
        let temp = safe(self.root, temp)?;
        self.displaced.remove(entry, temp, place)?;
        Ok(true)
    }

    fn put(&mut self, entry: &'a JournalFile, name: &'a str) -> Result<(), ExecError> {
        let path = entry.file.path.as_str();
        if !self.is_open(entry)? {
            self.left.push(name);
            return Ok(());
        }
        let temp = safe(self.root, name)?;
        let staged = look_at(&temp)?;
        let place = make_room(self.root, path, &mut self.folders)?;
        self.repository.reach("room made");
        self.folders.extend(place.parent().map(Path::to_owned));
        self.folders.extend(temp.parent().map(Path::to_owned));
        if entry.file.old.is_some() {
            self.displaced.replace(entry, temp, place)?;
        } else {
            match move_to_free_name(self.repository, &temp, &place) {
                // It came in this moment; unless it happens to be the same, it is theirs.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if self.is_open(entry)? {
                        self.displaced.keep(path);
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

/// Removes what was staged, as far as it is there.
pub(crate) fn discard(root: &Path, files: &[JournalFile]) -> Result<(), ExecError> {
    let mut temps = files.iter().filter_map(|file| file.temp.as_deref());
    temps.try_for_each(|temp| discard_one(root, temp))
}

fn discard_one(root: &Path, temp: &str) -> Result<(), ExecError> {
    let Ok(temp) = safe(root, temp) else {
        return Ok(());
    };
    remove(&temp)
}

/// The full path, after every folder above it was seen to be no link.
pub(crate) fn safe(root: &Path, path: &str) -> Result<PathBuf, ExecError> {
    for above in ancestors(path) {
        if look_at(&root.join(above))?.is_some_and(|found| found.is_symlink()) {
            return Err(ExecError::SymlinkTraversal(path.to_owned()));
        }
    }
    Ok(root.join(path))
}

/// Makes the folders above a path, and takes away an empty folder in its place.
fn make_room(root: &Path, path: &str, folders: &mut BTreeSet<PathBuf>) -> Result<PathBuf, ExecError> {
    for above in ancestors(path) {
        let folder = root.join(above);
        match look_at(&folder)? {
            Some(found) if found.is_dir() => {}
            Some(found) if found.is_symlink() => return Err(ExecError::SymlinkTraversal(path.to_owned())),
            Some(_) => return Err(ExecError::DirtyOverlap(vec![above.to_owned()])),
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

/// Removes a folder that holds nothing but folders.
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

/// Removes the folders above a deleted file that are empty now; gives the innermost that stays.
fn prune(root: &Path, path: &str) -> PathBuf {
    let above: Vec<&str> = ancestors(path).collect();
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
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // The user's umask takes its share, as it does for git.
        options.mode(match mode {
            FileMode::Regular => 0o666,
            FileMode::Executable => 0o777,
            // A change cannot make one.
            FileMode::Symlink => return Err(io::ErrorKind::InvalidInput.into()),
        });
    }
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path)?;
    file.write_all(bytes)
}
