//! Second half of the helper, the keeper: confines itself layer by layer, reports, starts the tool and ends with it.
//!
//! Owns: the order of the layers; the table in `stage.rs` gives the reason for each step. Never: continues if a layer
//! cannot be put up.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, setsid};

use super::hearing::CallRecord;
use super::intake::{await_report_read, read_spec, send_message, set_limits};
use super::root::NewRoot;
use super::user::{self, StartRole};
use super::{StageRefusal, filter, ports, rules};
use crate::launch_spec::LaunchSpec;
use crate::report::{HelperMessage, SandboxLayer, SandboxReport};

/// Confines this process and runs the program of the launch spec to its end. Returns its exit code.
pub(super) fn confine_and_run(role: &StartRole, in_group: bool) -> Result<u8, StageRefusal> {
    let dies = |error: nix::Error| format!("would outlive its parent: {error}");
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(dies)?;
    start_session()?;
    // Everything that no spec changes comes before the spec, so that a helper that was started in advance has done it
    // by then.
    let root = NewRoot::build_common()?;
    ports::loopback_up()?;
    let spec = read_spec()?;
    // Must come before `finish`: afterwards no path leads to this folder.
    let sockets = ports::open_socket_folder(&spec)?;
    let mut report = SandboxReport {
        in_group,
        ..SandboxReport::default()
    };
    root.finish(&spec)?;
    if let Some(sockets) = sockets {
        ports::enter_socket_folder(&sockets)?;
    }
    let record = spec.refusals.as_deref().map(CallRecord::connect).transpose()?;
    ports::give_ports(&spec.forwards)?;
    ports::leave_socket_folder()?;
    [
        SandboxLayer::MountNamespace,
        SandboxLayer::PidNamespace,
        SandboxLayer::NetworkNamespace,
        SandboxLayer::IpcNamespace,
    ]
    .into_iter()
    .for_each(|layer| report.add_layer(layer));
    set_limits(&spec.limits)?;
    report.add_layer(SandboxLayer::Limits);
    user::become_unprivileged(role, spec.identity)?;
    report.add_layer(SandboxLayer::Unprivileged);
    let rights = |error: nix::Error| format!("its rights cannot be fixed: {error}");
    prctl::set_no_new_privs().map_err(rights)?;
    report.add_layer(SandboxLayer::NoNewPrivileges);
    // Processes of the same user must not look into this process, which holds the way to the parent.
    prctl::set_dumpable(false).map_err(rights)?;
    // Changing the user cleared it (prctl(2), `PR_SET_PDEATHSIG`).
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(dies)?;
    // Its thread continues without the two layers below, which apply to this thread and what it starts.
    let ears = record.as_ref().and_then(CallRecord::listen);
    report.landlock_abi = Some(rules::apply_rules(&spec)?);
    report.add_layer(SandboxLayer::Landlock);
    filter::apply_filter(!spec.forwards.is_empty(), ears)?;
    report.add_layer(SandboxLayer::Seccomp);
    send_message(&HelperMessage::Confined(report));
    let code = match &spec.program {
        Some(program) => {
            await_report_read()?;
            run_tool(&spec, program)?
        }
        None => 0,
    };
    record.iter().for_each(CallRecord::write_counts);
    Ok(code)
}

/// Leaves the helper's session: a signal that the tool sends to its own process group must not reach the helper,
/// which waits for the end of the namespace. Unblocks the signals that the helper blocked for itself.
fn start_session() -> Result<(), String> {
    let failed = |error: nix::Error| format!("no session of its own: {error}");
    setsid().map_err(failed)?;
    SigSet::empty().thread_set_mask().map_err(failed)
}

/// Starts the tool, waits for its end, and reaps every orphan in the meantime.
fn run_tool(spec: &LaunchSpec, program: &std::path::Path) -> Result<u8, String> {
    let mut command = Command::new(program);
    command
        .args(&spec.args)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.cwd)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit());
    if let Some(identity) = spec.identity {
        command.uid(identity.tool).gid(identity.tool);
    }
    let child = command.spawn();
    // After the spawn and whatever its result: only the spawn needed these rights.
    user::drop_start_rights()?;
    let child = match child {
        Ok(child) => child,
        Err(error) => {
            // Reported like a shell does: the layers are reported already, so this counts as the tool's own end.
            let _ = writeln!(std::io::stderr(), "{}: {error}", program.display());
            return Ok(127);
        }
    };
    let tool = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == tool => return Ok(u8::try_from(code).unwrap_or(1)),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == tool => {
                // As in a shell: 128 plus the signal's number.
                return Ok(u8::try_from(128 + signal as i32).unwrap_or(1));
            }
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(format!("the tool's process was lost: {error}")),
        }
    }
}
