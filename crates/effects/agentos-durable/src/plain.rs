//! Reads regular files that another program may have replaced by something else.
//!
//! Owns: opening a regular file without waiting, refusing a link in its place where the caller wants that, and reading
//! it up to a limit. Never: reads a FIFO, a device or a folder.
//!
//! Opening a FIFO waits until a program opens its other end (fifo(7)), and reading a device may never end. A look with
//! `lstat(2)` before `open(2)` leaves a gap in which the file can be replaced, so the order is reversed: the file is
//! opened with `O_NONBLOCK`, which for a FIFO returns at once and has no meaning for a regular file, and then the
//! descriptor is looked at.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Treatment of a symbolic link at the last part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkRule {
    /// Follows the link: for a user's own file, which may lie elsewhere.
    Followed,
    /// Refuses the link, as git does with files of a working tree that configure it, such as `.gitattributes`.
    Refused,
}

/// Opens a regular file for reading.
///
/// # Errors
/// When it cannot be opened; [`io::ErrorKind::InvalidInput`] if it is a FIFO, a device, a socket, a folder or a refused
/// link.
pub fn open_regular_file(path: &Path, links: LinkRule) -> io::Result<File> {
    let is_link =
        || links == LinkRule::Refused && path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let file = open_without_waiting(path, links).map_err(|error| match error.kind() {
        // The system answers ELOOP to a refused link and to a circle of links alike, so the path is looked at again.
        _ if is_link() => not_plain("it is a symbolic link"),
        // 6 is ENXIO: a socket, or a device without a driver (open(2)).
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
/// Those of [`open_regular_file`]; [`io::ErrorKind::FileTooLarge`] if it holds more.
pub fn read_regular_file(path: &Path, links: LinkRule, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular_file(path, links)?;
    let mut bytes = Vec::new();
    // The length that the system reports does not bound this: the file may grow while it is read. One byte above the
    // limit shows that there is more.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        let message = format!("it is larger than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

fn not_plain(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn open_without_waiting(path: &Path, links: LinkRule) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};

    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == LinkRule::Refused {
        flags |= OFlags::NOFOLLOW;
    }
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Opens a file on a system whose flags are not known here. It looks before it opens, so a file that is replaced between
/// the two is not noticed.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn open_without_waiting(path: &Path, links: LinkRule) -> io::Result<File> {
    let found = match links {
        LinkRule::Followed => path.metadata(),
        LinkRule::Refused => path.symlink_metadata(),
    };
    if found?.is_file() {
        return File::open(path);
    }
    Err(not_plain("it is not a regular file"))
}
