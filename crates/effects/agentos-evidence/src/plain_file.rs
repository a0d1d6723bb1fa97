//! Opens files of a folder that somebody else may have filled.
//!
//! Owns: the flags and limits with which such files are opened and read. Never: follows a link in the last part of a
//! path, waits for a FIFO, or reads more than the caller allows.
//!
//! Evidence is often verified in a folder that comes from strangers: an unpacked archive, or an export. There a file may
//! be a link to `/dev/zero`, or a FIFO, on which a usual open(2) waits until somebody writes. `O_NOFOLLOW` refuses the
//! link, `O_NONBLOCK` opens a FIFO or device without waiting (open(2), fifo(7)), and fstat(2) of the descriptor then
//! shows the kind of file. A look before the opening would leave a gap in which the file can be replaced.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use agentos_chain::name_hash;
use sha2::{Digest as _, Sha256};

/// Maximum bytes that are read and hashed at a time.
const CHUNK: usize = 1 << 16;

/// Opens a regular file for reading.
///
/// # Errors
/// `InvalidInput` if it is anything but a regular file, including a link; other errors as open(2) reports them.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    system::open(path, system::READ)
}

/// Opens one of the user's own settings for reading. It may be a link, since users keep settings elsewhere.
///
/// # Errors
/// `InvalidInput` if the path leads to anything but a regular file; other errors as open(2) reports them.
pub(crate) fn open_user_file(path: &Path) -> io::Result<File> {
    system::open(path, system::READ_THROUGH_LINK)
}

/// Opens a regular file to overwrite its content. The file is not truncated.
///
/// # Errors
/// Those of [`open_regular`].
pub(crate) fn open_to_overwrite(path: &Path) -> io::Result<File> {
    system::open(path, system::WRITE)
}

/// Opens a regular file for reading and appending, and creates it if it does not exist.
///
/// # Errors
/// Those of [`open_regular`].
pub(crate) fn open_to_append(path: &Path) -> io::Result<File> {
    system::open(path, system::APPEND)
}

/// Opens a regular file for reading and writing, and creates it if it does not exist.
///
/// # Errors
/// Those of [`open_regular`].
pub(crate) fn open_to_lock(path: &Path) -> io::Result<File> {
    system::open(path, system::LOCK)
}

/// Opens a regular file below a folder. No part of the path below the folder may be a link.
///
/// # Errors
/// Those of [`open_regular`]; also `InvalidInput` if a folder on the way is a link.
pub(crate) fn open_below(folder: &Path, folders: &[&str], name: &str) -> io::Result<File> {
    system::open_below(folder, folders, name)
}

/// Reads a whole file that has at most `limit` bytes.
///
/// # Errors
/// `FileTooLarge` if it has more; other errors as read(2) reports them.
pub(crate) fn read_limited(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let len = file.metadata()?.len().min(limit);
    // One byte more than there are, so that the end of a file that stays as it is needs no larger buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default().saturating_add(1));
    // One byte above the limit shows that there is more.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    Ok(bytes)
}

/// Hashes a file of at most `limit` bytes, a chunk at a time. Returns `sha256:` and 64 hexadecimal digits, and the bytes
/// of the limit that are left.
///
/// # Errors
/// Those of [`read_limited`].
pub(crate) fn digest_file(mut file: File, limit: u64) -> io::Result<(String, u64)> {
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "it is too large");
    let len = file.metadata()?.len();
    // A file with a hole of a terabyte takes no space on the disk, but would take hours to hash.
    if len > limit {
        return Err(too_large());
    }
    // Most files are small and need no full buffer.
    let size = usize::try_from(len).unwrap_or(CHUNK).clamp(1, CHUNK);
    let (mut hasher, mut chunk, mut left) = (Sha256::new(), vec![0; size], limit);
    loop {
        let read = match file.read(&mut chunk) {
            Ok(0) => return Ok((name_hash(&hasher.finalize()), left)),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(chunk.get(..read).unwrap_or_default());
        // A file can grow as fast as it is read, and then only the limit ends this loop.
        left = u64::try_from(read)
            .ok()
            .and_then(|read| left.checked_sub(read))
            .ok_or_else(too_large)?;
    }
}

/// Returns whether an error means that the path leads to something other than a regular file.
pub(crate) fn is_odd(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}

fn odd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(odd())
    }
}

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use rustix::fs::{Mode, OFlags, open as open_path, openat};
    use rustix::io::Errno;

    use super::{odd, regular};

    const COMMON: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
    pub const READ_THROUGH_LINK: OFlags = COMMON.union(OFlags::RDONLY);
    pub const READ: OFlags = READ_THROUGH_LINK.union(OFlags::NOFOLLOW);
    pub const WRITE: OFlags = COMMON.union(OFlags::WRONLY).union(OFlags::NOFOLLOW);
    pub const LOCK: OFlags = COMMON
        .union(OFlags::RDWR)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CREATE);
    pub const APPEND: OFlags = LOCK.union(OFlags::APPEND);
    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    /// Permission bits of new files, as the standard library sets them. The umask removes those that the user does not want.
    const MODE: Mode = Mode::from_raw_mode(0o666);

    pub fn open(path: &Path, flags: OFlags) -> io::Result<File> {
        regular(File::from(open_path(path, flags, MODE).map_err(refusal)?))
    }

    pub fn open_below(folder: &Path, folders: &[&str], name: &str) -> io::Result<File> {
        let mut at = open_path(folder, FOLDER, MODE)?;
        for folder in folders {
            at = openat(&at, *folder, FOLDER.union(OFlags::NOFOLLOW), MODE).map_err(refusal)?;
        }
        regular(File::from(openat(&at, name, READ, MODE).map_err(refusal)?))
    }

    /// Converts the errors that mean a wrong kind of file. `ELOOP` is a link, `ENXIO` a socket, or a FIFO that nobody reads
    /// (open(2)); `ENOTDIR` is a file or, with `O_DIRECTORY`, a link in place of a folder.
    fn refusal(error: Errno) -> io::Error {
        match error {
            Errno::LOOP | Errno::MLINK | Errno::NXIO | Errno::NOTDIR | Errno::ISDIR => odd(),
            other => other.into(),
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::path::Path;

    use super::{odd, regular};

    /// Options with which a file is opened.
    #[derive(Clone, Copy)]
    pub struct FileAccess {
        write: bool,
        append: bool,
        create: bool,
        follow: bool,
    }

    pub const READ: FileAccess = FileAccess {
        write: false,
        append: false,
        create: false,
        follow: false,
    };
    pub const READ_THROUGH_LINK: FileAccess = FileAccess { follow: true, ..READ };
    pub const WRITE: FileAccess = FileAccess { write: true, ..READ };
    pub const LOCK: FileAccess = FileAccess {
        create: true,
        ..WRITE
    };
    pub const APPEND: FileAccess = FileAccess {
        append: true,
        write: false,
        ..LOCK
    };

    pub fn open(path: &Path, access: FileAccess) -> io::Result<File> {
        // The flags of Unix do not exist here, so the file is looked at before it is opened.
        match fs::symlink_metadata(path) {
            Ok(found) if !(found.is_file() || (access.follow && found.is_symlink())) => return Err(odd()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && access.create => {}
            Err(error) => return Err(error),
        }
        let mut options = OpenOptions::new();
        options
            .read(!access.write || access.create)
            .write(access.write)
            .append(access.append)
            .create(access.create)
            .truncate(false);
        regular(options.open(path)?)
    }

    pub fn open_below(folder: &Path, folders: &[&str], name: &str) -> io::Result<File> {
        let mut at = folder.to_owned();
        for folder in folders {
            at.push(folder);
            if !fs::symlink_metadata(&at)?.is_dir() {
                return Err(odd());
            }
        }
        open(&at.join(name), READ)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
