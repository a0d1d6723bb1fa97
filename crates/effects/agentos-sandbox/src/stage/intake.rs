//! What the helper takes from its parent and says to it, and the limits that every system has.
//!
//! Owns: the order's frame and the report's line. Never: reads a byte that is the tool's.

use std::io::Write;
use std::os::fd::AsFd;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::order::{Limits, Order, VERSION};
use crate::report::Said;

/// An order longer than this is none of ours.
const LONGEST_ORDER: usize = 1 << 20;

/// Writes one line to the parent. If it is gone, so are we.
pub(super) fn say(said: &Said) {
    let line = serde_json::to_string(said).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Reads the order and not one byte more: what follows on standard input is the tool's.
pub(super) fn read_order() -> Result<Order, String> {
    let mut length = [0; 8];
    read_exact(&mut length)?;
    let length = std::str::from_utf8(&length)
        .ok()
        .and_then(|text| text.trim().parse::<usize>().ok())
        .filter(|length| *length <= LONGEST_ORDER)
        .ok_or("the order has no length")?;
    let mut text = vec![0; length];
    read_exact(&mut text)?;
    let order: Order =
        serde_json::from_slice(&text).map_err(|error| format!("the order cannot be read: {error}"))?;
    if order.version == VERSION {
        Ok(order)
    } else {
        Err(format!("the order has version {}", order.version))
    }
}

/// Unbuffered: standard input is shared with the tool.
fn read_exact(buffer: &mut [u8]) -> Result<(), String> {
    let stdin = std::io::stdin();
    let mut rest = buffer;
    while !rest.is_empty() {
        let count = nix::unistd::read(stdin.as_fd(), rest)
            .map_err(|error| format!("the order cannot be read: {error}"))?;
        if count == 0 {
            return Err("the order is cut off".to_owned());
        }
        rest = rest.get_mut(count..).unwrap_or_default();
    }
    Ok(())
}

/// Sets the limits of this process and what it starts. A lower one that holds already stays: it cannot be raised.
pub(super) fn limits(limits: &Limits) -> Result<(), String> {
    let all = [
        (Resource::RLIMIT_CPU, limits.cpu_seconds),
        // Not the address space: run-times reserve far more of it than they use.
        (Resource::RLIMIT_DATA, limits.memory_bytes),
        // macOS has it, and the library that sets it there has not.
        #[cfg(target_os = "linux")]
        (Resource::RLIMIT_NPROC, limits.processes),
        (Resource::RLIMIT_FSIZE, limits.file_bytes),
        (Resource::RLIMIT_NOFILE, limits.open_files),
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
