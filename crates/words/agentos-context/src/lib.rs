//! Which files of a repository a task is about, told from its words alone.
//!
//! Owns: reading a task's words, ranking files by their paths and texts, fitting the best into a budget, and what
//! `.agentosignore` leaves out. Never: reads a file, asks a clock or a model, or decides what a tool may see: it is
//! given paths and bytes, and policy is asked about what it picks. Start at [`Ranker`].

mod ignore;
mod pick;
mod query;
mod rank;
mod words;

pub use ignore::Ignore;
pub use pick::{Budget, Picked, pick};
pub use query::Query;
pub use rank::{FileId, Ranked, Ranker, Why};
