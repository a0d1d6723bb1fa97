//! Landing: finds where the edits of an untrusted answer belong, or refuses the answer and says why.
//!
//! Owns: parsing answers in any edit dialect, placing each edit in the base, the canonical diff, path safety, and the
//! facts of a change. Never: does I/O, reads a clock, starts anything, or lands by similarity. Start at [`land`].
//!
//! How an answer becomes a change:
//!
//! | step | modules | result |
//! |---|---|---|
//! | parse | `parse`, one submodule for each dialect | the files and hunks, as written |
//! | order the parts | `sequence` | parts that edit the same file: together, or one after the other |
//! | resolve | `resolve` | for each part the path it means and what happens there |
//! | plan | `plan`, `merge`, `whole` | for each path its new content |
//! | place | `placement`, `locate`, `inline` | for each hunk its one place in the file |
//! | see what is done | `applied` | for each hunk without a place, whether its result is in the file |
//! | splice | `splice` | the new bytes |
//! | check | `checks`, `path` | refusals for links, submodules and colliding names |
//! | render | `change`, `canonical` | the `Change` and its canonical diff |
//!
//! `readings` repairs an answer that was damaged as a whole and starts again. `findings` and `result_facts` state
//! facts that policy judges. `report`, `refusal` and `feedback` are how the outcome is reported.

mod applied;
mod base;
mod base_cache;
mod budget;
mod canonical;
mod change;
mod checks;
mod compare;
mod diff_parts;
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
mod three_way;
mod whole;

pub use base::{Base, BaseEntry, BaseError, DirEntry, EntryKind, KnownBlob};
pub use change::{Change, ChangeError};
pub use diff_parts::{DiffDifference, DiffFile, DiffHunk, MovedHunk, compare_diffs, split_diff};
pub use file_change::{ChangeKind, FileChange, FileMode, FileState, LineStats};
pub use findings::{Finding, Findings, scan_change, scan_file};
pub use land::{LandError, LandLimits, LandOptions, LandedChange, SeenFile, land};
pub use memory_base::MemoryBase;
pub use parse::{JsonEdit, JsonEdits};
pub use path::{RepoPath, ShortName, fold_name};
pub use refusal::{Refusal, RefusalCode};
pub use report::{Dialect, FileReport, HunkReport, HunkStatus, LandingReport, Repair, Rung};
pub use result_facts::{ListedName, ResultFacts};
pub use three_way::{MergeConflict, merge_apart};
