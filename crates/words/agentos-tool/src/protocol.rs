//! The tool protocol: JSON lines over standard input and output, version 1.
//!
//! Owns: the messages in both directions. Never: starts a program; a host does.
//!
//! The host writes one [`ToolRequest`] as one line to standard input and closes it. The tool writes any number of
//! [`ToolMessage`] lines to standard output and ends with `final` or `error`, the exit code 0, and nothing after it.
//! What it writes to standard error is kept as its transcript. Fields that a tool does not know are to be ignored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{FinishReason, ToolTask, Usage};

/// The version that is spoken here.
pub const PROTOCOL: u32 = 1;

/// What a tool reads: one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRequest {
    /// 1. A tool that speaks another version ends with `error`.
    pub protocol: u32,
    /// What to do.
    pub task: ToolTask,
    /// The model to use, where the profile names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What a tool writes: one line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolMessage {
    /// Something worth telling while it works.
    Progress {
        /// One sentence.
        note: String,
    },
    /// A piece of the answer.
    Text {
        /// The piece; the answer is all of them, one after the other.
        text: String,
    },
    /// Tokens, as far as they are known; the last one counts.
    Usage {
        /// The numbers.
        usage: Usage,
    },
    /// The end: the answer stands.
    Final {
        /// The whole answer, instead of the pieces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Why it stopped; `stop` unless stated. An answer cut off at a limit is `length`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<FinishReason>,
        /// The model that answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The end: there is no answer.
    Error {
        /// Why, in one sentence.
        message: String,
    },
}
