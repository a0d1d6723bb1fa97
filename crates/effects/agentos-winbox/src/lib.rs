//! Windows processes that are confined by a restricted token and a job object.
//!
//! What confines such a process (Microsoft, "Mandatory Integrity Control" and "Job Objects"):
//!
//! - It has no privilege and no administrators' group, and writes only to what
//!   `open_to_low_integrity` opened to it.
//! - It and all that it starts end with the job, and together they use no more than the job allows.
//!
//! What does not: it may read what its user may read, and it reaches the network.
//!
//! Written from the documentation, tested under Wine, and never on Windows.
//!
//! Owns: the workspace's `unsafe` calls of Windows functions: tokens, jobs, integrity labels, and the start of a
//! process with nothing of the caller's. Never: decides what may run or what it may do; `agentos-sandbox` decides
//! that, and is the only user of this crate.

mod error;
#[cfg(windows)]
mod process;
mod words;

pub use error::WinboxError;
#[cfg(windows)]
pub use process::{ConfinedProcess, ProcessPipes, open_to_low_integrity, start_process, try_layers};
pub use words::{JobLimits, ProcessStart, command_line, environment_block};
