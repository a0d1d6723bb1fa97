//! Runs any program as a tool. The program works in a copy of the base commit, in a sandbox. What it changed in the copy,
//! as one diff, is its answer.
//!
//! There are three ways to run a program: [`Agent`] runs a coding agent or a command in a copy (`adapter`), [`Speaker`]
//! runs a program that reads a task and writes an answer, without a copy (`speaker`), and [`Hosted`] runs a built-in
//! adapter in a child process (`hosted`). All three pass through `calling`, which starts the thread and the sandbox.
//! [`HostedModel`] has a conversation with such a child (`hosted_chat`). [`Trial`] runs the user's check command on a candidate.
//!
//! Owns: the folders, environment and network outlets of a program, the diff of its copy, the adapters. Never: believes a
//! program's report of what it did, shows it the repository itself, or reads git; copies come through [`Copies`].
//! Start at [`Agent`].

mod acp;
mod adapter;
mod background;
mod calling;
mod checkout;
mod difference;
mod error;
mod event_queue;
#[doc(hidden)]
pub mod fuzzing;
mod handed;
mod health;
mod hosted;
mod hosted_chat;
mod lines;
mod outlets;
#[expect(
    clippy::disallowed_methods,
    reason = "it looks for programs in the user's own folders"
)]
mod places;
mod program;
mod quote;
mod refusals;
mod speaker;
mod trial;
mod views;
mod watched_files;

pub use adapter::Agent;
pub use checkout::{Checkout, Copies, SharedPath};
pub use error::AgentError;
pub use hosted::{Host, Hosted, HostedLine, HostedWork, Job, NameLookup};
pub use hosted_chat::{ChatLimits, HostedModel};
pub use places::Places;
pub use program::{FILES, Program, TASK, TaskInput};
pub use speaker::Speaker;
pub use trial::{CandidateFile, Trial, TrialResult};
pub use views::{FolderView, ViewFallback, ViewPlace};
