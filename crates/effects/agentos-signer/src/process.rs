//! One child process, with bounds.
//!
//! Owns: feeding it, hearing it up to a limit, and ending it when its time is over or the user stops it. Never: reads
//! more than the limit, or waits longer than it.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Signatures are a few kilobytes; so is what a program says about one.
const MOST_OUTPUT: u64 = 64 * 1024;
/// Between two looks at a process that says nothing.
const PAUSE: Duration = Duration::from_millis(5);
/// For what a program said before it ended and is still on its way, where a grandchild keeps the pipe open.
const REST: Duration = Duration::from_millis(500);

/// How a process ended.
pub(crate) struct Ended {
    /// By whom, and how well.
    pub end: End,
    /// The first part of its standard output.
    pub output: Vec<u8>,
    /// The first part of its standard error.
    pub errors: Vec<u8>,
}

/// Who ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It ended by itself, with success.
    Well,
    /// It ended by itself, without success.
    Badly,
    /// Its time was over.
    TooSlow,
    /// The user stopped it, or us.
    Stopped,
}

/// Runs a command with this input.
pub(crate) fn run(
    mut command: Command,
    input: &[u8],
    limit: Duration,
    stopped: &dyn Fn() -> bool,
) -> io::Result<Ended> {
    let deadline = Instant::now() + limit;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        let input = input.to_vec();
        // A program that ends without reading everything is judged by how it ends.
        thread::spawn(move || pipe.write_all(&input));
    }
    let (sender, receiver) = mpsc::channel();
    if let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) {
        hear(output, Pipe::Output, sender.clone());
        hear(errors, Pipe::Errors, sender);
    }
    let mut heard = Heard {
        receiver,
        output: Vec::new(),
        errors: Vec::new(),
    };
    let end = heard.until_it_ends(&mut child, deadline, stopped)?;
    let rest = Instant::now() + REST;
    while Instant::now() < rest && heard.more() {}
    Ok(Ended {
        end,
        output: heard.output,
        errors: heard.errors,
    })
}

#[derive(Clone, Copy)]
enum Pipe {
    Output,
    Errors,
}

/// What it said so far.
struct Heard {
    receiver: Receiver<(Pipe, Vec<u8>)>,
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Heard {
    /// Waits a moment for more; false when both pipes are closed.
    fn more(&mut self) -> bool {
        match self.receiver.recv_timeout(PAUSE) {
            Ok((Pipe::Output, bytes)) => self.output.extend(bytes),
            Ok((Pipe::Errors, bytes)) => self.errors.extend(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    fn until_it_ends(
        &mut self,
        child: &mut Child,
        deadline: Instant,
        stopped: &dyn Fn() -> bool,
    ) -> io::Result<End> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(end_of(status, stopped()));
            }
            let end = match (stopped(), Instant::now() >= deadline) {
                (true, _) => End::Stopped,
                (false, true) => End::TooSlow,
                (false, false) => {
                    if !self.more() {
                        thread::sleep(PAUSE);
                    }
                    continue;
                }
            };
            child.kill()?;
            child.wait()?;
            return Ok(end);
        }
    }
}

/// Ctrl-C at a terminal reaches the program as well, and it may have ended before we are told.
fn end_of(status: ExitStatus, stopped: bool) -> End {
    match (status.success(), stopped || was_interrupted(status)) {
        (true, _) => End::Well,
        (false, true) => End::Stopped,
        (false, false) => End::Badly,
    }
}

#[cfg(unix)]
fn was_interrupted(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    /// `SIGINT` on every Unix, and what a shell makes of it.
    const INTERRUPT: i32 = 2;
    status.signal() == Some(INTERRUPT) || status.code() == Some(128 + INTERRUPT)
}

#[cfg(not(unix))]
fn was_interrupted(_status: ExitStatus) -> bool {
    false
}

/// Reads in a thread of its own: a grandchild may keep the pipe open for as long as it likes.
fn hear(pipe: impl Read + Send + 'static, which: Pipe, sender: Sender<(Pipe, Vec<u8>)>) {
    thread::spawn(move || {
        let mut pipe = pipe.take(MOST_OUTPUT);
        let mut chunk = vec![0; 8 * 1024];
        while let Ok(read @ 1..) = pipe.read(&mut chunk) {
            let bytes = chunk.get(..read).unwrap_or_default().to_vec();
            // Nobody listens any more once the time is over.
            if sender.send((which, bytes)).is_err() {
                return;
            }
        }
    });
}
