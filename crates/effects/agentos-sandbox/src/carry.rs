//! Accepts connections and copies their bytes.
//!
//! Owns: continuing when the system is short of a resource for a moment. Never: knows where a connection leads.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{Shutdown, shutdown};

/// Pause after a connection that could not be accepted.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until `is_over`. A failure is temporary (accept(2): too many open files, a peer that is gone
/// already), so the next connection is awaited after a pause.
pub(crate) fn accept_each<S>(
    incoming: impl Iterator<Item = io::Result<S>>,
    is_over: impl Fn() -> bool,
    mut take: impl FnMut(S),
) {
    for connection in incoming {
        if is_over() {
            return;
        }
        match connection {
            Ok(connection) => take(connection),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Copies bytes in both directions until both have ended. Copies nothing if the system refuses a thread.
pub(crate) fn copy_both_ways<A, B>(one: &A, other: &B)
where
    A: AsRawFd + Sync,
    B: AsRawFd + Sync,
    for<'x> &'x A: Read + Write,
    for<'x> &'x B: Read + Write,
{
    thread::scope(|scope| {
        let there = || {
            copy_bytes(one, other);
            // Only one direction has ended; the other one may still carry an answer.
            let _ = shutdown(other.as_raw_fd(), Shutdown::Write);
        };
        if thread::Builder::new().spawn_scoped(scope, there).is_ok() {
            copy_bytes(other, one);
            let _ = shutdown(one.as_raw_fd(), Shutdown::Write);
        }
    });
}

/// Copies until the end of the input, or until a connection breaks.
pub(crate) fn copy_bytes(mut from: impl Read, mut to: impl Write) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let Some(bytes) = buffer.get(..count) else { return };
        if to.write_all(bytes).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_taken_after_one_that_failed_and_until_the_end() {
        let failed = |code| Err(io::Error::from_raw_os_error(code));
        let incoming = [
            failed(libc::EMFILE),
            Ok(1),
            failed(libc::ECONNABORTED),
            Ok(2),
            Ok(3),
        ];
        let left = std::cell::Cell::new(4);
        let mut taken = Vec::new();
        let is_over = || left.replace(left.get() - 1) == 0;
        accept_each(incoming.into_iter(), is_over, |connection| taken.push(connection));
        assert_eq!(taken, [1, 2]);
    }
}
