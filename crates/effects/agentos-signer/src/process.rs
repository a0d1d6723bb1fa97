//! One child process with limits on its time and output.
//!
//! Owns: passing input to it, reading its output up to a limit, and killing it when its time is over or the user stops
//! it. Never: reads more than the limit, or waits longer than the time limit.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum bytes read from each of the two output streams. A signature and the messages about it are a few kilobytes.
const MAX_OUTPUT: u64 = 64 * 1024;
/// Time between two checks whether a silent process has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time to wait for output that a program wrote before it ended. Without a limit, a grandchild that keeps the pipe open
/// would keep us waiting.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// Result of a process that has ended.
pub(crate) struct ProcessResult {
    /// Reason why it ended.
    pub end: EndReason,
    /// First bytes of its standard output.
    pub output: Vec<u8>,
    /// First bytes of its standard error.
    pub errors: Vec<u8>,
}

/// Reason why a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// The process ended by itself with status 0.
    Succeeded,
    /// The process ended by itself with another status or by a signal.
    Failed,
    /// The process was killed because its time was over.
    TooSlow,
    /// The user stopped it, or stopped us.
    Stopped,
}

/// Runs a command with the given input, for at most `limit` and only until `stopped` returns true.
///
/// # Errors
/// When the process cannot be started, killed or waited for.
pub(crate) fn run_process(
    mut command: Command,
    input: &[u8],
    limit: Duration,
    stopped: &dyn Fn() -> bool,
) -> io::Result<ProcessResult> {
    let deadline = Instant::now() + limit;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        let input = input.to_vec();
        // In a thread: a program that writes before it has read everything would otherwise block, and so would we.
        // A failed write is ignored, since a program that ends early is judged by its exit status.
        thread::spawn(move || pipe.write_all(&input));
    }
    let (sender, receiver) = mpsc::channel();
    if let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) {
        read_in_thread(output, OutputStream::Output, sender.clone());
        read_in_thread(errors, OutputStream::Errors, sender);
    }
    let mut collected = CollectedOutput {
        receiver,
        output: Vec::new(),
        errors: Vec::new(),
    };
    let end = collected.wait_for_end(&mut child, deadline, stopped)?;
    // The exit status can arrive before the last bytes of the pipes have gone through the reading threads.
    let drained_by = Instant::now() + DRAIN_TIME;
    while Instant::now() < drained_by && collected.receive_more() {}
    Ok(ProcessResult {
        end,
        output: collected.output,
        errors: collected.errors,
    })
}

/// Stream of the child that bytes came from.
#[derive(Clone, Copy)]
enum OutputStream {
    Output,
    Errors,
}

/// Output of the child so far.
struct CollectedOutput {
    receiver: Receiver<(OutputStream, Vec<u8>)>,
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl CollectedOutput {
    /// Waits up to [`POLL_INTERVAL`] for more output. Returns false when both streams are closed.
    fn receive_more(&mut self) -> bool {
        match self.receiver.recv_timeout(POLL_INTERVAL) {
            Ok((OutputStream::Output, bytes)) => self.output.extend(bytes),
            Ok((OutputStream::Errors, bytes)) => self.errors.extend(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    /// Collects output until the process has ended, and kills it at the deadline or when it is stopped.
    fn wait_for_end(
        &mut self,
        child: &mut Child,
        deadline: Instant,
        stopped: &dyn Fn() -> bool,
    ) -> io::Result<EndReason> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(end_reason(status, stopped()));
            }
            let end = match (stopped(), Instant::now() >= deadline) {
                (true, _) => EndReason::Stopped,
                (false, true) => EndReason::TooSlow,
                (false, false) => {
                    if !self.receive_more() {
                        // With both streams closed `receive_more` returns at once, and this loop would use a whole core.
                        thread::sleep(POLL_INTERVAL);
                    }
                    continue;
                }
            };
            child.kill()?;
            // A killed child stays a zombie until its status is read.
            child.wait()?;
            return Ok(end);
        }
    }
}

/// Returns why a process ended that was not killed by us.
fn end_reason(status: ExitStatus, stopped: bool) -> EndReason {
    // The terminal sends SIGINT for Ctrl-C to the program too, and it may end before `stopped` returns true.
    match (status.success(), stopped || was_interrupted(status)) {
        (true, _) => EndReason::Succeeded,
        (false, true) => EndReason::Stopped,
        (false, false) => EndReason::Failed,
    }
}

#[cfg(unix)]
fn was_interrupted(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    /// Number of `SIGINT` on every Unix. A shell adds 128 to it for the exit code of a program that it ended.
    const INTERRUPT: i32 = 2;
    status.signal() == Some(INTERRUPT) || status.code() == Some(128 + INTERRUPT)
}

#[cfg(not(unix))]
fn was_interrupted(_status: ExitStatus) -> bool {
    false
}

/// Reads a stream in its own thread, since a grandchild may keep the pipe open longer than we wait.
fn read_in_thread(
    pipe: impl Read + Send + 'static,
    stream: OutputStream,
    sender: Sender<(OutputStream, Vec<u8>)>,
) {
    thread::spawn(move || {
        let mut pipe = pipe.take(MAX_OUTPUT);
        let mut chunk = vec![0; 8 * 1024];
        while let Ok(read @ 1..) = pipe.read(&mut chunk) {
            let bytes = chunk.get(..read).unwrap_or_default().to_vec();
            // The receiver is gone once the time is over.
            if sender.send((stream, bytes)).is_err() {
                return;
            }
        }
    });
}
