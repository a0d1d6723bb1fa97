//! The helper: this program, started again to confine itself and become the tool's parent.
//!
//! # Sandbox start
//!
//! The problem: a tool must start with every layer active, and its parent must know when the last of its processes is
//! gone. Each layer can only be put up by the process that it confines, and each one takes away rights that other
//! layers still need. So the order of the steps matters.
//!
//! Three processes take part: the *parent* (this program), the *helper* (`enter.rs`), which opens the namespaces, and
//! the *keeper* (`hold.rs`), process 1 of the new process namespace, which puts up the other layers and starts the
//! tool.
//!
//! | step | who | what | without it, or in another order |
//! | --- | --- | --- | --- |
//! | 1 | helper | closes all descriptors above 2 | a descriptor left open by any ancestor would be a way around the mounts |
//! | 2 | helper | new session, `PR_SET_PDEATHSIG` | the helper would survive its parent, with nobody to end it |
//! | 3 | helper | blocks `SIGTERM` and `SIGCHLD` | a `SIGTERM` would kill the helper, and nobody would know when the namespace is gone |
//! | 4 | helper | joins the control group | after step 5 a process may not move itself out of its part of the groups |
//! | 5 | helper | opens all namespaces | - |
//! | 6 | helper | starts the keeper | the tool would not be in the process namespace, and could outlive the run |
//! | 7 | keeper | `PR_SET_PDEATHSIG`, own session | a signal of the tool to its process group would reach the helper |
//! | 8 | keeper | builds the part of the root that no spec changes; loopback up | a helper that was started in advance would still have this work to do |
//! | 9 | keeper | reads the launch spec | - |
//! | 10 | keeper | opens the folder of the parent's sockets | after step 11 it cannot be reached by any path |
//! | 11 | keeper | finishes the root, `pivot_root`, detaches the old root | the tool would see the outside |
//! | 12 | keeper | connects to the parent's sockets, opens the forwarded ports and hands them over | after step 16 the filter refuses the sockets that this needs |
//! | 13 | keeper | resource limits | - |
//! | 14 | keeper | gives up root, or enters a second user namespace; `no_new_privs` | Landlock and seccomp need `no_new_privs` from a process without `CAP_SYS_ADMIN` |
//! | 15 | keeper | not dumpable, `PR_SET_PDEATHSIG` again | processes of the same user could look into the thread that records refused calls; changing the user clears the signal |
//! | 16 | keeper | starts the thread that records refused calls, then Landlock, then seccomp | started later, the thread would be confined as the tool is |
//! | 17 | keeper | reports the layers | the parent could not know whether the tool is confined |
//! | 18 | keeper | starts the tool, gives up its last rights, reaps until the tool ends | - |
//!
//! If a step fails, the helper or the keeper reports the reason and starts nothing.
//!
//! Sources: namespaces(7), pid_namespaces(7), user_namespaces(7), cgroup_namespaces(7), capabilities(7),
//! pivot_root(2), landlock(7), seccomp(2), prctl(2).
//!
//! Owns: the hidden verb, and which part of the way it names. Never: reads a task, a setting or a file of the user's;
//! everything comes from the launch spec on standard input.

#[cfg(target_os = "linux")]
mod bpf;
#[cfg(target_os = "linux")]
mod cover;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod hearing;
#[cfg(target_os = "linux")]
mod hold;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod intake;
#[cfg(target_os = "linux")]
mod ports;
#[cfg(target_os = "linux")]
mod refused;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(target_os = "linux")]
mod user;

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(any(target_os = "linux", target_os = "macos"))]
use crate::report::HelperMessage;

/// Hidden verb of the command line that starts the helper. Not for people: it expects a launch spec on standard
/// input.
pub const VERB: &str = "__confine";

/// First argument after the verb: the part that the parent starts.
#[cfg(target_os = "linux")]
pub(crate) const FIRST_PART: &str = "namespaces";
/// First argument after the verb: the part that the parent starts.
#[cfg(target_os = "macos")]
pub(crate) const FIRST_PART: &str = "seatbelt";

/// Exit code of a helper that did not carry out its spec.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const REFUSED: u8 = 125;

/// Runs the helper if these arguments (without the program's name) name it, and returns its exit code. `None` if they
/// do not. Must be called before anything else in a process, because the helper may have one thread only.
pub fn run(args: impl Iterator<Item = OsString>) -> Option<u8> {
    let args: Vec<String> = args
        .take(4)
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let (verb, rest) = args.split_first()?;
    (verb == VERB).then(|| run_part(rest))
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn run_part(args: &[String]) -> u8 {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let wrongly = || {
        Err(StageRefusal::Layer(
            "the helper was started with unknown arguments".to_owned(),
        ))
    };
    let done = match words.as_slice() {
        #[cfg(target_os = "linux")]
        [FIRST_PART] => enter::open_and_wait(None).map_err(StageRefusal::Layer),
        #[cfg(target_os = "linux")]
        [FIRST_PART, group] => enter::open_and_wait(Some(Path::new(group))).map_err(StageRefusal::Layer),
        #[cfg(target_os = "linux")]
        ["hold", who, group] => user::StartRole::parse(who).map_or_else(wrongly, |role| {
            hold::confine_and_run(&role, *group == enter::IN_GROUP)
        }),
        #[cfg(target_os = "macos")]
        [FIRST_PART] => seatbelt::confine_and_run(),
        _ => wrongly(),
    };
    done.unwrap_or_else(|refusal| {
        intake::send_message(&match refusal {
            StageRefusal::Layer(why) => HelperMessage::Refused(why),
            StageRefusal::Overlay(why) => HelperMessage::NoOverlay(why),
        });
        REFUSED
    })
}

/// Reason why the helper starts nothing.
#[cfg(any(target_os = "linux", target_os = "macos"))]
enum StageRefusal {
    /// A layer cannot be put up.
    Layer(String),
    /// An overlay cannot be mounted.
    Overlay(String),
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
impl From<String> for StageRefusal {
    fn from(why: String) -> Self {
        Self::Layer(why)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn run_part(_args: &[String]) -> u8 {
    1
}
