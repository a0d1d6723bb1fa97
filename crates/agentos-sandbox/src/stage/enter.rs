//! The first half of the helper: nothing inherited, then the namespaces.
//!
//! Owns: closing descriptors, the session, opening namespaces. Never: reads the order; the second half does.

use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{close, geteuid, setsid};

use super::user::{self, Role};
use super::{REFUSED, VERB};

/// Opens the namespaces and starts the second half as process 1 of them.
pub(super) fn namespaces() -> Result<u8, String> {
    alone()?;
    let role = open()?;
    // With the process namespace open, the next child is its process 1.
    let mut child = Command::new("/proc/self/exe")
        .args([VERB, "hold", &role.to_string()])
        .env_clear()
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| format!("process 1 of the namespace cannot be started: {error}"))?;
    let status = child
        .wait()
        .map_err(|error| format!("process 1 of the namespace is lost: {error}"))?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(REFUSED))
}

/// Nothing inherited but the three streams, a session of its own, and an end with the parent.
fn alone() -> Result<(), String> {
    close_descriptors()?;
    setsid().map_err(|error| format!("no session of its own: {error}"))?;
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| format!("would outlive its parent: {error}"))
}

/// Closes everything above standard error: a descriptor that whoever started us left open would be a way out.
fn close_descriptors() -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("open descriptors cannot be listed: {error}");
    let mut open: Vec<i32> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        open.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for descriptor in open.into_iter().filter(|number| *number > 2) {
        // The one that listed them is closed already.
        let _ = close(descriptor);
    }
    Ok(())
}

/// Opens every namespace: with root's rights where we have them (given up later), else in a user namespace.
fn open() -> Result<Role, String> {
    let all = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    if geteuid().is_root() {
        if unshare(all).is_ok() {
            return Ok(Role::Root);
        }
        // Root of a container that may not do this is a user like any other.
        user::drop_root()?;
    }
    let (uid, gid) = (nix::unistd::getuid().as_raw(), nix::unistd::getgid().as_raw());
    unshare(all | CloneFlags::CLONE_NEWUSER)
        .map_err(|error| format!("namespaces are not available to this user: {error}"))?;
    user::map(0, uid, 0, gid)?;
    Ok(Role::User { uid, gid })
}
