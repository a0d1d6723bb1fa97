//! Starts to write a file's cached content to the disk.
//!
//! Owns: the system call `sync_file_range(2)` and the report of its failure. No crate in use here offers it without
//! `unsafe`. Never: waits for the disk.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Starts to write a file to the disk, which first allocates disk blocks for its content (`sync_file_range(2)`).
///
/// # Errors
/// When blocks cannot be allocated, for example because the disk is full, or the system has no such call.
pub(crate) fn begin_to_write(file: &File) -> io::Result<()> {
    // A length of 0 means: up to the end of the file.
    let to_the_end = 0;
    // SAFETY: it takes numbers alone, and the descriptor is open for as long as `file` is borrowed.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, to_the_end, libc::SYNC_FILE_RANGE_WRITE) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
