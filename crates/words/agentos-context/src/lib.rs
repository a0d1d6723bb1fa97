//! Finds the files of a repository that a task is about, from the words of the task alone.
//!
//! Owns: reading a task's words, ranking files by their paths and texts, fitting the best into a budget, and the
//! files that `.agentosignore` excludes. Never: reads a file, asks a clock or a model, or decides what a tool may
//! see: it gets paths and bytes, and policy is asked about the files that it picks. Start at [`FileRanker`].

mod ignore;
mod pick;
mod query;
mod rank;
mod words;

pub use ignore::IgnorePatterns;
pub use pick::{ContextBudget, PickedFiles, pick_files};
pub use query::TaskQuery;
pub use rank::{FileId, FileRanker, RankReason, RankedFile};
