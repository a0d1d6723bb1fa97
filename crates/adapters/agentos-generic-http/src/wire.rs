//! The interface of a wire format.
//!
//! Owns: the input and output types of a wire. Never: sends anything.

use agentos_tool::{Constrain, EditFormat, FinishReason, ToolTask, Usage, edits_schema};
use serde_json::Value;

use crate::{Fault, OfferedTool, ToolCall};

/// Task with the parameters of the settings.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// Task to answer.
    pub task: &'a ToolTask,
    /// Model to request. `None` if the server chooses.
    pub model: Option<&'a str>,
    /// Maximum tokens of the answer. `None` for no limit.
    pub max_tokens: Option<u64>,
    /// Sent only when set.
    pub temperature: Option<f64>,
    /// Sent only when set.
    pub top_p: Option<f64>,
    /// Sent only when set.
    pub seed: Option<u64>,
    /// Texts at which the answer ends; sent only if there are any.
    pub stop: &'a [String],
    /// Format to which the server is asked to constrain the answer.
    pub constrain: Constrain,
}

impl ModelRequest<'_> {
    /// Returns the JSON Schema of the answer. `None` if the settings do not constrain it to one.
    #[must_use]
    pub fn answer_schema(&self) -> Option<Value> {
        // The schema describes `json-edits` alone; with another edit format it would contradict the prompt.
        let wanted =
            self.constrain == Constrain::JsonSchema && self.task.edit_format == EditFormat::JsonEdits;
        wanted.then(edits_schema)
    }
}

/// Piece of an answer, from one event or a complete document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerPiece {
    /// Text of the answer.
    pub text: String,
    /// Text of a refusal, which replaces the answer.
    pub refusal: String,
    /// Reason why the model stopped. `None` if this is not the end.
    pub finish: Option<FinishReason>,
    /// Server's own reason for the end. `None` if it is one that the wire knows.
    pub ending: Option<String>,
    /// Tokens used so far. `None` if the piece does not say.
    pub usage: Option<Usage>,
    /// Model that answers. `None` if the piece does not say.
    pub model: Option<String>,
    /// Position in an end that consists of two events. `None` for wires whose end is one event.
    pub close: Option<AnswerClose>,
}

/// The two events of an end that consists of two, as `message_delta` and `message_stop` in Anthropic's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerClose {
    /// Event with the reason; the last event must still follow.
    Awaited,
    /// Last event.
    Seen,
}

/// Wire format: builds requests and reads answers.
pub trait Wire: Send + Sync {
    /// Builds the JSON of the request.
    fn build_request(&self, job: &ModelRequest<'_>) -> Value;

    /// Reads a complete answer.
    ///
    /// # Errors
    /// If the answer does not have the structure of this wire.
    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault>;

    /// Reads one event of a streamed answer.
    ///
    /// # Errors
    /// If the event does not have the structure of this wire.
    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault>;

    /// Changes a request so that it offers a tool and asks for an answer in one document. `None` if this wire has no tools.
    fn add_tool(&self, _request: Value, _tool: &OfferedTool) -> Option<Value> {
        None
    }

    /// Lists the tool calls in a complete answer.
    fn read_calls(&self, _body: &Value) -> Vec<ToolCall> {
        Vec::new()
    }
}
