//! Landing: finds where an untrusted answer was meant to go, or says why it cannot.
//!
//! Owns: parsing answers in any edit dialect, locating each edit in the base, the canonical diff, path safety,
//! and the facts of a change. Never: does I/O, reads a clock, starts anything, or lands by similarity.
//! Start at [`land`].

mod base;
mod budget;
mod canonical;
mod change;
mod checks;
mod compare;
mod elided;
mod feedback;
mod file_change;
mod findings;
mod inline;
mod land;
mod locate;
mod memory_base;
mod merge;
mod parse;
mod path;
mod placement;
mod plan;
mod readings;
mod refusal;
mod report;
mod resolve;
mod result_facts;
mod sequence;
mod splice;
mod text;
mod whole;

pub use base::{Base, BaseError, DirEntry, Entry, EntryKind, KnownBlob};
pub use change::{Change, ChangeError};
pub use file_change::{ChangeKind, FileChange, FileMode, FileState, LineStats};
pub use findings::{Finding, Findings, findings, findings_in};
pub use land::{LandError, LandOptions, Landed, Limits, SeenFile, land};
pub use memory_base::MemoryBase;
pub use parse::{JsonEdit, JsonEdits};
pub use path::{RepoPath, ShortName, folded};
pub use refusal::{Refusal, RefusalCode};
pub use report::{Dialect, FileReport, HunkReport, HunkStatus, LandingReport, Repair, Rung};
pub use result_facts::{ListedName, ResultFacts};
