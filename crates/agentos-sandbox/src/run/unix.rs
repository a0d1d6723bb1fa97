//! The parent's side, the same wherever there is a helper.
//!
//! Owns: the helper process, its threads and the messages between them. Never: takes a byte as the tool's before the
//! helper has reported.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{Caps, Ended, Input, Stream};
use crate::report::Said;
use crate::stage::{FIRST, VERB};
use crate::watch::{Stop, Why};
use crate::{Order, Report, SandboxError};

/// How long the streams may stay open after the process ended: nothing of the tool's
/// holds them then, only bytes still on their way.
const GRACE: Duration = Duration::from_secs(2);
/// The report is one short line.
const LONGEST_REPORT: usize = 64 << 10;

enum Event {
    Wrote(Stream, Vec<u8>),
    Closed,
    Ended,
}

pub(super) fn run(
    helper: &Path,
    order: &Order,
    input: Input,
    caps: Caps,
    stop: &Stop,
    seen: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Ended, SandboxError> {
    let began = Instant::now();
    let first = framed(order)?;
    let mut child = start(helper)?;
    stop.began(child.id());
    let (events, inbox) = channel();
    let watched = watch(&mut child, first, input, events, stop);
    let mut talk = Talk {
        before: Vec::new(),
        report: None,
        output: 0,
    };
    if watched.is_ok() {
        listen(&inbox, began, caps, stop, &mut talk, seen);
    }
    stop.end(Why::Asked);
    let status = stop.reap(|| child.wait());
    watched?;
    let status = status.map_err(SandboxError::io("wait for the tool"))?;
    let report = talk.report(stop)?;
    match stop.why() {
        Some(Why::OutOfTime) => return Err(SandboxError::OutOfTime(caps.time)),
        Some(Why::TooMuchOutput) => return Err(SandboxError::TooMuchOutput(caps.output)),
        Some(Why::Stopped) => return Err(SandboxError::Stopped),
        Some(Why::Asked | Why::Finished) | None => {}
    }
    let code = match stop.why() {
        Some(Why::Finished) => Some(0),
        _ => status.code().and_then(|code| u8::try_from(code).ok()),
    };
    Ok(Ended {
        report,
        code: code.ok_or_else(|| SandboxError::NoReport("a signal ended it".to_owned()))?,
        elapsed: began.elapsed(),
    })
}

fn framed(order: &Order) -> Result<Vec<u8>, SandboxError> {
    let text = serde_json::to_string(order)
        .map_err(std::io::Error::other)
        .map_err(SandboxError::io("write the order"))?;
    Ok(format!("{:8}{text}", text.len()).into_bytes())
}

fn start(helper: &Path) -> Result<Child, SandboxError> {
    Command::new(helper)
        .args([VERB, FIRST])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(SandboxError::io("start the helper that confines a tool"))
}

/// One thread for each stream and one for the end.
fn watch(
    child: &mut Child,
    first: Vec<u8>,
    input: Input,
    events: Sender<Event>,
    stop: &Stop,
) -> Result<(), SandboxError> {
    let failed = SandboxError::io;
    if let Some(mut stdin) = child.stdin.take() {
        let write = move || {
            // A tool that does not read its task is its own affair.
            let _ = stdin.write_all(&first).and_then(|()| match input {
                Input::Bytes(bytes) => stdin.write_all(&bytes),
                Input::Talk(said) => said.iter().try_for_each(|bytes| stdin.write_all(&bytes)),
            });
        };
        thread::Builder::new()
            .spawn(write)
            .map_err(failed("start a thread"))?;
    }
    if let Some(stdout) = child.stdout.take() {
        let events = events.clone();
        let read = move || forward(stdout, Stream::Out, &events);
        thread::Builder::new()
            .spawn(read)
            .map_err(failed("start a thread"))?;
    }
    if let Some(stderr) = child.stderr.take() {
        let events = events.clone();
        let read = move || forward(stderr, Stream::Err, &events);
        thread::Builder::new()
            .spawn(read)
            .map_err(failed("start a thread"))?;
    }
    let waiting = stop.clone();
    let wait = move || {
        waiting.wait();
        let _ = events.send(Event::Ended);
    };
    thread::Builder::new()
        .spawn(wait)
        .map_err(failed("start a thread"))?;
    Ok(())
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

/// Takes events until the process and both streams have ended, or what was allowed is used up.
fn listen(
    inbox: &Receiver<Event>,
    began: Instant,
    caps: Caps,
    stop: &Stop,
    talk: &mut Talk,
    seen: &mut dyn FnMut(Stream, &[u8]),
) {
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
                    return;
                }
                until = Instant::now() + GRACE;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// What came over standard output: the report's line, then the tool's own.
struct Talk {
    before: Vec<u8>,
    report: Option<Said>,
    output: usize,
}

impl Talk {
    /// True when it was too much.
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
                "it wrote {} bytes that are no report",
                self.before.len()
            ))),
        }
    }
}
