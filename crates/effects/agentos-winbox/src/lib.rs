//! Windows processes that a restricted token and a job object hold back.
//!
//! Owns: every `unsafe` of the workspace, which is calling Windows' own functions: tokens, jobs, integrity labels, and the
//! start of a process with nothing of ours. Never: decides what may run or what it may do; `agentos-sandbox` says that,
//! and is the only one to use this crate.
//!
//! What holds such a process (Microsoft, "Mandatory Integrity Control" and "Job Objects"): it has no privilege and no
//! administrator's group, and it writes to nothing but what was [opened](lower) to a low integrity level; it and all that
//! it starts end with the job, and together they use up no more than the job allows. What does not: it reads what its
//! user may read, and it reaches the network. Written from the documentation, tried under Wine, and not on Windows.

mod error;
#[cfg(windows)]
mod held;
mod words;

pub use error::WinboxError;
#[cfg(windows)]
pub use held::{Held, Pipes, lower, start, try_layers};
pub use words::{Limits, Start, command_line, environment};
