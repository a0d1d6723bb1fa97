//! Communication with the parent, and the resource limits that every system has.
//!
//! Owns: the frame of the launch spec, and the line of the report. Never: reads a byte that is meant for the tool.

use std::io::Write;
use std::os::fd::AsFd;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::launch_spec::{LaunchSpec, ResourceLimits, VERSION};
use crate::report::{HelperMessage, REPORT_READ};

/// Largest size of a spec; the parent never sends a longer one.
const LONGEST_SPEC: usize = 1 << 20;

/// Writes one line to the parent. An error is ignored: without its parent this process is killed anyway.
pub(super) fn send_message(said: &HelperMessage) {
    let line = serde_json::to_string(said).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Waits until the parent has read the report. The report goes over standard output, which the tool inherits: a tool
/// that started earlier could read the report out of the pipe and write another one.
pub(super) fn await_report_read() -> Result<(), String> {
    let mut told = [0];
    read_exact(&mut told)?;
    if told == [REPORT_READ] {
        Ok(())
    } else {
        Err("the parent did not confirm the report".to_owned())
    }
}

/// Reads the spec and not one byte more: what follows on standard input is the tool's.
pub(super) fn read_spec() -> Result<LaunchSpec, String> {
    let mut length = [0; 8];
    read_exact(&mut length)?;
    let length = std::str::from_utf8(&length)
        .ok()
        .and_then(|text| text.trim().parse::<usize>().ok())
        .filter(|length| *length <= LONGEST_SPEC)
        .ok_or("the launch spec does not begin with its length")?;
    let mut text = vec![0; length];
    read_exact(&mut text)?;
    let spec: LaunchSpec =
        serde_json::from_slice(&text).map_err(|error| format!("the launch spec cannot be read: {error}"))?;
    if spec.version == VERSION {
        Ok(spec)
    } else {
        Err(format!(
            "the launch spec has the unknown version {}",
            spec.version
        ))
    }
}

/// Fills the buffer from standard input. Unbuffered, because standard input is shared with the tool.
fn read_exact(buffer: &mut [u8]) -> Result<(), String> {
    let stdin = std::io::stdin();
    let mut rest = buffer;
    while !rest.is_empty() {
        let count = nix::unistd::read(stdin.as_fd(), rest)
            .map_err(|error| format!("the launch spec cannot be read: {error}"))?;
        if count == 0 {
            return Err("the launch spec is cut off".to_owned());
        }
        rest = rest.get_mut(count..).unwrap_or_default();
    }
    Ok(())
}

/// Sets the limits of this process and of what it starts. A lower limit that is active already stays: it cannot be
/// raised.
pub(super) fn set_limits(limits: &ResourceLimits) -> Result<(), String> {
    let all = [
        (Resource::RLIMIT_CPU, limits.cpu_seconds),
        // Not the address space (`RLIMIT_AS`): language runtimes reserve far more of it than they use.
        (Resource::RLIMIT_DATA, limits.memory_bytes),
        // macOS has this limit, but the `nix` crate cannot set it there.
        #[cfg(target_os = "linux")]
        (Resource::RLIMIT_NPROC, limits.processes),
        (Resource::RLIMIT_FSIZE, limits.file_bytes),
        (Resource::RLIMIT_NOFILE, limits.open_files),
        // A core dump would write the tool's memory, with its keys, into a folder that is read later.
        (Resource::RLIMIT_CORE, 0),
    ];
    for (resource, limit) in all {
        let wrong = |error| format!("a limit cannot be set: {error}");
        let (_, hard) = getrlimit(resource).map_err(wrong)?;
        let limit = limit.min(hard);
        setrlimit(resource, limit, limit).map_err(wrong)?;
    }
    Ok(())
}
