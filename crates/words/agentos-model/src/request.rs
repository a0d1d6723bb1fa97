//! The request of a conversation.
//!
//! Owns: what a model is sent, and the request of an edit task. Never: contains the model's name, which is a setting.

use agentos_tool::{Constrain, EditFormat, ToolTask, edits_schema, prompt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{ChatMessage, MessagePart};

/// Everything that a model is sent besides its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatRequest {
    /// System prompt. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Messages in their order.
    pub messages: Vec<ChatMessage>,
    /// Tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Rule for calling tools.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// JSON Schema of the answer. `None` if the answer is free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Value>,
    /// Maximum number of tokens of the answer. `None` if the profile decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Parts that later requests repeat.
    #[serde(default, skip_serializing_if = "CacheHints::is_empty")]
    pub cache: CacheHints,
    /// Sampling of this request.
    #[serde(default, skip_serializing_if = "ChatSampling::is_empty")]
    pub sampling: ChatSampling,
}

impl ChatRequest {
    /// Returns the schema of an answer that may be any JSON object, which some servers have a mode of their own for.
    #[must_use]
    pub fn any_object() -> Value {
        json!({"type": "object"})
    }

    /// Returns true if the answer may be any JSON object.
    #[must_use]
    pub fn wants_any_object(&self) -> bool {
        self.answer_schema == Some(Self::any_object())
    }
}

/// How tokens are chosen, for one request. A value that is missing here is the profile's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatSampling {
    /// Temperature. `None` if the profile decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Share of the probability from which tokens are taken. `None` if the profile decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Seed of the random choice. `None` if the profile decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts at which the answer ends. Empty if the profile decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

impl ChatSampling {
    /// Returns true if the profile decides everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Parts of a request that later requests repeat, so that the vendor can keep them. A hint: it changes no answer, and a wire without
/// such marks ignores it.
///
/// Writing to a cache costs more than reading a prompt at some vendors, so a request that nothing follows has no hints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheHints {
    /// True if system prompt and tools stay as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub instructions: bool,
    /// Number of messages, from the first one, that stay as they are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl CacheHints {
    /// Returns true if there are no hints.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the hints of a request whose every part is repeated, as in a conversation that goes on.
    #[must_use]
    pub fn keep_all(messages: &[ChatMessage]) -> Self {
        Self {
            instructions: true,
            messages: messages.len(),
        }
    }
}

impl ChatRequest {
    /// Makes a request of one message without a system prompt.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self {
            messages: vec![ChatMessage::from_user(text)],
            ..Self::default()
        }
    }

    /// Returns true if the conversation has nothing but text: no tools, images or thinking.
    #[must_use]
    pub fn is_text(&self) -> bool {
        let parts = || self.messages.iter().flat_map(|message| &message.parts);
        self.tools.is_empty() && parts().all(|part| matches!(part, MessagePart::Text(_)))
    }

    /// Returns the bytes of all texts, from which tokens are estimated.
    #[must_use]
    pub fn count_bytes(&self) -> usize {
        let system = self.system.as_ref().map_or(0, String::len);
        let messages: usize = self.messages.iter().map(count_message).sum();
        system + messages
    }
}

fn count_message(message: &ChatMessage) -> usize {
    let count = |part: &MessagePart| match part {
        MessagePart::Text(text) => text.len(),
        MessagePart::ToolCall(call) => call.name.len() + call.arguments.to_string().len(),
        MessagePart::ToolResult(result) => result.text.len(),
        MessagePart::Thinking(thinking) => thinking.text.len(),
        // Vendors charge an image by its size in pixels, which the bytes do not say.
        MessagePart::Image(_) => 0,
    };
    message.parts.iter().map(count).sum()
}

/// Tool that a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// Name: letters, digits, `_` and `-`, at most 64, which every vendor accepts.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub input_schema: Value,
}

/// Rule for calling tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model calls no tool.
    Never,
    /// The model calls at least one tool.
    Required,
    /// The model calls the tool of this name.
    Named(String),
}

/// Makes the request of an edit task: one message with the task, its files and its feedback.
#[must_use]
pub fn edit_request(task: &ToolTask, constrain: Constrain) -> ChatRequest {
    // The schema describes `json-edits` alone; with another edit format it would contradict the prompt.
    let wants_schema = constrain == Constrain::JsonSchema && task.edit_format == EditFormat::JsonEdits;
    ChatRequest {
        system: Some(prompt::system(task)),
        messages: vec![ChatMessage::from_user(prompt::user(task))],
        answer_schema: wants_schema.then(edits_schema),
        max_output_tokens: task.limits.max_output_tokens,
        ..ChatRequest::default()
    }
}
