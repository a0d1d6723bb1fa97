//! Runs any program as a tool: it works in a copy of the base, in a sandbox, and the difference is its answer.
//!
//! Owns: the folders, environment and network outlets of a program, the difference of trees as text, the adapters. Never:
//! believes a program's report of what it did, shows it the repository, or reads git; copies come through [`Copies`].
//! Start at [`Agent`].

mod acp;
mod adapter;
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

pub use adapter::Agent;
pub use checkout::{Checkout, Copies};
pub use error::AgentError;
pub use hosted::{Host, Hosted, HostedLine, Job, NameLookup};
pub use places::Places;
pub use program::{FILES, Program, TASK, TaskInput};
pub use speaker::Speaker;
pub use trial::{CandidateFile, Trial, TrialResult};
