//! Runs any program as a tool. The program works in a copy of the base commit, in a sandbox. What it changed in the copy,
//! as one diff, is its answer.
//!
//! There are three ways to run a program: [`Agent`] runs a coding agent or a command in a copy (`adapter`), [`Speaker`]
//! runs a program that reads a task and writes an answer, without a copy (`speaker`), and [`Hosted`] runs a built-in
//! adapter in a child process (`hosted`). The first two pass through `calling`, which starts the thread and the sandbox; the third
//! is one request to a [`ModelProcess`], which serves any number of conversations for [`HostedModel`] (`hosted_chat`). [`Trial`] runs the user's check command on a candidate. A
//! [`Toolbox`] answers calls of a model's tools (`toolbox`); it has no task.
//!
//! Owns: the folders, environment and network outlets of a program, the diff of its copy, the adapters. Never: believes a
//! program's report of what it did, shows it the repository itself, or reads git; copies come through [`Copies`].
//! Start at [`Agent`].

mod acp;
mod adapter;
mod answer_stream;
mod background;
mod calling;
mod checkout;
mod difference;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod handed;
mod health;
mod hosted;
mod hosted_chat;
mod hosted_lines;
mod line_process;
mod lines;
mod model_process;
mod outlets;
#[expect(
    clippy::disallowed_methods,
    reason = "it looks for programs in the user's own folders"
)]
mod places;
mod process_slot;
mod process_worker;
mod program;
mod quote;
mod refusals;
mod request_table;
mod server_reach;
mod speaker;
mod toolbox;
mod toolbox_process;
mod trial;
mod views;
mod watched_files;

pub use adapter::Agent;
pub use checkout::{Checkout, Copies, SharedPath};
pub use error::AgentError;
pub use hosted::{Greeting, Host, Hosted};
pub use hosted_chat::HostedModel;
pub use hosted_lines::{AdapterWork, ChildLine, HostedLine, ParentLine, SEND_WINDOW};
pub use line_process::{LineHandle, LineProcess, LineSink};
pub use model_process::ModelProcess;
pub use places::{Places, UnshownPlace};
pub use program::{FILES, Program, TASK, TaskInput};
pub use server_reach::{NameLookup, ProcessLimits};
pub use speaker::Speaker;
pub use toolbox::{ProgramCheck, Toolbox, ToolboxResult};
pub use trial::{CandidateFile, Trial, TrialResult};
pub use views::{FolderView, ViewFallback, ViewPlace};
