//! First half of the helper: closes what was inherited, then opens the namespaces.
//!
//! Owns: closing descriptors, the session, opening namespaces. Never: reads the launch spec; the second half does.

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, close, geteuid, setsid};

use super::user::{self, StartRole};
use super::{REFUSED, VERB, refused};

/// Argument for the second half: whether its control group was joined.
pub(super) const IN_GROUP: &str = "group";
const WITHOUT_GROUP: &str = "alone";

/// Opens the namespaces, starts the second half as process 1 of them, and returns its exit code once the whole process
/// namespace is gone.
///
/// # Why this process outlives its child
///
/// The parent reads and removes folders that the tool could write. It may do so only when no process of the tool is left,
/// and the exit of *this* process is the proof of that: `waitpid` for process 1 of a process namespace returns only after
/// the kernel has killed and reaped every other process of it (pid_namespaces(7); `zap_pid_ns_processes` in
/// kernel/pid_namespace.c runs before process 1 becomes a zombie).
///
/// | event | what happens here | what the parent sees |
/// | --- | --- | --- |
/// | process 1 ends by itself | reaped, its exit code is passed on | an exit code: the namespace is gone |
/// | `SIGTERM` from the parent | process 1 is killed, then reaped | an exit code: the namespace is gone |
/// | `SIGTERM` before it is blocked below | the default action; nothing was started yet | death by `SIGTERM`: nothing ran |
/// | another signal, such as the OOM killer's `SIGKILL` | `PR_SET_PDEATHSIG` kills process 1, and nobody waits for it | death by that signal: processes may still live |
/// | the parent dies | `PR_SET_PDEATHSIG` kills this process, and then process 1 | - |
///
/// `group` is the folder of a control group to join; whether it was joined is said in the report.
pub(super) fn open_and_wait(group: Option<&Path>) -> Result<u8, String> {
    leave_inherited()?;
    let mut signals = block_signals()?;
    // Must come before the namespaces: a process may not move itself out of its own namespace's part of the groups
    // (cgroup_namespaces(7)).
    let joined = group.is_some_and(|group| std::fs::write(group.join("cgroup.procs"), "0").is_ok());
    let group = if joined { IN_GROUP } else { WITHOUT_GROUP };
    let role = open_namespaces()?;
    // `unshare` does not move the caller into the new process namespace; its next child becomes process 1
    // (unshare(2)).
    let child = Command::new("/proc/self/exe")
        .args([VERB, "hold", &role.to_string(), group])
        .env_clear()
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| format!("process 1 of the namespace cannot be started: {error}"))?;
    let first = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    Ok(reap_namespace(first, &mut signals))
}

/// Blocks the two signals that this process waits for, and returns the descriptor from which they are read
/// (signalfd(2)).
fn block_signals() -> Result<SignalFd, String> {
    let failed = |error: nix::Error| format!("signals cannot be waited for: {error}");
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals.add(Signal::SIGTERM);
    signals.thread_block().map_err(failed)?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).map_err(failed)
}

/// Waits until process 1 is reaped, and kills it as soon as the parent asks for the end. Returns its exit code, or
/// [`REFUSED`] if a signal ended it.
fn reap_namespace(first: Pid, signals: &mut SignalFd) -> u8 {
    loop {
        match waitpid(first, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, code)) => return u8::try_from(code).unwrap_or(REFUSED),
            Ok(WaitStatus::Signaled(..)) => return REFUSED,
            Ok(_) | Err(nix::Error::EINTR) => {}
            // An exit code would claim that the namespace is gone, which is not known here. Die by a signal instead.
            Err(_) => std::process::abort(),
        }
        match signals.read_signal() {
            Ok(Some(signal)) if signal.ssi_signo == Signal::SIGTERM as u32 => {
                // Fails only if it is dead already, which the next round finds out.
                let _ = kill(first, Signal::SIGKILL);
            }
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(_) => std::process::abort(),
        }
    }
}

/// Closes what was inherited except the three streams, starts a session, and ties this process to its parent.
fn leave_inherited() -> Result<(), String> {
    close_descriptors()?;
    setsid().map_err(|error| format!("no session of its own: {error}"))?;
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| format!("would outlive its parent: {error}"))
}

/// Closes every descriptor above standard error: one that an ancestor left open would be a way out.
#[expect(
    clippy::disallowed_methods,
    reason = "the helper's own descriptors, which no tool can name"
)]
fn close_descriptors() -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("open descriptors cannot be listed: {error}");
    let mut open: Vec<i32> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        open.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for descriptor in open.into_iter().filter(|number| *number > 2) {
        // The descriptor that listed the others is closed already.
        let _ = close(descriptor);
    }
    Ok(())
}

/// Opens every namespace: with root's rights if this is root (they are given up later), else in a user namespace.
///
/// Root that may not do this, as in a container without `CAP_SYS_ADMIN`, is refused: its tools would have to share
/// one user with the process that guards them.
fn open_namespaces() -> Result<StartRole, String> {
    let all = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    if geteuid().is_root() {
        unshare(all).map_err(|error| {
            format!("root may not open namespaces here ({error}); start it as an ordinary user")
        })?;
        return Ok(StartRole::Root);
    }
    let (uid, gid) = (nix::unistd::getuid().as_raw(), nix::unistd::getgid().as_raw());
    unshare(all | CloneFlags::CLONE_NEWUSER).map_err(refused::describe_refusal)?;
    user::write_maps(0, uid, 0, gid)?;
    Ok(StartRole::User { uid, gid })
}
