//! The second half of the helper: confines itself layer by layer, reports, starts the tool and ends with it.
//!
//! Owns: the order of the layers. Never: goes on when one cannot be put up.

use std::io::Write;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::user::{self, Role};
use super::{Refusal, filter, relay, root, rules};
use crate::order::{Limits, Order, VERSION};
use crate::report::{Layer, Report, Said};

/// An order longer than this is none of ours.
const LONGEST_ORDER: usize = 1 << 20;

/// Confines this process and runs the order's program to its end; gives its exit code.
pub(super) fn hold(role: &Role) -> Result<u8, Refusal> {
    let dies = |error: nix::Error| format!("would outlive its parent: {error}");
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(dies)?;
    let order = read_order()?;
    let mut report = Report::default();
    root::build(&order)?;
    relay::loopback_up()?;
    let doors = relay::listen(&order.forwards)?;
    [
        Layer::MountNamespace,
        Layer::PidNamespace,
        Layer::NetworkNamespace,
        Layer::IpcNamespace,
    ]
    .into_iter()
    .for_each(|layer| report.add(layer));
    limits(&order.limits)?;
    report.add(Layer::Limits);
    user::unprivileged(role)?;
    report.add(Layer::Unprivileged);
    let rights = |error: nix::Error| format!("its rights cannot be fixed: {error}");
    prctl::set_no_new_privs().map_err(rights)?;
    report.add(Layer::NoNewPrivileges);
    // Nobody of the same user may look into this process, whose threads carry forwarded connections.
    prctl::set_dumpable(false).map_err(rights)?;
    // Giving up root cleared it.
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(dies)?;
    let networked = !doors.is_empty();
    // The threads go on without the two layers below, which hold for this thread and what it starts.
    relay::serve(doors)?;
    report.landlock_abi = Some(rules::restrict(&order)?);
    report.add(Layer::Landlock);
    filter::apply(networked)?;
    report.add(Layer::Seccomp);
    say(&Said::Confined(report));
    match &order.program {
        Some(program) => Ok(start(&order, program)?),
        None => Ok(0),
    }
}

/// Writes one line to the parent. If it is gone, so are we.
pub(super) fn say(said: &Said) {
    let line = serde_json::to_string(said).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Reads the order and not one byte more: what follows on standard input is the tool's.
fn read_order() -> Result<Order, String> {
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

fn limits(limits: &Limits) -> Result<(), String> {
    let all = [
        (Resource::RLIMIT_CPU, limits.cpu_seconds),
        // Not the address space: run-times reserve far more of it than they use.
        (Resource::RLIMIT_DATA, limits.memory_bytes),
        (Resource::RLIMIT_NPROC, limits.processes),
        (Resource::RLIMIT_FSIZE, limits.file_bytes),
        (Resource::RLIMIT_NOFILE, limits.open_files),
        (Resource::RLIMIT_CORE, 0),
    ];
    for (resource, limit) in all {
        setrlimit(resource, limit, limit).map_err(|error| format!("a limit cannot be set: {error}"))?;
    }
    Ok(())
}

/// Starts the tool and waits for it and for everything that its children leave behind.
fn start(order: &Order, program: &std::path::Path) -> Result<u8, String> {
    let child = Command::new(program)
        .args(&order.args)
        .env_clear()
        .envs(order.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&order.cwd)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn();
    let child = match child {
        Ok(child) => child,
        Err(error) => {
            // As a shell would say it: the report is out already, and this is the tool's end.
            let _ = writeln!(std::io::stderr(), "{}: {error}", program.display());
            return Ok(127);
        }
    };
    let tool = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == tool => return Ok(u8::try_from(code).unwrap_or(1)),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == tool => {
                // As a shell tells it: 128 and the signal's number.
                return Ok(u8::try_from(128 + signal as i32).unwrap_or(1));
            }
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(format!("the tool is lost: {error}")),
        }
    }
}
