//! Conversations with a model: the state of a session, and the turn loop with its tools.
//!
//! Owns: the fold of the ledger's records into a session, the canonical text of a message, and the order of a turn: plan, summary,
//! call of the model, calls of tools, record. Never: reaches a server, a repository, a clock of the system or a file; those come in
//! through [`TranscriptStore`], [`TurnTools`] and [`agentos_model::Model`]. Start at [`run_turn`].
//!
//! # The states of a turn
//!
//! | state | what happens | next state |
//! |---|---|---|
//! | load | system prompt, pins, summary and live messages are read from the store; the user's message is added | plan; a text that cannot be read ends everything without a record |
//! | plan | [`agentos_window::plan_window`] decides by estimated tokens | call if it fits; compress; `context-length` if it fits in no way |
//! | compress | a model writes a summary of the messages that the plan names | plan; a failed summary changes nothing, and ends the turn only if the request does not fit without it |
//! | call | the model's answer arrives as [`TurnEvent`]s | answered, if it calls no tool; tools; failed, if it has no end or was cut (its text is kept) |
//! | tools | the calls of the answer run in parallel; all results go back in the order of the calls | plan, as the next round |
//! | answered, limited, cancelled, failed | the messages are stored as blobs, then one `turn` record is appended, then one `session` record for each summary | – |
//!
//! A limit (`rounds`, `total-time`) and the user's wish to stop are possible in compress, call and tools. The end is recorded in every
//! case; the calls of the model are reported one by one through [`CallMeter`], also if the turn is dropped. The text of an answer that was
//! cut is kept with the reason, so that the next turn can continue it; its calls of tools never run. A call of a tool that was stopped has
//! a result that says so. A process that is killed leaves the blobs of its turn without a record, so nobody sees them.
//!
//! # Authority
//!
//! Everything that a model or tool says is text. It can be summarized, shown and sent back, and nothing else: permissions of tools
//! are settings of the caller, pins and the system prompt come from the user's settings, and the summary is sent as a message and
//! not as a part of the system prompt.

mod limits;
mod meter;
mod ports;
mod prompt;
mod state;
mod tools;
mod transcript;
mod turn;

pub use limits::{ToolTimeouts, TurnLimits};
pub use meter::{CallMeter, MeteredCall, NoMeter};
pub use ports::{
    StoreError, ToolAccess, ToolAnswer, ToolClass, TranscriptStore, TurnEvent, TurnTool, TurnTools,
};
pub use prompt::{list_sizes, write_system};
pub use state::{
    LedgerBody, LedgerEntry, ReadLeave, SessionState, SessionTotals, StateCompression, StateMessage,
    StateReads, fold_session,
};
pub use tools::{
    CallRefusal, OfferFault, RateLimit, RateLimiter, TextLimit, ToolPermissions, ToolSession, admit_call,
    limit_text, name_tool, prepare_tools, split_name,
};
pub use transcript::{StoredMessage, read_message, write_message};
pub use turn::{
    CutReason, FinishedTurn, SummaryEnd, TurnFailure, TurnModel, TurnOrder, TurnPorts, compress_session,
    run_turn,
};
