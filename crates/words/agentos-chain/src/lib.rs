//! Hash-chained JSON lines: canonical text, the hash of a record, and the check of one link.
//!
//! Owns: RFC 8785 text, what the hash of a record covers, and how a record names the one before. Never: reads or
//! writes a file, locks, or knows the meaning of a record. Start at [`LinkForm`].
//!
//! Three writers make such tapes: the evidence of a repository, the gates, and the automation. They differ in what they
//! record, where, and how durable it is. What makes a tape a chain is the same, and is here once: a line is the canonical
//! JSON of a record, its member `hash` covers the members that the form says, and its member `prev` is the hash of the
//! record before it, or the [genesis hash](LinkForm::genesis).
//!
//! The crate depends on no other crate of the workspace. So the automation, which links nothing of what it judges, can
//! use it: it cannot pull the product in.

mod canonical;
mod hash;
mod link;

pub use canonical::{MAX_NESTING, measure_nesting, skip_canonical, write_canonical};
pub use hash::{append_hex, hash_bytes, hash_texts, name_hash, parse_hash};
pub use link::{ChainWriter, LinkFault, LinkForm, SealedRecord, hash_body, seal_texts};
