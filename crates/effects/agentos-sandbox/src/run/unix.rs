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

use super::flow::{self, ProcessStreams, StartedProcess};
#[cfg(target_os = "linux")]
use super::group::RunGroup;
use super::{FinishedRun, OutputStream, RunCaps, ToolInput};
use crate::stage::{FIRST_PART, VERB};
use crate::watch::{EndReason, StopHandle, running_process, signal_end};
use crate::{LaunchSpec, SandboxError};

/// Helper that was started before its launch spec is known. It has its namespaces and the part of the root that every
/// process sees, and waits for the spec. Clones share one helper.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadyHelper(Arc<Mutex<Option<WaitingHelper>>>);

impl ReadyHelper {
    /// Starts a helper, unless one is waiting already. A failure is ignored: the run starts its own helper and
    /// reports the reason.
    pub(super) fn prepare(&self, helper: &Path) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_none() {
            *waiting = start_helper(helper)
                .ok()
                .map(|started| WaitingHelper(Some(started)));
        }
    }

    /// Takes the waiting helper. `None` if there is none or it has ended: the system ends it with the thread that
    /// started it.
    fn take(&self) -> Option<StartedHelper> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut started = waiting.take()?.0.take()?;
        matches!(started.child.try_wait(), Ok(None)).then_some(started)
    }
}

/// Waiting helper, which is ended if nobody takes it.
#[derive(Debug)]
struct WaitingHelper(Option<StartedHelper>);

/// Started helper, and the control group that it joined.
#[derive(Debug)]
struct StartedHelper {
    child: Child,
    #[cfg(target_os = "linux")]
    group: Option<RunGroup>,
}

impl Drop for WaitingHelper {
    fn drop(&mut self) {
        if let Some(mut started) = self.0.take() {
            // The helper waits for its process 1, so that the control group is empty when it has ended.
            signal_end(running_process(started.child.id()).as_ref());
            let _ = started.child.wait();
        }
    }
}

/// Mount namespace of a helper that waited. Taking it down takes longer than all the rest of a run's end, so it is
/// held until the run is over and then released on a thread that nobody waits for. Nothing is in it by then.
struct HeldMounts(Option<File>);

impl HeldMounts {
    /// Opens the mount namespace of a process. Holds nothing if the system does not allow it (only Linux does, to a
    /// user who may look into that process).
    #[expect(clippy::disallowed_methods, reason = "the kernel's own folder of a process")]
    fn of_process(id: u32) -> Self {
        Self(File::open(format!("/proc/{id}/ns/mnt")).ok())
    }
}

impl Drop for HeldMounts {
    fn drop(&mut self) {
        if let Some(mounts) = self.0.take() {
            // If no thread can be started, it is released here.
            let _ = thread::Builder::new().spawn(move || drop(mounts));
        }
    }
}

pub(super) fn run(
    (helper, ready): (&Path, &ReadyHelper),
    spec: &LaunchSpec,
    input: ToolInput,
    caps: RunCaps,
    stop: &StopHandle,
    seen: &mut dyn FnMut(OutputStream, &[u8]),
) -> Result<FinishedRun, SandboxError> {
    let at = Instant::now();
    let first = frame_spec(spec)?;
    let (mut started, _mounts) = match ready.take() {
        Some(started) => {
            let mounts = HeldMounts::of_process(started.child.id());
            (started, mounts)
        }
        None => (start_helper(helper)?, HeldMounts(None)),
    };
    // Must come before the spec is sent, and so before the tool starts.
    #[cfg(target_os = "linux")]
    let run_limits = started
        .group
        .as_ref()
        .map(|group| group.set_limits(&spec.limits))
        .unwrap_or_default();
    let child = &mut started.child;
    stop.set_process(running_process(child.id()));
    let begun = StartedProcess {
        at,
        streams: take_streams(child),
        first,
        report: None,
    };
    #[cfg_attr(
        not(target_os = "linux"),
        expect(unused_mut, reason = "limits of a run are known on Linux alone")
    )]
    let (mut report, status) =
        flow::watch_process(begun, input, caps, stop, seen, || child.wait(), is_namespace_gone)?;
    #[cfg(target_os = "linux")]
    if report.in_group {
        report.run_limits = run_limits;
    }
    let code = match stop.end_reason() {
        // It was ended by a signal on request; its exit status says nothing about its work.
        Some(EndReason::Finished) => Some(0),
        _ => status.code().and_then(|code| u8::try_from(code).ok()),
    };
    Ok(FinishedRun {
        report,
        code: code.ok_or_else(|| SandboxError::NoReport("a signal ended it".to_owned()))?,
        elapsed: at.elapsed(),
    })
}

/// Returns true if a helper with this exit status has seen the end of everything that it started: see the table in
/// `stage/enter.rs`.
#[cfg(target_os = "linux")]
fn is_namespace_gone(status: &ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.code().is_some() || status.signal() == Some(Signal::SIGTERM as i32)
}

/// Returns true: this system has no process namespaces. The helper is the tool, and what it started is in its
/// session.
#[cfg(not(target_os = "linux"))]
fn is_namespace_gone(_status: &ExitStatus) -> bool {
    true
}

/// Takes the three streams of the child. One that is missing is treated as ended.
fn take_streams(child: &mut Child) -> ProcessStreams {
    fn boxed_reader(from: Option<impl Read + Send + 'static>) -> Box<dyn Read + Send> {
        from.map_or_else(
            || Box::new(std::io::empty()) as Box<dyn Read + Send>,
            |from| Box::new(from),
        )
    }
    ProcessStreams {
        stdin: child.stdin.take().map_or_else(
            || Box::new(std::io::sink()) as Box<dyn Write + Send>,
            |stdin| Box::new(stdin),
        ),
        stdout: boxed_reader(child.stdout.take()),
        stderr: boxed_reader(child.stderr.take()),
    }
}

fn frame_spec(spec: &LaunchSpec) -> Result<Vec<u8>, SandboxError> {
    let text = serde_json::to_string(spec)
        .map_err(std::io::Error::other)
        .map_err(SandboxError::io("write the launch spec"))?;
    Ok(format!("{:8}{text}", text.len()).into_bytes())
}

fn start_helper(helper: &Path) -> Result<StartedHelper, SandboxError> {
    let mut command = Command::new(helper);
    command.args([VERB, FIRST_PART]);
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
    Ok(StartedHelper {
        child: child.map_err(SandboxError::io("start the helper that confines a tool"))?,
        #[cfg(target_os = "linux")]
        group,
    })
}
