//! The hooks of one wire format.
//!
//! Owns: what a wire gets and gives. Never: sends.

use agentos_tool::{Constrain, EditFormat, FinishReason, ToolTask, Usage, edits_schema};
use serde_json::Value;

use crate::{Fault, OfferedTool, ToolCall};

/// A task with what the settings decided for it.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The task.
    pub task: &'a ToolTask,
    /// The model to ask for, where one has to be named.
    pub model: Option<&'a str>,
    /// Tokens the answer may have.
    pub max_tokens: Option<u64>,
    /// Sent only when set.
    pub temperature: Option<f64>,
    /// Sent only when set.
    pub top_p: Option<f64>,
    /// Sent only when set.
    pub seed: Option<u64>,
    /// Texts at which the answer ends; sent only when there are any.
    pub stop: &'a [String],
    /// What the server is asked to hold the answer to.
    pub constrain: Constrain,
}

impl Job<'_> {
    /// The schema of the answer, where the server is to hold it to one.
    #[must_use]
    pub fn schema(&self) -> Option<Value> {
        let wanted =
            self.constrain == Constrain::JsonSchema && self.task.edit_format == EditFormat::JsonEdits;
        wanted.then(edits_schema)
    }
}

/// What one event, or a whole answer, adds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// Text.
    pub text: String,
    /// What the model says in place of an answer.
    pub refusal: String,
    /// Why the model stopped, where this is the end.
    pub finish: Option<FinishReason>,
    /// The server's own word for the end, where it is none that the wire knows.
    pub ending: Option<String>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// The model that answers.
    pub model: Option<String>,
    /// Whether the end that was told needs another event after it, or is that event; none for wires whose end is
    /// one event.
    pub close: Option<Close>,
}

/// The two events of an end that is told in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// The reason is told, the last event is still to come.
    Awaited,
    /// This is the last event.
    Seen,
}

/// One wire format: what to send, how to read what comes.
pub trait Wire: Send + Sync {
    /// The request's JSON.
    fn request(&self, job: &Job<'_>) -> Value;

    /// Reads a whole answer.
    ///
    /// # Errors
    /// When it has not the shape of this wire.
    fn response(&self, body: &Value) -> Result<Piece, Fault>;

    /// Reads one event of a streamed answer.
    ///
    /// # Errors
    /// When it has not the shape of this wire.
    fn event(&self, event: &Value) -> Result<Piece, Fault>;

    /// The request of a task made into one that offers a tool instead, and wants its answer in one document; none where
    /// this wire has no tools.
    fn offer(&self, _request: Value, _tool: &OfferedTool) -> Option<Value> {
        None
    }

    /// The calls of tools in a whole answer.
    fn calls(&self, _body: &Value) -> Vec<ToolCall> {
        Vec::new()
    }
}
