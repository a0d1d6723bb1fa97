//! A helper that confines itself, as Linux and macOS want it.
//!
//! Owns: starting it, what it is told first, and its exit code. Never: gives it a variable or a descriptor of ours.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

#[cfg(target_os = "linux")]
use nix::sys::signal::Signal;

use super::flow::{self, Begun, Streams};
use super::{Caps, Ended, Input, Stream};
use crate::stage::{FIRST, VERB};
use crate::watch::{Stop, Why, kill_session, process};
use crate::{Order, SandboxError};

/// A helper that was started before it is known what for. It is this far only: in namespaces of its own, with what every
/// process sees, waiting for its order. Clones share the one.
#[derive(Debug, Clone, Default)]
pub(super) struct Ready(Arc<Mutex<Option<Waiting>>>);

impl Ready {
    /// Starts a helper, unless one waits already. One that cannot be started is missed by nobody: the run says why.
    pub(super) fn prepare(&self, helper: &Path) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_none() {
            *waiting = start(helper).ok().map(|child| Waiting(Some(child)));
        }
    }

    /// The helper that waits, if it still does. The system ends it with the thread that started it.
    fn take(&self) -> Option<Child> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut child = waiting.take()?.0.take()?;
        matches!(child.try_wait(), Ok(None)).then_some(child)
    }
}

/// One that nobody needs any more ends.
#[derive(Debug)]
struct Waiting(Option<Child>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            kill_session(process(child.id()).as_ref());
            let _ = child.wait();
        }
    }
}

/// The mounts of a helper that waited. To take them down takes the system longer than all the rest of a run's end: they are
/// held until the run is over, and then let go where nobody waits for it. Nothing is in them by then.
struct Mounts(Option<File>);

impl Mounts {
    /// Those of a process, where the system lets us (Linux, and only who may look into that process).
    fn of(id: u32) -> Self {
        Self(File::open(format!("/proc/{id}/ns/mnt")).ok())
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        if let Some(mounts) = self.0.take() {
            // Where no thread is to be had, it is done here.
            let _ = thread::Builder::new().spawn(move || drop(mounts));
        }
    }
}

pub(super) fn run(
    (helper, ready): (&Path, &Ready),
    order: &Order,
    input: Input,
    caps: Caps,
    stop: &Stop,
    seen: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Ended, SandboxError> {
    let at = Instant::now();
    let first = framed(order)?;
    let (mut child, _mounts) = match ready.take() {
        Some(child) => {
            let mounts = Mounts::of(child.id());
            (child, mounts)
        }
        None => (start(helper)?, Mounts(None)),
    };
    stop.began(process(child.id()));
    let begun = Begun {
        at,
        streams: streams(&mut child),
        first,
        report: None,
    };
    let (report, status) = flow::see(begun, input, caps, stop, seen, || child.wait(), is_gone)?;
    let code = match stop.why() {
        Some(Why::Finished) => Some(0),
        _ => status.code().and_then(|code| u8::try_from(code).ok()),
    };
    Ok(Ended {
        report,
        code: code.ok_or_else(|| SandboxError::NoReport("a signal ended it".to_owned()))?,
        elapsed: at.elapsed(),
    })
}

/// True when a helper that ended so has seen the end of everything that it started: see the table in `stage/enter.rs`.
#[cfg(target_os = "linux")]
fn is_gone(status: &ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.code().is_some() || status.signal() == Some(Signal::SIGTERM as i32)
}

/// There is no process namespace on this system: the helper is the tool, and what it started is in its session.
#[cfg(not(target_os = "linux"))]
fn is_gone(_status: &ExitStatus) -> bool {
    true
}

/// All three were asked for; one that is not there is at its end.
fn streams(child: &mut Child) -> Streams {
    fn readable(from: Option<impl Read + Send + 'static>) -> Box<dyn Read + Send> {
        from.map_or_else(
            || Box::new(std::io::empty()) as Box<dyn Read + Send>,
            |from| Box::new(from),
        )
    }
    Streams {
        stdin: child.stdin.take().map_or_else(
            || Box::new(std::io::sink()) as Box<dyn Write + Send>,
            |stdin| Box::new(stdin),
        ),
        stdout: readable(child.stdout.take()),
        stderr: readable(child.stderr.take()),
    }
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
