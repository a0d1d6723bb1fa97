//! A copy of a commit's files for tools to work on, kept and shared between runs.
//!
//! Owns: the choice of a run's copy, its locks, and a git directory for a tool's own use. Never: shows a file that policy
//! withholds, writes into a copy that is in use, or reads the changes that a tool made there. `folder` explains where copies
//! lie and why they can be trusted; `fill` writes the files, `objects` the object store, `history` a tool's git directory.
//!
//! A copy is written completely only once. When the base moves on, a copy that nobody uses is changed into that of the new
//! base, which takes time only for the files that differ. A run on a base that was copied before lists no files and asks the
//! policy nothing.
//!
//! Only `files` and its content belongs to the tool's user: an overlay keeps the owner of the files that it shows, and the
//! tool overwrites its own files. Everything else belongs to us, in folders that no other user may enter.

mod fill;
mod folder;
mod history;
mod listing;
mod objects;
mod pack_file;
mod write;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_beneath::OpenFolder;
use git2::Oid;

use crate::mentions::is_odd;
use crate::preflight::ancestor_folders;
use crate::{ExecError, Repository, Target};

pub use folder::CopyFolder;

use history::FirstCommit;

/// Function that reads a file's content, called only if the content is needed.
pub type ContentReader<'a> = &'a dyn Fn() -> Vec<u8>;

/// Decision which files a tool may see.
pub struct ShownFiles<'a> {
    /// Name of the decision: under the same key, `may` returns the same for the same path and content.
    pub key: &'a str,
    /// Decides from a file's path and, if that is not enough, its content.
    pub may: &'a dyn Fn(&str, ContentReader<'_>) -> bool,
}

/// Extension of a copy's lock.
const LOCK: &str = "lock";
/// Extension of a copy that is being made.
const BUILDING: &str = "new";
/// File of a copy that lists the paths of the base that are not shown.
const WITHHELD: &str = "withheld";
/// File of a copy with the id of the tree of the shown files.
const ROOT: &str = "root";
/// Folder of a copy with the packs of the shown files.
const OBJECTS: &str = "objects";

/// Files of one commit in a folder that nobody writes to. The folder is not removed while this value exists.
pub struct BaseCopy {
    folder: PathBuf,
    first: FirstCommit,
    withheld: Vec<String>,
    rules: git2::Repository,
    owner: Option<u32>,
    /// Lock, shared with other users of the same copy.
    _lock: File,
}

impl std::fmt::Debug for BaseCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BaseCopy").field("folder", &self.folder).finish()
    }
}

impl Repository {
    /// Returns a copy of the files of the target's base that `shown` permits. It is made once for each tree, key and owner,
    /// and later calls find it. `owner` is the user to whom the files shall belong; `None` means our own user.
    ///
    /// # Errors
    /// When the base cannot be read, contains a name that must not be written, or the copy cannot be made.
    pub fn copy(
        &self,
        copies: &CopyFolder,
        target: &Target,
        owner: Option<u32>,
        shown: &ShownFiles<'_>,
    ) -> Result<BaseCopy, ExecError> {
        let shared_name = copies.name_copy(&target.base_tree, shown.key);
        let copies = copies.path();
        let folder = copies.join(format!("{shared_name}-{}", owner_name(owner)));
        let lock = loop {
            let lock = open_lock(&folder)?;
            if !is_folder(&folder) {
                lock.lock().map_err(ExecError::write("lock", &folder))?;
                if !is_current(&lock, &folder) {
                    continue;
                }
                // Another run may have made the copy while this one waited for the lock.
                if !is_folder(&folder) {
                    self.prepare_copy(&folder, &target.base_tree, owner, shown)?;
                }
                lock.unlock().map_err(ExecError::write("unlock", &folder))?;
            }
            lock.lock_shared().map_err(ExecError::write("lock", &folder))?;
            // Between the two locks, another run may have removed the copy as one that nobody uses. Then all begins again.
            if is_folder(&folder) && is_current(&lock, &folder) {
                break lock;
            }
        };
        // Only now, when our own lock keeps other runs from removing this copy in the same way.
        discard_others(copies, &shared_name);
        self.open_copy(folder, lock, target, owner)
    }

    fn open_copy(
        &self,
        folder: PathBuf,
        lock: File,
        target: &Target,
        owner: Option<u32>,
    ) -> Result<BaseCopy, ExecError> {
        // The mounts of `files` and `objects` would follow a link, and libgit2 one in the place of `rules`.
        for name in ["files", OBJECTS, "rules"] {
            let place = folder.join(name);
            let opened = OpenFolder::open_root(&place);
            opened.map_err(|error| ExecError::write("open", &place)(error.into()))?;
        }
        let failed = || ExecError::git("open the copy");
        let rules = git2::Repository::open(folder.join("rules")).map_err(failed())?;
        // For the question which paths are ignored, libgit2 needs the `.gitignore` files of the copy. `false` writes nothing.
        rules
            .set_workdir(&folder.join("files"), false)
            .map_err(failed())?;
        let read = |name: &str| {
            let place = folder.join(name);
            fs::read_to_string(&place).map_err(ExecError::write("read", &place))
        };
        let withheld = read(WITHHELD)?.lines().map(str::to_owned).collect();
        let root = Oid::from_str(&read(ROOT)?).map_err(failed())?;
        let base = Oid::from_str(&target.base_commit).and_then(|id| self.git.find_commit(id));
        let first = base.and_then(|base| FirstCommit::of_tree(root, &base, &self.git.odb()?));
        Ok(BaseCopy {
            first: first.map_err(ExecError::git("read the base"))?,
            withheld,
            folder,
            rules,
            owner,
            _lock: lock,
        })
    }
}

impl Repository {
    /// Returns whether git ignores a folder of the working tree now, by all of its rules: also `.git/info/exclude` and the user's
    /// own file of patterns, which no commit contains (gitignore(5)).
    #[must_use]
    pub fn excludes_folder(&self, path: &str) -> bool {
        // An error means that a file of patterns cannot be read. Then nothing is known to be ignored.
        self.git.is_path_ignored(format!("{path}/")).unwrap_or(false)
    }
}

impl BaseCopy {
    /// Returns the folder of the files.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// Lists the files of the base that are not shown.
    #[must_use]
    pub fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// Returns the folder with the objects of the shown files, and of no others. A tool with a git directory of
    /// [`BaseCopy::give_history`] must be able to read it.
    #[must_use]
    pub fn objects(&self) -> PathBuf {
        self.folder.join(OBJECTS)
    }

    /// Returns whether the base's `.gitignore` files ignore this path. A folder's name ends in `/`. If a `.gitignore` is a
    /// link, nothing is ignored: git does not follow it, and libgit2 would.
    #[must_use]
    pub fn is_ignored(&self, path: &str) -> bool {
        let folders = [""].into_iter().chain(ancestor_folders(path));
        // All folders above count, since git reads the `.gitignore` of each.
        for folder in folders {
            if is_odd(&self.files().join(folder).join(".gitignore")) {
                return false;
            }
        }
        self.rules.is_path_ignored(path).unwrap_or(false)
    }
}

/// Names the user that a copy's files belong to.
fn owner_name(owner: Option<u32>) -> String {
    owner.map_or_else(|| "own".to_owned(), |owner| owner.to_string())
}

/// Returns whether this is a folder and not a link.
fn is_folder(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|found| found.is_dir())
}

/// Opens the lock of a copy, a file next to it.
fn open_lock(folder: &Path) -> Result<File, ExecError> {
    let lock = lock_of(folder);
    let (above, name) = split_path(&lock);
    let opened = OpenFolder::open_root(above).and_then(|above| above.open_lock(name));
    opened.map_err(|error| ExecError::write("open", &lock)(error.into()))
}

fn lock_of(folder: &Path) -> PathBuf {
    folder.with_extension(LOCK)
}

/// Returns the path at which a copy is made before it gets its name.
fn building_of(folder: &Path) -> PathBuf {
    folder.with_extension(BUILDING)
}

/// Returns whether an open lock is still the lock of that copy. A run that removes a copy also removes its lock file, and
/// another run may have created a new one with the same name.
#[cfg(unix)]
fn is_current(lock: &File, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let named = |found: &fs::Metadata| (found.dev(), found.ino());
    let (held, there) = (lock.metadata(), fs::symlink_metadata(lock_of(folder)));
    matches!((held, there), (Ok(held), Ok(there)) if named(&held) == named(&there))
}

/// Returns true: on Windows a file that is open cannot be removed.
#[cfg(not(unix))]
fn is_current(_lock: &File, _folder: &Path) -> bool {
    true
}

/// Lists the copies that nobody uses, except those that `but` selects, with their locks held. Remains of removed or unfinished
/// copies are listed too.
fn list_idle(copies: &Path, but: &dyn Fn(&Path) -> bool) -> Vec<(PathBuf, File)> {
    let Ok(entries) = fs::read_dir(copies) else {
        return Vec::new();
    };
    let of_a_copy = |place: &PathBuf| {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let is_part = place.extension().is_none_or(|end| end == LOCK || end == BUILDING);
        name.starts_with("base-") && is_part
    };
    let places = entries.flatten().map(|entry| entry.path()).filter(of_a_copy);
    // A copy, its lock and an unfinished copy have one name with different extensions.
    let folders: BTreeSet<PathBuf> = places.map(|place| place.with_extension("")).collect();
    let free = |folder: PathBuf| {
        let lock = open_lock(&folder).ok()?;
        match lock.try_lock() {
            Ok(()) => is_current(&lock, &folder).then_some((folder, lock)),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
        }
    };
    let others = folders.into_iter().filter(|folder| !but(folder));
    others.filter_map(free).collect()
}

/// Removes copies that nobody uses, except those of the present base, which differ only in their owner. A copy that cannot be
/// removed now is tried again by the next run.
fn discard_others(copies: &Path, shared_name: &str) {
    let is_present = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(shared_name) && is_folder(folder)
    };
    for (folder, lock) in list_idle(copies, &is_present) {
        if remove(&folder).is_ok() && remove(&building_of(&folder)).is_ok() {
            release_lock(&folder, lock);
        }
    }
}

/// Removes the lock file of a removed copy and then releases the lock. A run that waited for it notices by [`is_current`].
fn release_lock(folder: &Path, _lock: File) {
    let _ = fs::remove_file(lock_of(folder));
}

/// Removes a folder and everything in it. A missing folder is no error.
///
/// # Errors
/// When something cannot be removed.
fn remove(folder: &Path) -> Result<(), ExecError> {
    let (above, name) = split_path(folder);
    match OpenFolder::open_root(above).and_then(|above| above.remove_tree(name)) {
        Err(error) if !error.is_missing() => Err(ExecError::write("remove", folder)(error.into())),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Splits a path into the folder and the name in it.
fn split_path(place: &Path) -> (&Path, &OsStr) {
    let above = place.parent().unwrap_or(Path::new("."));
    (above, place.file_name().unwrap_or_default())
}

/// Creates a folder that only we may enter.
///
/// # Errors
/// When it cannot be created.
fn make_private(folder: &Path) -> Result<(), ExecError> {
    fs::create_dir(folder).map_err(ExecError::write("make", folder))?;
    set_mode(folder, 0o700)
}

/// Creates a folder of ours that others may read, if the folders above let them reach it.
///
/// # Errors
/// When it cannot be created.
fn make_readable(folder: &Path) -> Result<(), ExecError> {
    fs::create_dir(folder).map_err(ExecError::write("make", folder))?;
    set_mode(folder, 0o755)
}

/// Sets the mode of a folder that was just created, since the umask may have removed some bits.
///
/// # Errors
/// When the system refuses.
fn set_mode(folder: &Path, mode: u32) -> Result<(), ExecError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let opened = File::open(folder);
        opened
            .and_then(|opened| opened.set_permissions(fs::Permissions::from_mode(mode)))
            .map_err(ExecError::write("set the mode of", folder))?;
    }
    #[cfg(not(unix))]
    let _ = (folder, mode);
    Ok(())
}

/// Writes a new file of ours.
///
/// # Errors
/// When the name is taken, also by a link, or the file cannot be written.
fn write_new(place: &Path, bytes: &[u8]) -> Result<(), ExecError> {
    write_new_for(place, bytes, None)
}

/// Writes a new file that belongs to `owner`.
///
/// # Errors
/// When the name is taken, also by a link, or the file cannot be written.
fn write_new_for(place: &Path, bytes: &[u8], owner: Option<u32>) -> Result<(), ExecError> {
    let file = OpenOptions::new().write(true).create_new(true).open(place);
    file.and_then(|mut file| {
        file.write_all(bytes)?;
        change_open_owner(&file, owner)
    })
    .map_err(ExecError::write("write", place))
}

/// Changes the owner of an open file to the tool's user. Does nothing for `None`.
///
/// # Errors
/// When the system refuses.
fn change_open_owner(file: &File, owner: Option<u32>) -> io::Result<()> {
    #[cfg(unix)]
    if owner.is_some() {
        std::os::unix::fs::fchown(file, owner, owner)?;
    }
    #[cfg(not(unix))]
    let _ = (file, owner);
    Ok(())
}

/// Changes the owner of a file, a folder or a link itself to the tool's user. Does nothing for `None`.
///
/// # Errors
/// When the system refuses.
fn change_owner(place: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    #[cfg(unix)]
    if owner.is_some() {
        std::os::unix::fs::lchown(place, owner, owner).map_err(ExecError::write("give away", place))?;
    }
    #[cfg(not(unix))]
    let _ = (place, owner);
    Ok(())
}
