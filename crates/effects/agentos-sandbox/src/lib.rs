//! Starts child processes that the kernel confines: a tool or an agent runs in one.
//!
//! # What confines a process
//!
//! Nothing can confine another process from outside on Linux and macOS, so the same program is started again as a
//! helper (see [`stage`]). The helper confines itself, reports its layers, and only then starts the tool.
//!
//! | system | confined by | what a tool can still do | tested |
//! | --- | --- | --- | --- |
//! | Linux | namespaces, Landlock, seccomp, limits, an unprivileged user | read the system's folders and what the launch spec names | yes |
//! | macOS | Seatbelt (`stage/seatbelt.rs`), limits | see the names of other processes | compiled only |
//! | Windows | a restricted token and a job object (`agentos-winbox`), put around the process from outside | read files and reach the network, which is reported as [missing](SandboxReport::missing) layers | under Wine only |
//! | others | nothing | [`Sandbox::run`] refuses | - |
//!
//! # The two promises
//!
//! 1. Nothing starts unless every layer that this system has is active. A layer is never dropped silently.
//! 2. When [`Sandbox::run`] returns without [`SandboxError::NotEnded`], no process of the run is left, so that the
//!    caller may read and remove what the tool wrote. The table in `stage/enter.rs` shows how this is known on Linux.
//!
//! Owns: starting a process with nothing of the caller's (no descriptor, no environment, no right to write outside
//! the given folders, no network but forwarded ports), its limits, its end, and the report of its layers. Never:
//! weakens a layer silently, runs a tool as root, or looks at a repository.
//!
//! Start at [`Sandbox::run`].

#[cfg(target_os = "linux")]
mod carry;
#[cfg(target_os = "linux")]
mod connect;
mod error;
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(target_os = "linux")]
mod handover;
mod identity;
mod launch_spec;
#[cfg(target_os = "linux")]
mod outlet;
mod probe;
mod ready;
mod refusals;
#[cfg(target_os = "linux")]
mod relay;
mod report;
mod run;
mod run_folders;
pub mod stage;
#[cfg(target_os = "linux")]
mod tunnel;
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
mod watch;

#[cfg(target_os = "linux")]
pub use connect::{ConnectFailure, connect_host};
pub use error::{DiskLimit, SandboxError};
pub use identity::{IdentityLease, RunIdentity};
pub use launch_spec::{LaunchSpec, OutletRoute, OverlayMount, PortForward, ResourceLimits, SharedFolder};
#[cfg(target_os = "linux")]
pub use outlet::NetworkOutlet;
pub use probe::SandboxProbe;
pub use ready::ReadyConnections;
pub use refusals::RefusedCall;
pub use report::{RunLimit, SandboxLayer, SandboxReport};
pub use run::{FinishedRun, InputSource, OutputStream, RunCaps, Sandbox, StopHandle, ToolInput};
pub use run_folders::{
    LeftoverRun, RunFolders, find_leftovers, hide_file, put_file, remove_file, replace_file,
};
