//! Landing: finds where the edits of an untrusted answer belong, or refuses the answer and says why.
//!
//! Owns: parsing answers in any edit dialect, placing each edit in the base, the canonical diff, path safety, and the
//! facts of a change. Never: does I/O, reads a clock, starts anything, or lands by similarity. Start at [`land`].
//!
//! How an answer becomes a change. This table is the order of all steps; a step that finds nothing leaves the answer
//! to the next one:
//!
//! | step | modules | result |
//! |---|---|---|
//! | 1 parse | `parse` (its page has the claims, in the order in which they are tried) | the files and hunks, as written |
//! | 2 order the parts | `sequence` | parts that edit the same file: together, or one after the other |
//! | 3 resolve | `resolve` | for each part the path it means and what happens there; binary content and the targets of links, as a whole |
//! | 4 plan | `plan`, `whole` | for each path its new content: created, deleted, moved, given as a whole, or by 5 to 10 |
//! | 5 compare with the blob ids and the files shown | `merge`, `plan::content::named` | done already, or made for another state and merged |
//! | 6 place | `plan::content::view` for the text: bytes, characters, or the cells of a notebook; `inline` by bytes, else `locate` by lines | for each hunk its one place in the file |
//! | 7 see what is done | `applied` | for each hunk without a place, whether its result is in the file |
//! | 8 write the bytes | `splice` | the new bytes, or a refusal if nothing shows an added line's |
//! | 9 repeated hunks | `plan::content::repeated` | 6 to 8 again, each hunk as often as it is written |
//! | 10 gaps in the context | `plan::content::elision`, `edges` | 6 to 8 again, in pieces, then without blank edges |
//! | 11 check the paths | `checks`, `path` | refusals for links, submodules and colliding names |
//! | 12 render | `change`, `canonical` | the `Change` and its canonical diff |
//! | 13 check the result | `results` | refusals for text that no author means: conflict marks, wrappers, numbers, placeholders |
//! | 14 other readings | `readings`, in the order of its table | only after a refusal: 1 to 13 for the answer with one damage undone |
//! | 15 a part of it | `land` | only if requested: 1 to 13 without the hunks that have no place |
//!
//! `context` has what all steps are given, and `limits` how large an answer may be. `findings` and `result_facts` state
//! facts that policy judges. `report`, `refusal` and `feedback` are how the outcome is reported.

mod applied;
mod base;
mod binary;
mod canonical;
mod change;
mod checks;
mod compare;
mod context;
mod diff_parts;
mod feedback;
mod file_change;
mod findings;
mod inline;
mod land;
mod limits;
mod link;
mod locate;
mod memory_base;
mod merge;
mod overlay;
mod parse;
mod path;
mod placement;
mod plan;
mod readings;
mod refusal;
mod report;
mod resolve;
mod result_facts;
mod results;
mod sequence;
mod splice;
mod text;
mod whole;

pub use base::{Base, BaseEntry, BaseError, DirEntry, EntryKind, KnownBlob};
pub use binary::describe_binary;
pub use canonical::quote_name;
pub use change::{Change, ChangeError};
pub use diff_parts::{DiffDifference, DiffFile, DiffHunk, MovedHunk, compare_diffs, split_diff};
pub use file_change::{ChangeKind, FileChange, FileMode, FileState, LineStats};
pub use findings::{Finding, Findings, scan_change, scan_file};
pub use land::{LandError, LandOptions, LandedChange, SeenFile, land};
pub use link::{LinkFault, check_link};
pub use memory_base::MemoryBase;
pub use merge::{MergeConflict, merge_apart};
pub use parse::{JsonEdit, JsonEdits};
pub use path::{RepoPath, ShortName, check_view_path, fold_name};
pub use refusal::{Refusal, RefusalCode};
pub use report::{Dialect, FileReport, HunkReport, HunkStatus, LandingReport, Repair, Rung};
pub use result_facts::{ListedName, ResultFacts};
