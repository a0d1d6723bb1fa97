//! A folder with an open descriptor, on Unix. Its entries are reached through the descriptor, so that nobody can replace a
//! folder on the way by a link.
//!
//! Owns: every operation on one entry of the folder. Never: takes a path of more than one name, except to open a folder
//! beneath it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, RawMode, Stat, Uid};
use rustix::io::Errno;

use crate::error::shown;
use crate::name::check_name;
use crate::resolve::{folder_flags, open_folders, open_one};
use crate::{EntryFacts, EntryKind, FileContent, FolderOwner, TreeError};

/// Folder with an open descriptor. Every operation concerns this folder, even if it is renamed or moved.
#[derive(Debug)]
pub struct OpenFolder {
    descriptor: OwnedFd,
}

impl OpenFolder {
    /// Opens a folder by its path. The folders above it are trusted and may be links; the folder itself may not.
    ///
    /// # Errors
    /// [`TreeError::NotAFolder`] if it is a link or no folder; [`TreeError::Io`] if it cannot be opened.
    pub fn open_root(path: &Path) -> Result<Self, TreeError> {
        let open = rustix::fs::open(path, folder_flags(), Mode::empty());
        let descriptor = open.map_err(|error| not_a_folder(path.as_os_str(), error))?;
        Ok(Self { descriptor })
    }

    /// Returns the descriptor.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Opens a folder that lies directly in this one.
    ///
    /// # Errors
    /// [`TreeError::NotAFolder`] if it is a link or no folder; [`TreeError::Io`] if it cannot be opened, or is a mount.
    pub fn open_folder(&self, name: &OsStr) -> Result<Self, TreeError> {
        let open = open_one(self.descriptor.as_fd(), check_name(name)?, folder_flags());
        let descriptor = open.map_err(|error| not_a_folder(name, error))?;
        Ok(Self { descriptor })
    }

    /// Opens a folder some names beneath this one; the empty path opens this one again.
    ///
    /// # Errors
    /// Those of [`OpenFolder::open_folder`]; [`TreeError::TooDeep`] beyond [`MAX_DEPTH`](crate::MAX_DEPTH) names.
    pub fn open_path(&self, path: &Path) -> Result<Self, TreeError> {
        let descriptor = open_folders(self.descriptor.as_fd(), path)?;
        Ok(Self { descriptor })
    }

    /// Lists the names in this folder, sorted by their bytes.
    ///
    /// # Errors
    /// [`TreeError::TooMany`] if there are more than `limit`; [`TreeError::Io`] if it cannot be listed.
    pub fn read_names(&self, limit: u64) -> Result<Vec<OsString>, TreeError> {
        let failed = || TreeError::io("list", OsStr::new("."));
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.descriptor).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() as u64 >= limit {
                return Err(TreeError::TooMany(limit));
            }
            names.push(OsString::from_vec(name.to_vec()));
        }
        names.sort();
        Ok(names)
    }

    /// Returns the facts about this folder.
    ///
    /// # Errors
    /// When the system does not report them.
    pub fn inspect(&self) -> Result<EntryFacts, TreeError> {
        let found = rustix::fs::fstat(&self.descriptor);
        Ok(facts(&found.map_err(TreeError::io("look at", OsStr::new(".")))?))
    }

    /// Returns the facts about an entry; for a link, those of the link itself. `None` if there is no such entry.
    ///
    /// # Errors
    /// When the system does not report them.
    pub fn inspect_entry(&self, name: &OsStr) -> Result<Option<EntryFacts>, TreeError> {
        match rustix::fs::statat(&self.descriptor, check_name(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(facts(&found))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(TreeError::io("look at", name)(error)),
        }
    }

    /// Opens a regular file for reading. An entry of another kind is not opened: opening a device can have effects.
    ///
    /// # Errors
    /// [`TreeError::NotAFile`] if it is no regular file; [`TreeError::Io`] if it cannot be opened.
    pub fn open_file(&self, name: &OsStr) -> Result<(File, EntryFacts), TreeError> {
        let missing = || TreeError::io("open", name)(Errno::NOENT);
        let seen = self.inspect_entry(name)?.ok_or_else(missing)?;
        if seen.kind != EntryKind::File {
            return Err(TreeError::NotAFile(shown(name)));
        }
        // Another process may replace the file by a FIFO now. O_NONBLOCK opens a FIFO without waiting for a writer
        // (fifo(7)), and the second check, of the open descriptor, refuses it. With that flag, opening a file on which
        // another process has a lease does not wait for that process either (fcntl(2)).
        // CLOEXEC: no program that this process starts may inherit the descriptor.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let open = open_one(self.descriptor.as_fd(), name, flags).map_err(|error| not_a_file(name, error))?;
        let found = facts(&rustix::fs::fstat(&open).map_err(TreeError::io("look at", name))?);
        if found.kind != EntryKind::File {
            return Err(TreeError::NotAFile(shown(name)));
        }
        Ok((File::from(open), found))
    }

    /// Reads a whole regular file.
    ///
    /// # Errors
    /// Those of [`OpenFolder::open_file`]; [`TreeError::TooLarge`] if it has more than `limit` bytes when it is read, even
    /// if its length was smaller when it was opened.
    pub fn read_file(&self, name: &OsStr, limit: u64) -> Result<FileContent, TreeError> {
        let (file, facts) = self.open_file(name)?;
        if facts.length > limit {
            return Err(TreeError::TooLarge(limit));
        }
        // The file may grow while it is read. One byte more than the limit is read, to notice that.
        let mut bytes = Vec::with_capacity(usize::try_from(facts.length).unwrap_or_default());
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(TreeError::io("read", name))?;
        if bytes.len() as u64 > limit {
            return Err(TreeError::TooLarge(limit));
        }
        Ok(FileContent { bytes, facts })
    }

    /// Reads the target of a link, without following it.
    ///
    /// # Errors
    /// When it is no link or cannot be read.
    pub fn read_link(&self, name: &OsStr) -> Result<OsString, TreeError> {
        let target = rustix::fs::readlinkat(&self.descriptor, check_name(name)?, Vec::new());
        let target = target.map_err(TreeError::io("read the link", name))?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Returns true if this folder of an overlay's upper layer is opaque: it hides the folder of the same path in the lower
    /// layer (overlayfs.rst, "whiteouts and opaque directories", with the mount option `userxattr`).
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            let mut value = [0_u8; 4];
            let found = rustix::fs::fgetxattr(&self.descriptor, "user.overlay.opaque", &mut value);
            found.is_ok_and(|length| value.get(..length) == Some(b"y"))
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Creates a file for writing, with these permission bits regardless of the umask. Fails if the name is taken.
    ///
    /// # Errors
    /// When it cannot be created; [`TreeError::is_taken`] is true if the name is taken.
    pub fn create_file(&self, name: &OsStr, mode: u32) -> Result<File, TreeError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed = || TreeError::io("create", name);
        let open = rustix::fs::openat(&self.descriptor, check_name(name)?, flags, mode_bits(0o600))
            .map_err(failed())?;
        // `openat` subtracts the umask from its mode, `fchmod` does not.
        if mode != 0o600 {
            rustix::fs::fchmod(&open, mode_bits(mode)).map_err(failed())?;
        }
        Ok(File::from(open))
    }

    /// Opens a file that serves as a lock. Creates it, accessible to its owner alone, if it is missing. Never writes to it.
    ///
    /// # Errors
    /// [`TreeError::NotAFile`] if something else has the name; [`TreeError::Io`] if it cannot be opened.
    pub fn open_lock(&self, name: &OsStr) -> Result<File, TreeError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = rustix::fs::openat(&self.descriptor, check_name(name)?, flags, mode_bits(0o600));
        let open = open.map_err(|error| not_a_file(name, error))?;
        let found = rustix::fs::fstat(&open).map_err(TreeError::io("look at", name))?;
        if facts(&found).kind != EntryKind::File {
            return Err(TreeError::NotAFile(shown(name)));
        }
        Ok(File::from(open))
    }

    /// Creates a folder and opens it. Fails if the name is taken.
    ///
    /// # Errors
    /// When it cannot be created; [`TreeError::is_taken`] is true if the name is taken.
    pub fn create_folder(&self, name: &OsStr, mode: u32) -> Result<Self, TreeError> {
        // `mkdirat` subtracts the umask from its mode, `fchmod` does not. Until then no other user may enter.
        rustix::fs::mkdirat(&self.descriptor, check_name(name)?, mode_bits(0o700))
            .map_err(TreeError::io("create the folder", name))?;
        let created = self.open_folder(name)?;
        if mode != 0o700 {
            created.change_mode(mode)?;
        }
        Ok(created)
    }

    /// Creates a symbolic link. Fails if the name is taken.
    ///
    /// # Errors
    /// When it cannot be created; [`TreeError::is_taken`] is true if the name is taken.
    pub fn create_link(&self, name: &OsStr, target: &OsStr) -> Result<(), TreeError> {
        rustix::fs::symlinkat(target, &self.descriptor, check_name(name)?)
            .map_err(TreeError::io("create the link", name))
    }

    /// Creates overlayfs's mark for a deleted entry: a character device 0/0, which every user may create since Linux 5.8.
    ///
    /// # Errors
    /// When it cannot be created; always on a system without overlays.
    pub fn create_whiteout(&self, name: &OsStr) -> Result<(), TreeError> {
        let failed = TreeError::io("mark as deleted", check_name(name)?);
        #[cfg(target_os = "linux")]
        {
            let kind = FileType::CharacterDevice;
            rustix::fs::mknodat(&self.descriptor, name, kind, Mode::empty(), 0).map_err(failed)
        }
        #[cfg(not(target_os = "linux"))]
        Err(failed(Errno::NOSYS))
    }

    /// Changes the permission bits of this folder.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn change_mode(&self, mode: u32) -> Result<(), TreeError> {
        rustix::fs::fchmod(&self.descriptor, mode_bits(mode))
            .map_err(TreeError::io("change the mode of", OsStr::new(".")))
    }

    /// Changes the owner of this folder.
    ///
    /// # Errors
    /// When the system refuses, as it does for everybody but root.
    pub fn give_to(&self, owner: FolderOwner) -> Result<(), TreeError> {
        let (user, group) = owner_ids(owner);
        rustix::fs::fchown(&self.descriptor, user, group)
            .map_err(TreeError::io("change the owner of", OsStr::new(".")))
    }

    /// Changes the owner of an entry; for a link, that of the link itself.
    ///
    /// # Errors
    /// When the system refuses, as it does for everybody but root.
    pub fn give_entry(&self, name: &OsStr, owner: FolderOwner) -> Result<(), TreeError> {
        let (user, group) = owner_ids(owner);
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(&self.descriptor, check_name(name)?, user, group, flags)
            .map_err(TreeError::io("change the owner of", name))
    }

    /// Removes an entry that is no folder. A missing entry is no error.
    ///
    /// # Errors
    /// When it is a folder or cannot be removed.
    pub fn remove_entry(&self, name: &OsStr) -> Result<(), TreeError> {
        match rustix::fs::unlinkat(&self.descriptor, check_name(name)?, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(TreeError::io("remove", name)(error)),
        }
    }

    /// Removes an entry of any kind and everything beneath it. A missing entry is no error.
    ///
    /// # Errors
    /// When something beneath cannot be removed: everything else is removed, and the first failure is returned.
    /// [`TreeError::StillWritten`] if entries appear as fast as they are removed.
    pub fn remove_tree(&self, name: &OsStr) -> Result<(), TreeError> {
        crate::remove::remove_tree(self.descriptor.as_fd(), check_name(name)?)
    }
}

fn mode_bits(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as RawMode)
}

fn owner_ids(owner: FolderOwner) -> (Option<Uid>, Option<Gid>) {
    (Some(Uid::from_raw(owner.user)), Some(Gid::from_raw(owner.group)))
}

fn not_a_folder(name: &OsStr, error: Errno) -> TreeError {
    match error {
        // With O_NOFOLLOW and O_DIRECTORY, some systems refuse a link with ENOTDIR, others with ELOOP.
        Errno::NOTDIR | Errno::LOOP => TreeError::NotAFolder(shown(name)),
        error => TreeError::io("open the folder", name)(error),
    }
}

fn not_a_file(name: &OsStr, error: Errno) -> TreeError {
    match error {
        // ELOOP: a link. ENXIO: a socket, or a FIFO that is opened for writing and has no reader (open(2)).
        Errno::LOOP | Errno::NXIO | Errno::ISDIR => TreeError::NotAFile(shown(name)),
        error => TreeError::io("open", name)(error),
    }
}

/// Converts the result of `fstat` or `statat`. The types of its numbers differ between systems.
#[allow(
    clippy::allow_attributes,
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the type differs between systems"
)]
pub(crate) fn facts(found: &Stat) -> EntryFacts {
    let mode = found.st_mode as RawMode;
    let kind = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        FileType::CharacterDevice if found.st_rdev == 0 => EntryKind::Whiteout,
        _ => EntryKind::Special,
    };
    EntryFacts {
        kind,
        mode: u32::from(mode) & 0o7777,
        length: u64::try_from(found.st_size).unwrap_or_default(),
        disk_bytes: u64::try_from(found.st_blocks)
            .unwrap_or_default()
            .saturating_mul(512),
        owner: FolderOwner {
            user: found.st_uid,
            group: found.st_gid,
        },
        identity: (found.st_dev as u64, found.st_ino),
    }
}
