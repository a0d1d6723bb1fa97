//! Watches a started process until its end: its input, its output, its time.
//!
//! Owns: one thread for each stream and one for the end, and the limits. Never: knows how the process was started or
//! what confines it.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{OutputStream, RunCaps, ToolInput};
use crate::report::{HelperMessage, REPORT_READ};
use crate::watch::{EndReason, StopHandle};
use crate::{SandboxError, SandboxReport};

/// Time for which the streams may stay open after the process ended. No process of the tool's holds them then; only
/// bytes are still on their way.
const GRACE: Duration = Duration::from_secs(2);
/// Events that wait at most, of up to 16 KiB each. If the receiver of the output is slow, its reader stops, the pipe fills, and the
/// process waits: an unread answer must not grow in this process.
const MOST_WAITING: usize = 64;
/// Bytes that an empty pipe accepts without a reader (pipe(7): `PIPE_BUF`).
const PIPE_CAPACITY: usize = 4096;
/// Largest size of the report, which is one short line.
const LONGEST_REPORT: usize = 64 << 10;

/// Parent's ends of a process's streams.
pub(super) struct ProcessStreams {
    pub(super) stdin: Box<dyn Write + Send>,
    pub(super) stdout: Box<dyn Read + Send>,
    pub(super) stderr: Box<dyn Read + Send>,
}

/// Started process.
pub(super) struct StartedProcess {
    /// Time of the start.
    pub(super) at: Instant,
    /// Streams of the process.
    pub(super) streams: ProcessStreams,
    /// Bytes that it gets before its input.
    pub(super) first: Vec<u8>,
    /// Layers that confine it. `None` if its first line reports them.
    pub(super) report: Option<SandboxReport>,
}

/// Time that the end of a run may take after it was requested. Killing a process namespace takes milliseconds, or
/// seconds on a busy machine; what takes longer hangs in the kernel, as on a network file system that is gone.
const MAX_END_TIME: Duration = Duration::from_secs(60);

enum RunEvent {
    Wrote(OutputStream, Vec<u8>),
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
pub(super) fn watch_process<E>(
    begun: StartedProcess,
    input: ToolInput,
    caps: RunCaps,
    stop: &StopHandle,
    seen: &mut dyn FnMut(OutputStream, &[u8]),
    reap: impl FnOnce() -> std::io::Result<E>,
    is_gone: impl FnOnce(&E) -> bool,
) -> Result<(SandboxReport, E), SandboxError> {
    let _guard = EndOnPanic(stop);
    let (events, inbox) = sync_channel(MOST_WAITING);
    let (report_read, confirmed) = sync_channel(1);
    // A process that reports over its output waits until its report was read.
    let confirmation = begun.report.is_none().then_some(confirmed);
    let mut reader = OutputReader {
        before: Vec::new(),
        report: begun.report.map(HelperMessage::Confined),
        output: 0,
        stop: stop.clone(),
        report_read: Some(report_read),
    };
    if reader.report.is_some() {
        reader.publish_report();
    }
    let watched = start_threads(begun.streams, (begun.first, confirmation, input), events, stop);
    let mut ended = false;
    if watched.is_ok() {
        ended = handle_events(&inbox, begun.at, caps, stop, &mut reader, seen);
    }
    // Whatever happened above, nothing of the run may be left when this returns. A reason that was given earlier
    // stays.
    stop.end_with(EndReason::Asked);
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
    let report = match (reader.into_report(stop), stop.end_reason()) {
        // It was ended before it could report, which is no fault of the helper's.
        (Err(SandboxError::NoReport(_)), Some(EndReason::OutOfTime)) => {
            return Err(SandboxError::OutOfTime(caps.time));
        }
        (Err(SandboxError::NoReport(_)), Some(EndReason::TooMuchDisk(reached))) => {
            return Err(SandboxError::TooMuchDisk(reached));
        }
        (report, _) => report?,
    };
    match stop.end_reason() {
        Some(EndReason::OutOfTime) => Err(SandboxError::OutOfTime(caps.time)),
        Some(EndReason::TooMuchOutput) => Err(SandboxError::TooMuchOutput(caps.output)),
        Some(EndReason::TooMuchDisk(reached)) => Err(SandboxError::TooMuchDisk(reached)),
        Some(EndReason::Stopped) => Err(SandboxError::Stopped),
        Some(EndReason::Asked | EndReason::Finished) | None => Ok((report, ended)),
    }
}

/// Ends the process if the receiver of its output panics: its folders are removed while the panic unwinds.
struct EndOnPanic<'a>(&'a StopHandle);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end_with(EndReason::Asked);
            self.0.wait();
        }
    }
}

/// Starts one thread for each stream and one for the end.
fn start_threads(
    streams: ProcessStreams,
    (first, confirmation, input): (Vec<u8>, Option<Receiver<()>>, ToolInput),
    events: SyncSender<RunEvent>,
    stop: &StopHandle,
) -> Result<(), SandboxError> {
    let ProcessStreams {
        mut stdin,
        stdout,
        stderr,
    } = streams;
    // What fits into the pipe is written before threads are started: the process needs it first.
    let mut first = first;
    if first.len() <= PIPE_CAPACITY {
        let _ = stdin.write_all(&std::mem::take(&mut first));
    }
    let write = move || {
        if stdin.write_all(&first).is_err() {
            return;
        }
        if let Some(confirmed) = confirmation {
            // Without a report there is no tool, and its input has no reader.
            if confirmed.recv().is_err() || stdin.write_all(&[REPORT_READ]).is_err() {
                return;
            }
        }
        // An error is ignored: a tool may decide not to read its task.
        let _ = match input {
            ToolInput::Bytes(bytes) => stdin.write_all(&bytes),
            ToolInput::Talk(mut source) => source.try_for_each(|bytes| stdin.write_all(&bytes)),
        };
    };
    spawn_thread(write)?;
    for (from, stream) in [(stdout, OutputStream::Out), (stderr, OutputStream::Err)] {
        let events = events.clone();
        spawn_thread(move || forward_output(from, stream, &events))?;
    }
    let waiting = stop.clone();
    spawn_thread(move || {
        waiting.wait();
        let _ = events.send(RunEvent::Ended);
    })
}

fn spawn_thread(work: impl FnOnce() + Send + 'static) -> Result<(), SandboxError> {
    let thread = thread::Builder::new().spawn(work);
    thread.map(drop).map_err(SandboxError::io("start a thread"))
}

fn forward_output(mut from: impl Read, stream: OutputStream, events: &SyncSender<RunEvent>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let Some(bytes) = buffer.get(..count) else { break };
        if events.send(RunEvent::Wrote(stream, bytes.to_vec())).is_err() {
            return;
        }
    }
    let _ = events.send(RunEvent::Closed);
}

/// Waits until the process has ended, and drops what it still writes. Returns false if it does not end.
fn await_end(inbox: &Receiver<RunEvent>) -> bool {
    let until = Instant::now() + MAX_END_TIME;
    loop {
        match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(RunEvent::Ended) => return true,
            Ok(RunEvent::Wrote(..) | RunEvent::Closed) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// Handles events until the process and both streams have ended, or a limit is reached. Returns true if the process
/// has ended.
fn handle_events(
    inbox: &Receiver<RunEvent>,
    began: Instant,
    caps: RunCaps,
    stop: &StopHandle,
    reader: &mut OutputReader,
    seen: &mut dyn FnMut(OutputStream, &[u8]),
) -> bool {
    let mut until = began + caps.time;
    let (mut open, mut ended) = (2, false);
    while !(ended && open == 0) {
        match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(RunEvent::Wrote(stream, bytes)) => {
                if reader.add_output(stream, &bytes, caps.output, seen)
                    && stop.end_with(EndReason::TooMuchOutput)
                {
                    until = Instant::now() + GRACE;
                }
            }
            Ok(RunEvent::Closed) => open -= 1,
            Ok(RunEvent::Ended) => {
                ended = true;
                until = Instant::now() + GRACE;
            }
            Err(RecvTimeoutError::Timeout) => {
                let first = stop.end_with(EndReason::OutOfTime);
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
struct OutputReader {
    before: Vec<u8>,
    report: Option<HelperMessage>,
    output: usize,
    /// Handle through which others read the report while the process runs.
    stop: StopHandle,
    /// Passes to the thread of the input that the report was read. `None` once it was passed.
    report_read: Option<SyncSender<()>>,
}

impl OutputReader {
    /// Adds output. Returns true if it is too much.
    fn add_output(
        &mut self,
        stream: OutputStream,
        bytes: &[u8],
        most: usize,
        seen: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> bool {
        let mut rest = bytes;
        if stream == OutputStream::Out && self.report.is_none() {
            let line = bytes.iter().position(|byte| *byte == b'\n');
            let (head, tail) = bytes.split_at(line.map_or(bytes.len(), |end| end + 1));
            self.before.extend_from_slice(head);
            rest = tail;
            if line.is_some() {
                self.report = serde_json::from_slice(&self.before).ok();
                self.publish_report();
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

    fn publish_report(&mut self) {
        // Dropped in any case: without a report the thread of the input must not wait for one.
        let report_read = self.report_read.take();
        if let Some(HelperMessage::Confined(report)) = &self.report {
            self.stop.set_report(report.clone());
            if let Some(report_read) = report_read {
                // There is room for it, or the process needs no confirmation.
                let _ = report_read.try_send(());
            }
        }
    }

    fn into_report(self, stop: &StopHandle) -> Result<SandboxReport, SandboxError> {
        match self.report {
            Some(HelperMessage::Confined(report)) => Ok(report),
            Some(HelperMessage::Refused(why)) => Err(SandboxError::NotConfined(why)),
            Some(HelperMessage::NoOverlay(why)) => Err(SandboxError::NoOverlay(why)),
            None if stop.end_reason() == Some(EndReason::Stopped) => Err(SandboxError::Stopped),
            None => Err(SandboxError::NoReport(format!(
                "it wrote {} bytes that are not a report",
                self.before.len()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    /// Watches a process that is a thread: it reads its spec, writes `report`, and returns what it reads afterwards.
    fn watch_thread(report: &'static str) -> (Result<SandboxReport, SandboxError>, Vec<u8>, Vec<u8>) {
        let (mut stdin, to_stdin) = std::io::pipe().unwrap();
        let (from_stdout, mut stdout) = std::io::pipe().unwrap();
        let (from_stderr, stderr) = std::io::pipe().unwrap();
        let process = thread::spawn(move || {
            let mut spec = [0; 4];
            stdin.read_exact(&mut spec).unwrap();
            stdout.write_all(report.as_bytes()).unwrap();
            if !report.starts_with(r#"{"confined""#) {
                drop((stdout, stderr));
                let mut rest = Vec::new();
                stdin.read_to_end(&mut rest).unwrap();
                return rest;
            }
            let mut stdin = BufReader::new(stdin);
            let mut rest = Vec::new();
            stdin.read_until(b'\n', &mut rest).unwrap();
            stdout.write_all(b"output").unwrap();
            drop((stdout, stderr));
            rest
        });
        let begun = StartedProcess {
            at: Instant::now(),
            streams: ProcessStreams {
                stdin: Box::new(to_stdin),
                stdout: Box::new(from_stdout),
                stderr: Box::new(from_stderr),
            },
            first: b"spec".to_vec(),
            report: None,
        };
        let caps = RunCaps {
            time: Duration::from_secs(30),
            output: 1 << 20,
        };
        let mut seen = Vec::new();
        let mut read = Vec::new();
        let input = ToolInput::Bytes(b"input\n".to_vec());
        let watched = watch_process(
            begun,
            input,
            caps,
            &StopHandle::default(),
            &mut |_, bytes| seen.extend_from_slice(bytes),
            || {
                read = process.join().unwrap();
                Ok(())
            },
            |()| true,
        );
        (watched.map(|(report, ())| report), read, seen)
    }

    #[test]
    fn a_report_is_confirmed_before_the_input_is_sent() {
        let (report, read, seen) = watch_thread("{\"confined\":{\"layers\":[\"seccomp\"]}}\n");
        assert_eq!(report.unwrap().layers.len(), 1);
        assert_eq!(read, [&[REPORT_READ], b"input\n".as_slice()].concat());
        assert_eq!(seen, b"output");
    }

    #[test]
    fn without_a_report_nothing_is_confirmed_and_no_input_is_sent() {
        let (report, read, _) = watch_thread("no report\n");
        assert!(report.is_err());
        assert_eq!(read, b"");
    }
}
