//! The ports of a turn: where texts are kept, which tools there are, and who is shown what happens.
//!
//! Owns: the traits and their values. Never: implements one; the host does, and tests do.

use std::time::Duration;

use agentos_ledger::{CompressionReceipt, RepositoryReads, SessionRecord, TurnRecord};
use agentos_model::{ImageData, ToolCall, ToolSpec};
use agentos_tool::{BoxFuture, RunId, Usage};
use agentos_window::WindowGauge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::RateLimit;

/// Store of texts and records: the user's tape and its blobs.
pub trait TranscriptStore: Send {
    /// Loads a text by `sha256:` and its hash.
    ///
    /// # Errors
    /// If there is no such text, or it cannot be read or has another hash.
    fn load_text(&self, sha256: &str) -> Result<String, StoreError>;

    /// Stores a text and returns `sha256:` and its hash. A text that is stored already is stored once.
    ///
    /// # Errors
    /// If it cannot be written.
    fn store_text(&mut self, text: &str) -> Result<String, StoreError>;

    /// Appends the record of a turn, durably, and returns its number on the tape.
    ///
    /// # Errors
    /// If it cannot be written. Then the turn is not part of the session.
    fn append_turn(&mut self, turn: &RunId, record: &TurnRecord) -> Result<u64, StoreError>;

    /// Appends the record of an event of a session, durably, and returns its number on the tape.
    ///
    /// # Errors
    /// If it cannot be written.
    fn append_event(&mut self, record: &SessionRecord) -> Result<u64, StoreError>;
}

/// Failure to read or write a text or record. It has a code, so that a front end can say what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// Stable code, such as `evidence-no-blob`.
    pub code: String,
    /// Description, in one sentence.
    pub message: String,
    /// Cause. `None` if the message says everything.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    /// Makes an error without a cause.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            source: None,
        }
    }
}

/// Tools that a model may call in a turn.
pub trait TurnTools: Send + Sync {
    /// Lists the tools in the order in which they are offered. The order must not change, or a provider's cache of the prompt
    /// is lost.
    fn list_tools(&self) -> Vec<TurnTool>;

    /// Runs a call whose arguments match the tool's schema. Several calls run at once. Dropping the future abandons the call.
    fn call_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer>;
}

/// Tool with the facts that its calls are limited by.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnTool {
    /// Definition for the model.
    pub spec: ToolSpec,
    /// Class, which sets the time limit.
    pub class: ToolClass,
    /// Access that the tool needs.
    pub access: ToolAccess,
    /// Limit on the number of calls. `None` if there is none.
    pub rate: Option<RateLimit>,
    /// Time limit of a call. `None` if its class sets it.
    pub timeout: Option<Duration>,
}

/// Class of a tool. It sets the time limit of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolClass {
    /// Tool without a class of its own.
    Plain,
    /// Search in a repository.
    Search,
    /// Request to the web.
    Web,
    /// Making of an image.
    Image,
    /// Proposal of a change.
    Proposal,
}

/// Access that a tool needs. Permissions are given by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolAccess {
    /// Reads what policy lets the provider see, and changes nothing.
    Read,
    /// Makes a proposal that waits for a person.
    Propose,
    /// Everything else, such as a program of the user.
    Other,
}

/// Answer of a tool. Untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolAnswer {
    /// Text for the model.
    pub text: String,
    /// Images for the model.
    pub images: Vec<ImageData>,
    /// True if the tool failed and the text is the reason.
    pub is_error: bool,
    /// Code of the failure, for programs. `None` if there is no failure, or it has no code.
    pub code: Option<String>,
    /// Runs on the repository's tape that the call made.
    pub runs: Vec<RunId>,
    /// Texts of repositories in the answer.
    pub reads: Vec<RepositoryReads>,
    /// True if the turn ends with this answer. The model has the results of its last calls with the next turn's message; see
    /// [`FinishedTurn::open_results`](crate::FinishedTurn::open_results).
    pub ends_turn: bool,
}

impl ToolAnswer {
    /// Makes an answer with this text.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Makes the answer of a tool that failed for this reason.
    #[must_use]
    pub fn from_error(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: true,
            ..Self::default()
        }
    }

    /// Adds the code of the failure.
    #[must_use]
    pub fn with_code(self, code: impl Into<String>) -> Self {
        Self {
            code: Some(code.into()),
            ..self
        }
    }
}

/// Event of a turn, for whoever watches it. Texts of models and tools are untrusted: they must be escaped before they reach a
/// terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEvent {
    /// The window is filled so, and the model is called now.
    Gauge(WindowGauge),
    /// Note for the user, worded by AgentOS and safe to show.
    Note {
        /// Text of the note.
        note: String,
    },
    /// Piece of the model's text.
    Text {
        /// The piece.
        text: String,
    },
    /// Piece of the model's thinking.
    Thinking {
        /// The piece.
        text: String,
    },
    /// All text since the last gauge was thinking.
    TextWasThinking,
    /// Everything since the last gauge is not part of the conversation: the call failed.
    Discarded {
        /// Code of the failure, or name of the limit.
        reason: String,
    },
    /// The answer since the last gauge was cut, and its text is kept in the conversation.
    Cut {
        /// Code of the failure, or name of the limit.
        reason: String,
    },
    /// Tokens of a call of the model, at its end.
    Usage(Usage),
    /// A call of a tool began.
    ToolBegun {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments.
        arguments: Value,
    },
    /// A call of a tool ended.
    ToolEnded {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// True if it failed.
        is_error: bool,
        /// Bytes of the text that the model gets.
        bytes: u64,
    },
    /// Earlier messages became a summary.
    Compressed(Box<CompressionReceipt>),
}
