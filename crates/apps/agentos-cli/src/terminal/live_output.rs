//! Output of an answer while it arrives.
//!
//! Owns: waiting for a reader that does not read, until a signal comes. Never: the text itself.
//!
//! A write to a pipe blocks while nobody reads it. A program that is blocked there cannot record how its work ended. So each piece is
//! written only when it fits, and a signal ends the wait. A terminal reports that it takes a write when one byte fits, so a terminal
//! whose other side reads nothing can still block it until a second signal.

use std::io::{self, Write};

use crate::terminal::last_line;
use crate::terminal::signals::Signals;

/// End of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveWrite {
    /// Everything was written.
    Whole,
    /// Nobody reads standard output any more.
    NoReader,
    /// A signal stopped the work before everything was written.
    Stopped,
}

/// Bytes that a pipe takes at once when it is ready for a write: `PIPE_BUF`, 4096 on Linux (pipe(7)), and at least 512 by POSIX.
const PIECE: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// Writes a piece of an answer to standard output.
///
/// # Errors
/// Fails if standard output cannot be written for another reason than a missing reader, such as a full disk.
pub fn write_live(signals: &Signals, bytes: &[u8]) -> io::Result<LiveWrite> {
    last_line::end_status();
    for piece in bytes.chunks(PIECE) {
        if !wait_for_reader(signals)? {
            return Ok(LiveWrite::Stopped);
        }
        let mut out = io::stdout().lock();
        match out.write_all(piece).and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(LiveWrite::NoReader),
            Err(error) => return Err(error),
        }
    }
    Ok(LiveWrite::Whole)
}

/// Waits until standard output takes a piece. Returns false if a signal stopped the work first.
#[cfg(unix)]
fn wait_for_reader(signals: &Signals) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    // A turn of a conversation is stopped without the pipe of `Signals`, because more turns can follow. So the question is
    // asked again from time to time while nothing is read.
    const PAUSE: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    const NO_PAUSE: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let stdout = io::stdout();
    loop {
        let is_stopping = signals.is_stopping();
        let mut watched = [PollFd::new(&stdout, PollFlags::OUT)];
        let pause = if is_stopping { &NO_PAUSE } else { &PAUSE };
        // Any result lets the write find out: also a closed pipe is reported this way.
        if rustix::io::retry_on_intr(|| poll(&mut watched, Some(pause)))? > 0 {
            return Ok(true);
        }
        if is_stopping {
            return Ok(false);
        }
    }
}

/// Returns true: other systems have no such wait, and a second signal ends the program.
#[cfg(not(unix))]
fn wait_for_reader(_signals: &Signals) -> io::Result<bool> {
    Ok(true)
}
