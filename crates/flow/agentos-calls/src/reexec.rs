//! The first call of every `main`: this program may have been started as a sandbox helper, or as a confined adapter.
//!
//! Owns: the order in which both are checked. Never: lets a program that was started as one go on as an ordinary one.

use std::process::ExitCode;

use crate::hosted;

/// Runs this process as a confined child, if it was started as one, and returns its exit code.
///
/// A process can only confine itself, so the product starts the running program again under a hidden verb: once to put up the sandbox around
/// a tool, and once as the adapter that talks to a server inside it. Every `main` that uses this crate calls this function before anything
/// else, while the process has one thread and has read no settings. `None` means that this is an ordinary start.
#[must_use]
pub fn reexec_hook() -> Option<ExitCode> {
    // The helper first: it must confine itself before anything else runs in this process.
    if let Some(code) = agentos_sandbox::stage::run(std::env::args_os().skip(1)) {
        return Some(ExitCode::from(code));
    }
    hosted::child::run_as_child(std::env::args_os().skip(1))
}
