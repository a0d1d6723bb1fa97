//! Runs a process that is confined from outside, as on Windows: no helper is needed.
//!
//! Tested under Wine as far as that goes, and never on Windows.
//!
//! Owns: which parts of a launch spec Windows can carry out, and the exit code. Never: leaves a part out silently.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentos_winbox::{
    ConfinedProcess, JobLimits, ProcessPipes, ProcessStart, WinboxError, open_to_low_integrity,
    start_process, try_layers,
};

use super::flow::{self, ProcessStreams, StartedProcess};
use super::{FinishedRun, OutputStream, RunCaps, ToolInput};
use crate::watch::{EndReason, StopHandle};
use crate::{LaunchSpec, SandboxError, SandboxLayer, SandboxReport};

pub(super) fn run(
    spec: &LaunchSpec,
    input: ToolInput,
    caps: RunCaps,
    stop: &StopHandle,
    seen: &mut dyn FnMut(OutputStream, &[u8]),
) -> Result<FinishedRun, SandboxError> {
    let at = Instant::now();
    check_possible(spec)?;
    let limits = job_limits(spec);
    let mut report = SandboxReport::default();
    SandboxLayer::POSSIBLE
        .into_iter()
        .for_each(|layer| report.add_layer(layer));
    let Some(program) = &spec.program else {
        try_layers(&limits).map_err(not_held)?;
        return Ok(FinishedRun {
            report,
            code: 0,
            elapsed: at.elapsed(),
        });
    };
    for place in &spec.writable {
        allow_writing(place)?;
    }
    let what = ProcessStart {
        program,
        args: &spec.args,
        env: &spec.env,
        cwd: &spec.cwd,
        limits,
    };
    let (held, pipes) = start_process(&what).map_err(not_held)?;
    let held = Arc::new(held);
    stop.set_process(Some(Arc::clone(&held)));
    let ProcessPipes {
        stdin,
        stdout,
        stderr,
    } = pipes;
    let begun = StartedProcess {
        at,
        streams: ProcessStreams {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
        },
        first: Vec::new(),
        report: Some(report),
    };
    let (report, code) = flow::watch_process(begun, input, caps, stop, seen, || exit_code(&held), |_| true)?;
    Ok(FinishedRun {
        report,
        code: if stop.end_reason() == Some(EndReason::Finished) {
            0
        } else {
            code
        },
        elapsed: at.elapsed(),
    })
}

/// Checks that Windows can carry out the whole spec. Nothing is started otherwise.
///
/// # Errors
/// If it needs an overlay, a forwarded port or a shared folder.
fn check_possible(spec: &LaunchSpec) -> Result<(), SandboxError> {
    if !spec.overlays.is_empty() {
        return Err(SandboxError::NoOverlay("this system has no overlays".to_owned()));
    }
    let refused = |why: &str| Err(SandboxError::NotConfined(why.to_owned()));
    if !spec.forwards.is_empty() {
        return refused("a confined program cannot be given a connection to a server on this system");
    }
    if !spec.shares.is_empty() {
        return refused("a folder cannot be shown at another place on this system");
    }
    Ok(())
}

/// Converts the limits that a job object has. It limits neither the size of a file nor the number of open files.
fn job_limits(spec: &LaunchSpec) -> JobLimits {
    JobLimits {
        cpu: Duration::from_secs(spec.limits.cpu_seconds),
        memory_bytes: spec.limits.memory_bytes,
        processes: u32::try_from(spec.limits.processes).unwrap_or(u32::MAX),
    }
}

/// Gives the tool write access to a folder and everything in it. Links are left alone: what they lead to is not part
/// of the folder.
#[expect(clippy::disallowed_methods, reason = "asked before the tool is started")]
fn allow_writing(place: &Path) -> Result<(), SandboxError> {
    let failed = SandboxError::io;
    let found = fs::symlink_metadata(place).map_err(failed("look at a folder of the tool's"))?;
    if found.is_symlink() {
        return Ok(());
    }
    open_to_low_integrity(place, found.is_dir()).map_err(not_held)?;
    if found.is_dir() {
        for entry in fs::read_dir(place).map_err(failed("list a folder of the tool's"))? {
            allow_writing(&entry.map_err(failed("list a folder of the tool's"))?.path())?;
        }
    }
    Ok(())
}

/// Returns the exit code of an ended process. One that does not fit into a byte, as after a crash, becomes 255.
fn exit_code(held: &ConfinedProcess) -> std::io::Result<u8> {
    let code = held.code().map_err(std::io::Error::other)?;
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

fn not_held(error: WinboxError) -> SandboxError {
    SandboxError::NotConfined(error.to_string())
}
