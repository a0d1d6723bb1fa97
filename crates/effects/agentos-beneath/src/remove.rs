//! Removing a tree.
//!
//! Owns: the order in which entries go, and when to give up. Never: follows a link, leaves the mount, recurses, or
//! changes the mode of anything but a folder of the tree.
//!
//! `std::fs::remove_dir_all` holds one stack frame and one descriptor for each level, so that a tool which nests folders
//! 24,000 deep either overflows the stack or makes removal impossible. Here at most [`OPEN_LEVELS`] folders are open. One
//! that lies deeper is renamed up into the top folder, which costs one call whatever hangs below it, and is removed from
//! there. Trees as people make them are never that deep, and cost what the standard library's removal costs.
//!
//! A folder goes in three steps: list it and unlink what is no folder; remove the folders in it; remove it. If the last
//! step finds it not empty, something was added or put in its place meanwhile, and the folder above is listed once more,
//! [`PASSES`] times at most.

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

/// Folders that are open at one time.
const OPEN_LEVELS: usize = 32;
/// Additional passes over one folder.
const PASSES: u32 = 32;
/// Additional passes of a whole removal.
const ALL_PASSES: u32 = 4096;
/// Entries of a whole removal. A file system of usual size has fewer inodes.
const MAX_ENTRIES: u64 = 1 << 25;
/// Names of folders that are remembered of one listing; the folder is listed once more if it has more.
const REMEMBERED: usize = 1 << 14;
/// Names that are tried for a folder on its way up.
const NAMES_TRIED: u64 = 1000;

/// Removes an entry of a folder and everything beneath it. One that is missing is no failure.
///
/// # Errors
/// The first failure; the rest is removed all the same.
pub(crate) fn remove_tree(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), TreeError> {
    let failed = || TreeError::io("remove", name);
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
        Removal::begin(top, name)?.run()?;
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(error) => return Err(failed()(error)),
        }
    }
    Err(TreeError::StillWritten)
}

/// One folder on the way down.
struct Level {
    /// Its name in the folder above.
    name: CString,
    /// Its entries; holds its descriptor.
    entries: Dir,
    /// Folders in it that are not removed yet.
    folders: Vec<CString>,
    /// It has to be listed once more: something in it was replaced or added.
    is_changed: bool,
    /// It has to be listed once more: it has more folders than are remembered.
    is_cut: bool,
    /// Something in it cannot be removed, and so it stays.
    is_stuck: bool,
    passes: u32,
}

impl Level {
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

/// One tree that is being removed. Its top folder is emptied, and stays.
struct Removal {
    /// From the top down; never empty.
    top: Level,
    below: Vec<Level>,
    entries: u64,
    passes: u32,
    /// For names of folders on their way up.
    moved: u64,
    first: Option<TreeError>,
}

impl Removal {
    fn begin(folder: OwnedFd, name: &OsStr) -> Result<Self, TreeError> {
        let shown = CString::new(name.as_bytes()).unwrap_or_default();
        Ok(Self {
            top: Level::new(shown, folder).map_err(TreeError::io("list", name))?,
            below: Vec::new(),
            entries: 0,
            passes: 0,
            moved: 0,
            first: None,
        })
    }

    fn run(mut self) -> Result<(), TreeError> {
        self.list()?;
        loop {
            let level = self.below.last_mut().unwrap_or(&mut self.top);
            if let Some(folder) = level.folders.pop() {
                self.descend(folder)?;
            } else if level.is_cut && !level.is_stuck {
                self.list()?;
            } else if level.is_changed && !level.is_stuck {
                level.passes += 1;
                self.passes += 1;
                if level.passes > PASSES || self.passes > ALL_PASSES {
                    level.is_stuck = true;
                    self.first.get_or_insert(TreeError::StillWritten);
                } else {
                    self.list()?;
                }
            } else if !self.ascend() {
                return self.first.map_or(Ok(()), Err);
            }
        }
    }

    /// Unlinks everything in the current folder that is no folder, and remembers the folders.
    fn list(&mut self) -> Result<(), TreeError> {
        let level = self.below.last_mut().unwrap_or(&mut self.top);
        level.entries.rewind();
        (level.is_changed, level.is_cut) = (false, false);
        while let Some(entry) = level.entries.read() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    level.is_stuck = true;
                    self.first
                        .get_or_insert_with(|| failure("list", &level.name)(error));
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
            if level.folders.len() >= REMEMBERED {
                level.is_cut = true;
                break;
            }
            let removed = level.entries.fd().and_then(|folder| {
                let is_known = entry.file_type() == FileType::Directory;
                if is_known {
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
                    self.first.get_or_insert_with(|| failure("remove", name)(error));
                }
            }
        }
        Ok(())
    }

    /// Opens a folder of the current one and goes on in it, or moves it to the top if it lies too deep.
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
            Err(Errno::NOTDIR | Errno::LOOP) => {
                level.is_changed = true;
                return Ok(());
            }
            Err(error) => {
                level.is_stuck = true;
                self.first
                    .get_or_insert_with(|| failure("open the folder", &name)(error));
                return Ok(());
            }
        };
        if is_deep {
            return self.move_up(&name);
        }
        let level = Level::new(name, folder).map_err(TreeError::io("list", OsStr::new(".")))?;
        self.below.push(level);
        self.list()
    }

    /// Renames a folder of the current one into the top folder. It was opened, and so has the permission bits that the
    /// renaming of a folder needs (rename(2): its `..` changes).
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
        self.first.get_or_insert_with(|| failure("move up", name)(last));
        Ok(())
    }

    /// Leaves the current folder, which is done with, and removes it. Returns false if it is the top.
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
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => above.is_changed = true,
            Err(error) => {
                above.is_stuck = true;
                self.first
                    .get_or_insert_with(|| failure("remove", &done.name)(error));
            }
        }
        true
    }
}

/// Unlinks an entry; `ISDIR` if it is a folder, which some systems call EPERM (unlink(2), POSIX).
fn unlink(folder: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::PERM) if is_folder(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode) => {
            Err(Errno::ISDIR)
        }
        done => done,
    }
}

/// Opens a folder, with all rights of its owner, even if nobody may enter it: a tool may leave such ones, and overlayfs
/// does with its work folder.
fn open_forced(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    match open_one(parent, name, folder_flags()) {
        Ok(folder) => {
            if !Mode::from_raw_mode(fstat(&folder)?.st_mode).contains(Mode::RWXU) {
                // Of somebody else's folder this fails, and what it forbids fails below.
                let _ = fchmod(&folder, Mode::RWXU);
            }
            Ok(folder)
        }
        Err(Errno::ACCESS) => open_closed(parent, name),
        Err(error) => Err(error),
    }
}

/// Opens a folder that its own permission bits keep us from reading: a descriptor that only names it needs no right to
/// it (open(2), `O_PATH`), and `/proc/self/fd` leads from there to the folder itself, not to a name (proc(5)).
#[cfg(target_os = "linux")]
fn open_closed(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = open_one(parent, name, flags)?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)?;
    openat(&folder, ".", folder_flags(), Mode::empty())
}

/// Opens a folder that its own permission bits keep us from reading. Here chmod can be told not to follow a link.
#[cfg(not(target_os = "linux"))]
fn open_closed(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)?;
    open_one(parent, name, folder_flags())
}

fn is_folder(mode: rustix::fs::RawMode) -> bool {
    FileType::from_raw_mode(mode) == FileType::Directory
}

fn failure(action: &'static str, name: &CStr) -> impl FnOnce(Errno) -> TreeError {
    TreeError::io(action, OsStr::from_bytes(name.to_bytes()))
}
