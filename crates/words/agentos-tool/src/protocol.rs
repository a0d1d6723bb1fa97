//! Tool protocol: JSON lines over standard input and output, version 1.
//!
//! Owns: the messages in both directions. Never: starts a program; a host does.
//!
//! The host writes one [`ToolRequest`] as one line to standard input and closes it. The tool writes any number of
//! [`ToolMessage`] lines to standard output and ends with `final` or `error`, the exit code 0, and nothing after it.
//! Its standard error is recorded as its transcript. A tool must ignore fields that it does not know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{FinishReason, ToolTask, Usage};

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;

/// Request to a tool: one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRequest {
    /// Version of the protocol, 1. A tool that speaks another version ends with `error`.
    pub protocol: u32,
    /// Task to do.
    pub task: ToolTask,
    /// Model to use. Absent if the profile names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Message of a tool: one line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolMessage {
    /// Progress while the tool works.
    Progress {
        /// Progress in one sentence.
        note: String,
    },
    /// Piece of the answer.
    Text {
        /// Text of the piece. The answer is all pieces in order.
        text: String,
    },
    /// Token counts, as far as they are known. The last message replaces earlier ones.
    Usage {
        /// Token counts.
        usage: Usage,
    },
    /// End with an answer.
    Final {
        /// Complete answer. Absent if the answer is the pieces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Reason why the tool stopped. Absent means `stop`; an answer cut off at a limit must state `length`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<FinishReason>,
        /// Model that answered. Absent if it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// End without an answer.
    Error {
        /// Reason, in one sentence.
        message: String,
    },
}
