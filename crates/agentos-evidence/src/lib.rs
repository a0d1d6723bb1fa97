//! The tape: append-only, hash-chained records, blobs beside it, offline verification.
//!
//! Owns: the files `tape.jsonl`, `head.json` and `blobs/` of one folder, how a record is written and what its hash
//! covers. Never: decides what is worth recording, reads a clock or a repository, repairs in silence, or keeps a
//! key. Start at [`Store`].

mod blob;
mod drill;
mod error;
mod guard;
mod head;
mod record;
mod runs;
mod store;
mod tail;
mod verify;

pub use error::EvidenceError;
pub use guard::clean;
pub use record::{Record, RecordKind, RecordRef};
pub use runs::{Records, RunSummary};
pub use store::Store;
pub use verify::{CommitInfo, CommitLookup, Finding, Tampering, VerifyReport};
