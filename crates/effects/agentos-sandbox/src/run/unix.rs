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
#[cfg(target_os = "linux")]
use super::group::RunGroup;
use super::{Caps, Ended, Input, Stream};
use crate::stage::{FIRST, VERB};
use crate::watch::{Stop, Why, process, signal};
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
            *waiting = start(helper).ok().map(|started| Waiting(Some(started)));
        }
    }

    /// The helper that waits, if it still does. The system ends it with the thread that started it.
    fn take(&self) -> Option<Started> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut started = waiting.take()?.0.take()?;
        matches!(started.child.try_wait(), Ok(None)).then_some(started)
    }
}

/// One that nobody needs any more ends.
#[derive(Debug)]
struct Waiting(Option<Started>);

/// A helper, and the control group that it joined.
#[derive(Debug)]
struct Started {
    child: Child,
    #[cfg(target_os = "linux")]
    group: Option<RunGroup>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(mut started) = self.0.take() {
            // The helper waits for its process 1, so that the control group is empty when it has ended.
            signal(process(started.child.id()).as_ref());
            let _ = started.child.wait();
        }
    }
}

/// The mounts of a helper that waited. To take them down takes the system longer than all the rest of a run's end: they are
/// held until the run is over, and then let go where nobody waits for it. Nothing is in them by then.
struct Mounts(Option<File>);

impl Mounts {
    /// Those of a process, where the system lets us (Linux, and only who may look into that process).
    #[expect(clippy::disallowed_methods, reason = "the kernel's own folder of a process")]
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
    let (mut started, _mounts) = match ready.take() {
        Some(started) => {
            let mounts = Mounts::of(started.child.id());
            (started, mounts)
        }
        None => (start(helper)?, Mounts(None)),
    };
    // Before the order is sent, and so before the tool begins.
    #[cfg(target_os = "linux")]
    let run_limits = started
        .group
        .as_ref()
        .map(|group| group.limit(&order.limits))
        .unwrap_or_default();
    let child = &mut started.child;
    stop.began(process(child.id()));
    let begun = Begun {
        at,
        streams: streams(child),
        first,
        report: None,
    };
    #[cfg_attr(
        not(target_os = "linux"),
        expect(unused_mut, reason = "limits of a run are known on Linux alone")
    )]
    let (mut report, status) = flow::see(begun, input, caps, stop, seen, || child.wait(), is_gone)?;
    #[cfg(target_os = "linux")]
    if report.in_group {
        report.run_limits = run_limits;
    }
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

fn start(helper: &Path) -> Result<Started, SandboxError> {
    let mut command = Command::new(helper);
    command.args([VERB, FIRST]);
    #[cfg(target_os = "linux")]
    let group = RunGroup::create();
    #[cfg(target_os = "linux")]
    if let Some(group) = &group {
        command.arg(group.folder());
    }
    command
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn();
    Ok(Started {
        child: child.map_err(SandboxError::io("start the helper that confines a tool"))?,
        #[cfg(target_os = "linux")]
        group,
    })
}
