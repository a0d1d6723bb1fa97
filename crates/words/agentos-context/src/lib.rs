//! Finds the parts of a repository that a task is about, from the words of the task and the history alone.
//!
//! Owns: reading a task's words, ranking files by their paths, texts and history, cutting texts into parts, fitting the best
//! parts into a context window, and the files that `.agentosignore` excludes. Never: reads a file, asks a clock or a model,
//! or decides what a tool may see: it gets paths and bytes, and policy is asked about the files that it picks. Start at
//! [`FileRanker`].

mod budget;
mod calls;
mod candidates;
mod cut;
mod definitions;
mod ignore;
mod imports;
mod index_answer;
mod kind;
mod lines;
mod parts;
mod pattern;
mod pick;
mod query;
mod rank;
mod signature;
mod symbol;
mod task_text;
mod tokens;
mod word_key;
mod words;

pub use budget::{WindowBudget, divide_window};
pub use cut::{TextPart, cut_text};
pub use definitions::{Definition, for_each_definition, list_definitions};
pub use ignore::IgnorePatterns;
pub use index_answer::{IndexAnswer, IndexedText, ObjectUse, TextSource};
pub use lines::TextShape;
pub use parts::{CandidateFile, FileText, MOST_MATCHED, RankedPart};
pub use pattern::PathPattern;
pub use pick::{ContextBudget, LineRange, PickedFile, PickedFiles, pick_parts};
pub use query::TaskQuery;
pub use rank::{FileId, FileRanker, PastCommit, RankReason, RankedFile};
pub use symbol::{SymbolName, nearest_names};
pub use tokens::estimate_tokens;
pub use word_key::{CountedText, TextCounter, WordKey, hash_bytes};
