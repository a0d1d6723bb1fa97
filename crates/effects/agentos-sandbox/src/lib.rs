//! Child processes that the kernel holds back: what a tool or an agent runs in.
//!
//! Owns: starting a process with nothing of ours (no descriptor, no environment, no right to write outside the
//! folders it was given, no network but forwarded ports), its limits, its end, and the report of what held it. Never:
//! weakens a layer silently, runs a tool as root, or looks at a repository.
//!
//! A process cannot be confined from outside, so the same program is started again as a helper: see [`stage`]. The
//! helper confines itself, reports, and only then starts the tool. Start at [`Sandbox::run`].
//!
//! Linux; macOS with what Seatbelt holds (see `stage/seatbelt.rs`); Windows with a restricted token and a job (see
//! `agentos-winbox`), which hold it from outside, without a helper, and neither keep it from reading nor from the network:
//! those layers are reported as [missing](Report::missing). The last two are written and not tried on such a machine.
//! Elsewhere [`Sandbox::run`] refuses.

#[cfg(target_os = "linux")]
mod carry;
mod error;
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub mod fuzzing;
mod held;
mod identity;
mod order;
#[cfg(target_os = "linux")]
mod outlet;
mod refusals;
mod report;
mod run;
mod scratch;
pub mod stage;
#[cfg(target_os = "linux")]
mod tunnel;
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
mod watch;

pub use error::{DiskLimit, SandboxError};
pub use held::Held;
pub use identity::{IdentityLease, RunIdentity};
pub use order::{Forward, Limits, Order, Overlay, Share, Way};
#[cfg(target_os = "linux")]
pub use outlet::{Outlet, Unreached, reach};
pub use refusals::Refused;
pub use report::{Layer, Report, RunLimit};
pub use run::{Caps, Ended, Input, Sandbox, Stop, Stream};
pub use scratch::{Leftover, Scratch, drop_out, find_leftovers, hide, lay, place};
