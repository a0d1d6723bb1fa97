//! Records of the user's tape, the ledger: what was asked of models, what it cost, and what happened to sessions.
//!
//! Owns: the shapes of the bodies of `turn` and `session` records, and the names of sessions. Never: contains the text of a
//! conversation (records refer to it by hash, so that it can be deleted), reads or writes a tape.
//!
//! | record | written when | body |
//! |---|---|---|
//! | `turn` | a turn ended, in whatever way | [`TurnRecord`] |
//! | `session` | a session began, changed, was compressed or deleted | [`SessionRecord`] |
//!
//! Both are written after the blobs that they refer to, and before the turn or change is reported. So a
//! process that is killed leaves whole turns only: a blob without a record is never shown.

mod call;
mod read;
mod session;
mod session_key;
mod turn;

pub use call::{CallRecord, may_have_arrived, may_have_cost, sum_costs};
pub use read::{ReadText, Reader, RepositoryReads};
pub use session::{CompressionReceipt, ForkOrigin, PinRef, SessionEvent, SessionRecord, SessionSettings};
pub use session_key::{SessionKey, SessionKeyError, find_guild};
pub use turn::{MessageAuthor, MessageRef, TurnEnd, TurnRecord, TurnSource, count_token, find_counted_token};
