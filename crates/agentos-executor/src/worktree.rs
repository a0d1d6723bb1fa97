//! Writing the work tree: each file under a temporary name first, then renamed to its place.
//!
//! Owns: files, folders and modes of the work tree. Never: follows a link, or writes into a file that is there: a
//! rename replaces the name, so content that another name shares stays as it is. Every part of a path is looked at
//! right before it is used; a link that another program plants in between is a race that cannot be closed with
//! path names alone, and that program could have written the same file itself.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_diff::FileMode;

use crate::disk::Replaced;
use crate::index;
use crate::index_lock::{HeldIndex, no_links};
use crate::journal::JournalFile;
use crate::preflight::{Content, ancestors, is_base_content, is_checked_out, link_is, look_at, mode_fits};
use crate::splice::oid;
use crate::{ExecError, FileId, Repository};

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
/// its own step, since the steps before it take their time. All of it, and `also`, is on the disk before the index is
/// replaced.
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
        kept: Vec::new(),
        left: Vec::new(),
        folders: BTreeSet::new(),
        replaced: Replaced::default(),
    };
    settling.settle(files)?;
    let left = std::mem::take(&mut settling.left);
    left.iter().try_for_each(|temp| discard_one(root, temp))?;
    let Settling {
        kept,
        folders,
        mut replaced,
        ..
    } = settling;
    let files: Vec<_> = files.iter().map(|entry| entry.file.clone()).collect();
    let mut unsynced = also;
    // A folder that was emptied and removed after it was noted is not there; the folder above it was noted then.
    unsynced.extend(folders.into_iter().filter_map(agentos_durable::folder));
    index::update(repository, held, root, &files, &kept, unsynced, &mut replaced)?;
    Ok(Settled {
        kept,
        unsynced: Vec::from_iter(agentos_durable::folder(repository.git.path().to_owned())),
        replaced,
    })
}

/// The paths that hold something else than the change made of them.
pub(crate) fn others(
    repository: &Repository,
    root: &Path,
    files: &[JournalFile],
) -> Result<Vec<String>, ExecError> {
    let mut others = Vec::new();
    for entry in files {
        match state_of(repository, root, entry)? {
            OnDisk::Old | OnDisk::Other => others.push(entry.file.path.as_str().to_owned()),
            OnDisk::New => {}
        }
    }
    Ok(others)
}

/// What a path holds.
enum OnDisk {
    New,
    Old,
    Other,
}

/// Where modes are not trusted, a change of mode alone is still to be made: only then a mode that does not fit counts
/// as before.
fn state_of(repository: &Repository, root: &Path, entry: &JournalFile) -> Result<OnDisk, ExecError> {
    let JournalFile { file, ends, .. } = entry;
    let path = file.path.as_str();
    let exactly = |found: &Metadata, mode| {
        is_executable(found).is_none_or(|executable| executable == (mode == FileMode::Executable))
    };
    let nearly = |found: &Metadata, mode| mode_fits(repository, found, mode);
    let place = root.join(path);
    let content = Content::of(&place);
    let is_new = |id: &str| is_checked_out(repository, &content, id, ends.after);
    let is_old = |id: &str| is_base_content(repository, &content, id, ends.before);
    if holds(&place, file.new.as_ref(), &exactly, &is_new)? {
        return Ok(OnDisk::New);
    }
    if holds(&place, file.old.as_ref(), &nearly, &is_old)? {
        return Ok(OnDisk::Old);
    }
    Ok(if holds(&place, file.new.as_ref(), &nearly, &is_new)? {
        OnDisk::New
    } else {
        OnDisk::Other
    })
}

/// Does the path hold exactly this file, or no file?
fn holds(
    place: &Path,
    id: Option<&FileId>,
    mode_fits: &dyn Fn(&Metadata, FileMode) -> bool,
    content_fits: &dyn Fn(&str) -> Result<bool, ExecError>,
) -> Result<bool, ExecError> {
    match (look_at(place)?, id) {
        (None, None) => Ok(true),
        // A folder is no file: one that came instead, or one that must still make room.
        (Some(found), None) => Ok(found.is_dir()),
        (Some(_), Some(id)) if id.mode == FileMode::Symlink => link_is(place, &id.oid),
        (Some(found), Some(id)) if found.is_file() => {
            Ok(mode_fits(&found, id.mode) && content_fits(&id.oid)?)
        }
        (None | Some(_), Some(_)) => Ok(false),
    }
}

/// The owner's executable bit, where the system has one.
#[cfg(unix)]
pub(crate) fn is_executable(found: &Metadata) -> Option<bool> {
    use std::os::unix::fs::PermissionsExt;
    Some(found.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_executable(_found: &Metadata) -> Option<bool> {
    None
}

/// The work tree on its way to the landed state. Can be repeated after a crash.
struct Settling<'a> {
    repository: &'a Repository,
    root: &'a Path,
    /// Paths that hold somebody's later work.
    kept: Vec<String>,
    /// Staged files that may still be there.
    left: Vec<&'a str>,
    /// Folders whose names changed.
    folders: BTreeSet<PathBuf>,
    replaced: Replaced,
}

impl<'a> Settling<'a> {
    /// Removes the deleted files, which makes room, and brings the staged ones to their places.
    fn settle(&mut self, files: &'a [JournalFile]) -> Result<(), ExecError> {
        for entry in files.iter().filter(|entry| entry.file.new.is_none()) {
            self.left.extend(entry.temp.as_deref());
            self.remove(entry)?;
        }
        for entry in files {
            if let (Some(_), Some(temp)) = (&entry.file.new, &entry.temp) {
                self.put(entry, temp)?;
            }
        }
        Ok(())
    }

    /// Is the path as the base has it? Somebody's later work is noted.
    fn is_open(&mut self, entry: &JournalFile) -> Result<bool, ExecError> {
        Ok(match state_of(self.repository, self.root, entry)? {
            OnDisk::Old => true,
            OnDisk::New => {
                self.note_folders(entry)?;
                false
            }
            OnDisk::Other => {
                self.kept.push(entry.file.path.as_str().to_owned());
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

    fn remove(&mut self, entry: &JournalFile) -> Result<(), ExecError> {
        let path = entry.file.path.as_str();
        let place = safe(self.root, path)?;
        if self.is_open(entry)? {
            fs::remove_file(&place).map_err(ExecError::write("remove", &place))?;
            self.repository.reach("file removed");
            self.folders.insert(prune(self.root, path));
        }
        Ok(())
    }

    fn put(&mut self, entry: &JournalFile, name: &'a str) -> Result<(), ExecError> {
        let file = &entry.file;
        if !self.is_open(entry)? {
            self.left.push(name);
            return Ok(());
        }
        let temp = safe(self.root, name)?;
        let place = make_room(self.root, file.path.as_str(), &mut self.folders)?;
        self.repository.reach("room made");
        if file.old.is_some() {
            self.replaced.keep(&place);
            fs::rename(&temp, &place).map_err(ExecError::write("replace", &place))?;
        } else {
            match self.put_new(&temp, &place) {
                // It came in this moment; unless it happens to be the same, it is theirs.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.is_open(entry)?;
                    self.left.push(name);
                    return Ok(());
                }
                put => put.map_err(ExecError::write("make", &place))?,
            }
        }
        self.repository.reach("file in place");
        self.folders.extend(place.parent().map(Path::to_owned));
        self.folders.extend(temp.parent().map(Path::to_owned));
        Ok(())
    }

    /// Gives a staged file its name if nothing has that name: a rename would replace it.
    fn put_new(&self, temp: &Path, place: &Path) -> io::Result<()> {
        match fs::hard_link(temp, place) {
            Ok(()) => {
                self.repository.reach("file named twice");
                fs::remove_file(temp)
            }
            // Without second names a moment stays between the look and the rename.
            Err(error) if no_links(&error) => match fs::symlink_metadata(place) {
                Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => fs::rename(temp, place),
            },
            Err(error) => Err(error),
        }
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
    match fs::remove_file(&temp) {
        Ok(()) => Ok(()),
        // Nor is it there when the folder it was in became a file.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(())
        }
        Err(source) => Err(ExecError::Write {
            action: "remove",
            path: temp,
            source,
        }),
    }
}

/// The full path, after every folder above it was seen to be no link.
fn safe(root: &Path, path: &str) -> Result<PathBuf, ExecError> {
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
