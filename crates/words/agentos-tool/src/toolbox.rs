//! Toolbox protocol: a program that offers tools to models, as JSON lines over standard input and output, version 2.
//!
//! Version 1 ([`crate::PROTOCOL`]) gives a program one task, which it answers with a change. In version 2 a program has a list of tools,
//! and answers calls of them.
//!
//! Owns: the messages in both directions. Never: starts a program, or trusts a description; a host does.
//!
//! | line to the program | line from the program |
//! |---|---|
//! | `{"type":"describe","protocol":2}` | `{"type":"tools","tools":[{"name":…,"description":…,"input_schema":…}]}` |
//! | `{"type":"call","protocol":2,"name":…,"arguments":{…}}` | `{"type":"result","text":…}`, with `"is_error":true` if the tool failed |
//!
//! Every line from the host gets exactly one line in answer, `{"type":"error","message":…}` if there is no other. The program reads lines
//! until its standard input ends. It gets the next line only after its answer to the line before: calls that run at the same time
//! have a process each. Its standard error is not read by a model. A program must ignore fields that it does not know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the protocol.
pub const TOOLBOX_PROTOCOL: u32 = 2;

/// Request to a toolbox: one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolboxRequest {
    /// Question for the list of tools.
    Describe {
        /// Version of the protocol, 2. A program that speaks another version answers with `error`.
        protocol: u32,
    },
    /// Call of a tool.
    Call {
        /// Version of the protocol, 2.
        protocol: u32,
        /// Name of the tool, as the program's list has it.
        name: String,
        /// Arguments, which match the tool's schema.
        arguments: Value,
    },
}

/// Answer of a toolbox: one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolboxMessage {
    /// List of tools, the answer to `describe`.
    Tools {
        /// Tools, in the order in which models are offered them.
        tools: Vec<ToolDescription>,
    },
    /// Result of a call.
    Result {
        /// Text for the model.
        text: String,
        /// True if the tool failed and the text is the reason.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// There is no answer to the request.
    Error {
        /// Reason, in one sentence.
        message: String,
    },
}

/// Tool as its program describes it, in the form of Anthropic's API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDescription {
    /// Name: letters, digits, `_` and `-`.
    pub name: String,
    /// Purpose of the tool, for the model.
    pub description: String,
    /// JSON Schema of the arguments, of type `object`.
    pub input_schema: Value,
}
