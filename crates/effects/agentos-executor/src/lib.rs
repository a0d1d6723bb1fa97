//! The only writer: reads and writes git, and writes a change completely or not at all.
//!
//! Owns: opening repositories safely, resolving the target of a landing, measuring, and landing an approved change.
//! Never: decides whether a change may land (it takes nothing but an approval), runs a hook or a filter, prints, or
//! applies a tool's own diff. Start at [`Repository::land`]; `crash-states.md` explains the order of its writes.

mod agentos_folder;
mod base;
mod base_links;
mod blob_id;
mod changed_paths;
mod commit_changes;
mod committed;
mod config;
mod conversion;
mod copy;
mod create;
mod disk;
mod displaced;
mod embedded;
mod error;
mod exchange;
mod fail;
mod file_ref;
mod file_state;
mod filters;
mod git_dir;
mod history;
mod hooks;
mod identity;
mod index;
mod index_lock;
mod journal;
mod land;
mod leftovers;
mod line_ends;
mod measure;
mod mentions;
mod message;
mod opinion;
mod overlap;
mod own_work;
mod pack;
mod preflight;
mod prepare;
mod presence;
mod publish;
mod rebuild;
mod receipt;
mod recover;
mod repository;
mod signing;
mod sparse_checkout;
mod splice;
mod target;
mod tree_diff;
mod uncommitted;
mod work_trees;
mod worktree;

pub use agentos_durable::SyncFile;
pub use base::GitBase;
pub use changed_paths::ChangedPaths;
pub use commit_changes::{CommitChange, CommitFile};
pub use config::ConfigEnv;
pub use copy::{BaseCopy, ContentReader, CopyFolder, ShownFiles};
pub use error::{
    DirtyPath, ExecError, Operation, RepoError, Unsupported, advise_unwritable, unwritable_code,
};
pub use fail::FailPoints;
pub use file_ref::{NewFile, RefFile, ScratchFolder};
pub use history::{CommitInfo, EVIDENCE_TRAILER, RUN_TRAILER};
pub use hooks::FoundHooks;
pub use identity::{Authorship, CommitTime, Identity, IdentityEnv, local_offset_minutes};
pub use land::LandPlan;
pub use measure::Measurement;
pub use message::preview_message;
pub use receipt::{FileId, Intent, IntentSink, Receipt, ReceiptFile, Recovered, RecoveryOutcome};
pub use recover::LandingPause;
pub use repository::Repository;
pub use signing::{CommitSigner, NotSigned, Signed, Signing};
pub use target::{NO_COMMIT, Target, TargetSpec, Writes};
