//! Asks the kernel whether any process has a file open for writing.
//!
//! Owns: the read lease that answers it. Never: keeps the lease, or waits for a writer to end.
//!
//! A read lease is granted only while no process has the file open for writing, and is refused with `EAGAIN` otherwise
//! (fcntl(2), `F_SETLEASE`). It is given back as soon as it was granted. If a program opens the file for writing in
//! between, the kernel sends the lease holder a signal. The default is `SIGIO`, which ends a process that does not handle
//! it; `F_SETSIG` makes it `SIGURG`, which is ignored by default (signal(7)).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Command that selects the signal of a lease (Linux, `asm-generic/fcntl.h`); `libc` does not name it for every target.
const F_SETSIG: libc::c_int = 10;

/// Returns whether a process has the file open for writing; `None` if no lease can be had on it for another reason.
pub(crate) fn has_writer(file: &File) -> Option<bool> {
    // Before the lease: a program may open the file in the next instant, and then the default signal would end us.
    set_file_option(file, F_SETSIG, libc::SIGURG).ok()?;
    match set_file_option(file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            // A lease that cannot be given back ends when the descriptor is closed.
            let _ = set_file_option(file, libc::F_SETLEASE, libc::F_UNLCK);
            Some(false)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(true),
        Err(_) => None,
    }
}

/// Calls `fcntl(2)` with a command that takes a number.
fn set_file_option(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: these commands take a number, no pointer, and the descriptor is open for as long as `file` is borrowed.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    match done {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
