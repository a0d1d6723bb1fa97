//! Beginning to write a file that is in memory alone.
//!
//! Owns: the one system call that does it and tells of its failure; no kept crate offers it safely. Never: waits.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Gives every byte of the file that has none a place on the disk, and begins to write it there (sync_file_range(2)).
pub(crate) fn begin_to_write(file: &File) -> io::Result<()> {
    let whole = 0;
    // SAFETY: it takes numbers alone, and the descriptor is open for as long as `file` is borrowed.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, whole, libc::SYNC_FILE_RANGE_WRITE) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
