//! Opens entries beneath a descriptor.
//!
//! Owns: the flags that keep an opening from following links and from leaving the mount, and the substitute for a kernel
//! without `openat2`. Never: reads or changes anything.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::name::split_path;
use crate::{MAX_DEPTH, TreeError};

/// Maximum bytes of a path in one call, well below `PATH_MAX` (4096, linux/limits.h).
const LONGEST_PIECE: usize = 2048;

/// Returns the flags for opening a folder that is to be listed.
pub(crate) fn folder_flags() -> OFlags {
    // O_NONBLOCK: opening must not wait if somebody puts a FIFO in the folder's place.
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK
}

/// Opens one entry of a folder. Refuses a link and an entry on another mount.
///
/// # Errors
/// When the entry is one of these, does not exist or may not be opened.
pub(crate) fn open_one(folder: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    match open_beneath(folder, name, flags) {
        // Kernels before 5.6 have no such call, and seccomp filters that do not know it answer EPERM.
        Err(Errno::NOSYS | Errno::PERM) => {}
        done => return done,
    }
    open_plainly(folder, name, flags)
}

/// Opens a folder by a relative path of several names, each of which has to be a folder.
///
/// # Errors
/// When the path leads up or is too deep, or a part of it is missing or no folder.
pub(crate) fn open_folders(folder: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, TreeError> {
    let names = split_path(path)?;
    if names.len() > MAX_DEPTH {
        return Err(TreeError::TooDeep(MAX_DEPTH));
    }
    let failed = |name: &OsStr, error: Errno| match error {
        Errno::NOTDIR | Errno::LOOP => TreeError::NotAFolder(crate::error::shown(name)),
        error => TreeError::io("open the folder", name)(error),
    };
    let Some((first, rest)) = names.split_first() else {
        return openat(folder, ".", folder_flags(), Mode::empty())
            .map_err(|error| failed(OsStr::new("."), error));
    };
    let mut open: Option<OwnedFd> = None;
    let mut piece = first.as_bytes().to_vec();
    let step = |open: &Option<OwnedFd>, piece: &[u8]| {
        let from = open.as_ref().map_or(folder, AsFd::as_fd);
        let piece = OsStr::from_bytes(piece);
        open_piece(from, piece).map_err(|error| failed(piece, error))
    };
    // Names are joined into pieces, since with `openat2` the kernel checks a whole piece in one call. A path of
    // `MAX_DEPTH` names can exceed `PATH_MAX`, so it may need several pieces.
    for name in rest {
        if piece.len() + name.len() >= LONGEST_PIECE {
            open = Some(step(&open, &piece)?);
            piece.clear();
        } else {
            piece.push(b'/');
        }
        piece.extend(name.as_bytes());
    }
    step(&open, &piece)
}

/// Opens a folder by a relative path of checked names.
fn open_piece(folder: BorrowedFd<'_>, piece: &OsStr) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    match open_beneath(folder, piece, folder_flags()) {
        Err(Errno::NOSYS | Errno::PERM) => {}
        done => return done,
    }
    let mut open: Option<OwnedFd> = None;
    for name in Path::new(piece) {
        let from = open.as_ref().map_or(folder, AsFd::as_fd);
        open = Some(open_plainly(from, name, folder_flags())?);
    }
    open.ok_or(Errno::NOENT)
}

#[cfg(target_os = "linux")]
fn open_beneath(folder: BorrowedFd<'_>, path: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    openat2(folder, path, flags, Mode::empty(), resolve)
}

/// Opens one entry without `openat2`. `O_NOFOLLOW` refuses a link only at the end of a path, which is enough here, since a
/// single name has no other part. A folder on another device is a mount, and is refused.
///
/// # Errors
/// When the entry is a link or a mount, does not exist or may not be opened.
pub(crate) fn open_plainly(folder: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let open = openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    // For files the device proves nothing: overlayfs reports the device of the layer that the file lies on
    // (overlayfs.rst, "inode properties").
    let is_folder = flags.contains(OFlags::DIRECTORY);
    if is_folder && rustix::fs::fstat(folder)?.st_dev != rustix::fs::fstat(&open)?.st_dev {
        return Err(Errno::XDEV);
    }
    Ok(open)
}

#[cfg(test)]
mod tests;
