//! The flow of AgentOS: what happens between a task or an answer and a commit, station by station.
//!
//! Owns: the order of the stations, the prompt's context, the verdict on a tool's call, the attempts; and the work on
//! earlier runs: answers to their requests, undo, replay. Never: touches git, the network, the disk or a clock
//! itself; effects arrive through [`ports`]. Start at [`settle`] (an answer's way to a commit) and [`run`] (a task's way to
//! an answer).

pub mod base_files;
pub mod context;
pub mod context_search;
pub mod evidence_replay;
pub mod feedback;
pub mod history;
pub mod named_files;
pub mod open_requests;
pub mod ports;
pub mod recorded;
pub mod recorded_answer;
pub mod replay;
pub mod request_drift;
pub mod run;
pub mod settle;
pub mod task_options;
mod tool_facts;
pub mod undo;
pub mod withheld;

mod checking;
mod context_budget;
mod context_outline;
mod measuring;
mod outcome;
mod preflight;
mod records;
mod request;
mod transcript;
mod verdict;

#[cfg(test)]
mod test_ports;
#[cfg(test)]
mod test_runs;

pub use agentos_api::Cause;
pub use checking::Tried;
pub use outcome::{EvidenceRef, FailedAttempt, Outcome, OutcomeKind};
pub use records::{FlowBody, Kept};
pub use replay::ReplayAdapter;
