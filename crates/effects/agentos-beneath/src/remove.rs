//! Removes a tree.
//!
//! Owns: the order in which entries are removed, and when to give up. Never: follows a link, leaves the mount, recurses,
//! or changes the mode of anything but a folder of the tree.
//!
//! `std::fs::remove_dir_all` holds one stack frame and one descriptor for each level, so that a tool which nests folders
//! 24,000 deep either overflows the stack or makes removal impossible. Here at most [`OPEN_LEVELS`] folders are open. A
//! folder that lies deeper is renamed into the top folder, which takes one call regardless of what it contains, and is
//! removed from there. Trees that people make are never that deep, and take as many calls as with the standard library.
//!
//! A folder is removed in three steps: list it and unlink everything that is no folder; remove the folders in it; remove
//! it. If the last step finds it not empty, something was added or replaced meanwhile, and the folder above is listed
//! again, at most [`PASSES`] times.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;

#[cfg(target_os = "linux")]
use rustix::fd::AsRawFd;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, fchmod, fstat, renameat, statat, unlinkat};
#[cfg(target_os = "linux")]
use rustix::fs::{OFlags, openat};
use rustix::io::Errno;

use crate::TreeError;
use crate::resolve::{folder_flags, open_one};

/// Maximum number of folders that are open at one time.
const OPEN_LEVELS: usize = 32;
/// Maximum number of additional passes over one folder.
const PASSES: u32 = 32;
/// Maximum number of additional passes of a whole removal.
const ALL_PASSES: u32 = 4096;
/// Maximum number of entries of a whole removal. A file system of usual size has fewer inodes.
const MAX_ENTRIES: u64 = 1 << 25;
/// Maximum number of folder names kept from one listing. A folder with more is listed again.
const MAX_KEPT_NAMES: usize = 1 << 14;
/// Maximum number of names that are tried for a folder that is moved to the top.
const NAMES_TRIED: u64 = 1000;

/// Removes an entry of a folder and everything beneath it. A missing entry is no error.
///
/// # Errors
/// When something cannot be removed: everything else is removed, and the first failure is returned.
pub(crate) fn remove_tree(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), TreeError> {
    let failed = || TreeError::io("remove", name);
    // Another process may replace the entry between any two calls; each replacement costs one pass.
    for _ in 0..PASSES {
        match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(failed()(error)),
            Ok(found) if !is_folder(found.st_mode) => match unlinkat(parent, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => return Ok(()),
                // It became a folder.
                Err(Errno::ISDIR) => continue,
                Err(error) => return Err(failed()(error)),
            },
            Ok(_) => {}
        }
        let top = match open_forced(parent, name) {
            Ok(top) => top,
            Err(Errno::NOENT) => return Ok(()),
            // It became a link.
            Err(Errno::NOTDIR | Errno::LOOP) => continue,
            Err(error) => return Err(failed()(error)),
        };
        TreeRemoval::open(top, name)?.run()?;
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(error) => return Err(failed()(error)),
        }
    }
    Err(TreeError::StillWritten)
}

/// Folder between the top and the current one, both included.
struct FolderLevel {
    /// Name in the folder above.
    name: CString,
    /// Entries of the folder; owns its descriptor.
    entries: Dir,
    /// Folders in it that are not removed yet.
    folders: Vec<CString>,
    /// True if it has to be listed again because something in it was replaced or added.
    is_changed: bool,
    /// True if it has to be listed again because it has more folders than [`MAX_KEPT_NAMES`].
    is_cut: bool,
    /// True if something in it cannot be removed, so that the folder stays.
    is_stuck: bool,
    /// Number of additional passes so far.
    passes: u32,
}

impl FolderLevel {
    fn new(name: CString, folder: OwnedFd) -> Result<Self, Errno> {
        Ok(Self {
            name,
            entries: Dir::new(folder)?,
            folders: Vec::new(),
            is_changed: false,
            is_cut: false,
            is_stuck: false,
            passes: 0,
        })
    }
}

/// Removal of one tree. It empties the top folder, and the caller removes that folder.
struct TreeRemoval {
    /// Top folder of the tree.
    top: FolderLevel,
    /// Open folders below the top, down to the current one.
    below: Vec<FolderLevel>,
    /// Number of entries seen so far.
    entries: u64,
    /// Number of additional passes so far, over all folders.
    passes: u32,
    /// Number of names tried for folders that are moved to the top.
    moved: u64,
    /// First failure. `None` if there was none so far.
    first_error: Option<TreeError>,
}

impl TreeRemoval {
    fn open(folder: OwnedFd, name: &OsStr) -> Result<Self, TreeError> {
        let shown = CString::new(name.as_bytes()).unwrap_or_default();
        Ok(Self {
            top: FolderLevel::new(shown, folder).map_err(TreeError::io("list", name))?,
            below: Vec::new(),
            entries: 0,
            passes: 0,
            moved: 0,
            first_error: None,
        })
    }

    /// Empties the top folder.
    ///
    /// # Errors
    /// The first failure, after everything else was removed.
    fn run(mut self) -> Result<(), TreeError> {
        self.unlink_files()?;
        loop {
            let level = self.below.last_mut().unwrap_or(&mut self.top);
            if let Some(folder) = level.folders.pop() {
                self.descend(folder)?;
            } else if level.is_cut && !level.is_stuck {
                // Not counted as a pass: the folders of the last listing are gone, so this makes progress.
                self.unlink_files()?;
            } else if level.is_changed && !level.is_stuck {
                level.passes += 1;
                self.passes += 1;
                if level.passes > PASSES || self.passes > ALL_PASSES {
                    level.is_stuck = true;
                    self.first_error.get_or_insert(TreeError::StillWritten);
                } else {
                    self.unlink_files()?;
                }
            } else if !self.ascend() {
                return self.first_error.map_or(Ok(()), Err);
            }
        }
    }

    /// Unlinks everything in the current folder that is no folder, and keeps the names of its folders.
    fn unlink_files(&mut self) -> Result<(), TreeError> {
        let level = self.below.last_mut().unwrap_or(&mut self.top);
        level.entries.rewind();
        (level.is_changed, level.is_cut) = (false, false);
        while let Some(entry) = level.entries.read() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    level.is_stuck = true;
                    self.first_error
                        .get_or_insert_with(|| entry_error("list", &level.name)(error));
                    break;
                }
            };
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(TreeError::TooMany(MAX_ENTRIES));
            }
            if level.folders.len() >= MAX_KEPT_NAMES {
                level.is_cut = true;
                break;
            }
            let removed = level.entries.fd().and_then(|folder| {
                // Some file systems do not report the type in a listing; then `unlink` finds out.
                let is_known_folder = entry.file_type() == FileType::Directory;
                if is_known_folder {
                    Err(Errno::ISDIR)
                } else {
                    unlink(folder, name)
                }
            });
            match removed {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR) => level.folders.push(name.to_owned()),
                Err(error) => {
                    level.is_stuck = true;
                    self.first_error
                        .get_or_insert_with(|| entry_error("remove", name)(error));
                }
            }
        }
        Ok(())
    }

    /// Opens a folder of the current one and makes it the current one, or moves it to the top if it lies too deep.
    fn descend(&mut self, name: CString) -> Result<(), TreeError> {
        let is_deep = self.below.len() + 1 >= OPEN_LEVELS;
        let level = self.below.last_mut().unwrap_or(&mut self.top);
        let opened = level
            .entries
            .fd()
            .and_then(|folder| open_forced(folder, OsStr::from_bytes(name.as_bytes())));
        let folder = match opened {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(()),
            // It was replaced by a file or a link since it was listed, so the current folder is listed again.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                level.is_changed = true;
                return Ok(());
            }
            Err(error) => {
                level.is_stuck = true;
                self.first_error
                    .get_or_insert_with(|| entry_error("open the folder", &name)(error));
                return Ok(());
            }
        };
        if is_deep {
            return self.move_up(&name);
        }
        let level = FolderLevel::new(name, folder).map_err(TreeError::io("list", OsStr::new(".")))?;
        self.below.push(level);
        self.unlink_files()
    }

    /// Renames a folder of the current one into the top folder. Renaming a folder needs write permission on it, since its
    /// `..` changes (rename(2)); [`open_forced`] has set that permission.
    fn move_up(&mut self, name: &CStr) -> Result<(), TreeError> {
        let Some(level) = self.below.last_mut() else {
            return Ok(());
        };
        let mut last = Errno::EXIST;
        for _ in 0..NAMES_TRIED {
            self.moved += 1;
            let fresh = CString::new(format!(".removed-{}", self.moved)).unwrap_or_default();
            let (from, to) = (level.entries.fd(), self.top.entries.fd());
            let moved = from.and_then(|from| to.and_then(|to| renameat(from, name, to, &fresh)));
            match moved {
                Ok(()) => {
                    self.top.folders.push(fresh);
                    return Ok(());
                }
                Err(Errno::NOENT) => return Ok(()),
                Err(error @ (Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR)) => last = error,
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
        level.is_stuck = true;
        self.first_error
            .get_or_insert_with(|| entry_error("move up", name)(last));
        Ok(())
    }

    /// Leaves the current folder, which has been emptied, and removes it. Returns false if it is the top.
    fn ascend(&mut self) -> bool {
        let Some(done) = self.below.pop() else {
            return false;
        };
        let above = self.below.last_mut().unwrap_or(&mut self.top);
        if done.is_stuck {
            above.is_stuck = true;
            return true;
        }
        let folder = above.entries.fd();
        match folder.and_then(|folder| unlinkat(folder, &done.name, AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Something was added to it, or it was replaced by a file.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => above.is_changed = true,
            Err(error) => {
                above.is_stuck = true;
                self.first_error
                    .get_or_insert_with(|| entry_error("remove", &done.name)(error));
            }
        }
        true
    }
}

/// Unlinks an entry.
///
/// # Errors
/// `ISDIR` if it is a folder, for which some systems answer EPERM (unlink(2), POSIX); other errors as the system reports
/// them.
fn unlink(folder: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::PERM) if is_folder(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode) => {
            Err(Errno::ISDIR)
        }
        done => done,
    }
}

/// Opens a folder and gives its owner all permissions on it, even if nobody may enter it. Tools leave such folders, and
/// the work folder of overlayfs is one.
fn open_forced(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    match open_one(parent, name, folder_flags()) {
        Ok(folder) => {
            if !Mode::from_raw_mode(fstat(&folder)?.st_mode).contains(Mode::RWXU) {
                // This fails for a folder of another user. Then the removal of its entries fails, with their names.
                let _ = fchmod(&folder, Mode::RWXU);
            }
            Ok(folder)
        }
        Err(Errno::ACCESS) => open_closed(parent, name),
        Err(error) => Err(error),
    }
}

/// Opens a folder whose permission bits do not let us read it. An `O_PATH` descriptor needs no permission on the folder
/// (open(2)), and `/proc/self/fd` leads from it to the folder itself, not to a name that could be replaced (proc(5)).
#[cfg(target_os = "linux")]
fn open_closed(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = open_one(parent, name, flags)?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)?;
    openat(&folder, ".", folder_flags(), Mode::empty())
}

/// Opens a folder whose permission bits do not let us read it. On these systems `fchmodat` has a flag to not follow links.
#[cfg(not(target_os = "linux"))]
fn open_closed(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)?;
    open_one(parent, name, folder_flags())
}

fn is_folder(mode: rustix::fs::RawMode) -> bool {
    FileType::from_raw_mode(mode) == FileType::Directory
}

fn entry_error(action: &'static str, name: &CStr) -> impl FnOnce(Errno) -> TreeError {
    TreeError::io(action, OsStr::from_bytes(name.to_bytes()))
}
