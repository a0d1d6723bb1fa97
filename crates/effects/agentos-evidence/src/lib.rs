//! The tape: append-only, hash-chained records, blobs next to it, signed checkpoints, offline verification.
//!
//! Owns: the files `tape.jsonl`, `head.json` and `blobs/` of one folder, the format of a record, and the bytes that its
//! hash and a checkpoint's signature cover. Never: decides what is recorded, reads a clock or a repository, repairs
//! without a record of it, or stores a secret. Start at [`Store`]; `durable-append.md` explains how a record is written.

mod action;
mod approval;
mod blob;
mod change_fates;
mod checkpoint;
mod drill;
mod dsse;
mod error;
mod export;
mod facts;
mod free_space;
mod guard;
mod head;
mod line_view;
mod newest_runs;
mod paired;
mod placed;
mod plain_file;
mod published;
mod record;
mod removal;
mod request_answer;
mod run_summary;
mod runs;
mod segments;
mod sign;
mod spilled;
mod sshsig;
mod stats;
mod store;
mod tail;
mod tape_mark;
mod trust;
mod verify;

pub use action::ActionStatement;
pub use agentos_durable::SyncFile;
pub use approval::ApprovalStatement;
pub use change_fates::{ChangeFate, UNDO_RUN};
pub use checkpoint::Checkpoint;
pub use dsse::{Envelope, Signature};
pub use error::EvidenceError;
pub use export::{ExportedCopy, is_own_evidence};
pub use facts::RunFacts;
pub use free_space::FreeSpace;
pub use guard::remove_secrets;
pub use newest_runs::NewestRuns;
pub use paired::{DeviceBody, DeviceKey, DeviceStanding, PairedKeys};
pub use published::{MOST_FILES, PUBLISHED_REFS, PublishedPart, list_published, unpack_publication};
pub use record::{Record, RecordKind, RecordRef, make_random_text};
pub use request_answer::{RecoveredEnd, read_recovery};
pub use run_summary::RunSummary;
pub use runs::{RecordIter, TapeEnd};
pub use sign::{PublicKey, SigningKey};
pub use spilled::{MixedBody, SpilledBody};
pub use stats::ProviderStats;
pub use store::Store;
pub use tape_mark::{MarkedRecords, TapeMark};
pub use trust::{TrustedKey, trust_key, trusted_keys};
pub use verify::{
    CommitInfo, CommitLookup, CommitProperty, CommitStanding, ExportSummary, FileChange, FileVersion,
    Finding, KeyUse, MoveKind, MovedCommit, PublishedTape, Tampering, VerifyChecks, VerifyReport,
};
