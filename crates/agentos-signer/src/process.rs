//! One child process, with bounds.
//!
//! Owns: feeding it, hearing it up to a limit, and ending it when its time is over. Never: reads more than the limit,
//! or waits longer than it.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Signatures are a few kilobytes; so is what a program says about one.
const MOST_OUTPUT: u64 = 64 * 1024;
/// Between two looks at a process that has closed its output and not ended.
const PAUSE: Duration = Duration::from_millis(2);

/// How a process ended.
pub(crate) struct Ended {
    /// It ended by itself, and with success.
    pub success: bool,
    /// It was ended because its time was over.
    pub too_slow: bool,
    /// The first part of its standard output.
    pub output: Vec<u8>,
    /// The first part of its standard error.
    pub errors: Vec<u8>,
}

/// Runs a command with this input.
pub(crate) fn run(mut command: Command, input: &[u8], limit: Duration) -> io::Result<Ended> {
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
    let output = child.stdout.take().map(heard);
    let errors = child.stderr.take().map(heard);
    let output = output.map(|heard| until(&heard, deadline)).unwrap_or_default();
    let status = ended(&mut child, deadline)?;
    let errors = errors.map(|heard| until(&heard, deadline)).unwrap_or_default();
    Ok(Ended {
        success: status.is_some_and(|success| success),
        too_slow: status.is_none(),
        output,
        errors,
    })
}

/// Reads in a thread of its own: a grandchild may keep the pipe open for as long as it likes.
fn heard(pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(MOST_OUTPUT).read_to_end(&mut bytes);
        // Nobody listens any more once the time is over.
        let _ = sender.send(bytes);
    });
    receiver
}

fn until(heard: &Receiver<Vec<u8>>, deadline: Instant) -> Vec<u8> {
    let left = deadline.saturating_duration_since(Instant::now());
    heard.recv_timeout(left).unwrap_or_default()
}

/// Did it end with success? None if its time was over first.
fn ended(child: &mut Child, deadline: Instant) -> io::Result<Option<bool>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}
