//! Any program as a producer of diffs: it works in a copy of the base, in a sandbox, and the difference is its answer.
//!
//! Owns: what a program is given (folders, environment, way to its server), the difference of trees as text, the
//! adapter. Never: believes what the program says it did, shows it the repository, or reads git; copies come through
//! [`Copies`]. Start at [`Agent`].

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
pub use hosted::{Found, Host, Hosted, HostedLine, Job};
pub use places::Places;
pub use program::{FILES, Hears, Program, TASK};
pub use speaker::Speaker;
pub use trial::{Trial, Verdict, Written};
