//! Reading files that somebody else may have replaced by something that is no file.
//!
//! Owns: opening a regular file without waiting and without following a link at its place, and reading it up to a
//! limit. Never: reads a FIFO, a device or a folder.
//!
//! Opening a FIFO waits until somebody opens its other end (fifo(7)), and a device may never end. A look with
//! `lstat(2)` before `open(2)` leaves a gap, so the order is reversed: the file is opened with `O_NONBLOCK`, which for
//! a FIFO returns at once and has no meaning for a regular file, and the descriptor is looked at.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Whether a link at the last part of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It is: a user's own file, which may lie elsewhere.
    Followed,
    /// It is refused, as git does with the files of a work tree that configure it.
    Refused,
}

/// Opens a regular file for reading.
///
/// # Errors
/// If it cannot be opened; [`io::ErrorKind::InvalidInput`] if it is a FIFO, a device, a socket, a folder or a refused
/// link.
pub fn open_plain_file(path: &Path, links: Links) -> io::Result<File> {
    let is_link = || links == Links::Refused && path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let file = open(path, links).map_err(|error| match error.kind() {
        // `ELOOP`, which also stands for a circle of links.
        _ if is_link() => not_plain("it is a symbolic link"),
        // `ENXIO`: a socket, or a device without a driver (open(2)).
        _ if cfg!(unix) && error.raw_os_error() == Some(6) => not_plain("it is not a regular file"),
        _ => error,
    })?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(not_plain("it is not a regular file"))
}

/// Reads a regular file that holds at most `limit` bytes.
///
/// # Errors
/// As [`open_plain_file`]; [`io::ErrorKind::FileTooLarge`] if it holds more.
pub fn read_plain_file(path: &Path, links: Links, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_plain_file(path, links)?;
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        let told = format!("it is larger than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
    }
    Ok(bytes)
}

fn not_plain(told: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, told)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn open(path: &Path, links: Links) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};

    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == Links::Refused {
        flags |= OFlags::NOFOLLOW;
    }
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Systems whose flags are not known here: a look before is all there is.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn open(path: &Path, links: Links) -> io::Result<File> {
    let found = match links {
        Links::Followed => path.metadata(),
        Links::Refused => path.symlink_metadata(),
    };
    if found?.is_file() {
        return File::open(path);
    }
    Err(not_plain("it is not a regular file"))
}
