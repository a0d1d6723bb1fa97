//! Watches a started process until its end: its input, its output, its time.
//!
//! Owns: one thread for each stream and one for the end, and the limits. Never: knows how the process was started or
//! what confines it.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{Caps, Input, Stream};
use crate::report::Said;
use crate::watch::{Stop, Why};
use crate::{Report, SandboxError};

/// Time for which the streams may stay open after the process ended. No process of the tool's holds them then; only
/// bytes are still on their way.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes that an empty pipe accepts without a reader (pipe(7): `PIPE_BUF`).
const AT_ONCE: usize = 4096;
/// Largest size of the report, which is one short line.
const LONGEST_REPORT: usize = 64 << 10;

/// Parent's ends of a process's streams.
pub(super) struct Streams {
    pub(super) stdin: Box<dyn Write + Send>,
    pub(super) stdout: Box<dyn Read + Send>,
    pub(super) stderr: Box<dyn Read + Send>,
}

/// Started process.
pub(super) struct Begun {
    /// Time of the start.
    pub(super) at: Instant,
    /// Streams of the process.
    pub(super) streams: Streams,
    /// Bytes that it gets before its input.
    pub(super) first: Vec<u8>,
    /// Layers that confine it. `None` if its first line reports them.
    pub(super) report: Option<Report>,
}

/// Time that the end of a run may take after it was requested. Killing a process namespace takes milliseconds, or
/// seconds on a busy machine; what takes longer hangs in the kernel, as on a network file system that is gone.
const UNTIL_GONE: Duration = Duration::from_secs(60);

enum Event {
    Wrote(Stream, Vec<u8>),
    Closed,
    Ended,
}

/// Watches a process until its end, which `reap` collects; returns the layers that confined it.
///
/// Returns only when nothing of the process is left, as `is_gone` concludes from its exit status, or with
/// [`SandboxError::NotEnded`].
///
/// # Errors
/// If it did not end by itself, did not report its layers, or if processes of it may still be alive.
pub(super) fn see<E>(
    begun: Begun,
    input: Input,
    caps: Caps,
    stop: &Stop,
    seen: &mut dyn FnMut(Stream, &[u8]),
    reap: impl FnOnce() -> std::io::Result<E>,
    is_gone: impl FnOnce(&E) -> bool,
) -> Result<(Report, E), SandboxError> {
    let _guard = EndOnPanic(stop);
    let (events, inbox) = channel();
    let mut talk = Talk {
        before: Vec::new(),
        report: begun.report.map(Said::Confined),
        output: 0,
    };
    let watched = watch(begun.streams, begun.first, input, events, stop);
    let mut ended = false;
    if watched.is_ok() {
        ended = listen(&inbox, begun.at, caps, stop, &mut talk, seen);
    }
    stop.end(Why::Asked);
    // Without its threads nobody reports the end; then it is awaited below, however long that takes.
    if watched.is_ok() && !ended && !await_end(&inbox) {
        stop.give_up();
        return Err(SandboxError::NotEnded);
    }
    let ended = stop.reap(reap);
    let ended = ended.map_err(SandboxError::io("wait for the tool"))?;
    if !is_gone(&ended) {
        return Err(SandboxError::NotEnded);
    }
    watched?;
    let report = match (talk.report(stop), stop.why()) {
        // It was ended before it could report, which is no fault of the helper's.
        (Err(SandboxError::NoReport(_)), Some(Why::OutOfTime)) => {
            return Err(SandboxError::OutOfTime(caps.time));
        }
        (Err(SandboxError::NoReport(_)), Some(Why::TooMuchDisk(reached))) => {
            return Err(SandboxError::TooMuchDisk(reached));
        }
        (report, _) => report?,
    };
    match stop.why() {
        Some(Why::OutOfTime) => Err(SandboxError::OutOfTime(caps.time)),
        Some(Why::TooMuchOutput) => Err(SandboxError::TooMuchOutput(caps.output)),
        Some(Why::TooMuchDisk(reached)) => Err(SandboxError::TooMuchDisk(reached)),
        Some(Why::Stopped) => Err(SandboxError::Stopped),
        Some(Why::Asked | Why::Finished) | None => Ok((report, ended)),
    }
}

/// Ends the process if the receiver of its output panics: its folders are removed while the panic unwinds.
struct EndOnPanic<'a>(&'a Stop);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end(Why::Asked);
            self.0.wait();
        }
    }
}

/// Starts one thread for each stream and one for the end.
fn watch(
    streams: Streams,
    first: Vec<u8>,
    input: Input,
    events: Sender<Event>,
    stop: &Stop,
) -> Result<(), SandboxError> {
    let Streams {
        mut stdin,
        stdout,
        stderr,
    } = streams;
    // What fits into the pipe is written before threads are started: the process needs it first.
    let mut first = first;
    if first.len() <= AT_ONCE {
        let _ = stdin.write_all(&std::mem::take(&mut first));
    }
    let write = move || {
        // An error is ignored: a tool may decide not to read its task.
        let _ = stdin.write_all(&first).and_then(|()| match input {
            Input::Bytes(bytes) => stdin.write_all(&bytes),
            Input::Talk(said) => said.iter().try_for_each(|bytes| stdin.write_all(&bytes)),
        });
    };
    on_its_own(write)?;
    for (from, stream) in [(stdout, Stream::Out), (stderr, Stream::Err)] {
        let events = events.clone();
        on_its_own(move || forward(from, stream, &events))?;
    }
    let waiting = stop.clone();
    on_its_own(move || {
        waiting.wait();
        let _ = events.send(Event::Ended);
    })
}

fn on_its_own(work: impl FnOnce() + Send + 'static) -> Result<(), SandboxError> {
    let thread = thread::Builder::new().spawn(work);
    thread.map(drop).map_err(SandboxError::io("start a thread"))
}

fn forward(mut from: impl Read, stream: Stream, events: &Sender<Event>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let Some(bytes) = buffer.get(..count) else { break };
        if events.send(Event::Wrote(stream, bytes.to_vec())).is_err() {
            return;
        }
    }
    let _ = events.send(Event::Closed);
}

/// Waits until the process has ended, and drops what it still writes. Returns false if it does not end.
fn await_end(inbox: &Receiver<Event>) -> bool {
    let until = Instant::now() + UNTIL_GONE;
    loop {
        match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Event::Ended) => return true,
            Ok(Event::Wrote(..) | Event::Closed) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// Handles events until the process and both streams have ended, or a limit is reached. Returns true if the process
/// has ended.
fn listen(
    inbox: &Receiver<Event>,
    began: Instant,
    caps: Caps,
    stop: &Stop,
    talk: &mut Talk,
    seen: &mut dyn FnMut(Stream, &[u8]),
) -> bool {
    let mut until = began + caps.time;
    let (mut open, mut ended) = (2, false);
    while !(ended && open == 0) {
        match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Event::Wrote(stream, bytes)) => {
                if talk.take(stream, &bytes, caps.output, seen) && stop.end(Why::TooMuchOutput) {
                    until = Instant::now() + GRACE;
                }
            }
            Ok(Event::Closed) => open -= 1,
            Ok(Event::Ended) => {
                ended = true;
                until = Instant::now() + GRACE;
            }
            Err(RecvTimeoutError::Timeout) => {
                let first = stop.end(Why::OutOfTime);
                if !first || ended {
                    return ended;
                }
                until = Instant::now() + GRACE;
            }
            Err(RecvTimeoutError::Disconnected) => return ended,
        }
    }
    ended
}

/// Output so far: first the line of the report, then the tool's own.
struct Talk {
    before: Vec<u8>,
    report: Option<Said>,
    output: usize,
}

impl Talk {
    /// Adds output. Returns true if it is too much.
    fn take(
        &mut self,
        stream: Stream,
        bytes: &[u8],
        most: usize,
        seen: &mut dyn FnMut(Stream, &[u8]),
    ) -> bool {
        let mut rest = bytes;
        if stream == Stream::Out && self.report.is_none() {
            let line = bytes.iter().position(|byte| *byte == b'\n');
            let (head, tail) = bytes.split_at(line.map_or(bytes.len(), |end| end + 1));
            self.before.extend_from_slice(head);
            rest = tail;
            if line.is_some() {
                self.report = serde_json::from_slice(&self.before).ok();
            }
            if self.report.is_none() && (line.is_some() || self.before.len() > LONGEST_REPORT) {
                return true;
            }
        }
        self.output += rest.len();
        if self.output > most {
            return true;
        }
        if !rest.is_empty() {
            seen(stream, rest);
        }
        false
    }

    fn report(self, stop: &Stop) -> Result<Report, SandboxError> {
        match self.report {
            Some(Said::Confined(report)) => Ok(report),
            Some(Said::Refused(why)) => Err(SandboxError::NotConfined(why)),
            Some(Said::NoOverlay(why)) => Err(SandboxError::NoOverlay(why)),
            None if stop.why() == Some(Why::Stopped) => Err(SandboxError::Stopped),
            None => Err(SandboxError::NoReport(format!(
                "it wrote {} bytes that are not a report",
                self.before.len()
            ))),
        }
    }
}
