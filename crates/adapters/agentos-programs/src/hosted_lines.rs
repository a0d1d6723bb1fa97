//! The lines between a confined adapter process and its parent. Each is one JSON value.
//!
//! The parent's first line is a greeting, which the host writes: the profile and its key. The child answers [`ChildLine::Ready`].
//! After that, each request has an id, and both sides name it:
//!
//! | state of a request | who changes it | line | next state |
//! |---|---|---|---|
//! | connecting | the parent connects to the server, unless the process has an idle connection | – | waiting |
//! | waiting | the process is ready and has room | `request` | running |
//! | waiting | the reader is dropped | – | ended, nothing was written |
//! | waiting | the process ends | – | waiting, for the next process |
//! | running | the child has a piece, and the window is not full | `answer` | running |
//! | running | the reader has read half a window | `credit` | running |
//! | running | the child is about to send the request, again after a failure | `answer` with `sending` | asking |
//! | asking | the gate permits the sending | `permit` | running |
//! | asking | the gate refuses, so the reader is dropped | `cancel` | cancelled |
//! | running | the child has the end | `answer` with an end | ended |
//! | running | the process ends | – | ended with an error; it is not sent again |
//! | running | the reader is dropped | `cancel` | cancelled |
//! | cancelled | the child has hung up | `answer` with `cancelled` or another end | ended |
//!
//! Owns: the shape of the lines, and the window of a request. Never: contains the greeting, which has a key.

use agentos_model::{ChatEvent, ChatRequest, SideRequest};
use agentos_tool::{SendingSize, ToolError, ToolOutput, ToolTask};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of lines that a child may be ahead of the reader of one answer. It may send a line while fewer are unread, so that a long
/// line needs no window of its own size.
pub const SEND_WINDOW: usize = 256 << 10;

/// Work for a confined adapter.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdapterWork {
    /// Task, whose answer is one text.
    Task(ToolTask),
    /// Conversation, whose answer is a stream of events.
    Chat(ChatRequest),
    /// Conversation, of whose answer nobody sees the pieces: they are joined, and sent with its end.
    WholeChat(ChatRequest),
    /// Request that is no conversation, whose answer is one document.
    Side(SideRequest),
}

/// Line of the parent after its greeting.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentLine {
    /// A request begins.
    Request {
        /// Id of the request, which no other request of this process has.
        id: u64,
        /// The work.
        work: Box<AdapterWork>,
    },
    /// The reader of an answer has read so many bytes of lines.
    Credit {
        /// Id of the request.
        id: u64,
        /// Bytes of the lines, line breaks included.
        bytes: usize,
    },
    /// A request may be sent once.
    Permit {
        /// Id of the request.
        id: u64,
    },
    /// Nobody reads an answer any more. Not an error if it has ended already.
    Cancel {
        /// Id of the request.
        id: u64,
    },
}

/// Line of the child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "nearly every line is an answer")]
pub enum ChildLine {
    /// The child has read the greeting. It is the first line, and comes once.
    Ready,
    /// A message about a request.
    Answer {
        /// Id of the request.
        id: u64,
        /// The message.
        line: HostedLine,
    },
}

/// Message of a confined adapter about one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum HostedLine {
    /// A piece of the answer to a task.
    Text {
        /// The piece.
        text: String,
    },
    /// A note for the user about a task.
    Note {
        /// Text of the note, one sentence.
        note: String,
    },
    /// The request is ready. The child waits for [`ParentLine::Permit`] before it sends the request.
    Sending {
        /// Most that the sending can use.
        size: SendingSize,
    },
    /// A sending failed, and the child may ask for another one.
    SendingFailed {
        /// Code of the failure.
        failure: String,
        /// True if a part of an answer had arrived.
        has_begun: bool,
    },
    /// An event of the answer to a conversation. [`ChatEvent::Finish`] is its end.
    Event {
        /// The event.
        event: ChatEvent,
    },
    /// The end of a task: the answer.
    Output {
        /// Output of the adapter.
        output: ToolOutput,
    },
    /// The end of a request that is no conversation.
    Document {
        /// The answer. `None` if the server's wire has no such endpoint.
        document: Option<Value>,
    },
    /// The end: no answer.
    Error {
        /// Error of the adapter.
        error: ToolError,
    },
    /// The end of a request that was cancelled: its connection is closed.
    Cancelled,
}

impl HostedLine {
    /// Returns true if no other line follows for the request.
    #[must_use]
    pub fn is_end(&self) -> bool {
        match self {
            Self::Text { .. } | Self::Note { .. } | Self::Sending { .. } | Self::SendingFailed { .. } => {
                false
            }
            Self::Event { event } => matches!(event, ChatEvent::Finish(_)),
            Self::Output { .. } | Self::Document { .. } | Self::Error { .. } | Self::Cancelled => true,
        }
    }
}
