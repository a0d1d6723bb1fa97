//! The words that programs and front ends read of the product: error codes, causes, exit statuses, next steps, reports.
//!
//! Owns: the list of codes with their one spelling, the causes, the exit statuses, the steps that a
//! person can take next, the shapes of reports that hold nothing but words. Never: words a sentence for one front end, or names a flag of the command line. Start at [`find_code`].
//!
//! A front end in another process gets a `code` and a `cause` in JSON. With this crate it maps the code to its meaning and
//! the cause to an exit status as the command line does.

mod cause;
mod context_report;
mod error_code;
mod exit_status;
mod next_step;
mod replay_report;

pub use cause::Cause;
pub use context_report::{ContextFileReport, ContextReport};
pub use error_code::{ERROR_CODES, ErrorCode, find_code, normalize_code};
pub use exit_status::ExitStatus;
pub use next_step::{BranchChoice, NextStep, RunLimit, TaskPart};
pub use replay_report::{Difference, ReplayReport, ReplayStatus, ReplayedRun};
