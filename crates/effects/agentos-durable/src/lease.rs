//! Asking the kernel whether anybody writes a file.
//!
//! Owns: the lease that tells it. Never: keeps the lease, or waits for a writer to end.
//!
//! A read lease is granted only while no process has the file open for writing, and is refused with `EAGAIN` otherwise
//! (fcntl(2), `F_SETLEASE`). It is asked for and given back at once. Should somebody open the file for writing in
//! between, the kernel sends the holder a signal, `SIGIO` by default, which ends a process that does not handle it;
//! `F_SETSIG` makes it `SIGURG`, which is ignored by default (signal(7)).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Chooses the signal of a lease (Linux, `asm-generic/fcntl.h`); `libc` does not name it for every target.
const F_SETSIG: libc::c_int = 10;

/// Returns whether a process has the file open for writing; `None` if no lease can be had on it for another reason.
pub(crate) fn has_writer(file: &File) -> Option<bool> {
    control(file, F_SETSIG, libc::SIGURG).ok()?;
    match control(file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            // A lease that cannot be given back ends with the descriptor.
            let _ = control(file, libc::F_SETLEASE, libc::F_UNLCK);
            Some(false)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(true),
        Err(_) => None,
    }
}

fn control(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: these commands take a number, no pointer, and the descriptor is open for as long as `file` is borrowed.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    match done {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
