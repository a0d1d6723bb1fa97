//! Starts the helper that confines itself, on Linux and macOS.
//!
//! Owns: starting it, sending its launch spec, and its exit code. Never: gives it a variable or a descriptor of this
//! program's.

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

/// Helper that was started before its launch spec is known. It has its namespaces and the part of the root that every
/// process sees, and waits for the spec. Clones share one helper.
#[derive(Debug, Clone, Default)]
pub(super) struct Ready(Arc<Mutex<Option<Waiting>>>);

impl Ready {
    /// Starts a helper, unless one is waiting already. A failure is ignored: the run starts its own helper and
    /// reports the reason.
    pub(super) fn prepare(&self, helper: &Path) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_none() {
            *waiting = start(helper).ok().map(|started| Waiting(Some(started)));
        }
    }

    /// Takes the waiting helper. `None` if there is none or it has ended: the system ends it with the thread that
    /// started it.
    fn take(&self) -> Option<Started> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut started = waiting.take()?.0.take()?;
        matches!(started.child.try_wait(), Ok(None)).then_some(started)
    }
}

/// Waiting helper, which is ended if nobody takes it.
#[derive(Debug)]
struct Waiting(Option<Started>);

/// Started helper, and the control group that it joined.
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

/// Mount namespace of a helper that waited. Taking it down takes longer than all the rest of a run's end, so it is
/// held until the run is over and then released on a thread that nobody waits for. Nothing is in it by then.
struct Mounts(Option<File>);

impl Mounts {
    /// Opens the mount namespace of a process. Holds nothing if the system does not allow it (only Linux does, to a
    /// user who may look into that process).
    #[expect(clippy::disallowed_methods, reason = "the kernel's own folder of a process")]
    fn of(id: u32) -> Self {
        Self(File::open(format!("/proc/{id}/ns/mnt")).ok())
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        if let Some(mounts) = self.0.take() {
            // If no thread can be started, it is released here.
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
    // Must come before the spec is sent, and so before the tool starts.
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

/// Returns true if a helper with this exit status has seen the end of everything that it started: see the table in
/// `stage/enter.rs`.
#[cfg(target_os = "linux")]
fn is_gone(status: &ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.code().is_some() || status.signal() == Some(Signal::SIGTERM as i32)
}

/// Returns true: this system has no process namespaces. The helper is the tool, and what it started is in its
/// session.
#[cfg(not(target_os = "linux"))]
fn is_gone(_status: &ExitStatus) -> bool {
    true
}

/// Takes the three streams of the child. One that is missing is treated as ended.
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
        .map_err(SandboxError::io("write the launch spec"))?;
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
